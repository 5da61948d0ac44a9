// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/loop"
)

func request(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

func call(id string) model.Part   { return model.ToolCall(id, "t", "{}") }
func result(id string) model.Part { return model.ToolReturn(id, "t", "r") }

func ids(messages []*model.Message) string {
	s := ""
	for _, m := range messages {
		s += string(m.Kind[:3]) + "("
		for i, p := range m.Parts {
			if i > 0 {
				s += " "
			}
			s += p.CallID + p.Text[:min(1, len(p.Text))]
		}
		s += ") "
	}
	return s
}

func TestRepair(t *testing.T) {
	user := model.User("u")
	text := model.Response(model.Text("x"))
	for _, c := range []struct {
		name            string
		in              []*model.Message
		resumed, before string // without a prompt, before one; empty: not touched
	}{
		{"nothing", nil, "", ""},
		{"in order", []*model.Message{request(user), model.Response(call("1"), call("2")), request(result("1"), result("2")), text}, "", ""},
		{"the frontier is not touched", []*model.Message{request(user), model.Response(call("1"))}, "", "req(u) res(1) req(1I) "},
		{"orphan", []*model.Message{request(user, result("9"))}, "req(u) ", "req(u) "},
		{"orphan behind an answer", []*model.Message{request(user), text, request(result("1"), user)}, "req(u) res(x) req(u) ", "req(u) res(x) req(u) "},
		{"dangling", []*model.Message{request(user), model.Response(call("1"), call("2")), request(result("2"), user)}, "req(u) res(1 2) req(2r 1I u) ", "req(u) res(1 2) req(2r 1I u) "},
		{"dangling in mid-history", []*model.Message{model.Response(call("1")), request(user), text, request(user)}, "res(1) req(1I u) res(x) req(u) ", "res(1) req(1I u) res(x) req(u) "},
		{"answered twice", []*model.Message{model.Response(call("1")), request(result("1"), result("1")), request(user)}, "res(1) req(1r) req(u) ", "res(1) req(1r) req(u) "},
		{"answered in the second request", []*model.Message{model.Response(call("1"), call("2")), request(result("1")), request(result("2"))}, "", ""},
		{"retry is an answer", []*model.Message{model.Response(call("1")), request(model.Retry("1", "t", "w"))}, "", ""},
		{"retry without a call is none", []*model.Message{text, request(model.Retry("", "", "w"))}, "", ""},
		{"same id in two turns", []*model.Message{model.Response(call("1")), request(result("1")), model.Response(call("1")), request(user)}, "res(1) req(1r) res(1) req(1I u) ", "res(1) req(1r) res(1) req(1I u) "},
	} {
		for _, prompt := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/prompt %v", c.name, prompt), func(t *testing.T) {
				before, err := json.Marshal(c.in)
				require.NoError(t, err)
				want := c.resumed
				if prompt {
					want = c.before
				}
				got := loop.Repair(c.in, prompt)
				if want == "" {
					require.Equal(t, ids(c.in), ids(got))
					for i := range got {
						require.Same(t, c.in[i], got[i])
					}
				} else {
					require.Equal(t, want, ids(got))
				}
				after, err := json.Marshal(c.in)
				require.NoError(t, err)
				require.Equal(t, string(before), string(after), "messages are never changed")
				require.Equal(t, ids(got), ids(loop.Repair(got, prompt)), "repair is idempotent")
			})
		}
	}
}

func TestRepairedHistoriesAreWellFormed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var history []*model.Message
		for range rnd.IntN(8) {
			var parts []model.Part
			kind := model.KindRequest
			if rnd.IntN(2) == 0 {
				kind = model.KindResponse
			}
			for range rnd.IntN(4) {
				id := string(rune('a' + rnd.IntN(3)))
				switch {
				case rnd.IntN(4) == 0:
					parts = append(parts, model.Part{Kind: model.PartText, Text: "x"})
				case kind == model.KindRequest:
					parts = append(parts, result(id))
				case !contains(parts, id):
					parts = append(parts, call(id))
				}
			}
			history = append(history, &model.Message{Kind: kind, Parts: parts})
		}
		fixed := loop.Repair(history, true)
		open := map[string]int{}
		for i, m := range fixed {
			if m.Kind == model.KindResponse && (i == 0 || fixed[i-1].Kind == model.KindRequest) {
				require.Empty(t, open)
			}
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartToolCall:
					open[p.CallID]++
				case model.PartToolReturn:
					require.Positive(t, open[p.CallID], "%s => %s", ids(history), ids(fixed))
					if open[p.CallID]--; open[p.CallID] == 0 {
						delete(open, p.CallID)
					}
				}
			}
		}
		require.Empty(t, open, "%s => %s", ids(history), ids(fixed))
		again := loop.Repair(fixed, true)
		require.Equal(t, ids(fixed), ids(again))
	}
}

func contains(parts []model.Part, id string) bool {
	for _, p := range parts {
		if p.CallID == id {
			return true
		}
	}
	return false
}

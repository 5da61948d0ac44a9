// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// The provider withholds the answer of a turn that has carried out what waited. The turn is gone,
// and what it has done is not: nobody is asked about the calls again, they are not made twice, and
// the model is told of them.
func TestCallsOfARefusedTurnAreNotAskedAboutAgain(t *testing.T) {
	for _, prompted := range []bool{false, true} {
		t.Run(fmt.Sprint("with a prompt: ", prompted), func(t *testing.T) {
			paid := map[string]int{}
			type run = *toolset.RunContext[none]
			pay := toolset.Func("pay", "", func(_ context.Context, _ run, in payment) (string, error) {
				paid[in.To]++
				return "paid " + in.To, nil
			}, toolset.Approve(func(_ context.Context, _ run, in payment) (*toolset.Approval, error) {
				return &toolset.Approval{Title: "Pay " + in.To}, nil
			}))
			said, told := "", map[string]string{}
			says := func(_ context.Context, req *model.Request) (*model.Message, error) {
				if len(req.Messages) == 1 {
					return model.Response(payTo("a", "Ada"), payTo("b", "Bob")), nil
				}
				clear(told)
				said = ""
				for _, m := range req.Messages {
					for _, p := range m.Parts {
						switch p.Kind {
						case model.PartToolReturn:
							told[p.CallID] = p.Text
						case model.PartUser:
							said += p.Text
						}
					}
				}
				if strings.HasSuffix(said, "And?") {
					return model.Response(model.Text("Well.")), nil
				}
				m := model.Response()
				m.Finish = model.FinishContentFilter
				return m, nil
			}
			a := newAgent(modeltest.Func(says), pay)
			h := newHost(t, host.Config[none, string]{
				Agent: a, Store: durable{new(session.Memory)}, Logger: slog.New(slog.DiscardHandler),
			})
			s := create(t, h)
			require.Equal(t, transcript.Pending, prompt(t, s, "Go.").Reason)
			var turn *host.Turn
			for _, q := range asked(t, s, 2) {
				if q.Title == "Pay Bob" && prompted {
					continue
				}
				var err error
				allow := host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
				turn, err = s.Answer(t.Context(), q.ID, "ada", allow)
				require.NoError(t, err)
			}
			want := map[string]int{"Ada": 1, "Bob": 1}
			var o *host.Outcome
			if prompted {
				delete(want, "Bob")
				o = prompt(t, s, "Hm.")
			} else {
				o = turn.Resume(host.Prompt{})
			}
			require.Equal(t, transcript.Refused, o.Reason)
			require.Equal(t, want, paid)
			asked(t, s, 0)
			snapshot, _, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			for e := range snapshot.All() {
				require.False(t, e.Kind == view.ToolCall && !e.Status.Ended(), "%s waits", e.ID)
			}
			later := next(t, s, a)
			require.Equal(t, shown(t, s), shown(t, later))
			asked(t, later, 0)
			require.NoError(t, prompt(t, later, "And?").Err)
			require.Equal(t, "Go.And?", said, "the prompt of a turn that is gone is gone")
			require.Equal(t, "paid Ada", told["a"])
			require.Equal(t, !prompted, told["b"] == "paid Bob", told["b"])
			require.Equal(t, want, paid)
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/toolset"
)

// clerk is an agent with a tool of each kind. What it does follows from a recording.
func clerk() *agent.Agent[none, string] {
	said := func(text string, err error) func(context.Context, *toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
		return func(context.Context, *toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
			return toolset.Result{Text: text}, err
		}
	}
	schema := json.RawMessage(`{"type":"object"}`)
	pay := toolset.Raw("pay", "Pay.", schema, said("paid", nil))
	pay.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay"}, nil
	}
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: model.Func(model.Info{Provider: "fake", Name: "m"}, nil), Instructions: "Be brief.",
		Tools: []*toolset.Tool[none]{
			toolset.Raw("look", "Look.", schema, said("seen", nil)), pay,
			toolset.Raw("order", "Order.", schema, said("", toolset.ApprovalRequired(toolset.Approval{Title: "Order"}))),
			toolset.Raw("later", "Later.", schema, said("", toolset.Deferred(nil))),
		},
	}))
}

// turnsOf are turns of sessions, as they may have been recorded: messages behind the prompt.
func turnsOf() map[string]func(t *replay.Turn) []*model.Message {
	calls := func(tools ...string) *model.Message {
		var parts []model.Part
		for i, tool := range tools {
			parts = append(parts, model.ToolCall(fmt.Sprint("c", i), tool, `{}`))
		}
		return model.Response(parts...)
	}
	results := func(parts ...model.Part) *model.Message { return &model.Message{Kind: model.KindRequest, Parts: parts} }
	decided := func(p model.Part, d model.Decision) model.Part {
		p.Decision = &d
		return p
	}
	outcome := func(p model.Part, o model.Outcome) model.Part {
		p.Outcome = o
		return p
	}
	look, pay := model.ToolReturn("c0", "look", "seen"), model.ToolReturn("c0", "pay", "paid")
	allow := model.Decision{Verdict: model.VerdictAllow, By: "user"}
	deny := model.Decision{Verdict: model.VerdictDeny, Reason: "no"}
	asked, empty := &model.Approval{Title: "Pay"}, json.RawMessage("{}")
	pending := func(parts []model.Part, waiting ...model.PendingCall) *model.Message {
		return &model.Message{Kind: model.KindRequest, Parts: parts, Pending: true, PendingCalls: waiting}
	}
	end := model.Response(model.Text("done"))
	decide := func(t *replay.Turn, d model.Decision) {
		t.Decisions = append(t.Decisions, replay.Decided{Step: 1, Call: "c0", Decision: d})
	}
	return map[string]func(t *replay.Turn) []*model.Message{
		"an answer":           func(*replay.Turn) []*model.Message { return []*model.Message{end} },
		"nothing":             func(*replay.Turn) []*model.Message { return nil },
		"a call":              func(*replay.Turn) []*model.Message { return []*model.Message{calls("look"), results(look), end} },
		"a call, and no more": func(*replay.Turn) []*model.Message { return []*model.Message{calls("look"), results(look)} },
		"a call alone":        func(*replay.Turn) []*model.Message { return []*model.Message{calls("look")} },
		"two calls, one returned": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look", "look"), results(look)}
		},
		"two calls, the last returned": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look", "look"), results(model.ToolReturn("c1", "look", "seen"))}
		},
		"three calls, the second returned": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look", "look", "look"), results(model.ToolReturn("c1", "look", "seen"))}
		},
		"a call that was interrupted": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look"), {Kind: model.KindRequest, Interrupted: true, Parts: []model.Part{outcome(look, model.OutcomeInterrupted)}}}
		},
		"a call that was skipped": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look"), results(outcome(look, model.OutcomeSkipped)), end}
		},
		"a call that was skipped before the output": func(*replay.Turn) []*model.Message {
			final := model.ToolReturn("c1", "look", "seen")
			final.Final = true
			return []*model.Message{calls("look", "look"), results(outcome(look, model.OutcomeSkipped), final), end}
		},
		"a call that was skipped after the output": func(*replay.Turn) []*model.Message {
			final := look
			final.Final = true
			return []*model.Message{calls("look", "look"), results(final, outcome(model.ToolReturn("c1", "look", "x"), model.OutcomeSkipped)), end}
		},
		"a call with content": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look"), results(look, model.User("a picture"), model.Media("image/png", []byte("p"))), end}
		},
		"two calls with content": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look", "look"), results(look, model.ToolReturn("c1", "look", "seen"), model.User("a picture")), end}
		},
		"a user who says more": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look"), results(look), results(model.User("and now")), end}
		},
		"a retry": func(*replay.Turn) []*model.Message {
			retry := look
			retry.Kind, retry.Text = model.PartRetry, "try again"
			return []*model.Message{calls("look"), results(retry), end}
		},
		"an unknown tool": func(*replay.Turn) []*model.Message { return []*model.Message{calls("none"), end} },
		"a question that was allowed": func(t *replay.Turn) []*model.Message {
			decide(t, allow)
			return []*model.Message{calls("pay"), results(decided(pay, allow)), end}
		},
		"a question that was denied": func(t *replay.Turn) []*model.Message {
			decide(t, deny)
			return []*model.Message{calls("pay"), results(decided(outcome(model.ToolReturn("c0", "pay", "no"), model.OutcomeDenied), deny)), end}
		},
		"a question that nobody asked": func(*replay.Turn) []*model.Message { return []*model.Message{calls("pay"), results(pay), end} },
		"a question without an answer": func(*replay.Turn) []*model.Message { return []*model.Message{calls("pay")} },
		"a question in another step": func(t *replay.Turn) []*model.Message {
			decide(t, allow)
			t.Decisions[0].Step = 2
			return []*model.Message{calls("pay"), results(decided(pay, allow)), end}
		},
		"a question in any step": func(t *replay.Turn) []*model.Message {
			decide(t, allow)
			t.Decisions[0].Step = 0
			return []*model.Message{calls("pay"), results(decided(pay, allow)), end}
		},
		"a question that was put off": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("pay"), pending(nil, model.PendingCall{ID: "c0", Tool: "pay", Args: empty, Approval: asked})}
		},
		"a question of another call that was put off": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("pay"), pending(nil, model.PendingCall{ID: "c1", Tool: "pay", Args: empty, Approval: asked})}
		},
		"a question that was put off, and a result": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("look", "pay"), pending([]model.Part{look}, model.PendingCall{ID: "c1", Tool: "pay", Args: empty, Approval: asked})}
		},
		"a tool that asks itself": func(t *replay.Turn) []*model.Message {
			decide(t, allow)
			return []*model.Message{calls("order"), results(decided(model.ToolReturn("c0", "order", "ordered"), allow)), end}
		},
		"a tool that asks itself, put off": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("order"), pending(nil, model.PendingCall{ID: "c0", Tool: "order", Args: empty, Approval: asked})}
		},
		"a call for later": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("later"), pending(nil, model.PendingCall{ID: "c0", Tool: "later", Args: empty, Meta: json.RawMessage(`{"a":1}`)})}
		},
		"a call for later, inside": func(*replay.Turn) []*model.Message {
			return []*model.Message{calls("later"), pending(nil, model.PendingCall{ID: "c0", Path: []string{"c9", "c0"}, Tool: "later"})}
		},
		"a call that waits for others": func(*replay.Turn) []*model.Message {
			m := pending(nil, model.PendingCall{ID: "in", Path: []string{"c0", "in"}, Tool: "pay", Args: empty, Approval: asked}, model.PendingCall{ID: "deep", Path: []string{"c0", "x", "deep"}, Tool: "later", Args: empty})
			m.SuspendedCalls = []model.SuspendedCall{{ID: "c0", Tool: "later", State: json.RawMessage(`{"s":1}`)}}
			return []*model.Message{calls("later"), m}
		},
		"other arguments": func(t *replay.Turn) []*model.Message {
			d := allow
			d.Args = json.RawMessage(`{"a":1}`)
			decide(t, d)
			return []*model.Message{calls("pay"), results(decided(pay, d)), end}
		},
	}
}

// TestTurnsAreToldApart plays turns with an agent, for each way in which they may have ended: as
// they were recorded, and after they were filled. It compares what is said, and what is filled in.
func TestTurnsAreToldApart(t *testing.T) {
	var said strings.Builder
	all := turnsOf()
	for _, name := range slices.Sorted(keysOf(all)) {
		fmt.Fprintf(&said, "%s\n", name)
		for _, reason := range []string{"done", "pending", "failed", "cancelled", "interrupted"} {
			t.Run(name+" "+reason, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &replay.Recording{Version: 1, Session: "s", Turns: []replay.Turn{{ID: "t1", Prompt: []model.Part{model.User("go")}, Reason: reason}}}
					turn := &r.Turns[0]
					r.Messages = append([]*model.Message{model.UserText("go")}, all[name](turn)...)
					for i, m := range r.Messages {
						m.RunID = "t1"
						turn.Messages = append(turn.Messages, i)
					}
					play := func() string {
						return anyOf(tried(func() error { return replay.Play(t.Context(), r, 0, clerk(), none{}, replay.PlayOptions{}) }))
					}
					played := play()
					fmt.Fprintf(&said, "  %s: %s\n", reason, played)
					filled := anyOf(tried(func() error {
						return replay.Fill(t.Context(), r, 0, clerk(), none{}, replay.PlayOptions{})
					}))
					if filled == played && filled != "the same" {
						return
					}
					if filled != "the same" {
						fmt.Fprintf(&said, "    not filled: %s\n", filled)
						return
					}
					c := turn.Checked
					for _, ids := range c.Ran {
						slices.Sort(ids)
					}
					fmt.Fprintf(&said, "    filled: steps %v, ran %v, own %v, asked %v, output %s, end %q\n", c.Steps, c.Ran, c.Own, c.Asked, c.Output, c.End)
					if again := play(); again != "the same" {
						fmt.Fprintf(&said, "    then: %s\n", again)
					}
				})
			})
		}
	}
	sameAsFile(t, "turns.txt", said.String())
}

// anyOf is what is said of a call. Several run at the same time, and any may be the first.
func anyOf(text string) string { return strings.ReplaceAll(text, "call c2 of look", "call c0 of look") }

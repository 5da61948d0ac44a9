// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

const (
	input, output, call, result = guardrails.Input, guardrails.Output, guardrails.Call, guardrails.Result
)

func TestReplacedTextIsSeenNowhere(t *testing.T) {
	say := func(text string) []modeltest.Step { return []modeltest.Step{modeltest.SayText(text)} }
	calls := []modeltest.Step{modeltest.Say(model.Text("Look."), model.ToolCall("c1", "echo", `{"text":"`+secret+`"}`)), modeltest.SayText("Done.")}
	for name, c := range map[string]struct {
		on     guardrails.Stage
		prompt string
		steps  []modeltest.Step
		opts   []agent.RunOption
		want   string
	}{
		"input":           {on: input, prompt: "Pay " + secret, steps: say("Paid."), want: "Pay [card]"},
		"input in parts":  {on: input, prompt: "Pay", opts: []agent.RunOption{agent.WithParts(model.User(secret), model.Media("image/png", []byte{1}))}, steps: say("Paid."), want: `Pay\n[card]`},
		"output":          {on: output, prompt: "Which?", steps: say("It is " + secret + "."), want: "It is [card]."},
		"output in parts": {on: output, prompt: "Which?", steps: []modeltest.Step{modeltest.Say(model.Text("4111"), model.Text("-1111"))}, want: "[card]"},
		"thinking":        {on: output, prompt: "Which?", steps: []modeltest.Step{modeltest.Say(model.Thinking("Is it "+secret+"?"), model.Text("No."))}, want: "No."},
		"arguments":       {on: call, prompt: "Echo.", steps: calls, want: "said [card]"},
	} {
		t.Run(name, func(t *testing.T) {
			script := modeltest.Script(c.steps...)
			o := play(t, newAgent(t, script, guard{Name: "cards", On: c.on, Check: redact}), script, c.prompt, c.opts...)
			require.NoError(t, o.err)
			require.NotContains(t, o.seen, secret)
			require.Contains(t, o.seen, c.want)
		})
	}
}

func TestReplacedResultIsSeenNowhere(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"4111"}`)), modeltest.SayText("Done."))
	mask := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		return guardrails.Replace("masked", ""), nil
	}
	o := play(t, newAgent(t, script, guard{Name: "cards", On: result, Tools: []string{"ec*"}, Check: mask}), script, "Echo.")
	require.NoError(t, o.err)
	for _, seen := range []string{"said 4111", "shown 4111", "emitted 4111", `"meta"`} {
		require.NotContains(t, o.seen, seen)
	}
	require.Equal(t, "masked", o.res.Messages[2].Parts[0].Text)
	require.Len(t, o.res.Messages[2].Parts, 1)
}

func TestPassedEventsOfAToolComeInOrder(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"a"}`)), modeltest.SayText("Done."))
	o := play(t, newAgent(t, script, guard{Name: "cards", On: result, Check: redact}), script, "Echo.")
	require.NoError(t, o.err)
	var kinds []agent.EventKind
	for _, e := range o.events {
		if e.Kind == agent.EventCustom || e.Kind == agent.EventToolResult {
			kinds = append(kinds, e.Kind)
		}
	}
	require.Equal(t, []agent.EventKind{agent.EventCustom, agent.EventToolResult}, kinds)
}

func TestSteeredMessagesAreChecked(t *testing.T) {
	in := new(agent.Inbox)
	in.Send(model.User("It is " + secret))
	script := modeltest.Script(modeltest.SayText("Thanks."))
	a := newAgent(t, script, guard{Name: "cards", On: input, Check: redact})
	o := play(t, a, script, "Hello.", agent.WithInbox(in))
	require.NoError(t, o.err)
	require.NotContains(t, o.seen, secret)
	require.Contains(t, o.seen, "It is [card]")

	in.Send(model.User("one"))
	in.Send(model.User(secret))
	in.Send(model.User("three"))
	script = modeltest.Script()
	o = play(t, newAgent(t, script, guard{Name: "cards", On: input, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if s.Text == secret {
			return guardrails.Block("a card"), nil
		}
		return guardrails.Pass(), nil
	}}), script, "Hello.", agent.WithInbox(in))
	require.ErrorIs(t, o.err, guardrails.ErrBlocked)
	require.NotContains(t, o.seen, secret)
	require.Len(t, in.Left(), 2, "the other messages are not lost")
}

func TestBlockedRunsSayWhatWasBlocked(t *testing.T) {
	calls := []modeltest.Step{modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done.")}
	for name, c := range map[string]struct {
		want  guardrails.BlockedError
		steps []modeltest.Step
		text  string
	}{
		"input":  {want: guardrails.BlockedError{Stage: input}, text: `guardrails: input blocked by "g": no`},
		"output": {want: guardrails.BlockedError{Stage: output}, steps: []modeltest.Step{modeltest.SayText("x")}, text: `guardrails: output blocked by "g": no`},
		"call":   {want: guardrails.BlockedError{Stage: call, Tool: "echo", CallID: "c1"}, steps: calls, text: `guardrails: call of tool "echo" blocked by "g": no`},
		"result": {want: guardrails.BlockedError{Stage: result, Tool: "echo", CallID: "c1"}, steps: calls, text: `guardrails: result of tool "echo" blocked by "g": no`},
	} {
		t.Run(name, func(t *testing.T) {
			script := modeltest.Script(c.steps...)
			o := play(t, newAgent(t, script, guard{Name: "g", On: c.want.Stage, Check: always(guardrails.Block("no"))}), script, "Hello.")
			var blocked *guardrails.BlockedError
			require.ErrorAs(t, o.err, &blocked)
			c.want.Guard, c.want.Reason = "g", "no"
			require.Equal(t, c.want, *blocked)
			require.EqualError(t, blocked, c.text)
			require.ErrorIs(t, o.err, guardrails.ErrBlocked)
			require.Equal(t, c.want.Stage == input, errors.Is(o.err, agent.ErrContentFilter), "hosts keep it out of the history")
			require.Contains(t, blocked.Refused(), `was blocked by the guardrail "g": no.`)
			for _, e := range o.events {
				require.NotEqual(t, agent.EventPartDelta, e.Kind == agent.EventPartDelta && c.want.Stage == output, "nothing of it is shown")
			}
		})
	}
}

func TestBlockedResponseIsPaidFor(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		script := modeltest.Script(func(context.Context, *model.Request) (*model.Message, error) {
			m := model.Response(model.Text("x"))
			m.Usage = model.Usage{InputTokens: 7, OutputTokens: 3}
			return m, nil
		})
		a := newAgent(t, script, guard{Name: "g", On: output, Check: always(guardrails.Block(""))})
		var err error
		if streamed {
			_, err = a.Stream(t.Context(), none{}, "Hello.").Result()
		} else {
			_, err = a.Run(t.Context(), none{}, "Hello.")
		}
		var failed *agent.RunError
		require.ErrorAs(t, err, &failed)
		require.EqualValues(t, 10, failed.Usage.TotalTokens())
	}
}

func TestDeniedCallsAreToldToTheModel(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Sorry."))
	checks := 0
	o := play(t, newAgent(t, script, guard{Name: "g", On: call, Check: func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) {
		checks++
		return guardrails.Deny("not on Sundays"), nil
	}}), script, "Hello.")
	require.NoError(t, o.err)
	got := o.res.Messages[2].Parts[0]
	require.Equal(t, model.OutcomeDenied, got.Outcome)
	require.Contains(t, got.Text, "not on Sundays")
	require.NotContains(t, o.seen, "emitted")
	require.Equal(t, 1, checks, "a call is checked once")
}

func TestAskedCallsWaitForAPerson(t *testing.T) {
	steps := func() *modeltest.Scripted {
		return modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x\u202ey"}`)), modeltest.SayText("Done."))
	}
	script := steps()
	a := newAgent(t, script, guard{Name: "g", On: call, Check: always(guardrails.Ask("looks odd"))})
	_, err := a.Run(t.Context(), none{}, "Hello.")
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	approval := pending.Calls[0].Approval
	require.Equal(t, guardrails.Source+"g", approval.Source)
	require.Contains(t, approval.Reason, "looks odd")
	require.NotEmpty(t, approval.Scope, "an always covers this call only")
	require.Contains(t, approval.Preview[0].Text, `{"text":"x\u202ey"}`)

	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	var answers agent.DeferredResults
	answers.Decide("c1", toolset.Allow())
	res, err := a.Run(t.Context(), none{}, "", agent.WithHistory(failed.Messages), agent.WithResults(answers))
	require.NoError(t, err)
	require.Equal(t, "Done.", res.Output)

	asked := 0
	script = steps()
	a = newAgent(t, script, guard{Name: "g", On: call, Check: always(guardrails.Ask("looks odd"))})
	res, err = a.Run(t.Context(), none{}, "Hello.", agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		return toolset.Allow(), nil
	}}))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Equal(t, "Done.", res.Output)
}

func TestGuardAndToolAskTogether(t *testing.T) {
	tool := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], echoArgs) (string, error) { return "paid", nil }, needsApproval)
	made := func() *agent.Agent[none, string] {
		c := config(modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done.")),
			guard{Name: "g", On: call, Check: always(guardrails.Ask("looks odd"))})
		c.Tools = []*toolset.Tool[none]{tool}
		return agent.Must(agent.New(c))
	}
	var asked []toolset.ApprovalRequest
	asker := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		asked = append(asked, r)
		return toolset.Allow(), nil
	}}
	res, err := made().Run(t.Context(), none{}, "Pay.", agent.WithAsker(asker))
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.Contains(t, asked[0].Approval.Reason, "looks odd")
	require.Contains(t, asked[0].Approval.Reason, "It costs money.")
	require.Equal(t, "paid", res.Messages[2].Parts[0].Text)

	judge, err := approval.Judge{Model: modeltest.Script(modeltest.SayText(`{"verdict":"allow"}`)), Policy: "All is allowed."}.Layer()
	require.NoError(t, err)
	config, err := (&approval.Config{Mode: approval.ModeAuto, Rules: []approval.ConfigRule{{Decision: toolset.VerdictAllow, Tool: "pay"}}}).Layer()
	require.NoError(t, err)
	for name, layered := range map[string]toolset.Asker{
		"a rule about the tool": approval.Remember(allowing("pay"), asker),
		"a judge":               approval.Layered(asker, judge),
		"the configuration":     approval.Layered(asker, config),
		"automatic mode":        approval.Layered(asker, approval.Auto()),
		"mode code":             host.ModeCode().Policy(nil, asker),
	} {
		asked = nil
		_, err = made().Run(t.Context(), none{}, "Pay.", agent.WithAsker(layered))
		require.NoError(t, err)
		require.Len(t, asked, 1, "%s does not cover what a guard asks about", name)
		require.True(t, asked[0].Once)
	}
}

// allowing is a policy that always allows a tool.
func allowing(tool string) *approval.Policy {
	p := new(approval.Policy)
	p.Remember(tool, "", toolset.VerdictAllow)
	return p
}

func TestChangedArgumentsAreCheckedAgain(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done."))
	ran := false
	tool := toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], echoArgs) (string, error) {
		ran = true
		return "paid", nil
	}, needsApproval)
	for name, check := range map[string]guardrails.Check[none]{
		"replaced": redact,
		"denied": func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			if strings.Contains(s.Text, secret) {
				return guardrails.Deny("a card"), nil
			}
			return guardrails.Pass(), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			script = modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done."))
			c := config(script, guard{Name: "g", On: call, Check: check})
			c.Tools = []*toolset.Tool[none]{tool}
			a, err := agent.New(c)
			require.NoError(t, err)
			res, err := a.Run(t.Context(), none{}, "Pay.", agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
				return toolset.AllowWith(json.RawMessage(`{"text":"` + secret + `"}`)), nil
			}}))
			require.NoError(t, err)
			require.False(t, ran)
			require.Equal(t, model.OutcomeDenied, res.Messages[2].Parts[0].Outcome)
		})
	}
}

// needsApproval makes a tool ask for approval.
var needsApproval = toolset.Approve(func(context.Context, *toolset.RunContext[none], echoArgs) (*toolset.Approval, error) {
	return &toolset.Approval{Reason: "It costs money."}, nil
})

// person answers the questions of guards.
func person(answer string, err error, seen *[]toolset.Question) agent.RunOption {
	return agent.WithAsker(toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		*seen = append(*seen, q)
		content, _ := json.Marshal(map[string]string{"answer": answer})
		return toolset.Reply{Action: toolset.ActionAccept, Content: content}, err
	}})
}

func TestPeopleDecideAboutText(t *testing.T) {
	for _, on := range []guardrails.Stage{input, output, result} {
		t.Run(on.String(), func(t *testing.T) {
			for answer, passes := range map[string]bool{"Let it pass": true, "Block it": false, "": false} {
				script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done\u202e."))
				var seen []toolset.Question
				check := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
					return guardrails.Ask("odd"), nil
				}
				a := newAgent(t, script, guard{Name: "g", On: on, Check: check})
				_, err := a.Run(t.Context(), none{}, "Hello.", person(answer, nil, &seen))
				require.Len(t, seen, 1)
				require.Contains(t, seen[0].Message, "odd")
				require.NotContains(t, seen[0].Message, "\u202e", "what is shown is escaped")
				if passes {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, guardrails.ErrBlocked)
				}
			}
			script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done."))
			_, err := newAgent(t, script, guard{Name: "g", On: on, Check: always(guardrails.Ask("odd"))}).Run(t.Context(), none{}, "Hello.")
			require.ErrorIs(t, err, guardrails.ErrBlocked)
			require.ErrorIs(t, err, toolset.ErrNobody)
		})
	}
}

func TestFailedChecksBlock(t *testing.T) {
	boom := errors.New("boom")
	fails := map[string]guardrails.Check[none]{
		"error": func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) {
			return guardrails.Pass(), boom
		},
		"panic":   func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) { panic("boom") },
		"unknown": always(verdict{Action: 99}),
		"timeout": func(ctx context.Context, _ *toolset.RunContext[none], _ *subject) (verdict, error) {
			<-ctx.Done()
			return guardrails.Pass(), ctx.Err()
		},
	}
	synctest.Test(t, func(t *testing.T) {
		for name, check := range fails {
			for _, on := range []guardrails.Stage{input, output, call, result} {
				steps := []modeltest.Step{modeltest.Say(model.ToolCall("c1", "echo", `{"text":"x"}`)), modeltest.SayText("Done.")}
				closed := guard{Name: "g", On: on, Check: check, Timeout: time.Second}
				_, err := newAgent(t, modeltest.Script(steps...), closed).Run(t.Context(), none{}, "Hello.")
				var blocked *guardrails.BlockedError
				require.ErrorAs(t, err, &blocked, "%s %s", name, on)
				require.Error(t, blocked.Err)
				require.Contains(t, err.Error(), map[string]string{"timeout": "longer than 1s", "unknown": "unknown action"}[name])
				if name != "unknown" {
					closed.Open = true
					_, err = newAgent(t, modeltest.Script(steps...), closed).Run(t.Context(), none{}, "Hello.")
					require.NoError(t, err, "%s %s", name, on)
				}
			}
		}
	})
}

func TestCancelledCheckIsNoVerdict(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	a := newAgent(t, modeltest.Script(), guard{Name: "g", On: input, Check: func(ctx context.Context, _ *toolset.RunContext[none], _ *subject) (verdict, error) {
		cancel(stop)
		return guardrails.Pass(), ctx.Err()
	}})
	_, err := a.Run(ctx, none{}, "Hello.")
	require.ErrorIs(t, err, stop)
	require.NotErrorIs(t, err, guardrails.ErrBlocked)
}

func TestGuardsSeeWhatEarlierOnesLeft(t *testing.T) {
	var saw []string
	note := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		saw = append(saw, s.Text)
		return guardrails.Pass(), nil
	}
	script := modeltest.Script(modeltest.SayText("Done."))
	_, err := newAgent(t, script, guard{Name: "a", On: input, Check: redact}, guard{Name: "b", On: input, Check: note}).Run(t.Context(), none{}, secret)
	require.NoError(t, err)
	require.Equal(t, []string{"[card]"}, saw)
}

func TestInvalidGuardsAreReported(t *testing.T) {
	_, err := agent.New(config(modeltest.Script(),
		guard{}, guard{Name: "a", On: 64, Check: redact}, guard{Name: "a", On: call, Check: redact, Parallel: true},
		guard{Name: "s", On: call, Check: redact, Stream: 1, Timeout: -1, Tools: []string{"["}},
	))
	for _, want := range []string{
		"guard 0 has no name", `"": Check is nil`, "On is Stage(64); use Input", "two guards of this name", "Parallel needs On to have Input",
		"Stream is 1; it must not be negative", "Timeout is -1ns", `"[" is not a pattern`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestStructuredOutputIsChecked(t *testing.T) {
	type bill struct {
		Card string `json:"card"`
	}
	for text, c := range map[string]struct {
		check guardrails.Check[none]
		want  string
	}{
		"replaced": {redact, ""},
		"broken":   {always(guardrails.Replace("{", "")), "the replacement is not JSON"},
		"blocked":  {always(guardrails.Block("no")), "output of tool"},
	} {
		t.Run(text, func(t *testing.T) {
			script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "final_result", `{"card":"`+secret+`"}`)))
			a, err := agent.New(agent.Config[none, bill]{Model: script, Capabilities: []agent.Capability[none]{guardrails.New(guard{Name: "g", On: output, Tools: []string{"other"}, Check: c.check})}})
			require.NoError(t, err)
			res, err := a.Run(t.Context(), none{}, "Which?")
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "[card]", res.Output.Card)
		})
	}
}

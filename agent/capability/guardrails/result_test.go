// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// noisy emits a secret, and then ends as it is told.
func noisy(end func() (toolset.Result, error)) *toolset.Tool[none] {
	return toolset.Func("noisy", "Be noisy.", func(_ context.Context, run *toolset.RunContext[none], _ none) (toolset.Result, error) {
		run.Emit("emitted " + secret)
		return end()
	})
}

func playNoisy(t *testing.T, end func() (toolset.Result, error), guards ...guard) *outcome {
	t.Helper()
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "noisy", `{}`)), modeltest.SayText("Done."))
	c := config(script, guards...)
	c.Tools = []*toolset.Tool[none]{noisy(end)}
	a, err := agent.New(c)
	require.NoError(t, err)
	return play(t, a, script, "Go.")
}

// What a tool has emitted is about its result, so it is shown only if that has passed as it is.
func TestEventsOfAToolAreShownOnlyIfItsResultPasses(t *testing.T) {
	says := func(text string) func() (toolset.Result, error) {
		return func() (toolset.Result, error) { return toolset.Result{Text: text}, nil }
	}
	fails := func(err error) func() (toolset.Result, error) {
		return func() (toolset.Result, error) { return toolset.Result{}, err }
	}
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		end   func() (toolset.Result, error)
		check guardrails.Check[none]
		open  bool
		shown bool
	}{
		"passed":                   {says("x"), always(guardrails.Pass()), false, true},
		"replaced by the same":     {says("x"), always(guardrails.Replace("x", "")), false, true},
		"replaced":                 {says("x"), always(guardrails.Replace("y", "")), false, false},
		"blocked":                  {says("x"), always(guardrails.Block("no")), false, false},
		"denied":                   {says("x"), always(guardrails.Deny("no")), false, false},
		"asked, and nobody there":  {says("x"), always(guardrails.Ask("odd")), false, false},
		"not checked":              {says("x"), failing(boom), false, false},
		"not checked, but open":    {says("x"), failing(boom), true, true},
		"retry, passed":            {fails(toolset.Retry("again")), always(guardrails.Pass()), false, true},
		"retry, replaced":          {fails(toolset.Retry("again")), always(guardrails.Replace("y", "")), false, false},
		"retry, blocked":           {fails(toolset.Retry("again")), always(guardrails.Block("no")), false, false},
		"error that ends the run":  {fails(boom), always(guardrails.Pass()), false, false},
		"another tool's guard":     {says("x"), nil, false, true},
		"a guard of another stage": {says("x"), nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := guard{Name: "g", On: result, Check: c.check, Open: c.open}
			switch {
			case c.check == nil && c.open:
				g.Open, g.On, g.Check = false, call, always(guardrails.Pass())
			case c.check == nil:
				g.Tools, g.Check = []string{"other"}, always(guardrails.Block("no"))
			}
			o := playNoisy(t, c.end, g)
			require.Equal(t, c.shown, strings.Contains(o.seen, "emitted "+secret))
		})
	}
}

func TestWhatTheModelIsToldOfAFailureIsChecked(t *testing.T) {
	for name, err := range map[string]error{
		"retry":  toolset.Retry("no card %s", secret),
		"failed": toolset.Failed("no card %s", secret),
		"denied": toolset.Denied("no card %s", secret),
		"joined": fmt.Errorf("x: %w", toolset.Retry("no card %s", secret)),
	} {
		o := playNoisy(t, func() (toolset.Result, error) { return toolset.Result{}, err }, guard{Name: "g", On: result, Check: redact})
		require.NoError(t, o.err, name)
		require.NotContains(t, o.seen, secret, name)
		require.Contains(t, o.seen, "no card [card]", name)
	}
}

func TestMediaOfAResultStayWhenItsTextIsReplaced(t *testing.T) {
	picture := model.Media("image/png", []byte{1, 2, 3})
	var saw subject
	o := playNoisy(t, func() (toolset.Result, error) {
		return toolset.Result{Text: "a " + secret, Content: []model.Part{model.User("b"), picture, model.User("c")}}, nil
	}, guard{Name: "g", On: result, Check: func(_ context.Context, run *toolset.RunContext[none], s *subject) (verdict, error) {
		saw = *s
		return redact(t.Context(), run, s)
	}})
	require.NoError(t, o.err)
	require.Equal(t, "a "+secret+"\nb\nc", saw.Text)
	require.Equal(t, []model.Part{picture}, saw.Media)
	require.Equal(t, "noisy", saw.Tool)
	require.Equal(t, "c1", saw.CallID)
	parts := o.res.Messages[2].Parts
	require.Equal(t, "a [card]\nb\nc", parts[0].Text)
	require.Equal(t, picture.Data, parts[len(parts)-1].Data)
	require.Len(t, parts, 2)
}

// failing cannot check anything.
func failing(err error) guardrails.Check[none] {
	return func(context.Context, *toolset.RunContext[none], *subject) (verdict, error) { return verdict{}, err }
}

func TestDenialsNameTheGuardAndItsReason(t *testing.T) {
	for _, c := range []struct {
		guards []guard
		want   string
	}{
		{[]guard{{Name: "a", On: call, Check: always(guardrails.Deny("not now"))}, {Name: "b", On: call, Check: always(guardrails.Deny("never"))}}, `Not executed: not now (guardrail "a"). Do not try to do the same in another way.`},
		{[]guard{{Name: "a", On: call, Check: always(guardrails.Ask("odd"))}, {Name: "b", On: call, Check: always(guardrails.Deny(""))}}, `Not executed: not permitted (guardrail "b"). Do not try to do the same in another way.`},
	} {
		o := playNoisy(t, func() (toolset.Result, error) { return toolset.Result{}, nil }, c.guards...)
		require.NoError(t, o.err)
		require.Equal(t, c.want, o.res.Messages[2].Parts[0].Text)
		require.NotContains(t, o.seen, "emitted")
	}
}

func TestApprovalsSayWhatAllGuardsAsk(t *testing.T) {
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done."))
	c := config(script, guard{Name: "a", On: call, Check: always(guardrails.Ask("odd"))}, guard{Name: "b", On: call, Check: always(guardrails.Ask("late"))})
	c.Tools = []*toolset.Tool[none]{toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], echoArgs) (string, error) { return "paid", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], echoArgs) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay", Source: "bank", Reason: "It costs money.", Scope: "pay", Covers: []string{"x"}, Parts: []string{"y"}}, nil
		}))}
	a, err := agent.New(c)
	require.NoError(t, err)
	_, err = a.Run(t.Context(), none{}, "Go.")
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	got := pending.Calls[0].Approval
	require.Equal(t, "Pay", got.Title)
	require.Equal(t, "The guardrail a, b asks you to decide: odd; late\nIt costs money.", got.Reason)
	require.Equal(t, guardrails.Source+"a, b; bank", got.Source)
	require.True(t, got.Once)
	require.Len(t, got.Scope, 32)
	require.Equal(t, "exactly this call", got.ScopeTitle)
	require.Empty(t, got.Covers)
	require.Empty(t, got.Parts)
}

// Somebody has changed the arguments, and was not told what the guard says of them.
func TestChangedArgumentsThatAGuardAsksAboutAreDenied(t *testing.T) {
	ran := false
	script := modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{"text":"x"}`)), modeltest.SayText("Done."))
	c := config(script, guard{Name: "g", On: call, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if strings.Contains(s.Text, secret) {
			return guardrails.Ask("a card"), nil
		}
		return guardrails.Pass(), nil
	}})
	c.Tools = []*toolset.Tool[none]{toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[none], echoArgs) (string, error) {
		ran = true
		return "paid", nil
	}, needsApproval)}
	a, err := agent.New(c)
	require.NoError(t, err)
	res, err := a.Run(t.Context(), none{}, "Pay.", agent.WithAsker(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.AllowWith([]byte(`{"text":"` + secret + `"}`)), nil
	}}))
	require.NoError(t, err)
	require.False(t, ran)
	require.Contains(t, res.Messages[2].Parts[0].Text, "Not executed: it needs the approval of a person (guardrail g).")
}

func TestStagesHaveNames(t *testing.T) {
	for want, s := range map[string]guardrails.Stage{
		"input": input, "output": output, "call": call, "result": result, "input|output": input | output, "input|output|call|result": 15, "Stage(0)": 0, "Stage(17)": 17,
	} {
		require.Equal(t, want, s.String())
	}
}

func TestModelChecksAreBounded(t *testing.T) {
	run := &toolset.RunContext[none]{RunInfo: toolset.RunInfo{Meter: new(toolset.Meter)}}
	pass := modeltest.Script(modeltest.SayText(`{"verdict":"pass"}`), modeltest.SayText(`{"verdict":"block","reason":"no"}`), modeltest.Fail(errors.New("boom")))
	check := guardrails.ByModel[none](guardrails.ModelCheck{Policy: "No cards.", Model: pass})
	v, err := check(t.Context(), run, &subject{Stage: output, Text: "x", Partial: true})
	require.NoError(t, err)
	require.Equal(t, guardrails.Pass(), v)
	require.Empty(t, pass.Requests(), "text that is still growing is not looked at")
	_, err = check(t.Context(), run, &subject{Stage: output, Text: strings.Repeat("x", 64<<10+1)})
	require.ErrorContains(t, err, "too long")
	_, err = check(t.Context(), run, &subject{Stage: output, Text: strings.Repeat("x", 64<<10-100)})
	require.NoError(t, err)
	v, err = check(t.Context(), run, &subject{Stage: call, Tool: "pay", Text: "{}"})
	require.NoError(t, err)
	require.Equal(t, guardrails.Deny("no"), v, "a call is denied, not the run blocked")
	_, err = check(t.Context(), run, &subject{Stage: output, Text: "x"})
	require.ErrorContains(t, err, "boom")
	_, err = guardrails.ByModel[none](guardrails.ModelCheck{Model: pass})(t.Context(), run, &subject{Stage: output, Text: "x"})
	require.ErrorContains(t, err, "ModelCheck.Policy is empty")
}

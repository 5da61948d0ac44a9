// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

type transfer struct {
	To     string `json:"to" validate:"required"`
	Amount int    `json:"amount" validate:"min=1"`
}

func pays(_ context.Context, _ *runContext, in transfer) (string, error) {
	return fmt.Sprintf("paid %d to %s", in.Amount, in.To), nil
}

// expensive requires approval for amounts above 100.
func expensive(_ context.Context, run *runContext, in transfer) (*toolset.Approval, error) {
	if in.Amount <= 100 {
		return nil, nil
	}
	return &toolset.Approval{Title: run.Deps.Name + " pays " + in.To}, nil
}

func TestApproveGetsTypedArguments(t *testing.T) {
	asks := func(tool *toolset.Tool[deps], amount int) error {
		_, err := toolsettest.Call(t.Context(), toolset.Of(tool), &runContext{Deps: deps{Name: "Ada"}}, "pay", fmt.Sprintf(`{"to":"Bob","amount":%d}`, amount))
		return err
	}
	plain := func(ctx context.Context, in transfer) (string, error) { return pays(ctx, nil, in) }
	for name, tool := range map[string]*toolset.Tool[deps]{
		"Func":         toolset.Func("pay", "", pays, toolset.Approve(expensive)),
		"Plain":        toolset.Plain[deps]("pay", "", plain, toolset.Approve(expensive)),
		"ExternalTool": toolset.ExternalTool[deps, transfer]("pay", "", toolset.Approve(expensive)),
		"the last":     toolset.Func("pay", "", pays, toolset.Approve(func(context.Context, *runContext, transfer) (*toolset.Approval, error) { panic("no") }), toolset.Approve(expensive)),
	} {
		require.NoError(t, tool.Err(), name)
		var needed *toolset.ApprovalRequiredError
		require.ErrorAs(t, asks(tool, 101), &needed, name)
		require.Equal(t, "Ada pays Bob", needed.Approval.Title, name)
		require.NotErrorAs(t, asks(tool, 100), &needed, name)
	}
	raw := toolset.Raw("pay", "", json.RawMessage(`{"type":"object"}`), func(context.Context, *runContext, json.RawMessage) (toolset.Result, error) {
		return toolset.Result{}, nil
	}, toolset.Approve(func(_ context.Context, _ *runContext, args json.RawMessage) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: string(args)}, nil
	}))
	require.ErrorContains(t, asks(raw, 7), `approval required: {"to":"Bob","amount":7}`)
}

func TestPointerArgumentsArePassedAsIs(t *testing.T) {
	var seen []any
	tool := toolset.Func("pay", "", func(_ context.Context, _ *runContext, in *transfer) (string, error) {
		seen = append(seen, in)
		return in.To, nil
	}, toolset.Approve(func(_ context.Context, _ *runContext, in *transfer) (*toolset.Approval, error) {
		seen = append(seen, in)
		return nil, nil
	}), toolset.Check(func(_ context.Context, _ *runContext, in *transfer) error {
		seen = append(seen, in)
		return nil
	}))
	require.NoError(t, tool.Err())
	res, err := toolsettest.Call(t.Context(), toolset.Of(tool), nil, "pay", `{"to":"Bob","amount":1}`)
	require.NoError(t, err)
	require.Equal(t, "Bob", res.Text)
	require.Len(t, seen, 3)
	for _, in := range seen {
		require.Same(t, seen[0], in)
	}
	decoded, err := tool.Decode([]byte(`{"to":"Bob","amount":1}`))
	require.NoError(t, err)
	require.IsType(t, new(transfer), decoded, "and not a pointer to a pointer")
}

func TestApproveAndCheckReportWrongTypes(t *testing.T) {
	tool := toolset.Func("pay", "", pays, toolset.Approve(func(context.Context, *toolset.RunContext[int], string) (*toolset.Approval, error) { return nil, nil }),
		toolset.Check(func(context.Context, *runContext, *transfer) error { return nil }))
	err := tool.Err()
	require.ErrorContains(t, err, `tool "pay": Approve: the function takes *toolset.RunContext[int] and string, the tool has *toolset.RunContext[`)
	require.ErrorContains(t, err, `tool "pay": Check: the function takes`)
	require.ErrorContains(t, err, `and *toolset_test.transfer, the tool has`)
	_, err = agent.New(agent.Config[deps, string]{Toolsets: []toolset.Toolset[deps]{toolset.Of(tool)}})
	require.ErrorContains(t, err, "Approve: the function takes")

	var none func(context.Context, *runContext, transfer) (*toolset.Approval, error)
	require.ErrorContains(t, toolset.Func("pay", "", pays, toolset.Approve(none)).Err(), "Approve: the function is nil")
	_, err = toolset.Defaults(toolset.Of(toolset.Func("pay", "", pays)), toolset.Approve(expensive)).Open(t.Context(), nil)
	require.ErrorContains(t, err, "apply to a single tool")
}

// checked is a tool whose check returns an error for what the dependencies do not allow.
func checked(ran *int, opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func("pay", "", func(ctx context.Context, run *runContext, in transfer) (string, error) {
		*ran++
		return pays(ctx, run, in)
	}, append(opts, toolset.Check(func(ctx context.Context, run *runContext, in transfer) error {
		switch in.To {
		case "nobody":
			return toolset.Retry("attempt %d of %s: nobody has no account", run.Call.Attempt, run.Deps.Name)
		case "closed":
			return toolset.Failed("the account is closed")
		case "mallory":
			return toolset.Denied("mallory gets nothing")
		case "boom":
			return errors.New("boom")
		}
		return ctx.Err()
	}))...)
}

func pay(id, to string) model.Part {
	return model.ToolCall(id, "pay", fmt.Sprintf(`{"to":%q,"amount":500}`, to))
}

func TestCheckReportsInvalidArguments(t *testing.T) {
	ran, asked := 0, 0
	asker := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		return toolset.Allow(), nil
	}}
	script := []modeltest.Step{modeltest.Say(pay("1", "nobody"), pay("2", "closed"), pay("3", "mallory"), pay("4", "bob")), modeltest.Say(pay("5", "nobody")), modeltest.SayText("ok")}
	for _, set := range []toolset.Toolset[deps]{
		toolset.Of(checked(&ran, toolset.Approve(expensive), toolset.Retries(2))),
		toolset.Renamed(toolset.Renamed(toolset.Of(checked(&ran, toolset.Approve(expensive), toolset.Retries(2))), map[string]string{"pay": "x"}), map[string]string{"x": "pay"}),
		toolset.Adapt(toolset.Of(checked(&ran, toolset.Approve(expensive), toolset.Retries(2))), func(d deps) deps { return d }),
	} {
		ran, asked = 0, 0
		a, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(script...), Toolsets: []toolset.Toolset[deps]{set}, Asker: asker})
		require.NoError(t, err)
		var j journal.Memory
		opts := []agent.RunOption{agent.WithJournal(&j), agent.WithRunID("r")}
		res, err := a.Run(t.Context(), deps{Name: "Ada"}, "go", opts...)
		require.NoError(t, err)
		var got []string
		for _, p := range append(res.Messages[2].Parts, res.Messages[4].Parts...) {
			got = append(got, fmt.Sprintf("%s %s %s", p.Kind, p.Outcome, p.Text))
		}
		require.Equal(t, []string{"retry  attempt 0 of Ada: nobody has no account", "tool_return failed the account is closed", "tool_return denied mallory gets nothing",
			"tool_return  paid 500 to bob", "retry  attempt 1 of Ada: nobody has no account"}, got)
		require.Equal(t, []int{1, 1}, []int{ran, asked}, "no approval is requested for invalid calls")
		again, err := a.Run(t.Context(), deps{Name: "Eve"}, "go", opts...)
		require.NoError(t, err)
		require.Equal(t, res.Messages, again.Messages, "a replay does not repeat checks")
		require.Equal(t, []int{1, 1}, []int{ran, asked})
	}
}

func TestFailedCheckEndsTheRun(t *testing.T) {
	ran := 0
	a, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(modeltest.Say(pay("1", "bob"), pay("2", "boom"))), Toolsets: []toolset.Toolset[deps]{toolset.Of(checked(&ran))}})
	require.NoError(t, err)
	_, err = a.Run(t.Context(), deps{}, "go")
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.ErrorContains(t, err, "boom")
	require.Equal(t, "2", failed.CallID)
	require.Zero(t, ran)
}

func TestCheckCoversArgumentsOfAPerson(t *testing.T) {
	ran := 0
	var invalid []string
	asker := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		if invalid = append(invalid, r.Invalid); len(invalid) == 1 {
			return toolset.AllowWith(json.RawMessage(`{"to":"nobody","amount":1}`)), nil
		}
		return toolset.AllowWith(json.RawMessage(`{"to":"eve","amount":1}`)), nil
	}}
	a, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(modeltest.Say(pay("1", "bob")), modeltest.SayText("ok")), Asker: asker,
		Toolsets: []toolset.Toolset[deps]{toolset.Of(checked(&ran, toolset.Approve(expensive)))}})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), deps{Name: "Ada"}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{"", "attempt 0 of Ada: nobody has no account"}, invalid)
	require.Contains(t, res.Messages[2].Parts[0].Text, "paid 1 to eve")
}

// A payment above a limit needs approval, and its account must exist.
func ExampleApprove() {
	type Payment struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	pay := toolset.Plain[struct{}]("pay", "Pay somebody.", func(_ context.Context, p Payment) (string, error) {
		return fmt.Sprintf("paid %d to %s", p.Amount, p.To), nil
	},
		toolset.Check(func(_ context.Context, _ *toolset.RunContext[struct{}], p Payment) error {
			if p.To != "Bob" {
				return toolset.Retry("there is no account of %s", p.To)
			}
			return nil
		}),
		toolset.Approve(func(_ context.Context, _ *toolset.RunContext[struct{}], p Payment) (*toolset.Approval, error) {
			if p.Amount <= 100 {
				return nil, nil
			}
			return &toolset.Approval{Title: fmt.Sprintf("Pay %d to %s", p.Amount, p.To), Scope: p.To}, nil
		}))
	for _, args := range []string{`{"to":"Eve","amount":5}`, `{"to":"Bob","amount":5}`, `{"to":"Bob","amount":500}`} {
		res, err := toolsettest.Call(context.Background(), toolset.Of(pay), nil, "pay", args)
		fmt.Println(res.Text, err)
	}
	// Output:
	//  retry: there is no account of Eve
	// paid 5 to Bob <nil>
	//  approval required:
}

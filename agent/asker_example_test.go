// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type payment struct {
	To string `json:"to"`
}

// paying is an agent that pays two people, each payment with approval.
func paying() *agent.Agent[struct{}, string] {
	pay := toolset.Plain[struct{}]("pay", "Pay somebody.", func(_ context.Context, p payment) (string, error) { return "paid " + p.To, nil },
		toolset.Approve(func(_ context.Context, _ *toolset.RunContext[struct{}], p payment) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Pay " + p.To, Scope: p.To}, nil
		}))
	return agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "pay", `{"to":"Bob"}`), model.ToolCall("2", "pay", `{"to":"Eve"}`)),
			modeltest.SayText("Done."),
		),
		Tools: []*toolset.Tool[struct{}]{pay},
	}))
}

func ExampleWithAsker() {
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		fmt.Println(r.Approval.Title + "?")
		if r.Approval.Scope == "Eve" {
			return toolset.Deny("Eve has been paid already."), nil
		}
		return toolset.Allow(), nil
	}}
	res, err := paying().Run(context.Background(), struct{}{}, "Pay them.", agent.WithAsker(person))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range res.Messages[2].Parts {
		fmt.Println(p.Text)
	}
	// Output:
	// Pay Bob?
	// Pay Eve?
	// paid Bob
	// Eve has been paid already.
}

// Without an asker the run ends. Its messages are all that has to be stored.
func ExamplePendingCalls() {
	a := paying()
	_, err := a.Run(context.Background(), struct{}{}, "Pay them.")
	var stopped *agent.RunError
	if !errors.As(err, &stopped) {
		fmt.Println(err)
		return
	}
	results := agent.DeferredResults{Decisions: map[string]toolset.Decision{}}
	for _, c := range agent.PendingCalls(stopped.Messages) {
		fmt.Println(c.Approval.Title)
		results.Decisions[c.ID] = toolset.Allow()
	}
	res, err := a.Run(context.Background(), struct{}{}, "", agent.WithHistory(stopped.Messages), agent.WithResults(results))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output)
	// Output:
	// Pay Bob
	// Pay Eve
	// Done.
}

// A tool that runs an agent by hand makes it a part of its own run.
func ExampleWithin() {
	inner := paying()
	delegate := toolset.Func("delegate", "Have somebody else pay.", func(ctx context.Context, run *toolset.RunContext[struct{}], _ struct{}) (string, error) {
		res, err := inner.Run(ctx, run.Deps, "Pay them.", agent.Within(run))
		if err != nil {
			return "", err
		}
		return res.Output, nil
	})
	outer := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("a", "delegate", `{}`)), modeltest.SayText("All paid.")),
		Tools: []*toolset.Tool[struct{}]{delegate},
	}))
	res, err := outer.Run(context.Background(), struct{}{}, "Pay them.", agent.WithAsker(toolset.AskerFuncs{
		OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			fmt.Println(r.Path, r.Approval.Title)
			return toolset.Allow(), nil
		},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output, res.Usage.Requests, "requests")
	// Output:
	// [a 1] Pay Bob
	// [a 2] Pay Eve
	// All paid. 4 requests
}

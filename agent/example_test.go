// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func ExampleNew() {
	type Query struct {
		City string `json:"city" jsonschema:"description=City to look up" validate:"required"`
	}
	type Forecast struct {
		City string  `json:"city"`
		High float64 `json:"high" validate:"gte=-90,lte=60"`
	}
	type Deps struct{ Highs map[string]float64 }

	forecast := toolset.Func("forecast", "Forecast for a city.",
		func(_ context.Context, run *toolset.RunContext[Deps], q Query) (Forecast, error) {
			high, ok := run.Deps.Highs[q.City]
			if !ok {
				return Forecast{}, toolset.Retry("no forecast for %q", q.City)
			}
			return Forecast{q.City, high}, nil
		})
	a, err := agent.New(agent.Config[Deps, Forecast]{
		Model: modeltest.Script( // a real program has a real model here
			modeltest.Say(model.ToolCall("1", "forecast", `{"city":"Oslo"}`)),
			modeltest.Say(model.ToolCall("2", "final_result", `{"city":"Oslo","high":-3.5}`)),
		),
		Instructions: "Answer with a forecast.",
		Toolsets:     []toolset.Toolset[Deps]{toolset.Of(forecast)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), Deps{Highs: map[string]float64{"Oslo": -3.5}}, "Oslo tomorrow?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.1f°, %d requests\n", res.Output.City, res.Output.High, res.Usage.Requests)
	// Output: Oslo: -3.5°, 2 requests
}

func ExampleAgent_Stream() {
	a, err := agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("Hello from the agent"))})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := a.Stream(context.Background(), struct{}{}, "Greet me.")
	for event := range s.Events() {
		if event.Kind == agent.EventPartDelta {
			fmt.Printf("%q ", event.Text)
		}
	}
	res, err := s.Result()
	fmt.Println(res.Output == "Hello from the agent", err)
	// Output: "Hello " "from " "the " "agent" true <nil>
}

// A conversation goes on from the messages of the run before, here by way of JSON, as a program would store them.
func ExampleWithHistory() {
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			return model.Response(model.Text(fmt.Sprintf("I know %d messages", len(req.Messages)))), nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, err := a.Run(context.Background(), struct{}{}, "Hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := json.Marshal(first.Messages)
	if err != nil {
		fmt.Println(err)
		return
	}
	var history []*model.Message
	if err := json.Unmarshal(stored, &history); err != nil {
		fmt.Println(err)
		return
	}
	second, err := a.Run(context.Background(), struct{}{}, "And now?", agent.WithHistory(history))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(second.Output)
	// Output: I know 3 messages
}

// A failed run keeps what it had: its messages can be passed to the next run.
func ExampleRunError() {
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "ping", `{}`)),
			modeltest.Fail(errors.New("connection lost")),
			modeltest.SayText("pong it was"),
		),
		Toolsets: []toolset.Toolset[struct{}]{toolset.Of(
			toolset.Plain[struct{}]("ping", "Ping.", func(context.Context, struct{}) (string, error) { return "pong", nil }),
		)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = a.Run(context.Background(), struct{}{}, "Ping it.")
	var failed *agent.RunError
	if !errors.As(err, &failed) {
		fmt.Println("no run error:", err)
		return
	}
	fmt.Println(failed)
	res, err := a.Run(context.Background(), struct{}{}, "", agent.WithHistory(failed.Messages))
	fmt.Println(res.Output, err)
	// Output:
	// agent: model: connection lost
	// pong it was <nil>
}

// An agent that is a tool of another one: what it uses counts on the meter of the outer run.
func ExampleAsTool() {
	type Office struct{ Library []string }
	librarian, err := agent.New(agent.Config[[]string, string]{
		Name:  "librarian",
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "titles", `{}`)), modeltest.SayText("We have Emma.")),
		Toolsets: []toolset.Toolset[[]string]{toolset.Of(toolset.Func("titles", "Lists the books.",
			func(_ context.Context, run *toolset.RunContext[[]string], _ struct{}) ([]string, error) {
				return run.Deps, nil
			}))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	clerk, err := agent.New(agent.Config[Office, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "ask_librarian", `{"prompt":"Is there something by Jane Austen?"}`)),
			modeltest.SayText("Yes: Emma."),
		),
		Toolsets: []toolset.Toolset[Office]{toolset.Of(
			agent.AsTool("ask_librarian", "Ask the librarian.", librarian, func(o Office) []string { return o.Library }),
		)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := clerk.Stream(context.Background(), Office{Library: []string{"Emma", "Ulysses"}}, "Anything by Austen?")
	for event := range s.Events() {
		if inner, ok := event.Value.(agent.Nested); ok && inner.Event.Kind == agent.EventToolResult {
			fmt.Println(inner.Agent, "saw", inner.Event.Result.Text)
		}
	}
	res, err := s.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output, res.Usage.Requests, "requests")
	// Output:
	// librarian saw ["Emma","Ulysses"]
	// Yes: Emma. 4 requests
}

// A front desk that answers itself or hands over to an expert, whose answer is the run's.
func ExampleHandOver() {
	expert, err := agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("Turn it off and on again."))})
	if err != nil {
		fmt.Println(err)
		return
	}
	desk, err := agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "to_expert", `{"prompt":"The printer does not print."}`))),
		Alternatives: []agent.Alternative[struct{}, string]{
			agent.Text(func(_ context.Context, _ *toolset.RunContext[struct{}], text string) (string, error) {
				return text, nil
			}),
			agent.HandOver("to_expert", "Hand over to the expert.", expert, func(struct{}) struct{} { return struct{}{} }),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := desk.Run(context.Background(), struct{}{}, "My printer does not print.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output, res.Usage.Requests, "requests")
	// Output: Turn it off and on again. 2 requests
}

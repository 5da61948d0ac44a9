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

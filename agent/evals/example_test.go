// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func Example() {
	simple := func(_ context.Context, req *model.Request) (*model.Message, error) {
		if strings.Contains(req.Messages[0].Parts[0].Text, "love") {
			return model.Response(model.Text("good")), nil
		}
		return model.Response(model.Text("bad")), nil
	}
	critic := agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Func(simple)}))
	dataset := evals.Dataset[string, string]{
		Cases: []evals.Case[string, string]{
			{Name: "praise", Input: "I love it.", Expected: "good"},
			{Name: "irony", Input: "I just love to wait.", Expected: "bad"},
		},
		Evaluators: []evals.Evaluator{evals.Equal()},
	}
	report, err := evals.Run(context.Background(), dataset, evals.Agent(critic, nil), evals.Options{})
	if err != nil {
		panic(err)
	}
	for _, c := range report.Cases {
		fmt.Println(c.Name, c.Trials[0].Passed())
	}
	// Output:
	// praise true
	// irony false
}

func ExampleNew() {
	short := evals.New("short", func(_ context.Context, t *evals.Trial[string, string]) (evals.Score, error) {
		words := len(strings.Fields(t.Output))
		return evals.Pass(words <= 3).Because("%d words, %d requests", words, t.Usage.Requests), nil
	})
	chatty := agent.Must(agent.New(agent.Config[any, string]{
		Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("What a nice question you ask!")), nil
		}),
	}))
	dataset := evals.Dataset[string, string]{
		Cases:      []evals.Case[string, string]{{Input: "Hello"}},
		Evaluators: []evals.Evaluator{short},
	}
	report, _ := evals.Run(context.Background(), dataset, evals.Agent(chatty, nil), evals.Options{})
	s := report.Cases[0].Trials[0].Scores[0]
	fmt.Println(s.Name, s.Passed(), s.Reason)
	// Output: short false 6 words, 1 requests
}

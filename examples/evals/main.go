// SPDX-License-Identifier: Apache-2.0

// Command evals scores an agent on a dataset, and fails if it is not good enough. Without -model
// the answers are scripted, one of them wrong. The test runs the same dataset as subtests.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/toolset"
)

// Mood is the mood of a text.
type Mood struct {
	Mood string `json:"mood" validate:"oneof=good bad neutral"`
}

var judge = agent.Must(agent.New(agent.Config[any, Mood]{
	Model: modeltest.Func(simple), Instructions: "Tell the mood of a text.",
}))

var moods = evals.Dataset[string, Mood]{
	Name: "moods",
	Cases: []evals.Case[string, Mood]{
		{Name: "praise", Input: "I love it.", Expected: Mood{"good"}},
		{Name: "defect", Input: "It broke on the first day.", Expected: Mood{"bad"}},
		{Name: "colour", Input: "It is blue.", Expected: Mood{"neutral"}},
		{Name: "irony", Input: "Well, thank you very much for nothing.", Expected: Mood{"bad"}},
	},
	Evaluators: []evals.Evaluator{evals.Equal()},
}

// simple finds words.
func simple(_ context.Context, req *model.Request) (*model.Message, error) {
	text, mood := req.Messages[0].Parts[0].Text, "neutral"
	switch {
	case strings.Contains(text, "love"), strings.Contains(text, "thank"):
		mood = "good"
	case strings.Contains(text, "broke"):
		mood = "bad"
	}
	return model.Response(model.ToolCall("1", "final_result", `{"mood":"`+mood+`"}`)), nil
}

var name = flag.String("model", "", "provider:name of a model")

func main() {
	flag.Parse()
	ctx := context.Background()
	var options []agent.RunOption
	if *name != "" {
		m, err := model.Open(ctx, *name)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, agent.WithModel(m))
	}
	report, err := evals.Run(ctx, moods, evals.Agent(judge, nil, options...),
		evals.Options{Limits: toolset.Limits{Requests: 20}})
	if err != nil {
		log.Fatal(err)
	}
	if err := report.Write(os.Stdout, evals.Text); err != nil {
		log.Fatal(err)
	}
	code, reasons := evals.Gate{Least: map[string]float64{"equal": 0.7}}.Check(report)
	for _, reason := range reasons {
		fmt.Println(reason)
	}
	if code != evals.ExitGood {
		os.Exit(code)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Command evals scores an agent on a list of cases, several at a time, and fails if it is not good enough. Without -model the
// answers are scripted, one of them wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/toolset"
)

// Mood is the mood of a text.
type Mood struct {
	Mood string `json:"mood" validate:"oneof=good bad neutral"`
}

var judge = agent.Must(agent.New(agent.Config[any, Mood]{Instructions: "Tell the mood of a text."}))

var cases = []struct{ Text, Want string }{
	{"I love it.", "good"},
	{"It broke on the first day.", "bad"},
	{"It is blue.", "neutral"},
	{"Well, thank you very much for nothing.", "bad"},
}

// evaluate returns the failures, in the order of the cases. All runs count on the meter.
func evaluate(ctx context.Context, m model.Model, meter *toolset.Meter) []string {
	failures := make([]string, len(cases))
	var wg sync.WaitGroup
	for i, c := range cases {
		wg.Go(func() {
			res, err := judge.Run(ctx, nil, c.Text, agent.WithModel(m), agent.WithMeter(meter))
			switch {
			case err != nil:
				failures[i] = fmt.Sprintf("%q: %v\n", c.Text, err)
			case res.Output.Mood != c.Want:
				failures[i] = fmt.Sprintf("%q: %s, want %s\n", c.Text, res.Output.Mood, c.Want)
			}
		})
	}
	wg.Wait()
	return failures
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
	ctx, m := context.Background(), modeltest.Func(simple)
	if *name != "" {
		var err error
		if m, err = model.Open(ctx, *name); err != nil {
			log.Fatal(err)
		}
	}
	meter, right := toolset.NewMeter(toolset.Limits{Requests: 20}), len(cases)
	for _, failure := range evaluate(ctx, m, meter) {
		if failure != "" {
			right--
		}
		fmt.Print(failure)
	}
	fmt.Printf("%d of %d, with %d requests\n", right, len(cases), meter.Usage().Requests)
	if right < 3 {
		log.Fatal("not good enough")
	}
}

// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	_ "github.com/ponte-go/ponte/app/evals"
)

// The program checks a report: half of the cases have to be good.
func Example() {
	ctx := context.Background()
	says := modeltest.Script(modeltest.SayText("on Monday"), modeltest.SayText("on Tuesday"))
	desk := agent.Must(agent.New(agent.Config[any, string]{Model: says}))
	report, err := evals.Run(ctx, evals.Dataset[string, string]{
		Name: "orders", Evaluators: []evals.Evaluator{evals.Equal()},
		Cases: []evals.Case[string, string]{
			{Name: "17", Input: "Where is order 17?", Expected: "on Monday"},
			{Name: "18", Input: "Where is order 18?", Expected: "on Monday"},
		},
	}, evals.Agent(desk, nil), evals.Options{Concurrency: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "report.json")
	if err := report.Save(file); err != nil {
		fmt.Println(err)
		return
	}
	code := app.Run(ctx, app.Config[any, string]{
		Name: "desk", Agent: desk, Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{Args: []string{"eval", "check", "-least", "equal=0.5", file}, Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output: exit code 0
}

// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A run is cut off after it has charged a customer, here by an error, as well by kill -9. The same call takes it up: the
// first response and the charge are there, and only what is missing is asked for.
func Example() {
	type none struct{}
	charge := toolset.Func("charge", "Charge the customer.", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		fmt.Println("charging with the key", run.IdempotencyKey())
		return "charged", nil
	})
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	process := func(steps ...modeltest.Step) {
		runs, err := journal.NewDir(dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		a, err := agent.New(agent.Config[none, string]{
			Model:    modeltest.Script(steps...), // a real program has a real model here
			Toolsets: []toolset.Toolset[none]{toolset.Of(charge)},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := a.Run(context.Background(), none{}, "Settle the bill.", agent.WithJournal(runs), agent.WithRunID("bill-17"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Output)
	}
	process(modeltest.Say(model.ToolCall("c1", "charge", `{}`)), modeltest.Fail(errors.New("connection lost")))
	process(modeltest.SayText("The bill is settled."))
	process() // the run has ended: this is its result
	// Output:
	// charging with the key bill-17/1/c1
	// agent: model: connection lost
	// The bill is settled.
	// The bill is settled.
}

// Runs that were going on when the process was killed are found after a restart.
func ExampleDir_Runs() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	runs, err := journal.NewDir(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(modeltest.SayText("one"), modeltest.Fail(errors.New("connection lost")), modeltest.SayText("two")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	work := func(job string) {
		res, err := a.Run(context.Background(), struct{}{}, "Do "+job+".", agent.WithJournal(runs), agent.WithRunID(job))
		if err != nil {
			fmt.Println(job, err)
			return
		}
		fmt.Println(job, res.Output)
		if err := runs.Remove(job); err != nil { // the result has been stored
			fmt.Println(err)
		}
	}
	work("job-1")
	work("job-2")

	left, err := runs.Runs() // after a restart
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range left {
		work(job)
	}
	// Output:
	// job-1 one
	// job-2 agent: model: connection lost
	// job-2 two
}

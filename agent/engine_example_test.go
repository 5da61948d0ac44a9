// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A worker executes the tasks of a run. The engine takes them to it as JSON, as it would to another process.
func ExampleWithEngine() {
	ctx := context.Background()
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: modeltest.Script(modeltest.SayText("Hello."))}))
	worker := agent.NewWorker(a, deps{})
	defer worker.Close(ctx)
	res, err := a.Run(ctx, deps{}, "Say hello.", agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		return enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			done, err := engine.Execute(ctx, worker, task, report)
			fmt.Println(len(task) > 0, string(done[:7]))
			return done, err
		}), nil
	}))
	fmt.Println(res.Output, err)
	// Output:
	// true {"v":1,
	// true {"v":1,
	// true {"v":1,
	// Hello. <nil>
}

// SPDX-License-Identifier: Apache-2.0

package dbosengine

import (
	"context"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
)

// Run runs an agent in a workflow. It is [agent.Agent.Run] with an engine, so the options and
// errors are the same; [agent.WithEngine] and [agent.WithJournal] among the options are
// overridden. The workflow must make the same calls of Run each time it is executed. It may be
// called on the goroutine of the workflow only, and blocks until the run has ended or ctx has.
//
// Hooks around the run and history processors are called again when the workflow is.
func Run[D, O any](
	ctx dbos.Context, a *agent.Agent[D, O], deps D, prompt string, opts ...agent.RunOption,
) (*agent.Result[O], error) {
	all := append(append([]agent.RunOption{}, opts...), Engine(ctx))
	return a.Run(engine.WithPart(ctx, engine.LoopOnly), deps, prompt, all...)
}

// Engine returns the option that [Run] adds. It is for runs that are started in another way,
// such as [agent.Agent.Stream], on the goroutine of the workflow. Their context should be
// marked with [engine.WithPart] as [engine.LoopOnly].
func Engine(ctx dbos.Context) agent.RunOption {
	return agent.WithEngine(func(_ context.Context, w engine.Worker) (engine.Engine, error) {
		return newEngine(ctx, w), nil
	})
}

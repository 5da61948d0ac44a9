// SPDX-License-Identifier: Apache-2.0

// Package temporalengine runs agents as workflows of Temporal. A run survives the end of any process: another worker goes on with it, and a
// step or a tool call that has been recorded is not executed again.
//
// The program of a worker registers an agent:
//
//	c, err := client.Dial(client.Options{DataConverter: temporalengine.Converter(blobs)})
//	w := worker.New(c, "agents", worker.Options{})
//	err = temporalengine.Register(w, temporalengine.Config[Deps, Report]{Name: "reporter", Agent: a, Blobs: blobs, Deps: newDeps})
//	err = w.Run(worker.InterruptCh())
//
// Another program starts runs and waits for their outputs:
//
//	runs := temporalengine.NewClient[Report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: "agents"})
//	run, err := runs.Start(ctx, temporalengine.Input{ID: "report-17", Prompt: "Write the report."})
//	res, err := run.Result(ctx)
//
// It is a module of its own, so that other programs do not have Temporal's SDK among their requirements.
//
// # What is executed where
//
// The loop of the run is the workflow. Each step is one activity, which prepares the request, asks the model and checks the arguments of the calls.
// Each tool call is another one; [Config].Tool can make it a local activity, which is faster, and may be executed again when the worker ends.
// Dependencies are made on the worker, by a function of the run's input. They are never stored.
//
// # Long runs
//
// The history of a workflow is limited to 51,200 events and 50 MiB. Long before that, the workflow is continued as a new one with the same id: between two
// steps, or while the run waits. Clients notice nothing.
//
// # Payloads
//
// An event of a workflow holds 2 MiB at most. So activities get the history as a reference, and everything that has more
// than 64 KiB is kept in [Blobs] and travels as its hash: see [Converter]. All programs need the same blobs and the same converter.
//
// # People
//
// If calls need an approval or a result from elsewhere, the run waits for as long as it takes. [Run.State] says what for, [Run.Answer] answers. Nothing
// of a waiting run is held in a worker that cannot be evicted.
//
// # Agents inside
//
// A call of an agent ([agent.AsTool]) is executed within its activity, or by a workflow of its own: see [Activity].Child. Limits and usage, approvals,
// cancellation and failures are the same for both.
//
// # Errors and retries
//
// What goes wrong in a model or a tool is the agent's business: the loop retries as the agent says, and an error that ends the run ends the
// workflow. Temporal retries an activity only if its worker was lost or it took too long, so retries do not multiply. A tool whose worker was lost
// may have had effects: toolset.RunContext.IdempotencyKey is the same for both attempts.
package temporalengine

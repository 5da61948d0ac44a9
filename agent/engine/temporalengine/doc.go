// SPDX-License-Identifier: Apache-2.0

// Package temporalengine runs agents as workflows of Temporal. A run survives the end of any
// process: another worker resumes it, and does not execute recorded steps and tool calls again.
//
// A worker registers an agent:
//
//	c, err := client.Dial(client.Options{DataConverter: temporalengine.Converter(blobs)})
//	w := worker.New(c, "agents", worker.Options{})
//	closeRuns, err := temporalengine.Register(w, temporalengine.Config[Deps, Report]{Name: "reporter", Agent: a, Blobs: blobs, Deps: newDeps})
//	defer closeRuns()
//	err = w.Run(worker.InterruptCh())
//
// A client, in another program, starts runs and waits for their outputs:
//
//	runs, err := temporalengine.NewClient[Report](c, temporalengine.ClientOptions{Name: "reporter", TaskQueue: "agents"})
//	run, err := runs.Start(ctx, temporalengine.Input{ID: "report-17", Prompt: "Write the report."})
//	res, err := run.Result(ctx)
//
// The package is a separate module, so other programs do not depend on Temporal's SDK. Tests need
// no server: they register the agent with Temporal's test environment, as in the example.
//
// # Where things run
//
// The loop of the run is the workflow. Each step is one activity, which prepares the request, asks
// the model and checks the arguments of the calls. Each tool call is another one. [Config].Tool can
// make it a local activity, which is faster but may be executed again if the worker ends.
// Dependencies are made on the worker, by a function of the run's input. They are never stored.
//
// # Long runs
//
// Temporal limits the history of a workflow to 51,200 events and 50 MiB. Long before that, the
// workflow is continued as a new one with the same id, between two steps or while the run waits.
// Clients notice nothing.
//
// # Payloads
//
// An event of a workflow holds at most 2 MiB. Activities therefore get the history as a reference,
// and everything larger than 64 KiB is kept in [Blobs] and sent as its hash: see [Converter]. All
// workers and clients need the same blobs and the same converter.
//
// # People
//
// If calls need an approval or a result from elsewhere, the run waits for as long as it takes.
// [Run.State] lists these calls, and [Run.Answer] answers them. A worker can evict a waiting run
// from its memory.
//
// A tool that asks in the middle of its call (toolset.RunContext.Ask) waits for [Run.Reply], unless
// an asker of the agent or of [Config].Options answers. Its activity waits with it, for
// [Activity].Timeout at most. Then Temporal repeats the call, which comes back to the same
// question.
//
// # Agents inside
//
// An agent that is a tool ([agent.AsTool]) runs within the activity of the call, or as a separate
// workflow: see [Activity].Child. Limits, usage, approvals, cancellation and failures are the same
// for both.
//
// # Errors and retries
//
// The agent handles the errors of models and tools: the loop retries as the agent is configured,
// and an error that ends the run ends the workflow. Temporal retries an activity only if its worker
// was lost or it took too long, so retries do not multiply. A tool whose worker was lost may have
// had effects. toolset.RunContext.IdempotencyKey is the same for both attempts.
package temporalengine

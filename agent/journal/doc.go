// SPDX-License-Identifier: Apache-2.0

// Package journal records what the steps of a run came to. A run that was cut off, even by kill -9,
// is resumed by another process: completed model requests and tool calls are not made again, and
// the resulting history is the one that the first process would have produced.
//
//	runs, err := journal.NewDir("/var/lib/app/runs")
//	res, err := a.Run(ctx, deps, prompt, agent.WithJournal(runs), agent.WithRunID("job-17"))
//
// The same call starts the run, resumes it where it was cut off, and returns the result of a run
// that has ended. What a run is started with must be the same each time: the agent's name, the
// conversation's id, the prompt, the history, the results. If it is not, the run fails with
// [ErrMismatch] before it has done anything. Everything else may change from process to process:
// the model, the limits, a tool's description. If the agent has changed so much that it would take
// another way, because a tool is gone for example, the run fails with [ErrDiverged]. A run that
// gets an inbox only when it is resumed reads it from there on. If the run had ended, messages in
// the inbox continue it.
//
// After a restart [Dir.Runs] lists the runs that have records. A program that removes a run with
// [Dir.Remove] once it has stored the result finds exactly the runs to resume.
//
// # What is recorded
//
// Each response of the model, each return of a tool with all that belongs to it, each decision of
// an approver, each message that came in through the inbox, each valid output, each history that
// was processed, and the instructions whenever they change. A record holds the result alone and
// never the request, so a journal grows with the new messages of its run, as the history does.
// Journals hold what users and tools said; a [Dir] is readable by its owner only.
//
// A result counts once [Log.Append] has returned. What was done but not yet recorded when the
// process died is done again. A tool whose effects must not happen twice passes
// toolset.RunContext.IdempotencyKey to the system that it acts on. The key is the same when the
// call is made again.
//
// Errors that end a run are not results. If a provider was down, a tool broke or the context ended,
// running it again tries that step again. What a tool returns after its context has ended is not a
// result either, unless it is a success.
//
// # What happens again
//
// Toolsets are opened and asked for their tools, and instructions are made, for recorded steps too;
// there the recorded instructions count. Hooks around the run are called. Hooks around requests and
// tool calls are called only for those that are made. Events of recorded steps are emitted as if
// the model had not streamed, each part in one piece, without the events that tools emit.
//
// An output is recorded as JSON. One that JSON does not give back as it was (unexported fields, an
// interface that is not one of the types of the agent's alternatives) is made again from what the
// model said: output functions and validators run again.
//
// # Concurrency
//
// A journal is safe for concurrent use and serves many runs. One run belongs to one process at a
// time: opening it while it is open fails with [ErrInUse]. The calls of a step that run in parallel
// are recorded as they complete, in any order.
package journal

// Package journal keeps what the steps of a run came to, so that a run that was cut off, even by kill -9, is taken up by
// another process: no completed model request and no completed tool call is made again, and the history that comes out is
// the one that would have come out.
//
//	runs, err := journal.NewDir("/var/lib/app/runs")
//	res, err := a.Run(ctx, deps, prompt, agent.WithJournal(runs), agent.WithRunID("job-17"))
//
// The same call starts the run, takes it up where it was cut off, and gives the result of a run that has ended. What a
// run is started with must be the same each time: the agent's name, the prompt, the history, the results. If it is not,
// the run fails with [ErrMismatch] before it has done anything. Everything else may change from process to process: the
// model, the limits, a tool's description. If the agent has changed so much that it would have taken another way, a tool
// being gone for example, the run fails with [ErrDiverged]. A run that is given an inbox only when it is taken up reads it
// from there on; if it had ended, what is in the inbox has it go on.
//
// After a restart [Dir.Runs] lists the runs that there are. A program that removes a run with [Dir.Remove] once it has
// stored the result will find those that are to be taken up.
//
// # What is recorded
//
// Each response of the model, each return of a tool with all that belongs to it, each decision of an approver, each
// message that came in through the inbox, each valid output, each history that was processed, and the instructions
// whenever they change. A record holds the result alone and never the request, so a journal grows with the new messages
// of its run, as the history does. Journals hold what users and tools said; a [Dir] is readable by its owner only.
//
// A result counts from the moment at which [Log.Append] has returned. What had been done but not yet recorded when the
// process died is done again: at least once, for this one window. A tool whose effects must not happen twice passes
// toolset.RunContext.IdempotencyKey on to whoever it acts on; the key is the same when the call is made again.
//
// Errors that end a run are not results. A run that failed because a provider was down, a tool broke or its context
// ended can be run again, and tries that step again. What a tool reports when its context has ended is no result
// either, unless it is a success.
//
// # What happens again
//
// Toolsets are opened and asked for their tools, and instructions are made, also for steps that are not repeated; what the
// instructions say there is ignored in favour of what they said. Hooks around the run are called; hooks around requests and
// tool calls are only called for those that are made. Events of recorded steps are emitted as if the model had not
// streamed, each part in one piece, and without the events that tools emit themselves.
//
// An output is recorded as JSON. One that JSON does not give back as it was (unexported fields, an interface that is not
// one of the types of the agent's alternatives) is made again from what the model said: output functions and validators
// run again.
//
// # Concurrency
//
// A journal is safe for concurrent use and serves many runs. One run belongs to one process at a time: opening it while
// it is open fails with [ErrInUse]. The calls of a step that run in parallel are recorded as they complete, in any order.
package journal

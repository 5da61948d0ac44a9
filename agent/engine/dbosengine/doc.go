// SPDX-License-Identifier: Apache-2.0

// Package dbosengine runs agents inside workflows of DBOS, which keeps them in Postgres or
// SQLite and needs no server of its own.
//
//	dbos.RegisterWorkflow(c, func(ctx dbos.Context, topic string) (string, error) {
//		res, err := dbosengine.Run(ctx, writer, Deps{}, "Write about "+topic+".")
//		if err != nil {
//			return "", err
//		}
//		return res.Output, nil
//	})
//
// A workflow may run any number of agents, one after another, and have steps of its own
// between them. Each step of a run and each tool call is a step of the workflow. A process
// that launches DBOS again takes up the workflows of its executor: recorded steps and calls
// are not executed again. A call that was interrupted is, so tools with effects use
// toolset.RunContext.IdempotencyKey.
//
// # What DBOS does and does not
//
// Without its paid service, DBOS does not notice that a process has died: the workflows of an
// executor go on when a process with the same ExecutorID and application version is launched,
// and not before. A run that ends with an error ends the workflow with it, if the workflow
// returns it; DBOS runs it again when it is forked.
//
// dbos.CancelWorkflow takes effect at the next step: calls of tools that are being executed end
// first. Cancelling the context of the workflow interrupts them. Either way, a workflow that is
// resumed goes on where it was.
//
// A step that fails or is interrupted has no result on record, and is executed again. Its usage is
// in a stream of the workflow, and counts when the workflow is executed again.
//
// Everything that a run says is recorded in the database of DBOS, in plain JSON, unless
// dbos.Config.Serializer encrypts it.
package dbosengine

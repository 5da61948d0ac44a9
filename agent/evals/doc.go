// SPDX-License-Identifier: Apache-2.0

// Package evals tells whether a change has made an agent better. It runs a task on the cases of a
// dataset, and scores what the task does.
//
//	dataset := evals.Dataset[string, Mood]{
//		Cases: []evals.Case[string, Mood]{
//			{Name: "praise", Input: "I love it.", Expected: Mood{"good"}},
//			{Name: "defect", Input: "It broke on the first day.", Expected: Mood{"bad"}},
//		},
//		Evaluators: []evals.Evaluator{evals.Equal()},
//	}
//	report, err := evals.Run(ctx, dataset, evals.Agent(judge, nil), evals.Options{})
//
// In tests, evalstest.Test makes a subtest of each case.
//
// # Tasks
//
// A [Task] is any function of an input. The runs of agents inside it are recorded through its
// context, with their messages, tool calls and usage, whatever package they are in. [Agent] makes a
// task of an agent.
//
// # Evaluators
//
// An [Evaluator] gives a trial a [Score]: a yes or no, a number, or a label. It is made of a
// function of one value, the [Trial], which has the case, the output and all that happened. There
// are evaluators for outputs ([Equal], [Subset], [Contains], [Matches], [Schema], [Near],
// [Closeness]), tool calls ([Called], [Trajectory], [NotCalled], [CalledWith]), limits ([Within]),
// and workspaces ([File], [Command]). Models judge with [Judge] and [Prefer].
//
// # Failures
//
// A score is about the agent. A trial in which a provider failed is run again, and if that does not
// help it has no score. A task that returns an error or panics has failed: that counts as a no, or
// as 0, in every metric. An evaluator that fails gives a score of [KindError], which counts
// nowhere.
//
// # Concurrency
//
// Tasks and evaluators are called concurrently. Datasets, reports and evaluators must not be
// changed while they are used.
package evals

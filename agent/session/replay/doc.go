// SPDX-License-Identifier: Apache-2.0

// Package replay makes a test of a stored session. A recording has what the model answered, what
// calls returned and what people decided. An agent that is played on it is real, apart from that:
// its instructions, the tools that it offers, the checks of arguments, policies, limits, the order
// of calls and the output. If it does something else than in the session, the first difference is
// an error.
//
//	r, err := replay.Make(ctx, store, id, replay.Options{})
//	err = r.Save("testdata/refund.json")
//
// A test plays the file, with package replaytest:
//
//	func TestRefund(t *testing.T) {
//		replaytest.Test(t, "testdata/refund.json", support, replay.PlayOptions{})
//	}
//
// [Recording.WriteTest] writes such a test.
//
// # Replayed and real
//
// Each turn is played by itself, on the history that it had in the session. So a turn that differs
// does not change the later ones.
//
//   - The model is replayed. A response is only given to a request that is the session's: the same
//     results, texts and, where they are known, instructions, tools and settings.
//   - Results of tools are replayed, with their failures. [PlayOptions].Real names tools that are
//     called instead, and whose results are compared. Things inside a toolset, such as its own
//     hooks, belongs to the tool. The agent's hooks and policies are real.
//   - Answers to questions about calls are replayed. A question that was not asked before is a
//     difference, and so is one that is missing.
//   - Files are in a workspace in memory, as they were, if they are known: see [Stage.Workspace].
//
// A session keeps the instructions of an agent, and not what its model is told of tools. [Fill]
// adds that, with the agent of the session.
//
// A turn is played while the session tells how it went: up to where it was cancelled, where a
// provider failed, or where another agent took over by a hand-over. Agents inside calls are a part
// of the call, whose result is replayed.
//
// # Secrets
//
// [Make] replaces what looks like a secret, by the rules of gitleaks and some for passwords, and
// secrets that it is given. It leaves out media and signatures of providers. The notes of a
// recording list what was left out. No rule finds all secrets, so look at a file before it is
// published.
package replay

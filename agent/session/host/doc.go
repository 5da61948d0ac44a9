// SPDX-License-Identifier: Apache-2.0

// Package host runs the sessions of an agent. Bridges to editors, browsers and terminals use it:
// they pass prompts and answers to it, and show its updates.
//
//	h, err := host.New(host.Config[Deps, string]{Agent: a, Store: store, Deps: newDeps})
//	s, err := h.Create(ctx, session.New{Dir: "/repo"}, host.Local)
//	outcome, err := s.Prompt(ctx, host.Prompt{Parts: []model.Part{model.User("Fix the test.")}})
//	for u, err := range s.Watch(ctx, "") {
//		show(u.Changes)
//	}
//
// # Sessions
//
// A session is kept in the [session.Store] of the configuration, or in memory. [Host.Open] opens
// a stored session. Several processes can have it open. While one of them runs a turn, it holds
// the session, and the others follow: they show the turn as it proceeds, and pass on answers,
// settings and prompts that wait. What cannot wait fails with an error that wraps
// [session.ErrHeld] and names the holder.
//
// If a turn was interrupted, for example by kill -9, the history has everything up to the last
// recorded step when the session is opened again. Streamed text is shown, open calls have failed,
// and the next prompt works. With [Host.Serve], the turn continues instead.
//
// A session that is not used for [Config].Idle releases its dependencies and its conversation. With
// the next use, dependencies are made again, and the conversation is read from the store.
//
// # Turns
//
// A turn is one run of the agent. A session has one turn at a time. [Config].Busy is the policy for
// a prompt that arrives meanwhile. A turn ends with its context, or by [Session.Cancel]. The
// history keeps what a turn did, however it ended, unless the provider refused it.
//
// # Questions
//
// A call that needs approval is an entity of kind [view.Question] while it waits. Anyone who
// watches the session can answer it by id, with [Session.Decide]. The surface that sent the prompt
// may also ask ([Prompt].Asker), and the first answer counts. If no one can be asked, the run ends
// pending. Its questions are kept, also for other processes, and the last answer resumes the run.
//
// # Watching
//
// [Session.Watch] yields entities and their changes: see packages view and projection. It never
// holds up a run. For a slow watcher, several changes of an entity are merged into one. The surface
// that sent a prompt can get each change in order, before the run continues: see [Prompt].Show.
package host

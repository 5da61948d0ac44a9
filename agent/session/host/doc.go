// SPDX-License-Identifier: Apache-2.0

// Package host runs the sessions of an agent. Bridges to editors, browsers and terminals stand on it: they hand it prompts and answers,
// and show what it tells them.
//
//	h, err := host.New(host.Config[Deps, string]{Agent: a, Store: store, Deps: newDeps})
//	s, err := h.Create(ctx, session.New{Dir: "/repo"})
//	outcome, err := s.Prompt(ctx, host.Prompt{Parts: []model.Part{model.User("Fix the test.")}})
//	for u, err := range s.Watch(ctx, "") {
//		show(u.Changes)
//	}
//
// # Sessions
//
// A session is kept in the [session.Store] of the configuration, or in memory. [Host.Open] reads one that another process has made. A
// session that is open is held: another process that opens it is told who has it, by an error that wraps [session.ErrHeld].
//
// A turn that was cut off, for example by kill -9, is settled when the session is opened: the history has everything up to the last recorded
// step, what was streamed is shown, calls that were open have failed, and the next prompt works.
//
// A session that is not used for [Config].Idle gives its memory back: its dependencies are released, its conversation is dropped. It wakes
// with the next use. Then dependencies are made again, and the conversation is read from the store.
//
// # Turns
//
// A turn is one run of the agent. A session has one turn at a time; [Config].Busy says what becomes of a prompt that comes meanwhile. A turn
// ends with its context, or by [Session.Cancel]. What it did stays in the history however it ended, except for a turn that the provider
// refused.
//
// # Questions
//
// A call that needs approval is an entity of the kind [view.Question] while it waits. Whoever watches the session answers it by its id, with
// [Session.Decide]; the surface of the prompt may ask as well, and the first answer counts. If there is nobody to ask, the run ends pending.
// Its questions stay, also for another process, and with the last answer the run is resumed.
//
// # What is shown
//
// What is shown is entities and their changes: see packages view and projection. [Session.Watch] yields them. It never holds up a run, and a
// slow watcher misses nothing: several changes of an entity become one. The surface that has sent a prompt can be told of each change, in
// order, before the run goes on; see [Prompt].Show.
package host

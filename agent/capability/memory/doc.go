// SPDX-License-Identifier: Apache-2.0

// Package memory gives an agent notes that outlive a session.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{
//			memory.New(func(d Deps) memory.Store { return d.Notes }, memory.Options{}),
//		},
//	}
//
// A note is a text in Markdown with a name. The model sees the names and first lines of the notes
// when a run begins, searches them with the tool search_notes, and writes them with save_note and
// remove_note. The command /memory shows them to the user.
//
// # Stores
//
// [Files] keeps each note in a file NAME.md of a workspace, where the user can read and edit it,
// or remove it. The workspace may be the project's, or a separate one in the user's configuration
// directory. [Map] keeps notes in memory. The dependencies of a run choose the store, so each
// user can have one.
//
// # Approval
//
// A note reaches the model in all later sessions, even one that a web page or a file talked the
// model into. So writing and removing a note needs approval, with a preview of the change, unless
// [Options.Unasked] is set. If the note has changed meanwhile, the change is shown again.
//
// # Bounds
//
// There are at most [MaxNotes] notes. The model writes up to [MaxNote] bytes into one, and sees
// up to [MaxRead] bytes of one that the user wrote. The list in the instructions and the results
// of searches are bounded as well. The list is read once, when a run begins, so the instructions
// are the same in all requests of a run.
package memory

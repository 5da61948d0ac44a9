// SPDX-License-Identifier: Apache-2.0

// Package checkpoint records changes of files in a workspace: the changes of a turn can be listed,
// shown as one diff and undone. It works with every backend.
//
// A [Recorder] is a [workspace.Workspace] that wraps another one. Make a session of it, and call
// [Recorder.Mark] when a turn begins. [Recorder.Changes], [Changes.Diff] and [Recorder.Undo] list,
// show and undo the changes since a checkpoint, or those of one turn. [Tools] offers them to a
// model.
//
// # Undo
//
// An undo reverts only writes through the recorder. If others have changed a file meanwhile, the
// changes are merged by lines, and theirs stay. If both changed the same or neighbouring lines,
// there is a conflict, which is reported, and the file is left alone. A created file is removed,
// unless others have changed it. An undo is itself a checkpoint, so it can be undone.
//
// These limits hold:
//
//   - What commands change is not recorded. The recorder says which commands were started. It notices that somebody else has
//     changed a file when that file is written or undone.
//   - A workspace that cannot remove files, such as an editor on another machine, keeps created files. A workspace that cannot read
//     has changes that cannot be undone. Both are reported.
//   - Directories that were made for a created file stay. A file that was removed through the recorder comes back with the mode of a new
//     file. Symbolic links that were removed do not come back.
//   - A recorder keeps a bounded amount of contents ([Options]). The oldest are dropped first. Changes without contents stay
//     in the list, and an undo reports that it cannot take them back.
package checkpoint

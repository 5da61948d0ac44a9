// SPDX-License-Identifier: Apache-2.0

// Package checkpoint records what is changed in the files of a workspace, so that the changes of a turn can be listed, shown as one diff
// and undone. It works with every backend.
//
// A [Recorder] is a [workspace.Workspace] in front of another one. A program makes a session of it, and calls [Recorder.Mark] when a turn
// begins. [Recorder.Changes], [Recorder.Diff] and [Recorder.Undo] then deal with the changes since a checkpoint, or with those of one turn.
// [Tools] offers them to a model.
//
// # Undo
//
// An undo takes back what was written through the recorder and nothing else. If somebody else has changed a file meanwhile, the two are
// merged by lines: the other changes stay. Where both changed the same or neighbouring lines, there is a conflict. A file with a conflict is
// left as it is, and the conflict is shown. A created file is removed, unless somebody else has changed it. An undo is a
// checkpoint of its own, so it can be undone as well.
//
// These limits hold:
//
//   - What commands change is not recorded. The recorder says which commands were started. It notices that somebody else has
//     changed a file when that file is written or undone.
//   - A workspace that cannot remove files, such as an editor, keeps created files. A workspace that cannot read has changes that cannot be
//     undone. Both are reported.
//   - Directories that were made for a created file stay. A file that was removed through the recorder comes back with the mode of a new
//     file. Symbolic links that were removed do not come back.
//   - A recorder keeps a bounded amount of contents ([Options]). The oldest are dropped first. Changes without contents stay
//     in the list, and an undo reports that it cannot take them back.
package checkpoint

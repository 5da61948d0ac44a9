// SPDX-License-Identifier: Apache-2.0

// Package instructions gives an agent the instructions that a project has for agents: AGENTS.md
// files (https://agents.md), or files of other names.
//
//	agent.Config[Deps, string]{
//		Capabilities: []agent.Capability[Deps]{
//			instructions.New(func(d Deps) *workspace.Session { return d.Work }, instructions.Options{}),
//		},
//	}
//
// All files are read through the workspace, so nothing outside of it is read. In an editor that
// does not let agents read, they are read as they are saved.
//
// # Which files
//
// A run begins with the file of the working directory, and of each directory above it up to the
// top of the repository (the directory that has .git) or of the workspace, whichever comes first.
// What lies above the repository belongs to another project. The other roots of the workspace add
// the file at their top. The file nearest to the working directory comes last, and the text gives
// it precedence.
//
// The file of a subdirectory is added when a tool of package workspace first reads or changes a
// file there: to the result of that call. Directories that hold the code of others (node_modules,
// vendor, .git, .hg, .svn) add nothing.
//
// In each directory the first of [Options.Names] counts that exists and is not blank.
//
// # Imports
//
// @path imports another text file of the workspace: the path is relative to the file that has the
// import, or absolute. It counts at the beginning of a line or after white space, and not in
// code. The imported text follows the text of the file. Imports may be nested up to [MaxDepth]
// deep. A file is included once, so cycles end. What cannot be imported because it lies outside
// of the workspace or too deep is named; an @word that names no file is left as it is.
//
// # Sizes
//
// [Options.MaxFile] and [Options.MaxTotal] bound the text. A file that does not fit is cut, with
// a note. The files nearest to the working directory get their share first. Control characters
// and invisible characters are written out.
//
// # Prompt caches
//
// The files are read once, when a run begins. The instructions are therefore the same in each
// request of a run. They are the same in the next run unless a file has changed. Instructions of
// subdirectories are part of the history, so they change no request before. They are added once
// to a conversation, and again if the file has changed when a later run comes by, or if the
// history no longer has them.
package instructions

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"iter"
)

// Workspace is the files and commands that an agent works on. Implementations are safe for
// concurrent use. Package workspacetest checks that one keeps this contract.
//
// Methods end early with the cause of their context. Paths are read as the package documentation
// says. Errors are matched with errors.Is: [ErrPath], [ErrOutside], [ErrIsDirectory],
// [ErrNotDirectory], [ErrNotRegular], [ErrChanged], [ErrTooLarge], [ErrBinary], fs.ErrNotExist and
// fs.ErrPermission for what their names say, and errors.ErrUnsupported for what
// [Workspace.Features] leaves out. Their text is for logs. The tools tell the model what they mean.
type Workspace interface {
	// Roots returns the directories that the workspace consists of, absolute and clean, as users
	// know them. The first is the working directory. The slice must not be changed. It is the same
	// for as long as the workspace is used.
	Roots() []string
	// Features returns what the workspace can do. It has no side effects, and the answer does not
	// change.
	Features() Features

	// Read returns a file, or the part of it that r selects. See [Range]. A symbolic link is
	// followed.
	Read(ctx context.Context, path string, r Range) (File, error)
	// Write replaces the contents of a file, if the file still has the version ifVersion. The zero
	// Version means that the file must not exist: it is created, with the directories above it that
	// are missing. [AnyVersion] replaces or creates whatever is there. If the file is in another
	// state, nothing is written and the error is [ErrChanged].
	//
	// A reader sees the old contents or the new ones, never a part. Of several writes through one
	// Workspace with the same ifVersion, one succeeds. The mode of an existing file is kept. A
	// symbolic link is followed: its target is written. Write returns the new version. data is not
	// kept.
	Write(ctx context.Context, path string, data []byte, ifVersion Version) (Version, error)
	// Remove deletes a file if it still has the version ifVersion, or [AnyVersion]. A symbolic link
	// is removed itself; ifVersion must then be [AnyVersion]. Directories are [ErrIsDirectory].
	Remove(ctx context.Context, path string, ifVersion Version) error
	// Stat describes a file or directory. A symbolic link is followed.
	Stat(ctx context.Context, path string) (Info, error)
	// Walk lists what is below a directory: depth first, each directory before its contents, the
	// names in a directory sorted by their bytes. The directory itself is not listed. Symbolic
	// links are listed and not followed. If dir is a file, Walk yields that file.
	//
	// A directory that cannot be read is yielded a second time, with the error, and the walk
	// continues. If dir itself cannot be read, or the context ends, the error is the last thing
	// that Walk yields.
	Walk(ctx context.Context, dir string, o WalkOptions) iter.Seq2[Info, error]

	// Start starts a command. Its context bounds the start, not the command: that runs until it
	// ends, is killed or closed. Standard input is empty. A directory that does not exist, is a
	// file or lies outside is an error, and so is a program that does not exist ([ErrNoProgram]);
	// what a shell cannot find is the shell's to report.
	Start(ctx context.Context, c Command) (Process, error)
}

// readsSaved reports whether saved text can be read.
func (f Features) readsSaved() bool { return f.Read || f.Saved }

// Resolver is implemented by workspaces that can tell where a path leads without opening what is
// there. A [Workspace] need not implement it.
type Resolver interface {
	// Resolve returns nil if a path lies in the workspace, links included, whether or not there
	// is a file. Otherwise the error is [ErrPath] or [ErrOutside].
	Resolve(ctx context.Context, path string) error
}

// Linked is implemented by workspaces whose roots may be symbolic links. A path below what a root
// leads to is then one below the root: programs that run there name files by it. A [Workspace]
// need not implement it.
type Linked interface {
	// RealRoots returns what the roots lead to, in their order.
	RealRoots() []string
}

// Follower is implemented by workspaces in which a file may have several names, because of
// symbolic links. A [Workspace] need not implement it.
type Follower interface {
	// Follow returns the canonical name of a file, whichever of its names is given: the absolute,
	// clean path without links, below the first root that it lies in. The file need not exist. The
	// errors are those of [Resolver].
	Follow(ctx context.Context, path string) (string, error)
}

// Follow returns the name that [Follower] gives, or path as it is if the workspace does not know.
func Follow(ctx context.Context, w Workspace, path string) string {
	if f, ok := w.(Follower); ok {
		if name, err := f.Follow(ctx, path); err == nil {
			return name
		}
	}
	return path
}

// Features lists the abilities of a [Workspace]. A method whose feature is missing returns
// errors.ErrUnsupported.
type Features struct {
	// Read covers Read and Stat, Write covers Write, Remove covers Remove, Walk covers Walk, and
	// Commands covers Start.
	Read, Write, Remove, Walk, Commands bool
	// Saved covers Read with [Range.Saved]. Only workspaces that cannot Read otherwise need to set
	// it.
	Saved bool
	// Sandboxed: commands run in a sandbox as [model.EffectSandbox] describes it. Unsandboxed: a
	// command may ask for the network, or to leave the sandbox, with [Command].Sandbox.
	Sandboxed, Unsandboxed bool
	// Unsaved: Read returns files as an editor has them, with changes that are not saved.
	// Walk does not see those.
	Unsaved bool
}

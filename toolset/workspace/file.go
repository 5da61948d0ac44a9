// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"io/fs"
	"time"
)

// Version identifies the contents of a file at one time. As long as a file has the same version
// it has the same contents. A version may change although the contents do not. Versions of
// different workspaces or files are not comparable.
type Version string

// AnyVersion matches every version of a file, or none. The zero Version means that the file does
// not exist. No file has either of them as its version.
const AnyVersion Version = "*"

// MaxRead is how large a file may be, in bytes, to be read without a limit: 64 MiB. More is
// [ErrTooLarge].
const MaxRead = 64 << 20

// Range selects a part of a file: lines, or bytes. The zero Range is the whole file.
type Range struct {
	// Line is the first line to read, counted from 1. Lines is how many lines to read; 0 means all
	// that follow. A line ends after its "\n". 0 for both does not select lines; Lines alone begins
	// at line 1.
	Line, Lines int
	// Offset is the first byte to read. It cannot be combined with Line and Lines.
	Offset int64
	// Limit is how many bytes to return at most; 0 means [MaxRead], and that a longer part is an
	// error. Data is cut off at the limit, if need be within a line or a character.
	Limit int
	// Buf is memory that File.Data may use, for callers that read many parts.
	Buf []byte
	// Saved reads the file as it is saved, for workspaces that also have unsaved text, such as an
	// editor's. Searches set it, because they read many files. Other workspaces ignore it. The
	// Version of such a File may be empty.
	Saved bool
}

// File is a file, or a part of one.
type File struct {
	// Info describes the file. Its Version is set if the whole file was read, and may be empty
	// otherwise. Size is that of the whole file, or -1 if the backend cannot tell.
	Info
	// Data is the content that was read. Beyond the end of a file it is empty, without an error.
	Data []byte
	// More reports that Limit has cut off Data: the file, or the selected range of lines, continues
	// after it.
	More bool
	// Lines is how many lines the file has, if Range.Line was set and Range.Lines was not, and 0
	// otherwise. An end without "\n" counts as a line.
	Lines int
	// Unsaved, Faithful and Doubtful describe a file in an editor, and Uncertain one that is empty
	// or does not exist, as in [Document].
	Unsaved, Uncertain, Doubtful bool
	Faithful                     Faith
}

// Info describes a file or directory.
type Info struct {
	// Path is the absolute, clean path, as it was named: symbolic links in it are not replaced. On
	// Windows it has backslashes.
	Path string
	// Mode is the type and the permissions. Backends that do not know the permissions leave them 0.
	Mode fs.FileMode
	// Size is in bytes, -1 if the backend cannot tell.
	Size int64
	// ModTime is the zero time if the backend cannot tell.
	ModTime time.Time
	// Version is empty for directories and for everything else that is not a regular file.
	Version Version
}

// IsDir reports whether i describes a directory.
func (i *Info) IsDir() bool { return i.Mode.IsDir() }

// WalkOptions changes what [Workspace.Walk] lists. The zero value lists everything.
type WalkOptions struct {
	// Depth is how many levels are listed; 1 lists the directory alone. 0 means all.
	Depth int
	// Filter, if not nil, is called once for each directory before anything in it is yielded, with
	// the directory's path and what is in it, sorted. Only what it returns is yielded and descended
	// into. It may change the slice and return a part of it. The order of what it returns is kept.
	Filter func(dir string, entries []Info) []Info
	// Details asks for Size, ModTime, Version and permissions. Without it an Info may have only
	// Path and the type bits of Mode, which is faster.
	Details bool
}

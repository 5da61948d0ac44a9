// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
)

// Document is a file with both of its sides: the bytes on disk, and the text in the user's
// editor. A workspace without an editor has the disk alone, and an editor on another machine its
// buffer alone. Unknown facts are nil or [FaithUnknown], never guessed.
type Document struct {
	// Path is the absolute, clean path, as it was named.
	Path string
	// Disk is the file as it is saved, Buffer as the editor has it. At least one is set, unless
	// Unread is. Buffer is also nil if Unchecked is set.
	Disk, Buffer *Side
	// Faithful reports whether the editor shows and saves the file byte by byte.
	Faithful Faith
	// Unsaved is set if the buffer has text that is not on disk: the user has typed, or the file
	// was changed on disk and the editor does not know yet. It is never set where the disk is not
	// known.
	Unsaved bool
	// Uncertain is set if the file is empty or missing, and the editor does not distinguish the
	// two.
	Uncertain bool
	// Doubtful is set if the text has U+FFFD, and the file is known by its editor alone: the
	// character may replace bytes that the editor cannot show. Such a file is Blocked.
	Doubtful bool
	// Unchecked is set if the document may be out of date, because the editor was not asked, see
	// [Opener].
	Unchecked bool
	// Unread is set if nothing is known of the file, because a quick look would cost as much as a
	// change.
	Unread bool
	// Version is the basis of a [Change]. It also identifies the way that the change takes, and
	// both sides where they differ. It is empty for a missing file.
	Version Version
	// Bypass says why a change goes to the disk and not through the editor, for people; it is empty
	// otherwise.
	Bypass string
	// Blocked says why the file cannot be changed, for people and models; it is empty otherwise.
	Blocked string
}

// Side is one side of a [Document].
type Side struct {
	// Exists is false for a missing file. The rest is zero then.
	Exists bool
	// Data is the contents. They must not be changed.
	Data []byte
	// Mode is the type and the permissions. It is 0 in an editor.
	Mode fs.FileMode
}

// Faith reports whether an editor shows and saves a file byte by byte.
type Faith uint8

const (
	// FaithUnknown means that it cannot be told, for instance because the file is on another
	// machine.
	FaithUnknown Faith = iota
	// FaithYes means that the editor shows the bytes on disk.
	FaithYes
	// FaithNo means that the editor's text lacks something that is on disk: bytes that are not
	// UTF-8, line endings, a byte order mark, or the final newline.
	FaithNo
)

// String returns "unknown", "yes" or "no".
func (f Faith) String() string { return [...]string{"unknown", "yes", "no"}[f] }

// Current returns the side that counts: unsaved text goes before what is on disk, and what is on
// disk before a view that is not faithful.
func (d *Document) Current() *Side {
	if d.Buffer != nil && (d.Unsaved || d.Disk == nil) {
		return d.Buffer
	}
	return d.Disk
}

// digest identifies what a change would be made from, and its way. Unlike a version it is the
// same for the same contents.
func (d *Document) digest() string {
	h := sha256.New()
	write := func(s *Side) {
		if s == nil || !s.Exists {
			h.Write([]byte("-\n"))
			return
		}
		sum := sha256.Sum256(s.Data)
		h.Write(sum[:])
	}
	write(d.Current())
	if d.Unsaved {
		write(d.Disk)
	}
	if d.Bypass != "" {
		h.Write([]byte("bypass"))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Change is a new content of a file.
type Change struct {
	// Data is the whole content. It is not kept.
	Data []byte
	// IfVersion is the version that the file must have, as for [Workspace.Write].
	IfVersion Version
	// File, if not empty, is the name that [Follow] gave for the path when the change was shown to
	// the user. If the path leads to another file by now, because of links, nothing is written and
	// the error is [ErrChanged].
	File string
	// Exact asks that the file has these bytes afterwards, also if the editor formats what it
	// saves: the change then goes to the disk, where the disk is known and the editor has nothing
	// unsaved. An undo sets it.
	Exact bool
	// Found, if not nil, is the document of IfVersion as Open has just returned it. A workspace
	// that cannot see whether the file has changed since may use it in place of another look.
	Found *Document
}

// Opener is implemented by workspaces whose files have more than one side. A [Workspace] need not
// implement it: see [OpenDocument].
type Opener interface {
	// Open returns a file with its sides. A missing file is not an error: its sides do not exist.
	// quick permits a document that is Unchecked or Unread, for a preview: a [Change] finds out
	// whether it holds.
	Open(ctx context.Context, path string, quick bool) (*Document, error)
}

// Applier is implemented by workspaces that know what became of a change, or that check where a
// path leads while they write. A [Workspace] need not implement it: see [ApplyChange].
type Applier interface {
	// ApplyChange makes a change, and returns the document that is there afterwards. It fails like
	// [Workspace.Write].
	ApplyChange(ctx context.Context, path string, c Change) (*Document, error)
}

// OpenDocument returns a file of a workspace with the sides that it has, as [Opener] does.
func OpenDocument(ctx context.Context, w Workspace, path string, quick bool) (*Document, error) {
	if o, ok := w.(Opener); ok {
		return o.Open(ctx, path, quick)
	}
	f, err := w.Read(ctx, path, Range{})
	if errors.Is(err, fs.ErrNotExist) {
		at, err := LocateIn(w, path)
		return &Document{Path: at.Path, Disk: &Side{}, Faithful: FaithYes}, err
	}
	if err != nil {
		return nil, err
	}
	return SavedDocument(&f), nil
}

// SavedDocument returns the document of a file that was read as a whole from a workspace without
// an editor.
func SavedDocument(f *File) *Document {
	return &Document{
		Path: f.Path, Disk: &Side{Exists: true, Data: f.Data, Mode: f.Mode}, Faithful: FaithYes,
		Version: f.Version,
	}
}

// ApplyChange changes a file of a workspace and returns what is there afterwards, as [Applier]
// does.
func ApplyChange(ctx context.Context, w Workspace, path string, c Change) (*Document, error) {
	if a, ok := w.(Applier); ok {
		return a.ApplyChange(ctx, path, c)
	}
	if c.File != "" && Follow(ctx, w, path) != c.File {
		return nil, &PathError{Op: "write", Path: path, Err: ErrChanged}
	}
	version, err := w.Write(ctx, path, c.Data, c.IfVersion)
	if err != nil {
		return nil, err
	}
	at, err := LocateIn(w, path)
	return SavedDocument(&File{Info: Info{Path: at.Path, Version: version}, Data: c.Data}), err
}

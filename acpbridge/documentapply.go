// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/acpview"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// errUnsaved means that a file cannot be changed on this machine, because the editor has other
// text of it.
var errUnsaved = errors.New("the editor has unsaved changes in this file, or it was changed on disk. Ask the user to save it or to discard the changes")

// ApplyChange implements [ws.Applier]. A change goes through the editor if that shows the file as
// it is on disk. Otherwise it goes to the disk, if the file is on this machine and the editor has
// nothing unsaved.
func (w *Workspace) ApplyChange(ctx context.Context, path string, c ws.Change) (*ws.Document, error) {
	fail := func(err error) (*ws.Document, error) {
		return nil, &ws.PathError{Op: "write", Path: path, Err: err}
	}
	if !w.features.Write {
		return fail(errors.ErrUnsupported)
	}
	if w.writesHere() && w.readsHere() {
		return w.here.ApplyChange(ctx, path, c)
	}
	unlock, err := w.editor.lock(ctx, path)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	if c.File != "" {
		file, err := w.editor.Follow(ctx, path)
		if err == nil && file != c.File {
			err = ws.ErrChanged
		}
		if err != nil {
			return fail(err)
		}
	}
	s, err := w.find(ctx, path, &c)
	if err != nil {
		return nil, err
	}
	switch onDisk := w.goesToDisk(s, &c); {
	case s.Blocked != "":
		return fail(errors.New(s.Blocked))
	case !onDisk && !utf8.Valid(c.Data):
		return fail(ws.ErrBinary)
	case !onDisk:
		return w.applyThere(ctx, path, s, c.Data, c.Found != nil)
	case s.Unsaved:
		return fail(errUnsaved)
	}
	return w.applyHere(ctx, path, s, c)
}

// find looks at a file that is about to be changed, and checks its version.
func (w *Workspace) find(ctx context.Context, path string, c *ws.Change) (*sight, error) {
	fail := func(err error) (*sight, error) { return nil, &ws.PathError{Op: "write", Path: path, Err: err} }
	var s *sight
	var err error
	switch {
	case c.Found != nil && w.here == nil && w.editor.features.Read:
		at, wrong := w.editor.begin(ctx, "write", path, true)
		s, err = &sight{Document: c.Found, at: at}, wrong
	case w.editor.features.Read:
		s, err = w.look(ctx, "write", path)
	case w.readsHere():
		s, err = w.findHere(ctx, path)
	default: // nobody can read
		s, err = w.findBlind(ctx, path)
		if err == nil && c.IfVersion != ws.AnyVersion {
			return fail(errors.ErrUnsupported)
		}
	}
	if err != nil {
		return nil, err
	}
	missing := c.IfVersion == "" && !s.Current().Exists
	if c.IfVersion != ws.AnyVersion && c.IfVersion != s.Version && !missing {
		return fail(ws.ErrChanged)
	}
	return s, nil
}

// findHere looks at a file that this machine reads and the editor writes. The editor cannot be
// asked about it.
func (w *Workspace) findHere(ctx context.Context, path string) (*sight, error) {
	at, err := w.editor.begin(ctx, "write", path, true)
	if err != nil {
		return nil, err
	}
	if known := w.editor.problem(at); known != nil {
		return nil, &ws.PathError{Op: "write", Path: path, Err: known}
	}
	s := &sight{Document: &ws.Document{Path: at.path, Disk: &ws.Side{}}, at: at}
	f, err := w.here.Read(ctx, path, ws.Range{})
	switch {
	case err == nil:
		s.Disk, s.Version = &ws.Side{Exists: true, Data: f.Data, Mode: f.Mode}, f.Version
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return s, nil
}

// findBlind checks the path of a file that can only be written.
func (w *Workspace) findBlind(ctx context.Context, path string) (*sight, error) {
	at, err := w.editor.begin(ctx, "write", path, true)
	if err != nil {
		return nil, err
	}
	if known := w.editor.problem(at); known != nil {
		return nil, &ws.PathError{Op: "write", Path: path, Err: known}
	}
	return &sight{Document: &ws.Document{Path: at.path, Buffer: &ws.Side{}}, at: at}, nil
}

// goesToDisk reports whether a change is made on this machine.
func (w *Workspace) goesToDisk(s *sight, c *ws.Change) bool {
	switch {
	case w.writesHere():
		return true
	case s.Disk == nil || s.Buffer == nil: // one side is not known
		return false
	}
	return s.Bypass != "" || !s.Unsaved && (c.Exact || !utf8.Valid(c.Data))
}

// applyHere writes a file on this machine.
func (w *Workspace) applyHere(ctx context.Context, path string, s *sight, c ws.Change) (*ws.Document, error) {
	done, err := w.here.ApplyChange(ctx, path, ws.Change{Data: c.Data, IfVersion: s.saved, File: c.File})
	if err != nil {
		return nil, err
	}
	doc := &ws.Document{Path: s.Path, Disk: done.Disk, Bypass: s.Bypass, Faithful: s.Faithful}
	doc.Version = (&sight{Document: doc}).version()
	w.seen.put(s.at.real, doc)
	return doc, nil
}

// applyThere writes a file through the editor, and finds out what became of it. An editor may
// have written what it did not confirm. With show the change is shown as it was made, because the
// question had less.
func (w *Workspace) applyThere(ctx context.Context, path string, s *sight, data []byte, show bool) (*ws.Document, error) {
	failed := w.editor.write(ctx, path, s.at, data)
	ended := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBack)
	defer cancel()
	doc, err := w.outcome(ctx, path, s, data, failed)
	if err != nil && failed != nil && !ended {
		err = w.remains(ctx, path, s, data, failed)
	}
	if err != nil {
		return nil, err
	}
	w.seen.wrote(s.at.real, doc, data)
	if a := reportOf(ctx); a != nil && (show || !bytes.Equal(doc.Current().Data, data)) {
		a.showWritten(doc, s.Current())
	}
	return doc, nil
}

// readBack is how long it may take to find out what an editor has written.
const readBack = 30 * time.Second

// outcome returns what is there after a write through the editor. failed is the editor's error.
func (w *Workspace) outcome(ctx context.Context, path string, s *sight, data []byte, failed error) (*ws.Document, error) {
	doc := &ws.Document{Path: s.Path}
	now := &sight{Document: doc}
	if w.here != nil {
		if err := w.lookAtDisk(ctx, path, now); err != nil {
			doc.Disk = nil
		}
	}
	switch {
	case failed != nil && (doc.Disk == nil || !bytes.Equal(doc.Disk.Data, data) || !doc.Disk.Exists || same(doc.Disk, s.Disk)):
		return nil, failed
	case doc.Disk != nil && (!same(doc.Disk, s.Disk) || bytes.Equal(doc.Disk.Data, data) && doc.Disk.Exists || !w.editor.features.Read):
		doc.Faithful = ws.FaithYes
		if !bytes.Equal(doc.Disk.Data, data) {
			doc.Faithful = ws.FaithUnknown
		}
	case !w.editor.features.Read: // what it saved is not known
		doc.Buffer, doc.Unchecked = &ws.Side{Exists: true, Data: data}, true
	default: // the disk is not here, or as it was
		text, found, err := w.editor.text(ctx, s.at, 0, 0)
		if err != nil {
			return nil, w.editor.failure(ctx, "write", path, s.at, err)
		}
		doc.Buffer = &ws.Side{Exists: found, Data: []byte(text)}
		doc.Unsaved = doc.Disk != nil
	}
	if w.readsHere() {
		doc.Version = w.versionHere(ctx, path)
	} else if doc.Version = now.version(); doc.Disk == nil && !doc.Current().Exists {
		doc.Version = ""
	}
	return doc, nil
}

// remains adds to the error of a write what the write has left: an editor keeps text that it
// could not save, and may have saved other text before it failed.
func (w *Workspace) remains(ctx context.Context, path string, s *sight, data []byte, failed error) error {
	e, ok := errors.AsType[*ws.PathError](failed)
	if !ok || errors.Is(failed, ws.ErrLost) || errors.Is(failed, errors.ErrUnsupported) {
		return failed
	}
	and := func(what string) error {
		return &ws.PathError{Op: e.Op, Path: e.Path, Err: fmt.Errorf("%s: %w", what, e.Err)}
	}
	now := &sight{Document: &ws.Document{}}
	if err := w.lookAtDisk(ctx, path, now); err == nil && s.Disk != nil && now.Disk != nil && !same(now.Disk, s.Disk) {
		return and("the file on disk has changed all the same, read it again")
	}
	if !w.editor.features.Read || s.Buffer == nil || bytes.Equal(s.Buffer.Data, data) {
		return failed
	}
	if text, found, err := w.editor.text(ctx, s.at, 0, 0); err == nil && found && text == string(data) {
		return and("the editor has the change and has not saved it")
	}
	return failed
}

// versionHere returns the version that this machine gives a file.
func (w *Workspace) versionHere(ctx context.Context, path string) ws.Version {
	info, err := w.here.Stat(ctx, path)
	if err != nil {
		return ""
	}
	return info.Version
}

// same reports whether two sides are equal. A side that is not known is none.
func same(a, b *ws.Side) bool {
	return a != nil && b != nil && a.Exists == b.Exists && bytes.Equal(a.Data, b.Data)
}

// Write implements [ws.Workspace].
func (w *Workspace) Write(ctx context.Context, path string, data []byte, ifVersion ws.Version) (ws.Version, error) {
	doc, err := w.ApplyChange(ctx, path, ws.Change{Data: data, IfVersion: ifVersion})
	if err != nil {
		return "", err
	}
	return doc.Version, nil
}

// Remove implements [ws.Workspace]. The protocol has no method for it: where the directory is on
// this machine and the editor has nothing unsaved, the file is removed from the disk.
func (w *Workspace) Remove(ctx context.Context, path string, ifVersion ws.Version) error {
	fail := func(err error) error { return &ws.PathError{Op: "remove", Path: path, Err: err} }
	switch {
	case !w.features.Remove:
		return fail(errors.ErrUnsupported)
	case !w.editor.features.Read:
		return w.here.Remove(ctx, path, ifVersion)
	}
	unlock, err := w.editor.lock(ctx, path)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	s, err := w.look(ctx, "remove", path)
	switch {
	case errors.Is(err, ws.ErrOutside) && ifVersion == ws.AnyVersion: // a link that leads out may be removed itself
		return w.here.Remove(ctx, path, ifVersion)
	case err != nil:
		return err
	case s.Unsaved:
		return fail(errUnsaved)
	case ifVersion == ws.AnyVersion:
		return w.here.Remove(ctx, path, ifVersion)
	case !s.Current().Exists || ifVersion != s.Version:
		return fail(ws.ErrChanged)
	}
	return w.here.Remove(ctx, path, s.saved)
}

// showWritten shows a change as it was saved, where the editor has made something else of it.
// before is the file before the change.
func (a *report) showWritten(doc *ws.Document, before *ws.Side) {
	var old *string
	if before.Exists {
		old = new(textOf(before.Data))
	}
	shown := acpview.Diff(doc.Path, old, textOf(doc.Current().Data))
	a.held.Content = append(shown, a.notes()...)
}

// textOf returns contents as text to show.
func textOf(data []byte) string {
	if text, ok := ws.DecodeText(data); ok {
		return string(text.Data)
	}
	return string(bytes.ToValidUTF8(data, []byte("\ufffd")))
}

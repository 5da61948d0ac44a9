// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"unicode/utf8"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// sight is a file as it was found: its document, and the version that the disk gives it.
type sight struct {
	*ws.Document
	at    editorPlace
	saved ws.Version
}

// look reads a file through the editor and, where the directory is here, from disk, and compares
// the two.
func (w *Workspace) look(ctx context.Context, op, path string) (*sight, error) {
	at, err := w.editor.begin(ctx, op, path, w.editor.features.Read)
	if err != nil {
		return nil, err
	}
	if known := w.editor.problem(at); known != nil {
		return nil, &ws.PathError{Op: op, Path: path, Err: known}
	}
	s := &sight{Document: &ws.Document{Path: at.path}, at: at}
	text, found, refused := w.editor.text(ctx, at, 0, 0)
	if err := w.lookAtDisk(ctx, path, s); err != nil {
		return nil, err
	}
	if refused != nil {
		if s.Disk == nil || !s.Disk.Exists || utf8.Valid(s.Disk.Data) || meaning(ctx, refused) != nil {
			return nil, w.editor.failure(ctx, op, path, at, refused)
		}
		s.Faithful, s.Blocked = ws.FaithNo, "the editor cannot show this file: "+reason(refused)
		s.Version = versionOf("blocked", s.Disk.Data)
		return s, nil
	}
	s.Buffer = &ws.Side{Exists: found, Data: []byte(text)}
	w.compare(s)
	w.seen.put(at.real, s.Document)
	return s, nil
}

// lookAtDisk reads what this machine has of a file. A file that cannot be read here is the editor's
// alone.
func (w *Workspace) lookAtDisk(ctx context.Context, path string, s *sight) error {
	if w.here == nil {
		return nil
	}
	f, err := w.here.Read(ctx, path, ws.Range{})
	switch {
	case err == nil:
		s.Disk, s.saved = &ws.Side{Exists: true, Data: f.Data, Mode: f.Mode}, f.Version
	case errors.Is(err, fs.ErrNotExist):
		s.Disk = &ws.Side{}
	case ctx.Err() != nil || errors.Is(err, ws.ErrOutside):
		return err
	}
	return nil
}

// replacement is the character that editors show for invalid UTF-8. Files may also contain it.
var replacement = []byte("\ufffd")

// compare fills in what follows from the two sides of a file.
func (w *Workspace) compare(s *sight) {
	disk, buffer := s.Disk, s.Buffer
	switch {
	case disk == nil:
		s.Uncertain = buffer.Exists && len(buffer.Data) == 0
		s.Doubtful = bytes.Contains(buffer.Data, replacement) && !w.seen.ours(s.at.real, buffer.Data)
		if s.Doubtful {
			s.Blocked = "the text in the editor contains U+FFFD, which may stand for bytes that it " +
				"cannot show. A change would overwrite them"
		}
		if buffer.Exists {
			s.Version = versionOf("editor", buffer.Data)
		}
		return
	case !buffer.Exists && disk.Exists:
		s.Blocked = "the editor says that it does not exist, but it is on disk"
	case !disk.Exists && len(buffer.Data) == 0: // which many editors answer for a missing file
		*buffer, s.Faithful = ws.Side{}, ws.FaithYes
		return
	case disk.Exists && bytes.Equal(disk.Data, buffer.Data):
		s.Faithful = ws.FaithYes
	case disk.Exists && ws.IsLossyView(disk.Data, buffer.Data):
		s.Faithful, s.Bypass = ws.FaithNo, "the editor does not show this file as it is on disk ("+lost(disk.Data, buffer.Data)+")"
	case w.seen.outdated(s.at.real, buffer.Data):
		s.Bypass = "the editor still has an older version of the file"
	default:
		s.Unsaved = true
		if loses := lost(disk.Data, buffer.Data); disk.Exists && loses != "" {
			s.Faithful, s.Blocked = ws.FaithNo, "the editor has unsaved changes in this file, and does not show it as it is on disk ("+loses+"). Ask the user to save it or to discard the changes"
		}
	}
	s.Version = s.version()
}

// version identifies the current content, the way that a change takes, and the disk if it has
// something else.
func (s *sight) version() ws.Version {
	switch now := s.Current(); {
	case !now.Exists && s.Bypass == "":
		return ""
	case s.Unsaved:
		return versionOf("unsaved", now.Data, s.Disk.Data)
	case s.Bypass != "" && !now.Exists:
		return "disk:none"
	case s.Bypass != "":
		return versionOf("disk", now.Data)
	default:
		return versionOf("editor", now.Data)
	}
}

// versionOf identifies contents.
func versionOf(way string, contents ...[]byte) ws.Version {
	v := way
	for _, data := range contents {
		v += fmt.Sprintf(":%x", sha256.Sum256(data))
	}
	return ws.Version(v)
}

// lost names what an editor's text lacks of a file: it is empty if nothing is known to be lost.
func lost(disk, text []byte) string {
	mark := []byte("\ufeff")
	switch {
	case !utf8.Valid(disk):
		return "it is not UTF-8"
	case bytes.HasPrefix(disk, mark) && !bytes.HasPrefix(text, mark):
		return "the byte order mark is missing"
	case bytes.IndexByte(disk, '\r') >= 0 && bytes.IndexByte(text, '\r') < 0:
		return "line endings are changed"
	case ws.IsLossyView(disk, text):
		return "the newline at the end is changed"
	}
	return ""
}

// Open implements [ws.Opener]. A quick look asks the editor only if there is a reason to.
func (w *Workspace) Open(ctx context.Context, path string, quick bool) (*ws.Document, error) {
	if !w.editor.features.Read {
		return w.openHere(ctx, path)
	}
	if quick {
		if doc := w.glance(ctx, path); doc != nil {
			return doc, nil
		}
	}
	s, err := w.look(ctx, "read", path)
	if err != nil {
		return nil, err
	}
	return s.Document, nil
}

// openHere opens a file for a client that cannot read.
func (w *Workspace) openHere(ctx context.Context, path string) (*ws.Document, error) {
	f, err := w.Read(ctx, path, ws.Range{})
	if errors.Is(err, fs.ErrNotExist) {
		return &ws.Document{Path: path, Disk: &ws.Side{}}, nil
	}
	if err != nil {
		return nil, err
	}
	doc := ws.SavedDocument(&f)
	doc.Faithful = ws.FaithUnknown // what the editor makes of it
	return doc, nil
}

// glance returns a document without asking the editor: the last one, if the disk is as it was, or
// what is on disk, if it is known how the editor shows such files. Otherwise it is nil.
func (w *Workspace) glance(ctx context.Context, path string) *ws.Document {
	at, err := w.editor.begin(ctx, "read", path, true)
	if err != nil {
		return nil
	}
	s := &sight{Document: &ws.Document{Path: at.path}, at: at}
	if w.lookAtDisk(ctx, path, s) != nil {
		return nil
	}
	if last := w.seen.get(at.real); last != nil {
		if s.Disk != nil && (last.Disk == nil || last.Disk.Exists != s.Disk.Exists || !bytes.Equal(last.Disk.Data, s.Disk.Data)) {
			last = nil
		}
		if last != nil {
			doc := *last
			doc.Path, doc.Unchecked = at.path, true
			return &doc
		}
	}
	if w.here == nil { // a look would be a read of the whole file
		s.Unread = true
		return s.Document
	}
	if s.Disk == nil || w.seen.otherwise(at.real, s.Disk) {
		return nil
	}
	if !s.Disk.Exists { // the editor has hardly text of a file that is not there
		s.Unchecked = true
		return s.Document
	}
	bypass, known := w.seen.kind(s.Disk.Data)
	if !known {
		return nil
	}
	s.Unchecked, s.Bypass = true, bypass
	s.Version = s.version()
	return s.Document
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// maxOpen is how many documents a server has open; the one that was not used for longest is closed.
const maxOpen = 64

// document is a file as a server was told it is.
type document struct {
	at      workspace.Location
	uri     string
	version int32
	text    *lsp.Text
	found   workspace.Version // of the workspace
	sent    time.Time
}

// file is a file of the workspace as text.
type file struct {
	at      workspace.Location
	text    *lsp.Text
	version workspace.Version
	saved   bool // the text is what is on disk
	plain   bool // its bytes are the text in UTF-8, without a byte order mark
}

// errNotText means that a file is not text.
var errNotText = errors.New("it is not text")

// load reads a file as it is now, unsaved changes included. A missing file is fs.ErrNotExist.
func load(
	ctx context.Context, w workspace.Workspace, path string, ends lsp.LineEnds,
) (*file, error) {
	at, err := workspace.LocateIn(w, path)
	if err != nil {
		return nil, err
	}
	doc, err := workspace.OpenDocument(ctx, w, path, false)
	if err != nil {
		return nil, err
	}
	side := doc.Current()
	if side == nil || !side.Exists {
		return nil, fs.ErrNotExist
	}
	text, ok := workspace.DecodeText(side.Data)
	if !ok {
		return nil, errNotText
	}
	return &file{
		at,
		lsp.NewText(string(text.Data), ends),
		doc.Version,
		doc.Disk != nil && !doc.Unsaved,
		text.Encoding == workspace.UTF8 && !bytes.HasPrefix(text.Data, []byte("\ufeff")),
	}, nil
}

// sync sees to it that the server has the present text of its open documents and of more files,
// which it opens. It returns the documents of these files, in their order.
func (l *link) sync(
	ctx context.Context, w workspace.Workspace, paths ...string,
) ([]*document, error) {
	select {
	case l.syncing <- struct{}{}:
		defer func() { <-l.syncing }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l.guest.view.rescan(ctx, w, l)
	l.settle(ctx)
	wanted := make([]*document, len(paths))
	for i, path := range paths {
		d, err := l.show(ctx, w, path)
		if err != nil {
			return nil, err
		}
		wanted[i] = d
	}
	for _, path := range slices.Clone(l.recent) {
		d := l.docs[path]
		if slices.Contains(wanted, d) {
			continue
		}
		if _, err := l.show(ctx, w, path); err != nil {
			if ctx.Err() != nil || errors.Is(err, workspace.ErrLost) ||
				errors.Is(err, lsp.ErrClosed) {
				return nil, err
			}
			if err := l.drop(ctx, path); err != nil {
				return nil, err
			}
		}
	}
	for len(l.recent) > max(maxOpen, len(paths)) {
		if err := l.drop(ctx, l.recent[0]); err != nil {
			return nil, err
		}
	}
	for _, d := range wanted {
		l.use(d.at.Path)
	}
	return wanted, nil
}

// show sends the present text of a file to the server, if the server does not have it.
func (l *link) show(ctx context.Context, w workspace.Workspace, path string) (*document, error) {
	at, err := workspace.LocateIn(w, path)
	if err != nil {
		return nil, err
	}
	d := l.docs[at.Path]
	if d != nil && d.found != "" && !w.Features().Unsaved {
		if info, err := w.Stat(ctx, at.Path); err == nil && info.Version == d.found {
			return d, nil
		}
	}
	f, err := load(ctx, w, at.Path, l.guest.server.ends)
	if err != nil {
		return nil, err
	}
	if d == nil {
		d = &document{at: at, version: 1, text: f.text, found: f.version, sent: time.Now()}
		d.uri = l.guest.view.uri(at)
		language := l.guest.server.Files[extension(at.Path)]
		err := l.conn.Notify(
			ctx,
			"textDocument/didOpen",
			lsp.DidOpenTextDocumentParams{TextDocument: lsp.TextDocumentItem{
				URI: d.uri, LanguageID: language, Version: d.version, Text: f.text.String(),
			}},
		)
		if err != nil {
			return nil, err
		}
		if len(l.docs) == 0 {
			l.mu.Lock()
			l.stirred = time.Now()
			l.mu.Unlock()
		}
		l.docs[at.Path] = d
		l.recent = append(l.recent, at.Path)
		return d, nil
	}
	d.found = f.version
	if d.text.String() == f.text.String() {
		return d, nil
	}
	next := &document{
		at:      d.at,
		uri:     d.uri,
		version: d.version + 1,
		text:    f.text,
		found:   f.version,
		sent:    time.Now(),
	}
	if err := l.conn.Notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument":   lsp.VersionedTextDocumentIdentifier{URI: next.uri, Version: next.version},
		"contentChanges": []any{map[string]string{"text": f.text.String()}},
	}); err != nil {
		return nil, err
	}
	l.docs[at.Path] = next
	if f.saved && !l.guest.server.exact() { // gopls would do all of its work again
		err = l.conn.Notify(
			ctx,
			"textDocument/didSave",
			map[string]any{"textDocument": lsp.TextDocumentIdentifier{URI: next.uri}},
		)
	}
	return next, err
}

// drop closes a document. The server reads the file from disk again.
func (l *link) drop(ctx context.Context, path string) error {
	d := l.docs[path]
	delete(l.docs, path)
	l.recent = slices.DeleteFunc(l.recent, func(p string) bool { return p == path })
	return l.conn.Notify(
		ctx,
		"textDocument/didClose",
		lsp.DidCloseTextDocumentParams{TextDocument: lsp.TextDocumentIdentifier{URI: d.uri}},
	)
}

// use makes a document the one that was used last.
func (l *link) use(path string) {
	if i := slices.Index(l.recent, path); i >= 0 {
		l.recent = append(slices.Delete(l.recent, i, i+1), path)
	}
}

// opened returns the document of a path if the server has it open.
func (l *link) opened(ctx context.Context, path string) (*document, error) {
	select {
	case l.syncing <- struct{}{}:
		defer func() { <-l.syncing }()
		return l.docs[path], nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// position returns the parameters of a request about a place in a document.
func (l *link) position(d *document, offset int) lsp.TextDocumentPositionParams {
	return lsp.TextDocumentPositionParams{
		TextDocument: lsp.TextDocumentIdentifier{
			URI: d.uri,
		}, Position: d.text.Position(offset, l.encoding),
	}
}

// await waits until the server reports no work in progress, and returns false if it does not within
// limit. A server that has just been started may not have reported its work yet.
func (l *link) await(ctx context.Context, limit time.Duration) (bool, error) {
	const grace = 400 * time.Millisecond
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		l.mu.Lock()
		busy, event, stirred := l.busy(), l.event, l.stirred
		l.mu.Unlock()
		var soon <-chan time.Time
		if rest := grace - time.Since(stirred); !busy && rest > 0 {
			soon = time.After(rest)
		} else if !busy {
			return true, nil
		}
		select {
		case <-event:
		case <-soon:
		case <-timer.C:
			return false, nil
		case <-l.conn.Done():
			return false, fmt.Errorf("%w: %w", ErrUnavailable, l.why())
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

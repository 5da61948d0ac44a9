// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// batch is a change of several files, from what they are now to what they are to be. It is made as
// a whole or not at all.
type batch struct {
	title string
	files []*batchFile // sorted by path
	notes []string
}

// batchFile is one file of a batch.
type batchFile struct {
	at     workspace.Location
	follow string
	doc    *workspace.Document
	// old and new are its contents; nil means no file. made is the text of new.
	old, new []byte
	text     *workspace.Text
	// from is the file that it was renamed from, if it was.
	from string
}

const (
	editBasis = "edit "
	// maxBatch is how many files a batch may change, and maxBatchBytes how much text they may have.
	maxBatch      = 1000
	maxBatchBytes = 64 << 20
)

// planner works out what the files are after the steps of an edit.
type planner struct {
	call  *call
	link  *link
	files map[string]*batchFile
	size  int
}

// plan works out an edit of a server. Nothing is changed. An edit outside of the project, or one
// that does not fit the present files, is an error for the model.
func (c *call) plan(
	ctx context.Context, l *link, title string, edits ...lsp.WorkspaceEdit,
) (*batch, error) {
	p := &planner{c, l, map[string]*batchFile{}, 0}
	b := &batch{title: title}
	for i := range edits {
		steps, notes, err := changesOf(&edits[i])
		if err != nil {
			return nil, toolset.Failed("Nothing was changed: %s.", err)
		}
		b.notes = append(b.notes, notes...)
		for j := range steps {
			if err := p.step(ctx, &steps[j]); err != nil {
				return nil, c.unplanned(ctx, err)
			}
		}
	}
	for _, f := range p.files {
		if f.doc.Blocked != "" {
			return nil, toolset.Failed(
				"Nothing was changed: %s cannot be changed: %s.",
				c.view.short(f.at.Path),
				f.doc.Blocked,
			)
		}
		if f.old != nil && f.new == nil && !c.ws.Features().Remove {
			return nil, toolset.Failed(
				"Nothing was changed: files such as %s cannot be removed here.",
				c.view.short(f.at.Path),
			)
		}
		if !same(f.old, f.new) {
			b.files = append(b.files, f)
		}
	}
	slices.SortFunc(
		b.files,
		func(a, b *batchFile) int { return strings.Compare(a.at.Path, b.at.Path) },
	)
	return b, nil
}

// same compares contents; nil means a missing file.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func (c *call) unplanned(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, workspace.ErrLost) {
		return c.failed(ctx, err)
	}
	if toolset.Outcome(err) != nil {
		return err
	}
	return toolset.Failed("Nothing was changed: %s.", shown(err.Error(), 500))
}

// file returns a file with what the steps so far have made of it.
func (p *planner) file(ctx context.Context, uri string) (*batchFile, error) {
	at, err := p.call.view.locate(uri)
	if err != nil {
		return nil, fmt.Errorf("the language server wants to change a file that is %w", err)
	}
	return p.load(ctx, at)
}

func (p *planner) load(ctx context.Context, at workspace.Location) (*batchFile, error) {
	if f := p.files[at.Path]; f != nil {
		return f, nil
	}
	if len(p.files) == maxBatch {
		return nil, fmt.Errorf("the edit is of more than %d files", maxBatch)
	}
	ws := p.call.ws
	if err := p.call.session.CheckRead(ctx, at.Path); err != nil {
		return nil, err
	}
	f := &batchFile{at: at, follow: workspace.Follow(ctx, ws, at.Path)}
	doc, err := workspace.OpenDocument(ctx, ws, at.Path, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.call.view.short(at.Path), err)
	}
	f.doc = doc
	if side := doc.Current(); side != nil && side.Exists {
		if p.size += len(side.Data); p.size > maxBatchBytes {
			return nil, fmt.Errorf("the edit is of files of more than %d MiB", maxBatchBytes>>20)
		}
		f.old = present(side.Data)
		if text, ok := workspace.DecodeText(side.Data); ok {
			f.text = &text
		}
	}
	f.new = f.old
	p.files[at.Path] = f
	return f, nil
}

// present tells an empty file from none.
func present(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func (p *planner) step(ctx context.Context, s *change) error {
	switch s.kind {
	case "rename":
		return p.rename(ctx, s)
	case "delete":
		return p.remove(ctx, s)
	}
	f, err := p.file(ctx, s.uri)
	if err != nil {
		return err
	}
	name := p.call.view.short(f.at.Path)
	if s.kind == "create" {
		switch {
		case f.new == nil || s.overwrite:
			f.new, f.text = []byte{}, nil
		case !s.ignore:
			return fmt.Errorf("%s exists already", name)
		}
		return nil
	}
	if f.new == nil {
		return fmt.Errorf("%s: not found", name)
	}
	text := workspace.Text{Data: f.new, Encoding: workspace.UTF8}
	if f.text != nil && same(f.new, f.old) {
		text = *f.text
	} else if decoded, ok := workspace.DecodeText(f.new); ok {
		text = decoded
	} else if len(f.new) > 0 {
		return fmt.Errorf("%s is not text", name)
	}
	if same(f.new, f.old) {
		// The server must have meant the text as it is.
		if d, err := p.link.opened(ctx, f.at.Path); err == nil && d != nil &&
			(d.text.String() != string(text.Data) || s.version != 0 && s.version != d.version) {
			return fmt.Errorf("%s has changed meanwhile. Try again", name)
		}
	}
	edited, err := lsp.NewText(string(text.Data), p.link.guest.server.ends).
		Edited(withEnds(text.Data, s.edits), p.link.encoding)
	if err != nil {
		return fmt.Errorf("the edit does not fit %s: %w", name, err)
	}
	if f.new, err = text.Encode([]byte(edited)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.new = present(f.new)
	return nil
}

// withEnds returns edits with the line ends of the file, if all of these are CRLF: servers write
// LF, and editors adapt that.
func withEnds(text []byte, edits []lsp.TextEdit) []lsp.TextEdit {
	n := bytes.Count(text, []byte("\n"))
	if n == 0 || bytes.Count(text, []byte("\r\n")) != n {
		return edits
	}
	edits = slices.Clone(edits)
	for i := range edits {
		unix := strings.ReplaceAll(edits[i].NewText, "\r\n", "\n")
		edits[i].NewText = strings.ReplaceAll(unix, "\n", "\r\n")
	}
	return edits
}

// rename moves a file, or all files of a directory.
func (p *planner) rename(ctx context.Context, s *change) error {
	from, err := p.call.view.locate(s.uri)
	if err != nil {
		return fmt.Errorf("the language server wants to rename a file that is %w", err)
	}
	to, err := p.call.view.locate(s.new)
	if err != nil {
		return fmt.Errorf("the language server wants to rename a file to one that is %w", err)
	}
	moved, dir, err := p.below(ctx, from)
	if err != nil {
		return err
	}
	for _, path := range moved {
		source, err := workspace.LocateIn(p.call.ws, path)
		if err != nil {
			return err
		}
		target, err := workspace.LocateIn(
			p.call.ws,
			to.Path+strings.TrimPrefix(source.Path, from.Path),
		)
		if err != nil {
			return err
		}
		old, err := p.load(ctx, source)
		if err != nil {
			return err
		}
		switch {
		case old.new == nil && dir:
			continue // an earlier step has moved it
		case old.new == nil:
			return fmt.Errorf("%s: not found", p.call.view.short(path))
		}
		next, err := p.load(ctx, target)
		if err != nil {
			return err
		}
		switch {
		case next.new == nil || s.overwrite:
			next.new, next.from, old.new = old.new, cmp.Or(old.from, old.at.Path), nil
		case !s.ignore:
			return fmt.Errorf("%s exists already", p.call.view.short(target.Path))
		}
	}
	return nil
}

func (p *planner) remove(ctx context.Context, s *change) error {
	at, err := p.call.view.locate(s.uri)
	if err != nil {
		return fmt.Errorf("the language server wants to delete a file that is %w", err)
	}
	paths, dir, err := p.below(ctx, at)
	if err != nil {
		return err
	}
	for _, path := range paths {
		where, err := workspace.LocateIn(p.call.ws, path)
		if err != nil {
			return err
		}
		f, err := p.load(ctx, where)
		switch {
		case err != nil:
			return err
		case f.new == nil && dir:
			continue // an earlier step has moved it
		case dir && !s.recursive:
			return fmt.Errorf("%s is a directory that is not empty", p.call.view.short(at.Path))
		case f.new == nil && !s.ignore:
			return fmt.Errorf("%s: not found", p.call.view.short(path))
		}
		f.new = nil
	}
	return nil
}

// below returns the file, or the files of the directory, those of earlier steps included.
func (p *planner) below(
	ctx context.Context,
	at workspace.Location,
) (all []string, dir bool, err error) {
	info, err := p.call.ws.Stat(ctx, at.Path)
	if err != nil || !info.IsDir() {
		return []string{at.Path}, false, nil // what is wrong with it shows when it is read
	}
	if at.Name == "." {
		return nil, true, errors.New("the edit is of the whole directory of the project")
	}
	for entry, err := range p.call.ws.Walk(ctx, at.Path, workspace.WalkOptions{}) {
		switch {
		case err != nil:
			return nil, true, err
		case len(all) == maxBatch:
			return nil, true, fmt.Errorf("the edit is of more than %d files", maxBatch)
		case entry.Mode.IsRegular():
			all = append(all, entry.Path)
		case entry.Mode.Type()&fs.ModeSymlink != 0:
			return nil, true, fmt.Errorf(
				"%s is a link, which cannot be moved with its directory",
				p.call.view.short(entry.Path),
			)
		}
	}
	for path := range p.files {
		if workspace.StyleOf(path).Contains(at.Path, path) && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return sorted(all), true, nil
}

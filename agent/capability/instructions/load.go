// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// maxLookups bounds the files that are looked for at once, maxNotes what is said about those
	// that are left out.
	maxLookups = 200
	maxNotes   = 16
	// maxDirs bounds the directories above a file that are looked at.
	maxDirs = 64
)

// loader reads files of instructions.
type loader struct {
	*project
	ws workspace.Workspace
	// left is how many bytes of text there is room for, lookups how many files have been looked
	// for.
	left, lookups, notes int
	// seen are the files that have been read, by path and by content: links lead to one file by
	// several paths.
	seen     map[string]bool
	contents map[[sha256.Size]byte]bool
}

func (p *project) loader(w workspace.Workspace) *loader {
	return &loader{project: p, ws: w, left: p.options.MaxTotal, seen: map[string]bool{}, contents: map[[sha256.Size]byte]bool{}}
}

// document is a file of instructions.
type document struct {
	path string // absolute
	text string
	// notes describe what is missing.
	notes []string
}

// fatal reports whether an error prevents further reads.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, workspace.ErrLost) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// nothing reports whether an error means that the file does not exist, which is not worth a note.
func nothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, workspace.ErrIsDirectory) || errors.Is(err, workspace.ErrNotDirectory) ||
		errors.Is(err, workspace.ErrPath)
}

// saved reports whether files are read from the disk. An editor is not asked for them with every
// prompt if the disk is at hand.
func saved(w workspace.Workspace) bool { return w.Features().Saved || !w.Features().Read }

// exists reports whether there is a file or directory. The error is fatal for the run.
func exists(ctx context.Context, w workspace.Workspace, path string) (bool, error) {
	_, err := w.Read(ctx, path, workspace.Range{Limit: 1, Saved: saved(w)})
	if err != nil && fatal(ctx, err) {
		return false, err
	}
	return err == nil || errors.Is(err, workspace.ErrIsDirectory), nil
}

// standing returns the instructions that a run begins with.
func (p *project) standing(ctx context.Context, w workspace.Workspace) (string, error) {
	l := p.loader(w)
	dirs, err := p.standingDirs(ctx, w)
	if err != nil {
		return "", err
	}
	var groups [][]document
	for _, dir := range dirs { // the nearest first: it gets its share of the room first
		docs, err := l.directory(ctx, dir)
		if err != nil {
			return "", err
		}
		groups = append(groups, docs)
	}
	slices.Reverse(groups)
	return p.render(w, standingHeader, slices.Concat(groups...)), nil
}

// standingDirs returns the working directory and those above it that count, the nearest first,
// followed by the tops of the other roots.
func (p *project) standingDirs(ctx context.Context, w workspace.Workspace) ([]string, error) {
	roots := w.Roots()
	style := workspace.StyleOf(roots[0])
	dir := roots[0]
	if p.options.Dir != "" {
		at, err := workspace.Locate(roots, p.options.Dir)
		if err != nil {
			return nil, fmt.Errorf("the working directory %q: %w", p.options.Dir, err)
		}
		dir = at.Path
	}
	var dirs []string
	for len(dirs) < maxDirs {
		dirs = append(dirs, dir)
		found, err := exists(ctx, w, style.Join(dir, ".git"))
		if err != nil {
			return nil, err
		}
		parent := style.Parent(dir)
		if found || parent == dir {
			break
		}
		if _, err := workspace.Locate(roots, parent); err != nil {
			break
		}
		dir = parent
	}
	for _, root := range roots[1:] {
		if !slices.ContainsFunc(roots, func(other string) bool { return other != root && style.Contains(root, other) }) && !slices.Contains(dirs, root) {
			dirs = append(dirs, root)
		}
	}
	return dirs, nil
}

// directory returns the file of a directory, and what it imports.
func (l *loader) directory(ctx context.Context, dir string) ([]document, error) {
	for _, name := range l.options.Names {
		doc, err := l.read(ctx, workspace.StyleOf(dir).Join(dir, name), "")
		if err != nil {
			return nil, err
		}
		if doc != nil {
			return l.withImports(ctx, doc, 0)
		}
	}
	return nil, nil
}

// read returns a file, or nil if there is none, it is blank, or it has been read. by is the import
// that names it, if one does.
func (l *loader) read(ctx context.Context, path, by string) (*document, error) {
	key := workspace.StyleOf(l.ws.Roots()[0]).Fold(path)
	if l.seen[key] || l.lookups >= maxLookups {
		return nil, nil
	}
	l.lookups++
	l.seen[key] = true
	f, err := l.ws.Read(ctx, path, workspace.Range{Limit: l.options.MaxFile, Saved: saved(l.ws)})
	doc := &document{path: path}
	switch {
	case err != nil && fatal(ctx, err):
		return nil, err
	case err != nil && nothing(err):
		return nil, nil
	case err != nil && errors.Is(err, workspace.ErrOutside):
		return l.leftOut(doc, by, "it is outside of the workspace"), nil
	case err != nil:
		return l.leftOut(doc, by, "it cannot be read"), nil
	}
	if sum := sha256.Sum256(f.Data); !l.contents[sum] {
		l.contents[sum] = true
	} else {
		return nil, nil
	}
	raw := string(f.Data)
	if f.More {
		raw = clean.Whole(raw)
	}
	if !utf8.ValidString(raw) || strings.IndexByte(raw, 0) >= 0 {
		return l.leftOut(doc, by, "it is not text"), nil
	}
	text := clean.Text(strings.TrimPrefix(raw, "\ufeff"))
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	kept, cut := clean.Cut(text, min(l.options.MaxFile, l.left))
	if kept == "" {
		return l.leftOut(doc, by, "there is no room for it"), nil
	}
	l.left -= len(kept)
	doc.text = kept
	if cut || f.More {
		doc.notes = append(doc.notes, fmt.Sprintf("Cut here: the first %d bytes are shown. Read %s for the rest.", len(kept), l.name(path)))
	}
	return doc, nil
}

// leftOut says why a file is missing.
func (l *loader) leftOut(doc *document, by, why string) *document {
	if l.notes++; l.notes > maxNotes {
		return nil
	}
	what := l.name(doc.path)
	if by != "" {
		what = "@" + clean.Short(by, 200)
	}
	doc.notes = []string{fmt.Sprintf("Left out: %s: %s.", what, why)}
	return doc
}

// withImports returns a document, followed by what it imports.
func (l *loader) withImports(ctx context.Context, doc *document, depth int) ([]document, error) {
	docs := []document{*doc}
	style := workspace.StyleOf(l.ws.Roots()[0])
	for _, name := range imports(doc.text) {
		path, err := style.Abs(style.Parent(doc.path), name)
		if err != nil || l.seen[style.Fold(path)] {
			continue
		}
		if depth == MaxDepth {
			found, err := exists(ctx, l.ws, path)
			if found {
				if out := l.leftOut(&document{path: path}, name, fmt.Sprintf("imports are nested more than %d deep", MaxDepth)); out != nil {
					docs = append(docs, *out)
				}
			} else if err != nil {
				return nil, err
			}
			continue
		}
		imported, err := l.read(ctx, path, name)
		if err != nil {
			return nil, err
		}
		if imported == nil {
			continue
		}
		more, err := l.withImports(ctx, imported, depth+1)
		if err != nil {
			return nil, err
		}
		docs = append(docs, more...)
	}
	return docs, nil
}

// name returns a path as it is shown: relative to the first root if it lies there.
func (l *loader) name(path string) string { return shown(l.ws, path) }

func shown(w workspace.Workspace, path string) string {
	root := w.Roots()[0]
	return clean.Short(workspace.StyleOf(root).Rel(root, path), 400)
}

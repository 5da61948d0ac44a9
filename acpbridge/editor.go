// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// NewWorkspace returns the files and terminals of the user's editor as a [ws.Workspace]. Its features are what the client has announced.
// Without a client or a session it has none. The protocol has no way to list or remove files.
//
// Files are read as the editor has them, changes that are not saved included. A file's version is made of its contents.
//
// What the protocol does not give is weaker than on other backends. The editor opens a file itself, after its path has been checked: links
// are followed on this machine, if the session's paths are of its kind, and a link that is changed between the check and the use leads
// elsewhere. Between the check of a version and the write the user may type. Of output that an editor has dropped, nobody knows how much
// it was: positions count from the beginning of what is left.
func NewWorkspace(d deps.ACPDeps) ws.Workspace {
	e := &editor{ACPDeps: d, writing: make(chan struct{}, 1)}
	if d.Client == nil || d.Session == nil {
		return e
	}
	p := pathsOf(d.Session.Cwd)
	for _, dir := range append([]string{d.Session.Cwd}, d.Session.AdditionalDirectories...) {
		if abs, err := p.abs(d.Session.Cwd, dir); err == nil {
			e.roots = append(e.roots, abs)
		}
	}
	if p.native() && len(e.roots) > 0 {
		info, err := os.Stat(e.roots[0])
		e.here = err == nil && info.IsDir()
	}
	can := d.Session.Capabilities
	e.features = ws.Features{Read: can.FS.ReadTextFile, Write: can.FS.WriteTextFile, Commands: can.Terminal}
	return e
}

// editor is the workspace of an editor.
type editor struct {
	deps.ACPDeps
	roots    []string
	features ws.Features
	here     bool          // the working directory is on this machine
	writing  chan struct{} // holds a token while a file is compared and written
}

var (
	_ ws.Workspace = (*editor)(nil)
	_ ws.Resolver  = (*editor)(nil)
)

func (e *editor) Roots() []string { return e.roots }

func (e *editor) Features() ws.Features { return e.features }

// Resolve implements [ws.Resolver].
func (e *editor) Resolve(_ context.Context, path string) error {
	_, err := e.locate(path)
	return err
}

// editorPlace is where a path leads: as it was named, and with links followed as far as this machine knows them.
type editorPlace struct{ path, real string }

func (e *editor) locate(name string) (editorPlace, error) {
	at, err := ws.Locate(e.roots, name)
	if err != nil {
		return editorPlace{}, err
	}
	p := pathsOf(e.roots[0])
	real, err := realPath(p, at.Path)
	if err != nil {
		return editorPlace{}, fmt.Errorf("%w: %w", ws.ErrPath, err)
	}
	for _, root := range e.roots {
		if root, err = realPath(p, root); err == nil && p.contains(root, real) {
			return editorPlace{at.Path, real}, nil
		}
	}
	return editorPlace{}, ws.ErrOutside
}

// isDir reports whether a place is a directory, as far as this machine knows.
func (e *editor) isDir(at editorPlace) bool {
	if !e.here {
		return false
	}
	info, err := os.Stat(at.real)
	return err == nil && info.IsDir()
}

// problem says why a place cannot be a file, as far as this machine knows.
func (e *editor) problem(at editorPlace) error {
	if !e.here {
		return nil
	}
	p := pathsOf(e.roots[0])
	info, err := os.Stat(at.real)
	switch {
	case err == nil && info.IsDir():
		return ws.ErrIsDirectory
	case err == nil && !info.Mode().IsRegular():
		return ws.ErrNotRegular
	case err == nil:
		return nil
	}
	for dir := p.parent(at.real); ; dir = p.parent(dir) {
		if info, err := os.Stat(dir); err == nil {
			if !info.IsDir() {
				return ws.ErrNotDirectory
			}
			return nil
		}
		if dir == p.parent(dir) {
			return nil
		}
	}
}

// failure says what an editor's refusal means. Of the reasons that the protocol has no code for, what this machine knows goes first.
func (e *editor) failure(ctx context.Context, op, path string, at editorPlace, err error) error {
	switch tooLong := (*acp.TooLongError)(nil); {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, acp.ErrClosed), errors.Is(err, acp.ErrAnswered):
		err = fmt.Errorf("%w: %w", ws.ErrLost, err)
	case errors.Is(err, acp.ErrMethodNotFound):
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case errors.As(err, &tooLong):
		err = fmt.Errorf("%w: %w", ws.ErrTooLarge, err)
	default:
		if known := e.problem(at); known != nil {
			err = known
		} else if isNotFound(err) {
			err = fs.ErrNotExist
		} else {
			err = errors.New(reason(err))
		}
	}
	return &ws.PathError{Op: op, Path: path, Err: err}
}

// begin checks what every method does first.
func (e *editor) begin(ctx context.Context, op, path string, can bool) (editorPlace, error) {
	var at editorPlace
	var err error
	switch {
	case !can:
		err = errors.ErrUnsupported
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		at, err = e.locate(path)
	}
	if err != nil {
		return at, &ws.PathError{Op: op, Path: path, Err: err}
	}
	return at, nil
}

// Remove implements [ws.Workspace].
func (e *editor) Remove(context.Context, string, ws.Version) error {
	return fmt.Errorf("acpbridge: remove: %w", errors.ErrUnsupported)
}

// Walk implements [ws.Workspace].
func (e *editor) Walk(_ context.Context, dir string, _ ws.WalkOptions) iter.Seq2[ws.Info, error] {
	return func(yield func(ws.Info, error) bool) {
		yield(ws.Info{Path: dir}, fmt.Errorf("acpbridge: walk: %w", errors.ErrUnsupported))
	}
}

// Read implements [ws.Workspace].
func (e *editor) Read(ctx context.Context, path string, r ws.Range) (ws.File, error) {
	at, err := e.begin(ctx, "read", path, e.features.Read)
	if err != nil {
		return ws.File{}, err
	}
	if known := e.problem(at); known != nil {
		return ws.File{}, &ws.PathError{Op: "read", Path: path, Err: known}
	}
	req := &acp.ReadTextFileRequest{SessionID: e.Session.ID, Path: at.path}
	if r.Line > 1 {
		req.Line = new(uint32(r.Line))
	}
	if r.Lines > 0 {
		req.Limit = new(uint32(r.Lines))
	}
	resp, err := e.Client.ReadTextFile(ctx, req)
	if err == nil && req.Line != nil && resp.Content == "" && r.Lines == 0 { // how many lines are there?
		req.Line = nil
		resp, err = e.Client.ReadTextFile(ctx, req)
	}
	if err != nil {
		return ws.File{}, e.failure(ctx, "read", path, at, err)
	}
	text, skipped := resp.Content, 0
	if req.Line != nil { // the editor has skipped them
		skipped = r.Line - 1
		r.Line = 1
	}
	f, err := r.Read(ctx, strings.NewReader(text))
	if err != nil {
		return ws.File{}, &ws.PathError{Op: "read", Path: path, Err: err}
	}
	if f.Lines > 0 {
		f.Lines += skipped
	}
	f.Info = ws.Info{Path: at.path, Size: -1}
	if req.Line == nil && req.Limit == nil {
		f.Size, f.Version = int64(len(text)), versionOf(text)
	}
	return f, nil
}

// Stat implements [ws.Workspace]. It reads the file, because its version is made of its contents.
func (e *editor) Stat(ctx context.Context, path string) (ws.Info, error) {
	at, err := e.begin(ctx, "stat", path, e.features.Read)
	if err != nil {
		return ws.Info{}, err
	}
	if e.isDir(at) {
		return ws.Info{Path: at.path, Mode: fs.ModeDir, Size: -1}, nil
	}
	f, err := e.Read(ctx, path, ws.Range{})
	return f.Info, err
}

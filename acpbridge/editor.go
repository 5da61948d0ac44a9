// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/boxmeta"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// newEditor returns the files and terminals of the user's editor. Its features are what the client
// has announced. Without a client or a session it has none.
func newEditor(d deps.ACPDeps) *editor {
	e := &editor{ACPDeps: d}
	if d.Client == nil || d.Session == nil {
		return e
	}
	e.style = ws.StyleOf(d.Session.Cwd)
	if e.style == ws.Slash && !strings.HasPrefix(d.Session.Cwd, "/") {
		return e // nobody knows where that is
	}
	for _, dir := range append([]string{d.Session.Cwd}, d.Session.AdditionalDirectories...) {
		abs, err := e.style.Abs(d.Session.Cwd, dir)
		if err != nil {
			continue
		}
		real, err := realPath(abs)
		if err != nil {
			real = abs
		}
		e.roots, e.real = append(e.roots, abs), append(e.real, real)
	}
	if len(e.roots) == 0 {
		return e
	}
	if native(e.style) {
		info, err := os.Stat(e.roots[0])
		e.here = err == nil && info.IsDir()
	}
	can := d.Session.Capabilities
	e.features = ws.Features{
		Read: can.FS.ReadTextFile, Write: can.FS.WriteTextFile, Commands: can.Terminal, Unsaved: can.FS.ReadTextFile,
	}
	if can.Terminal {
		e.features.Sandboxed, e.features.Unsandboxed = boxmeta.Announced(can.Meta)
	}
	return e
}

// editor is the files and terminals of an editor, by the methods of the protocol.
type editor struct {
	deps.ACPDeps
	style    ws.Style
	roots    []string
	real     []string // what they led to when the session began: a link that is changed later leads outside
	features ws.Features
	here     bool // the working directory is on this machine
}

// RealRoots implements [ws.Linked], using what this machine knows.
func (e *editor) RealRoots() []string { return e.real }

// Resolve implements [ws.Resolver].
func (e *editor) Resolve(_ context.Context, path string) error {
	_, err := e.locate(path)
	return err
}

// Follow implements [ws.Follower], using what this machine knows.
func (e *editor) Follow(_ context.Context, path string) (string, error) {
	at, err := e.locate(path)
	if err != nil {
		return "", err
	}
	for i, root := range e.real {
		if e.style.Contains(root, at.real) {
			return e.style.Join(e.roots[i], e.style.Rel(root, at.real)), nil
		}
	}
	return at.path, nil
}

// editorPlace is the destination of a path: as it was named, and with the links followed that this
// machine knows.
type editorPlace struct{ path, real string }

func (e *editor) locate(name string) (editorPlace, error) {
	at, err := ws.LocateLinked(e.roots, e.real, name)
	if err != nil {
		return editorPlace{}, err
	}
	real, err := realPath(at.Path)
	switch {
	case errors.Is(err, fs.ErrPermission): // its links cannot be followed
		return editorPlace{}, fs.ErrPermission
	case err != nil:
		return editorPlace{}, fmt.Errorf("%w: %w", ws.ErrPath, err)
	}
	for _, root := range e.real {
		if e.style.Contains(root, real) {
			return editorPlace{at.Path, real}, nil
		}
	}
	return editorPlace{}, ws.ErrOutside
}

// isDir reports whether this machine has a directory at a place.
func (e *editor) isDir(at editorPlace) bool {
	if !e.here {
		return false
	}
	info, err := os.Stat(at.real)
	return err == nil && info.IsDir()
}

// problem returns why a place cannot be a file on this machine, or nil.
func (e *editor) problem(at editorPlace) error {
	if !e.here {
		return nil
	}
	info, err := os.Stat(at.real)
	switch {
	case err == nil && info.IsDir():
		return ws.ErrIsDirectory
	case err == nil && !info.Mode().IsRegular():
		return ws.ErrNotRegular
	case err == nil:
		return nil
	}
	for dir := e.style.Parent(at.real); ; dir = e.style.Parent(dir) {
		if info, err := os.Stat(dir); err == nil {
			if !info.IsDir() {
				return ws.ErrNotDirectory
			}
			return nil
		}
		if dir == e.style.Parent(dir) {
			return nil
		}
	}
}

// failure interprets an editor's refusal to do something with a file. Where the protocol has no
// code for a reason, this machine's knowledge takes precedence.
func (e *editor) failure(ctx context.Context, op, path string, at editorPlace, err error) error {
	if means := meaning(ctx, err); means != nil {
		err = means
	} else if known := e.problem(at); known != nil {
		err = known
	} else if op != "write" && isNotFound(err) { // a write may miss a formatter
		err = fs.ErrNotExist
	} else {
		err = errors.New(reason(err))
	}
	return &ws.PathError{Op: op, Path: path, Err: err}
}

// meaning maps a client's error to an error of a workspace. It returns nil if that depends on the
// request.
func meaning(ctx context.Context, err error) error {
	switch tooLong := (*acp.TooLongError)(nil); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, acp.ErrClosed), errors.Is(err, acp.ErrAnswered):
		return fmt.Errorf("%w: %w", ws.ErrLost, err)
	case errors.Is(err, acp.ErrMethodNotFound):
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	case errors.As(err, &tooLong):
		return fmt.Errorf("%w: %w", ws.ErrTooLarge, err)
	case errors.Is(err, ws.ErrClosed):
		return err
	}
	return nil
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

// text reads a file, or lines of it. found is false if the editor reports that the file does not
// exist.
func (e *editor) text(ctx context.Context, at editorPlace, line, lines int) (text string, found bool, err error) {
	req := &acp.ReadTextFileRequest{SessionID: e.Session.ID, Path: at.path}
	if line > 1 {
		req.Line = new(uint32(line))
	}
	if lines > 0 {
		req.Limit = new(uint32(lines))
	}
	resp, err := e.Client.ReadTextFile(ctx, req)
	switch {
	case err == nil:
		return resp.Content, true, nil
	case meaning(ctx, err) == nil && isNotFound(err):
		return "", false, nil
	}
	return "", false, err
}

// lines reads a range of lines. The version of the result is empty unless the range is the whole
// file. Editors differ in their answer to a range that begins after the end: nothing, or an error.
// In that case the whole file is read to find its end.
func (e *editor) lines(ctx context.Context, at editorPlace, r ws.Range) (f ws.File, found bool, err error) {
	text, found, err := e.text(ctx, at, r.Line, r.Lines)
	skipped := max(r.Line-1, 0)
	if skipped > 0 && (err == nil && found && text == "" || err != nil && meaning(ctx, err) == nil) {
		text, found, err = e.text(ctx, at, 0, 0)
		skipped = 0
	}
	if err != nil || !found {
		return ws.File{}, false, err
	}
	empty := text == "" && skipped == 0
	if skipped > 0 {
		r.Line = 1
	}
	if f, err = r.Read(ctx, strings.NewReader(text)); err != nil {
		return ws.File{}, false, err
	}
	if f.Lines > 0 {
		f.Lines += skipped
	}
	f.Info, f.Uncertain = ws.Info{Path: at.path, Size: -1}, empty
	return f, true, nil
}

// write has the editor write a file. Once the editor was asked it may write, whatever becomes of
// ctx: so its answer is waited for a little longer.
func (e *editor) write(ctx context.Context, path string, at editorPlace, data []byte) error {
	if ctx.Err() != nil {
		return e.failure(ctx, "write", path, at, context.Cause(ctx))
	}
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(editorCleanup, func() { cancel(context.Cause(ctx)) })
	})()
	if _, err := e.Client.WriteTextFile(call, &acp.WriteTextFileRequest{SessionID: e.Session.ID, Path: at.path, Content: string(data)}); err != nil {
		return e.failure(ctx, "write", path, at, err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	ws "github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// LocalFallback says what this machine does for clients that cannot do it. The zero value is nothing: the tools that a client lacks the
// capability for are not offered.
type LocalFallback struct {
	// Files lets files be read and written on this machine if the client cannot read, or cannot write.
	Files bool
	// Commands lets commands run on this machine if the client has no terminals.
	Commands bool
	// Prefer has this machine do what Files and Commands allow also for clients that can do it. Files are then as they are saved, and commands
	// do not run in the editor's terminals.
	Prefer Prefer
	// Config configures files and commands on this machine: the environment, limits and a sandbox. Roots and NoCommands are set by the
	// bridge.
	Config local.Config
}

// Prefer says what this machine does although the client could. What is not allowed by a [LocalFallback] is done by the client all the same.
type Prefer struct {
	// Files has files read and written on this machine.
	Files bool
	// Commands has commands run on this machine.
	Commands bool
}

// Workspace is the files and commands of an ACP session. What the client has announced is done by the client: files are read as the editor
// has them, including unsaved changes, and commands run in its terminals. What it has not announced is done by this machine if a
// [LocalFallback] allows that. The protocol cannot list and search files, so that is done on this machine as well, if the session's
// directories are here; only saved text is searched.
//
// Paths are checked here, links included as far as this machine knows them. A client opens files itself, afterwards: a link that is
// changed in between leads elsewhere. Between the check of a version and the write the user may type. Of output that a client has dropped
// nobody knows how much it was, so positions count from the beginning of what is left.
type Workspace struct {
	editor   *editor
	here     *local.Workspace // nil if the session's directories are not on this machine
	fallback *LocalFallback
	features ws.Features
}

var (
	_ ws.Workspace = (*Workspace)(nil)
	_ ws.Resolver  = (*Workspace)(nil)
)

// NewWorkspace returns the workspace of a session. Its features are what the client has announced and what this machine adds. Without a
// client or a session it has none. Close must be called.
//
// If this machine has to do something and cannot, that is an error: a directory of the session does not exist here, or is a file (a
// [ws.PathError]), or the sandbox cannot be had ([local.ErrSandbox]).
func NewWorkspace(d deps.ACPDeps, f LocalFallback) (*Workspace, error) {
	w := &Workspace{editor: newEditor(d), fallback: &f}
	if f.Files && f.Prefer.Files {
		w.editor.features.Read, w.editor.features.Write = false, false
	}
	if f.Commands && f.Prefer.Commands {
		w.editor.features.Commands = false
	}
	if len(w.editor.roots) == 0 {
		return w, nil
	}
	can := w.editor.features
	w.features = can
	files, commands := f.Files && !(can.Read && can.Write), f.Commands && !can.Commands
	config := f.Config
	config.Roots, config.NoCommands = w.editor.roots, !commands
	err := fmt.Errorf("acpbridge: the session's directory %s is not on this machine", w.editor.roots[0])
	if native(w.editor.style) {
		w.here, err = local.Open(config)
	}
	if err != nil {
		w.here = nil
		if files || commands {
			return nil, err
		}
		return w, nil // nothing can be listed and searched
	}
	here := w.here.Features()
	w.features.Walk, w.features.Saved = true, true
	if files {
		w.features.Remove = !can.Read && !can.Write
		w.features.Read, w.features.Write = true, true
	}
	w.features.Commands = can.Commands || here.Commands
	return w, nil
}

// Close ends commands that run on this machine. Those in terminals of the client are ended by the session: see [ws.Session.Close].
func (w *Workspace) Close() error {
	if w.here == nil {
		return nil
	}
	return w.here.Close()
}

// Local returns the files of the session's directories as this machine has them, or nil if they are not here. It is for files that the agent
// writes for itself, such as long results that it spills: a client takes what is written by way of it for changes of the model, shows them, or asks the
// user about them. What the model writes goes through w.
func (w *Workspace) Local() ws.Workspace {
	if w.here == nil {
		return nil
	}
	return w.here
}

// madeFor reports whether the workspace uses the client and the session of dependencies.
func (w *Workspace) madeFor(d deps.ACPDeps) bool {
	return w.editor.Session == d.Session && sameClient(w.editor.Client, d.Client)
}

// Roots implements [ws.Workspace].
func (w *Workspace) Roots() []string { return w.editor.roots }

// RealRoots implements [ws.Linked].
func (w *Workspace) RealRoots() []string { return w.editor.RealRoots() }

// Features implements [ws.Workspace].
func (w *Workspace) Features() ws.Features { return w.features }

// Resolve implements [ws.Resolver].
func (w *Workspace) Resolve(ctx context.Context, path string) error {
	return w.editor.Resolve(ctx, path)
}

// Follow implements [ws.Follower].
func (w *Workspace) Follow(ctx context.Context, path string) (string, error) {
	return w.editor.Follow(ctx, path)
}

// readsHere and writesHere say that this machine does what the client cannot.
func (w *Workspace) readsHere() bool { return w.features.Read && !w.editor.features.Read }

func (w *Workspace) writesHere() bool { return w.features.Write && !w.editor.features.Write }

// Read implements [ws.Workspace].
func (w *Workspace) Read(ctx context.Context, path string, r ws.Range) (ws.File, error) {
	switch {
	case w.readsHere():
		return w.here.Read(ctx, path, r)
	case r.Saved && w.features.Saved:
		f, err := w.here.Read(ctx, path, r)
		f.Version = "" // that of the editor is another
		return f, err
	}
	return w.editor.Read(ctx, path, r)
}

// Stat implements [ws.Workspace].
func (w *Workspace) Stat(ctx context.Context, path string) (ws.Info, error) {
	if w.readsHere() {
		return w.here.Stat(ctx, path)
	}
	return w.editor.Stat(ctx, path)
}

// Write implements [ws.Workspace].
func (w *Workspace) Write(ctx context.Context, path string, data []byte, ifVersion ws.Version) (ws.Version, error) {
	switch {
	case w.writesHere() && w.readsHere():
		return w.here.Write(ctx, path, data, ifVersion)
	case w.writesHere():
		return w.writeHere(ctx, path, data, ifVersion)
	case w.readsHere():
		return w.writeThere(ctx, path, data, ifVersion)
	}
	return w.editor.Write(ctx, path, data, ifVersion)
}

// Remove implements [ws.Workspace].
func (w *Workspace) Remove(ctx context.Context, path string, ifVersion ws.Version) error {
	if w.features.Remove {
		return w.here.Remove(ctx, path, ifVersion)
	}
	return w.editor.Remove(ctx, path, ifVersion)
}

// Walk implements [ws.Workspace].
func (w *Workspace) Walk(ctx context.Context, dir string, o ws.WalkOptions) iter.Seq2[ws.Info, error] {
	if !w.features.Walk {
		return w.editor.Walk(ctx, dir, o)
	}
	if !o.Details || w.readsHere() {
		return w.here.Walk(ctx, dir, o)
	}
	o.Details = false
	return func(yield func(ws.Info, error) bool) {
		for info, err := range w.here.Walk(ctx, dir, o) {
			if err == nil && info.Mode.IsRegular() {
				info = w.detailed(ctx, info)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// detailed describes a file as the editor knows it. If it cannot, the description has no version.
func (w *Workspace) detailed(ctx context.Context, info ws.Info) ws.Info {
	if w.features.Read {
		if known, err := w.editor.Stat(ctx, info.Path); err == nil {
			return known
		}
	}
	info.Size = -1
	return info
}

// Start implements [ws.Workspace]. The user is shown the command with the tool call that starts it.
func (w *Workspace) Start(ctx context.Context, c ws.Command) (ws.Process, error) {
	if w.features.Commands && !w.editor.features.Commands {
		p, err := w.here.Start(ctx, c)
		if err != nil {
			return nil, err
		}
		return &localProcess{p}, nil
	}
	p, err := w.editor.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	if a := activityOf(ctx); a != nil {
		a.showTerminal(ctx, acp.TerminalID(p.Ref()))
	}
	return p, nil
}

// errUnsaved means that a file cannot be written on this machine, because the editor would not know.
var errUnsaved = errors.New("the user has unsaved changes in this file. Ask the user to save it")

// writeHere writes a file on this machine that the editor reads.
func (w *Workspace) writeHere(ctx context.Context, path string, data []byte, ifVersion ws.Version) (ws.Version, error) {
	fail := func(err error) (ws.Version, error) { return "", &ws.PathError{Op: "write", Path: path, Err: err} }
	unlock, err := w.editor.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	shown, err := w.editor.Read(ctx, path, ws.Range{})
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return "", err
	case ifVersion != ws.AnyVersion && ifVersion != shown.Version:
		return fail(ws.ErrChanged)
	}
	saved, err := w.here.Read(ctx, path, ws.Range{})
	switch {
	case errors.Is(err, fs.ErrNotExist) && missing:
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case missing || err != nil || string(saved.Data) != string(shown.Data):
		return fail(errUnsaved)
	}
	if _, err := w.here.Write(ctx, path, data, saved.Version); err != nil {
		return "", err
	}
	return versionOf(string(data)), nil
}

// writeThere writes a file through the editor that this machine reads.
func (w *Workspace) writeThere(ctx context.Context, path string, data []byte, ifVersion ws.Version) (ws.Version, error) {
	fail := func(err error) (ws.Version, error) { return "", &ws.PathError{Op: "write", Path: path, Err: err} }
	unlock, err := w.editor.lock(ctx)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	info, err := w.here.Stat(ctx, path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case ifVersion != ws.AnyVersion && ifVersion != info.Version:
		return fail(ws.ErrChanged)
	}
	if err := w.editor.write(ctx, path, data); err != nil {
		return "", err
	}
	if info, err = w.here.Stat(ctx, path); err != nil { // the editor has not saved it yet
		return versionOf(string(data)), nil
	}
	return info.Version, nil
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (w Workspace) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "acpbridge.Workspace") }

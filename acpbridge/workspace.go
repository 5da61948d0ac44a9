// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
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

// LocalFallback selects what this machine does for clients that cannot do it. With the zero value
// it does nothing: tools are not offered if the client lacks the capability for them.
type LocalFallback struct {
	// Files lets files be read and written on this machine if the client cannot read, or cannot write.
	Files bool
	// Commands lets commands run on this machine if the client has no terminals.
	Commands bool
	// Prefer has this machine do what Files and Commands allow also for clients that can do it. Files are then as they are saved, and commands
	// do not run in the editor's terminals.
	Prefer Prefer
	// MCP has the program's MCP servers, for sessions without an editor: see [DepsOf]. Editors have
	// those of [Options].MCP.
	MCP MCPServers
	// Config configures files and commands on this machine: the environment, limits and a sandbox. Roots and NoCommands are set by the
	// bridge.
	Config local.Config
}

// runs reports whether commands of a client with these abilities run on this machine.
func (f *LocalFallback) runs(can acp.ClientCapabilities) bool {
	return f != nil && f.Commands && (!can.Terminal || f.Prefer.Commands)
}

// Prefer makes this machine do work that the client could do. What [LocalFallback] does not allow
// is still done by the client.
type Prefer struct {
	// Files has files read and written on this machine.
	Files bool
	// Commands has commands run on this machine.
	Commands bool
}

// Workspace is the files and commands of an ACP session. The client does what it announced: files
// are read as the editor has them, including unsaved changes, and commands run in its terminals.
// This machine does the rest if a [LocalFallback] allows it. The protocol cannot list and search
// files, so that is done on this machine as well, if the session's directories are here; only saved
// text is searched.
//
// Where the directories are here, a file is compared with what is on disk: see [ws.Document]. A change goes to the disk and not through the editor if
// the editor does not show the file as it is and has nothing unsaved. Files are removed from the disk on the same condition. After a write
// through the editor the file is read again.
//
// Paths are checked here, including the links that this machine knows. A client opens files itself,
// later: a link that is changed in between may lead elsewhere. The user may edit the file between
// the comparison and the write that follows it. The size of output that a client has dropped is
// unknown, so positions count from the start of what is left.
type Workspace struct {
	editor   *editor
	here     *local.Workspace // nil if the session's directories are not on this machine
	fallback *LocalFallback
	features ws.Features
	seen     *seenFiles
}

var (
	_ ws.Workspace = (*Workspace)(nil)
	_ ws.Resolver  = (*Workspace)(nil)
	_ ws.Linked    = (*Workspace)(nil)
	_ ws.Follower  = (*Workspace)(nil)
	_ ws.Opener    = (*Workspace)(nil)
	_ ws.Applier   = (*Workspace)(nil)
	_ ws.Viewer    = (*Workspace)(nil)
)

// NewWorkspace returns the workspace of a session. Its features are what the client has announced and what this machine adds. Without a
// client or a session it has none. Close must be called.
//
// If this machine has to do something and cannot, that is an error: a directory of the session does
// not exist here, or is a file (a [ws.PathError]), or the sandbox is not available
// ([local.ErrSandbox]).
func NewWorkspace(d deps.ACPDeps, f LocalFallback) (*Workspace, error) {
	w := &Workspace{editor: newEditor(d), fallback: &f, seen: &seenFiles{}}
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
		w.features.Read, w.features.Write = true, true
	}
	w.features.Remove = w.features.Read && w.features.Write
	w.features.Commands = can.Commands || here.Commands
	if !can.Commands {
		w.features.Sandboxed, w.features.Unsandboxed = here.Sandboxed, here.Unsandboxed
	}
	return w, nil
}

// Close ends commands that run on this machine. Those in terminals of the client are ended by the session: see [ws.Session.Close].
func (w *Workspace) Close() error {
	if w.here == nil {
		return nil
	}
	return w.here.Close()
}

// Local returns the files of the session's directories as this machine has them, or nil if they are
// not here. It is for files that the agent writes for itself, such as long results that it spills.
// A client would take those for changes by the model, show them, or ask the user about them. The
// model's own changes go through w.
func (w *Workspace) Local() ws.Workspace {
	if w.here == nil {
		return nil
	}
	return w.here
}

// Unsandboxed returns why commands that run on this machine run without the sandbox that was
// configured, or nil: see [local.Workspace.Unsandboxed].
func (w *Workspace) Unsandboxed() error {
	if w.here == nil {
		return nil
	}
	return w.here.Unsandboxed()
}

// madeFor reports whether the workspace uses the client and the session of dependencies.
func (w *Workspace) madeFor(d deps.ACPDeps) bool {
	return w.editor.Session == d.Session && sameClient(w.editor.Client, d.Client)
}

// Roots implements [ws.Workspace].
func (w *Workspace) Roots() []string { return w.editor.roots }

// RealRoots implements [ws.Linked].
func (w *Workspace) RealRoots() []string { return w.editor.RealRoots() }

// View implements [ws.Viewer]: the sessions of one client show the same text.
func (w *Workspace) View() any {
	if c := w.editor.Client; sameClient(c, c) {
		return c
	}
	return nil
}

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

// readsHere and writesHere report whether this machine does the work for the client.
func (w *Workspace) readsHere() bool { return w.features.Read && !w.editor.features.Read }

func (w *Workspace) writesHere() bool { return w.features.Write && !w.editor.features.Write }

// Read implements [ws.Workspace]. Where the directory is on this machine, what the editor has is compared with what is on disk.
func (w *Workspace) Read(ctx context.Context, path string, r ws.Range) (ws.File, error) {
	switch {
	case w.readsHere():
		return w.here.Read(ctx, path, r)
	case r.Saved && w.features.Saved:
		f, err := w.here.Read(ctx, path, r)
		f.Version = "" // that of the editor is another
		return f, err
	}
	if r.Line > 1 || r.Lines > 0 {
		if f, done, err := w.readLines(ctx, path, r); done || err != nil {
			return f, err
		}
	}
	s, err := w.look(ctx, "read", path)
	if err != nil {
		return ws.File{}, err
	}
	now := s.Current()
	if !now.Exists || s.Buffer != nil && !s.Buffer.Exists && !s.Unsaved && s.Bypass == "" {
		return ws.File{}, &ws.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	f, err := r.Read(ctx, bytes.NewReader(now.Data))
	if err != nil {
		return ws.File{}, &ws.PathError{Op: "read", Path: path, Err: err}
	}
	f.Info = ws.Info{Path: s.Path, Mode: now.Mode, Size: int64(len(now.Data))}
	if len(f.Data) == len(now.Data) {
		f.Version = s.Version
	}
	f.Unsaved, f.Faithful, f.Uncertain, f.Doubtful = s.Unsaved, s.Faithful, s.Uncertain, s.Doubtful
	return f, nil
}

// readLines reads a range of lines. done is false if the editor's lines differ from those on disk,
// in which case the whole file has to be compared.
func (w *Workspace) readLines(ctx context.Context, path string, r ws.Range) (f ws.File, done bool, err error) {
	at, err := w.editor.begin(ctx, "read", path, w.editor.features.Read)
	if err != nil {
		return ws.File{}, false, err
	}
	if known := w.editor.problem(at); known != nil {
		return ws.File{}, false, &ws.PathError{Op: "read", Path: path, Err: known}
	}
	f, found, err := w.editor.lines(ctx, at, r)
	if w.here == nil {
		switch {
		case err != nil:
			return f, false, w.editor.failure(ctx, "read", path, at, err)
		case !found:
			return f, false, &ws.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
		f.Doubtful = bytes.Contains(f.Data, replacement)
		return f, true, nil
	}
	if err != nil || !found {
		return f, false, nil
	}
	r.Buf = nil
	saved, err := w.here.Read(ctx, path, r)
	same := err == nil && bytes.Equal(saved.Data, f.Data) && saved.More == f.More && saved.Lines == f.Lines
	f.Uncertain = false
	return f, same, nil
}

// Stat implements [ws.Workspace]. It reads the file, because its version is made of its contents.
func (w *Workspace) Stat(ctx context.Context, path string) (ws.Info, error) {
	if w.readsHere() {
		return w.here.Stat(ctx, path)
	}
	at, err := w.editor.begin(ctx, "stat", path, w.editor.features.Read)
	if err != nil {
		return ws.Info{}, err
	}
	if w.editor.isDir(at) {
		return ws.Info{Path: at.path, Mode: fs.ModeDir, Size: -1}, nil
	}
	f, err := w.Read(ctx, path, ws.Range{})
	return f.Info, err
}

// Walk implements [ws.Workspace].
func (w *Workspace) Walk(ctx context.Context, dir string, o ws.WalkOptions) iter.Seq2[ws.Info, error] {
	if !w.features.Walk {
		return func(yield func(ws.Info, error) bool) {
			yield(ws.Info{Path: dir}, fmt.Errorf("acpbridge: walk: %w", errors.ErrUnsupported))
		}
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
		if known, err := w.Stat(ctx, info.Path); err == nil {
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
	if a := reportOf(ctx); a != nil {
		a.showTerminal(ctx, acp.TerminalID(p.Ref()))
	}
	return p, nil
}

// Format implements [fmt.Formatter]. No verb prints the configuration, which has secrets.
func (w Workspace) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "acpbridge.Workspace") }

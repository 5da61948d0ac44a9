// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/internal/boxmeta"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// editorOutput is how much output an editor is asked to keep, in bytes.
	editorOutput = 1 << 20
	// editorCleanup is how long an editor has to answer when the caller no longer waits.
	editorCleanup = 2 * time.Second
)

// Start implements [ws.Workspace]. The command runs in a terminal of the editor, where the user
// sees it.
func (e *editor) Start(ctx context.Context, c ws.Command) (ws.Process, error) {
	if !e.features.Commands {
		return nil, fmt.Errorf("acpbridge: start: %w", errors.ErrUnsupported)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("acpbridge: start: %w", err)
	}
	at, err := e.begin(ctx, "start", cmp.Or(c.Dir, "."), true)
	if err != nil {
		return nil, err
	}
	if err := e.checkDir(at); err != nil {
		return nil, &ws.PathError{Op: "start", Path: c.Dir, Err: err}
	}
	req := &acp.CreateTerminalRequest{
		SessionID: e.Session.ID, Cwd: &at.path, OutputByteLimit: new(uint64(editorOutput)),
		Meta: boxmeta.Ask(c.Sandbox),
	}
	// A line is given to a shell by name. Some clients start the program as it is, others pass
	// everything to the user's shell with the arguments quoted: "sh -c LINE" means the same to
	// both.
	argv := c.Argv(e.style)
	req.Command, req.Args = argv[0], argv[1:]
	for i, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		if !setAgain(c.Env[i+1:], name) {
			req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: value})
		}
	}
	id, err := createTerminal(ctx, e.Client, req, editorCleanup)
	p := &editorProcess{editor: e, id: id}
	switch {
	case err == nil && ctx.Err() != nil:
		return nil, errors.Join(context.Cause(ctx), p.Close(context.WithoutCancel(ctx)))
	case err == nil:
		return p, nil
	case ctx.Err() == nil && isNotFound(err):
		return nil, fmt.Errorf("acpbridge: start: %w: %s", ws.ErrNoProgram, reason(err))
	}
	return nil, &ws.CommandError{Op: "start", Ref: req.Command, Err: commandMeaning(ctx, err)}
}

// checkDir returns an error for a directory that this machine knows to be unusable.
func (e *editor) checkDir(at editorPlace) error {
	if !e.here || e.isDir(at) {
		return nil
	}
	if _, err := os.Stat(at.real); err == nil || errors.Is(e.problem(at), ws.ErrNotDirectory) {
		return ws.ErrNotDirectory
	}
	return fs.ErrNotExist
}

// setAgain reports whether a variable is set in env.
func setAgain(env []string, name string) bool {
	for _, v := range env {
		if n, _, _ := strings.Cut(v, "="); n == name {
			return true
		}
	}
	return false
}

// editorProcess is a command in a terminal of the editor.
type editorProcess struct {
	editor *editor
	id     acp.TerminalID

	mu     sync.Mutex
	exit   *ws.Exit // once it is known
	closed bool
	// base and end are the positions of the output that was seen last, last is its end.
	base, end int64
	last      string
}

// Ref implements [ws.Process]. It is the id of the terminal.
func (p *editorProcess) Ref() string { return string(p.id) }

// ended remembers how the command ended.
func (p *editorProcess) ended(status *acp.TerminalExitStatus) *ws.Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status == nil || p.exit != nil {
		return p.exit
	}
	p.exit = &ws.Exit{Code: -1, Created: boxmeta.Told(status.Meta)}
	switch {
	case status.Signal != nil && *status.Signal != "":
		p.exit.Signal = *status.Signal
	case status.ExitCode != nil:
		p.exit.Code = int(*status.ExitCode)
	}
	return p.exit
}

func (p *editorProcess) failure(ctx context.Context, op string, err error) error {
	return &ws.CommandError{Op: op, Ref: string(p.id), Err: commandMeaning(ctx, err)}
}

// commandMeaning maps a client's error about a terminal to an error of a workspace.
func commandMeaning(ctx context.Context, err error) error {
	if means := meaning(ctx, err); means != nil {
		return means
	}
	return errors.New(reason(err))
}

func (p *editorProcess) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Output implements [ws.Process].
func (p *editorProcess) Output(ctx context.Context, from int64, limit int) (ws.Chunk, error) {
	if p.isClosed() {
		return ws.Chunk{}, p.failure(ctx, "output", ws.ErrClosed)
	}
	out, err := p.editor.Client.TerminalOutput(ctx, &acp.TerminalOutputRequest{SessionID: p.editor.Session.ID, TerminalID: p.id})
	if err != nil {
		return ws.Chunk{}, p.failure(ctx, "output", err)
	}
	base := p.position(out)
	end := base + int64(len(out.Output))
	if from < 0 {
		from = max(end+from, 0)
	}
	lost := out.Truncated && from < base
	from = min(max(from, base), end)
	data := out.Output[from-base:]
	if limit > 0 {
		data = data[:min(limit, len(data))]
	}
	return ws.Chunk{Data: []byte(data), From: from, End: end, Lost: lost, Exit: p.ended(out.ExitStatus)}, nil
}

// position returns the position of an output in everything that the command has written. Editors do
// not report how much they have dropped. It is at least what is missing from the end of the earlier
// output.
func (p *editorProcess) position(out *acp.TerminalOutputResponse) int64 {
	const remembered = 256
	p.mu.Lock()
	defer p.mu.Unlock()
	if out.Truncated {
		p.base = max(p.base, 1)
		if i := strings.Index(out.Output, p.last); i >= 0 && p.last != "" {
			p.base = max(p.base, p.end-int64(i+len(p.last)))
		} else {
			p.base = max(p.base, p.end)
		}
	}
	p.end = p.base + int64(len(out.Output))
	p.last = strings.Clone(out.Output[max(0, len(out.Output)-remembered):])
	return p.base
}

// Wait implements [ws.Process].
func (p *editorProcess) Wait(ctx context.Context) (ws.Exit, error) {
	if p.isClosed() {
		return ws.Exit{}, p.failure(ctx, "wait", ws.ErrClosed)
	}
	resp, err := p.editor.Client.WaitForTerminalExit(ctx, &acp.WaitForTerminalExitRequest{SessionID: p.editor.Session.ID, TerminalID: p.id})
	if err != nil {
		return ws.Exit{}, p.failure(ctx, "wait", err)
	}
	return *p.ended(&acp.TerminalExitStatus{ExitCode: resp.ExitCode, Signal: resp.Signal, Meta: resp.Meta}), nil
}

// Kill implements [ws.Process].
func (p *editorProcess) Kill(ctx context.Context) error {
	if p.isClosed() {
		return nil
	}
	if _, err := p.editor.Client.KillTerminal(ctx, &acp.KillTerminalRequest{SessionID: p.editor.Session.ID, TerminalID: p.id}); err != nil {
		return p.failure(ctx, "kill", err)
	}
	return nil
}

// Close implements [ws.Process]. A command that may be running is killed first, for clients that
// release a terminal and leave its command. That takes at most half of the time, to leave some for
// the release.
func (p *editorProcess) Close(ctx context.Context) error {
	p.mu.Lock()
	closed, ended := p.closed, p.exit != nil
	p.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, editorCleanup)
	defer cancel()
	if !ended {
		half, cancel := context.WithTimeout(ctx, editorCleanup/2)
		_, _ = p.editor.Client.KillTerminal(half, &acp.KillTerminalRequest{SessionID: p.editor.Session.ID, TerminalID: p.id})
		cancel()
	}
	if _, err := p.editor.Client.ReleaseTerminal(ctx, &acp.ReleaseTerminalRequest{SessionID: p.editor.Session.ID, TerminalID: p.id}); err != nil {
		return p.failure(ctx, "close", err)
	}
	return nil
}

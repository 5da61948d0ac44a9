// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// client handles what the agent asks of its client.
type client struct {
	acp.UnimplementedClient
	config      *Config
	screen      *screen
	files       *local.Workspace
	terminals   *terminals
	permissions permissions

	mu   sync.Mutex
	turn *turn
}

var _ acp.Client = (*client)(nil)

// turn is a turn in progress.
type turn struct {
	cancelled chan struct{}
	once      sync.Once
}

func (t *turn) cancel() { t.once.Do(func() { close(t.cancelled) }) }

func (c *client) beginTurn() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = &turn{cancelled: make(chan struct{})}
	return c.turn
}

func (c *client) endTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn = nil
}

func (c *client) currentTurn() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	c.screen.update(&n.Update)
	return nil
}

// RequestPermission implements [acp.Client].
func (c *client) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	acp.Async(ctx)
	var cancelled <-chan struct{}
	if t := c.currentTurn(); t != nil {
		cancelled = t.cancelled
	}
	c.screen.toolCall(&r.ToolCall)
	return &acp.RequestPermissionResponse{Outcome: c.permissions.decide(ctx, cancelled, r)}, nil
}

// ReadTextFile implements [acp.Client].
func (c *client) ReadTextFile(ctx context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	err := checkPath(r.Path)
	var f workspace.File
	if err == nil {
		f, err = c.files.Read(ctx, r.Path, workspace.Range{Line: number(r.Line), Lines: number(r.Limit)})
	}
	if err == nil && !utf8.Valid(f.Data) {
		err = &workspace.PathError{Op: "read", Path: r.Path, Err: workspace.ErrBinary}
	}
	if err != nil {
		return nil, fileError(err)
	}
	return &acp.ReadTextFileResponse{Content: string(f.Data)}, nil
}

// WriteTextFile implements [acp.Client]. A file that is read-only is not replaced, though that could be done: the user may have meant it.
func (c *client) WriteTextFile(ctx context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	err := checkPath(r.Path)
	if err == nil {
		if info, statErr := c.files.Stat(ctx, r.Path); statErr == nil && info.Mode.IsRegular() && info.Mode&0o200 == 0 {
			err = &workspace.PathError{Op: "write", Path: r.Path, Err: fs.ErrPermission}
		}
	}
	if err == nil {
		_, err = c.files.Write(ctx, r.Path, []byte(r.Content), workspace.AnyVersion)
	}
	if err != nil {
		return nil, fileError(err)
	}
	return &acp.WriteTextFileResponse{}, nil
}

// checkPath keeps to the protocol, in which all paths are absolute.
func checkPath(path string) error {
	if filepath.IsAbs(path) {
		return nil
	}
	return &workspace.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w: it is not absolute", workspace.ErrPath)}
}

func number(n *uint32) int {
	if n == nil {
		return 0
	}
	return int(min(*n, 1<<30))
}

// fileError gives an error of the file system the code that the protocol has for it.
func fileError(err error) error {
	code := acp.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = acp.CodeResourceNotFound
	case errors.Is(err, workspace.ErrOutside), errors.Is(err, workspace.ErrPath), errors.Is(err, workspace.ErrBinary), errors.Is(err, workspace.ErrTooLarge),
		errors.Is(err, workspace.ErrIsDirectory), errors.Is(err, workspace.ErrNotDirectory), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, fs.ErrPermission):
		code = acp.CodeInvalidParams
	}
	return acp.Errorf(code, "%s", oneLine(err.Error()))
}

// CreateTerminal implements [acp.Client].
func (c *client) CreateTerminal(_ context.Context, r *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	id, err := c.terminals.create(r)
	if err != nil {
		return nil, err
	}
	return &acp.CreateTerminalResponse{TerminalID: id}, nil
}

// TerminalOutput implements [acp.Client].
func (c *client) TerminalOutput(_ context.Context, r *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	t, err := c.terminals.find(r.TerminalID)
	if err != nil {
		return nil, err
	}
	text, truncated, exit := t.Output()
	answer := &acp.TerminalOutputResponse{Output: text, Truncated: truncated}
	if exit != nil {
		code, signal := exitOf(*exit)
		answer.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
	}
	return answer, nil
}

// WaitForTerminalExit implements [acp.Client].
func (c *client) WaitForTerminalExit(ctx context.Context, r *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	t, err := c.terminals.find(r.TerminalID)
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	exit, err := t.Wait(ctx)
	if err != nil {
		return nil, err
	}
	t.view.end(&exit)
	code, signal := exitOf(exit)
	return &acp.WaitForTerminalExitResponse{ExitCode: code, Signal: signal}, nil
}

// KillTerminal implements [acp.Client].
func (c *client) KillTerminal(_ context.Context, r *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	t, err := c.terminals.find(r.TerminalID)
	if err != nil {
		return nil, err
	}
	t.Kill()
	return &acp.KillTerminalResponse{}, nil
}

// ReleaseTerminal implements [acp.Client].
func (c *client) ReleaseTerminal(_ context.Context, r *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	if err := c.terminals.release(r.TerminalID); err != nil {
		return nil, err
	}
	return &acp.ReleaseTerminalResponse{}, nil
}

// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/examples/ideagent/internal/files"
)

// client handles what the agent asks of its client.
type client struct {
	acp.UnimplementedClient
	config      *Config
	screen      *screen
	files       *files.Dir
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
func (c *client) ReadTextFile(_ context.Context, r *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	text, err := c.files.Read(r.Path, number(r.Line), number(r.Limit))
	if err != nil {
		return nil, fileError(err)
	}
	return &acp.ReadTextFileResponse{Content: text}, nil
}

// WriteTextFile implements [acp.Client].
func (c *client) WriteTextFile(_ context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	if err := c.files.Write(r.Path, r.Content); err != nil {
		return nil, fileError(err)
	}
	return &acp.WriteTextFileResponse{}, nil
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
	case errors.Is(err, files.ErrOutside), errors.Is(err, files.ErrNotText), errors.Is(err, files.ErrTooLarge), errors.Is(err, fs.ErrPermission):
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

package chat

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

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

	// read and shown count the updates of sessions: those that have arrived, and those that have been handled.
	read, shown atomic.Int64

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

// count is called for each message, in the order of the wire.
func (c *client) count(e acp.Event) {
	if e.Direction == acp.Received && e.Kind == acp.KindNotification && e.Method == acp.MethodSessionUpdate && e.Problem == "" {
		c.read.Add(1)
	}
}

// settle waits until the updates that have arrived are shown. The answer to a call may overtake them, since they wait for
// their turn in the session's order and the answer does not.
func (c *client) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for arrived := c.read.Load(); c.shown.Load() < arrived; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	defer c.shown.Add(1)
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

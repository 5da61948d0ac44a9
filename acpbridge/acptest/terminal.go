// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// Program is the program of a terminal: it writes to p and returns how it ended. It must return
// soon after ctx has ended, which happens when it is killed; what it returns then does not count.
//
// Of the programs in [Options].Programs a command is looked up by its whole line ("go test ./...";
// of "sh -c LINE" also LINE), then by its first two words, then by the program alone. An unknown
// program prints that it is not found and exits with 127.
type Program func(ctx context.Context, p *Process) Exit

// Process is a running program.
type Process struct {
	// Request is the agent's request.
	Request *acp.CreateTerminalRequest
	io.Writer
}

// Exit is how a program ended: with an exit code, or with a signal if that is not empty.
type Exit struct {
	Code   uint32 // 0 for success
	Signal string // such as "SIGKILL"
}

// Prints is a program that prints text and exits.
func Prints(text string, code uint32) Program {
	return func(_ context.Context, p *Process) Exit {
		fmt.Fprint(p, text)
		return Exit{Code: code}
	}
}

// Runs is a program that prints text and runs until it is killed.
func Runs(text string) Program {
	return func(ctx context.Context, p *Process) Exit {
		fmt.Fprint(p, text)
		<-ctx.Done()
		return Exit{}
	}
}

// terminal is a terminal that has not been released.
type terminal struct {
	id      acp.TerminalID
	line    string
	request *acp.CreateTerminalRequest
	kill    context.CancelFunc
	done    chan struct{} // closed when the program has ended

	mu     sync.Mutex
	output []byte
	killed bool
	exit   *acp.TerminalExitStatus
}

// Write implements [io.Writer] for the program.
func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output = append(t.output, b...)
	return len(b), nil
}

func (t *terminal) ended(exit Exit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exit = &acp.TerminalExitStatus{}
	switch {
	case t.killed:
		t.exit.Signal = new("SIGKILL")
	case exit.Signal != "":
		t.exit.Signal = &exit.Signal
	default:
		t.exit.ExitCode = &exit.Code
	}
	close(t.done)
}

// Open returns the command lines of the terminals that have not been released, in the order in
// which they were created.
func (c *Client) Open() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var open []*terminal
	for _, t := range c.terminals {
		open = append(open, t)
	}
	slices.SortFunc(open, func(a, b *terminal) int {
		return cmp.Or(len(a.id)-len(b.id), cmp.Compare(a.id, b.id)) // by their numbers
	})
	lines := make([]string, len(open))
	for i, t := range open {
		lines[i] = t.line
	}
	return lines
}

// CreateTerminal implements [acp.Client].
func (c *Client) CreateTerminal(ctx context.Context, req *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	if err := c.enter(ctx, acp.MethodCreateTerminal, req); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Cwd != nil {
		c.checkPath(acp.MethodCreateTerminal, *req.Cwd)
	}
	if c.ctx.Err() != nil {
		return nil, acp.Errorf(acp.CodeInternal, "the editor is closed")
	}
	c.lastID++
	running, cancel := context.WithCancel(c.ctx)
	t := &terminal{
		id: acp.TerminalID(fmt.Sprintf("terminal-%d", c.lastID)), request: req, done: make(chan struct{}),
		line: strings.Join(append([]string{req.Command}, req.Args...), " "),
	}
	t.kill = func() {
		t.mu.Lock()
		t.killed = t.exit == nil
		t.mu.Unlock()
		cancel()
	}
	c.terminals[t.id] = t
	program := c.program(req)
	c.running.Go(func() {
		defer cancel()
		t.ended(program(running, &Process{Request: req, Writer: t}))
	})
	return &acp.CreateTerminalResponse{TerminalID: t.id}, nil
}

func (c *Client) program(req *acp.CreateTerminalRequest) Program {
	line := strings.Join(append([]string{req.Command}, req.Args...), " ")
	names := []string{line}
	if len(req.Args) == 2 && (req.Args[0] == "-c" || req.Args[0] == "/C") {
		line = req.Args[1]
		names = append(names, line)
	}
	words := strings.Fields(line)
	if len(words) > 1 {
		names = append(names, words[0]+" "+words[1])
	}
	names = append(names, req.Command)
	if len(words) > 0 {
		names = append(names, words[0])
	}
	for _, name := range names {
		if p := c.programs[name]; p != nil {
			return p
		}
	}
	return Prints(req.Command+": command not found\n", 127)
}

// terminal returns a terminal that is open, and counts it as a violation if it is not.
func (c *Client) terminal(method string, id acp.TerminalID) (*terminal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.terminals[id]
	if t == nil {
		c.violated("%s: terminal %q is not open", method, id)
		return nil, errUnknownTerminal
	}
	return t, nil
}

// TerminalOutput implements [acp.Client]. Of an output that is too long the beginning is dropped.
func (c *Client) TerminalOutput(ctx context.Context, req *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	if err := c.enter(ctx, acp.MethodTerminalOutput, req); err != nil {
		return nil, err
	}
	t, err := c.terminal(acp.MethodTerminalOutput, req.TerminalID)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	resp := &acp.TerminalOutputResponse{ExitStatus: t.exit}
	output := t.output
	if limit := t.request.OutputByteLimit; limit != nil && uint64(len(output)) > *limit {
		output, resp.Truncated = output[uint64(len(output))-*limit:], true
	}
	resp.Output = strings.ToValidUTF8(string(output), "")
	return resp, nil
}

// WaitForTerminalExit implements [acp.Client].
func (c *Client) WaitForTerminalExit(ctx context.Context, req *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	if err := c.enter(ctx, acp.MethodWaitForTerminalExit, req); err != nil {
		return nil, err
	}
	t, err := c.terminal(acp.MethodWaitForTerminalExit, req.TerminalID)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, acp.ErrClosed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &acp.WaitForTerminalExitResponse{ExitCode: t.exit.ExitCode, Signal: t.exit.Signal}, nil
}

// KillTerminal implements [acp.Client].
func (c *Client) KillTerminal(ctx context.Context, req *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	if err := c.enter(ctx, acp.MethodKillTerminal, req); err != nil {
		return nil, err
	}
	t, err := c.terminal(acp.MethodKillTerminal, req.TerminalID)
	if err != nil {
		return nil, err
	}
	t.kill()
	<-t.done
	return &acp.KillTerminalResponse{}, nil
}

// ReleaseTerminal implements [acp.Client]. It kills what still runs.
func (c *Client) ReleaseTerminal(ctx context.Context, req *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	if err := c.enter(ctx, acp.MethodReleaseTerminal, req); err != nil {
		return nil, err
	}
	t, err := c.terminal(acp.MethodReleaseTerminal, req.TerminalID)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	delete(c.terminals, req.TerminalID)
	c.mu.Unlock()
	t.kill()
	return &acp.ReleaseTerminalResponse{}, nil
}

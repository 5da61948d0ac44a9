// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
)

// terminals are the terminals of a run that have not been released.
type terminals struct {
	mu   sync.Mutex
	open []terminal
}

type terminal struct {
	id      acp.TerminalID
	command string
	// background terminals are the model's: it knows their ids.
	background bool
}

func (ts *terminals) add(t terminal) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.open = append(ts.open, t)
}

// remove reports whether the terminal was open.
func (ts *terminals) remove(id acp.TerminalID) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	before := len(ts.open)
	ts.open = slices.DeleteFunc(ts.open, func(t terminal) bool { return t.id == id })
	return len(ts.open) < before
}

func (ts *terminals) removeAll() []terminal {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	open := ts.open
	ts.open = nil
	return open
}

// background returns the terminal that the model means.
func (ts *terminals) background(id string) (terminal, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var known []string
	for _, t := range ts.open {
		if !t.background {
			continue
		}
		if string(t.id) == id {
			return t, nil
		}
		known = append(known, string(t.id)+" ("+t.command+")")
	}
	if len(known) == 0 {
		return terminal{}, toolset.Failed("There is no terminal %q, and none is open: %s with background true opens one.", id, ToolRunCommand)
	}
	return terminal{}, toolset.Failed("There is no terminal %q. Open are: %s.", id, strings.Join(known, ", "))
}

// command returns what a terminal runs, for people; its id if that is not known.
func (ts *terminals) command(id string) string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.open {
		if t.background && string(t.id) == id {
			return t.command
		}
	}
	return id
}

// createTerminal starts a command, and keeps its terminal in mind.
func (w *workspace) createTerminal(ctx context.Context, req *acp.CreateTerminalRequest, t terminal) (acp.TerminalID, error) {
	id, err := createTerminal(ctx, w.Client, req, w.options.cleanup)
	if err != nil {
		return "", err
	}
	t.id = id
	w.terminals.add(t)
	if ctx.Err() != nil {
		w.release(ctx, t.id)
		return "", context.Cause(ctx)
	}
	return t.id, nil
}

// createTerminal starts a command. If ctx ends meanwhile, the client may have a terminal already that nobody would release: so the answer is
// waited for a little longer. A terminal may therefore be returned although ctx has ended.
func createTerminal(ctx context.Context, client acp.Client, req *acp.CreateTerminalRequest, cleanup time.Duration) (acp.TerminalID, error) {
	type created struct {
		resp  *acp.CreateTerminalResponse
		err   error
		panic any
	}
	answered := make(chan created, 1)
	call, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	go func() {
		var c created
		defer func() {
			c.panic = recover()
			answered <- c
		}()
		c.resp, c.err = client.CreateTerminal(call, req)
	}()
	var c created
	select {
	case c = <-answered:
	case <-ctx.Done():
		late := time.NewTimer(cleanup)
		defer late.Stop()
		select {
		case c = <-answered:
		case <-late.C:
			cancel(context.Cause(ctx))
			c = <-answered
		}
	}
	if c.panic != nil { // the run loop knows what to do about it, on its own goroutine
		panic(c.panic)
	}
	if c.err != nil {
		return "", c.err
	}
	return c.resp.TerminalID, nil
}

// waitForExit waits for the end of a terminal's command, for at most d, or as long as it takes if d is not
// positive. A timeout is not an error.
func (w *workspace) waitForExit(ctx context.Context, id acp.TerminalID, d time.Duration) (exit *acp.TerminalExitStatus, timedOut bool, err error) {
	bounded := ctx
	if d > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	resp, err := w.Client.WaitForTerminalExit(bounded, &acp.WaitForTerminalExitRequest{SessionID: w.Session.ID, TerminalID: id})
	switch {
	case err == nil:
		return &acp.TerminalExitStatus{ExitCode: resp.ExitCode, Signal: resp.Signal}, false, nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return nil, true, nil
	}
	return nil, false, err
}

func (w *workspace) output(ctx context.Context, id acp.TerminalID) (*acp.TerminalOutputResponse, error) {
	return w.Client.TerminalOutput(ctx, &acp.TerminalOutputRequest{SessionID: w.Session.ID, TerminalID: id})
}

func (w *workspace) kill(ctx context.Context, id acp.TerminalID) error {
	_, err := w.Client.KillTerminal(ctx, &acp.KillTerminalRequest{SessionID: w.Session.ID, TerminalID: id})
	return err
}

// release gives a terminal back to the client, once. It works for a ctx that has ended too: then the command is killed
// first, and the client has a bounded time for both.
func (w *workspace) release(ctx context.Context, id acp.TerminalID) {
	if !w.terminals.remove(id) {
		return
	}
	last, cancel := w.cleanup(ctx)
	defer cancel()
	if ctx.Err() != nil {
		w.killAndRelease(last, id)
		return
	}
	_, _ = w.Client.ReleaseTerminal(last, &acp.ReleaseTerminalRequest{SessionID: w.Session.ID, TerminalID: id})
}

// killAndRelease kills a command and gives its terminal back. A client that does not answer the kill has taken half of the
// time: the release, which ends the command too, is sent in any case.
func (w *workspace) killAndRelease(last context.Context, id acp.TerminalID) {
	half, cancel := context.WithTimeout(last, w.options.cleanup/2)
	defer cancel()
	_ = w.kill(half, id)
	_, _ = w.Client.ReleaseTerminal(last, &acp.ReleaseTerminalRequest{SessionID: w.Session.ID, TerminalID: id})
}

// releaseAll gives all terminals back at once.
func (w *workspace) releaseAll(ctx context.Context) {
	last, cancel := w.cleanup(ctx)
	defer cancel()
	var all sync.WaitGroup
	for _, t := range w.terminals.removeAll() {
		all.Go(func() { w.killAndRelease(last, t.id) })
	}
	all.Wait()
}

// cleanup returns a ctx that outlives ctx by a bounded time.
func (w *workspace) cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), w.options.cleanup)
}

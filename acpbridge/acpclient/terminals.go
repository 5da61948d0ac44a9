// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/internal/boxmeta"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Bounds of terminals.
const (
	maxTerminals = 64                    // of a session, at a time
	lookEvery    = 50 * time.Millisecond // at the output
	cleanup      = 5 * time.Second       // for a command to end
)

// terminals are the commands that the agent has started in the session's workspace.
type terminals struct {
	session *Session

	mu     sync.Mutex
	coming int // asked about
	byID   map[acp.TerminalID]*terminal
	ending sync.WaitGroup
	closed bool
}

// terminal is a command.
type terminal struct {
	process workspace.Process
	limit   int // bytes of output for the agent; 0 means all
	stop    context.CancelFunc
	watched chan struct{} // closed when nobody looks at the output any more
}

func quoted(args []string) string { return command.Quote(args) }

// CreateTerminal implements [acp.Client].
func (h *handler) CreateTerminal(ctx context.Context, r *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	s, err := h.served(r.SessionID, acp.MethodCreateTerminal, func(f workspace.Features) bool { return f.Commands })
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	id, err := s.terminals.create(ctx, r)
	if err != nil {
		return nil, err
	}
	return &acp.CreateTerminalResponse{TerminalID: id}, nil
}

// commandOf returns what a request wants to run. A command without arguments that is more than a
// word is a line for a shell: some agents send one.
func commandOf(r *acp.CreateTerminalRequest) workspace.Command {
	c := workspace.Command{Dir: opt(r.Cwd)}
	if len(r.Args) == 0 && quoted([]string{r.Command}) != r.Command {
		c.Line = r.Command
	} else {
		c.Args = append([]string{r.Command}, r.Args...)
	}
	for _, v := range r.Env {
		c.Env = append(c.Env, v.Name+"="+v.Value)
	}
	return c
}

func (t *terminals) create(ctx context.Context, r *acp.CreateTerminalRequest) (acp.TerminalID, error) {
	s := t.session
	c := commandOf(r)
	if s.client.config.Trusted {
		c.Sandbox = boxmeta.Asked(r.Meta)
	}
	if err := c.Check(); err != nil {
		return "", workspaceError(ctx, "run", r.Command, err)
	}
	at, err := workspace.LocateIn(s.workspace, cmp.Or(c.Dir, s.cwd))
	if err != nil {
		return "", workspaceError(ctx, "run a command in", opt(r.Cwd), err)
	}
	c.Dir = at.Path
	line := toolset.CommandLine(c)
	title := show.Line(shellLine(line))
	if err := t.reserve(); err != nil {
		return "", err
	}
	defer t.unreserve()
	if !s.grantedCommand(line) {
		a := toolset.Approval{Title: "Run " + title, Preview: []toolset.Preview{{Command: &line}}}
		if err := s.permit(ctx, toolRun, &a); err != nil {
			return "", err
		}
	}
	p, err := s.workspace.Start(ctx, c)
	if err != nil {
		return "", workspaceError(ctx, "run", r.Command, err)
	}
	one := &terminal{process: p, watched: make(chan struct{})}
	if r.OutputByteLimit != nil {
		one.limit = int(min(max(*r.OutputByteLimit, 1), 64<<20))
	}
	watching, stop := context.WithCancel(s.client.ctx)
	one.stop = stop
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		stop()
		close(one.watched)
		t.release(one)
		return "", acp.Errorf(acp.CodeInvalidRequest, "the session has been closed")
	}
	id := acp.TerminalID("terminal-" + rand.Text()) // transcripts of agents outlive this process
	t.byID[id] = one
	t.ending.Add(1)
	t.mu.Unlock()
	go func() {
		defer t.ending.Done()
		defer close(one.watched)
		t.watch(watching, id, title, c.Dir, p)
	}()
	return id, nil
}

// reserve reserves a terminal, to bound their number while questions are open.
func (t *terminals) reserve() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[acp.TerminalID]*terminal{}
	}
	if len(t.byID)+t.coming >= maxTerminals {
		return acp.Errorf(acp.CodeInternal, "there are %d terminals already; release some", maxTerminals)
	}
	t.coming++
	return nil
}

func (t *terminals) unreserve() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.coming--
}

// watch shows a command and its output until it ends or is released.
func (t *terminals) watch(ctx context.Context, id acp.TerminalID, title, dir string, p workspace.Process) {
	v := &t.session.fold.view
	e := view.Entity{ID: acpview.CommandID(id), Kind: view.Command, Title: title, Dir: dir, Status: view.Running}
	_ = v.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e})
	t.session.grow(entitySize(&e))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Wait(ctx)
	}()
	defer func() { <-ended }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	show := output{process: p, show: func(text string) {
		_ = v.Apply(view.Change{Op: view.Append, ID: e.ID, Text: text})
		t.session.grow(len(text))
	}}
	for {
		select {
		case <-tick.C:
			if exit, over := show.more(); over {
				show.finish()
				t.exited(e.ID, exit)
				return
			}
		case <-ended:
			exit, over := show.more()
			for at := int64(-1); !over && show.pos > at; {
				at = show.pos
				exit, over = show.more()
			}
			show.finish()
			t.exited(e.ID, exit)
			return
		}
	}
}

// exited shows how a command ended; nil means that it was released before.
func (t *terminals) exited(id string, exit *workspace.Exit) {
	v := &t.session.fold.view
	known := v.Get(id)
	if known == nil {
		return
	}
	e := *known
	e.Status = view.Cancelled
	if exit != nil {
		e.Status, e.Exit = view.Completed, &view.Exit{Code: exit.Code, Signal: exit.Signal}
		if exit.Code != 0 {
			e.Status = view.Failed
		}
	}
	_ = v.Apply(view.Change{Op: view.Upsert, ID: id, Entity: &e})
}

func (t *terminals) find(id acp.TerminalID) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byID[id]; one != nil {
		return one, nil
	}
	return nil, acp.Errorf(acp.CodeResourceNotFound, "there is no terminal %q", cut(string(id)))
}

func (h *handler) terminal(session acp.SessionID, id acp.TerminalID, method string) (*Session, *terminal, error) {
	s, err := h.served(session, method, func(f workspace.Features) bool { return f.Commands })
	if err != nil {
		return nil, nil, err
	}
	one, err := s.terminals.find(id)
	return s, one, err
}

// TerminalOutput implements [acp.Client].
func (h *handler) TerminalOutput(ctx context.Context, r *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	_, one, err := h.terminal(r.SessionID, r.TerminalID, acp.MethodTerminalOutput)
	if err != nil {
		return nil, err
	}
	from := int64(0)
	if one.limit > 0 {
		from = -int64(one.limit)
	}
	chunk, err := one.process.Output(ctx, from, one.limit)
	if err != nil {
		return nil, workspaceError(ctx, "read the output of", string(r.TerminalID), err)
	}
	data := chunk.Data
	if chunk.From > 0 {
		for skip := 0; skip < utf8.UTFMax-1 && len(data) > 0 && !utf8.RuneStart(data[0]); skip++ {
			data = data[1:]
		}
	}
	if chunk.Exit == nil {
		data = data[:whole(data)]
	}
	resp := &acp.TerminalOutputResponse{Output: strings.ToValidUTF8(string(data), "\uFFFD"), Truncated: chunk.From > 0 || chunk.Lost}
	if chunk.Exit != nil {
		code, signal := exitOf(chunk.Exit)
		resp.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
		resp.ExitStatus.Meta = boxmeta.Tell(chunk.Exit.Created)
	}
	return resp, nil
}

// WaitForTerminalExit implements [acp.Client].
func (h *handler) WaitForTerminalExit(ctx context.Context, r *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	_, one, err := h.terminal(r.SessionID, r.TerminalID, acp.MethodWaitForTerminalExit)
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	exit, err := one.process.Wait(ctx)
	if err != nil {
		return nil, workspaceError(ctx, "wait for", string(r.TerminalID), err)
	}
	code, signal := exitOf(&exit)
	resp := &acp.WaitForTerminalExitResponse{ExitCode: code, Signal: signal}
	resp.Meta = boxmeta.Tell(exit.Created)
	return resp, nil
}

// KillTerminal implements [acp.Client].
func (h *handler) KillTerminal(ctx context.Context, r *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	_, one, err := h.terminal(r.SessionID, r.TerminalID, acp.MethodKillTerminal)
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	if err := one.process.Kill(ctx); err != nil {
		return nil, workspaceError(ctx, "kill", string(r.TerminalID), err)
	}
	return &acp.KillTerminalResponse{}, nil
}

// ReleaseTerminal implements [acp.Client].
func (h *handler) ReleaseTerminal(ctx context.Context, r *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	s, one, err := h.terminal(r.SessionID, r.TerminalID, acp.MethodReleaseTerminal)
	if err != nil {
		return nil, err
	}
	acp.Async(ctx)
	t := &s.terminals
	t.mu.Lock()
	delete(t.byID, r.TerminalID)
	t.mu.Unlock()
	t.release(one)
	return &acp.ReleaseTerminalResponse{}, nil
}

// release ends a command. It may be called several times.
func (t *terminals) release(one *terminal) {
	one.stop()
	<-one.watched
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	_ = one.process.Close(ctx)
}

// releaseAll releases the remaining terminals, and prevents new ones.
func (t *terminals) releaseAll() {
	t.mu.Lock()
	all := t.byID
	t.byID, t.closed = map[acp.TerminalID]*terminal{}, true
	t.mu.Unlock()
	var wg sync.WaitGroup
	for _, one := range all {
		wg.Go(func() { t.release(one) })
	}
	wg.Wait()
	t.ending.Wait()
}

func exitOf(e *workspace.Exit) (code *uint32, signal *string) {
	if e.Signal != "" {
		return nil, &e.Signal
	}
	n := uint32(e.Code)
	return &n, nil
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// session is a conversation with the client: how it was made, and the turns that are running or
// wait. The host holds what the agent remembers.
type session struct {
	id      acp.SessionID
	info    *deps.Session
	client  *sessionClient
	tracker *deps.Tracker
	server  string          // the name of the connection
	stored  bool            // the session outlives the connection
	takes   acpview.Options // what the client takes
	hosted  *host.Session   // nil until it is open
	release sync.Once
	gone    chan struct{} // closed when a session that was closed has been released
	quiet   func()        // ends what tells of settings and the title; nil until the session is open
	seen    seen          // what the client has been shown; guarded by the turn
	blank   bool          // the client has made the session, and has been shown nothing; like seen

	runs atomic.Pointer[func(*host.Waiting, admission)] // prompts that wait, once it is open

	telling     sync.Mutex // held while the client is told which prompts wait; guards toldWaiting
	toldWaiting bool

	setting sync.Mutex  // held while the client sets something
	asked   atomic.Bool // the client has asked for what is being set

	mu      sync.Mutex
	closed  error       // why no more turns begin, as the answer to a prompt; nil while they do
	serving atomic.Bool // its MCP servers have been opened
	// servers are the MCP servers that the client has named last, as JSON.
	servers []byte
	turns   []*turn // that have not been answered, in order; at most one of them runs

	awake *awake // the last one; nil before the dependencies are made
}

// seen is how far a client has been shown a session. It does not keep what the session shows from
// being forgotten.
type seen struct {
	known bool // the zero value is a client that knows more, such as what a fork began with
	in    weak.Pointer[view.Fold]
	pos   uint64
	last  string         // the id of the prompt of the last turn that was shown
	whole *view.Snapshot // if a turn of somebody else was running, so that there are parts of messages; else nil
}

func seenUpTo(f *view.Fold, pos uint64) seen {
	return seen{known: true, in: weak.Make(f), pos: pos}
}

// awake holds the state of a session while it is awake. It is the [host.Tied] of its dependencies.
type awake struct {
	hosted    *host.Session
	workspace *Workspace
	work      *workspace.Session // on workspace
	mcp       MCPServers         // of a session without an editor, or nil
	info      *deps.Session      // of that session
	began     bool               // the servers have begun
	ending    sync.Once
	ended     chan struct{} // closed when the commands have ended; see endCommands
}

// workspaceError means that the session's directories cannot be used.
type workspaceError struct{ error }

func (e workspaceError) Unwrap() error { return e.error }

func (s *session) waking() *awake {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awake
}

// foreign returns the running turn that another surface began, or nil.
func (s *session) foreign() *host.Turn {
	if s.hosted == nil {
		return nil
	}
	running := s.hosted.Turn()
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.turns, func(own *turn) bool { return own.hosted == running }) {
		return nil
	}
	return running
}

// mostWaiting bounds how many of the prompts that wait a client is told of: all of them each time.
const mostWaiting = 100

// tellWaiting tells the client which prompts wait for their turns: in the _meta of the description
// of the session, because the protocol has no update for them.
func (s *session) tellWaiting(ctx context.Context) {
	s.telling.Lock()
	defer s.telling.Unlock()
	all, err := s.hosted.Waiting(context.WithoutCancel(ctx))
	if err != nil || len(all) == 0 && !s.toldWaiting {
		return // whoever hears of the next change tells it
	}
	s.toldWaiting = true
	all = all[:min(len(all), mostWaiting)]
	waiting := make([]acpview.Waiting, len(all))
	for i, w := range all {
		waiting[i] = acpview.Waiting{
			ID: w.ID, Version: w.Version, Number: w.Number(), Text: w.Line(),
		}
	}
	n := &acp.SessionNotification{SessionID: s.id, Update: acpview.WaitingInfo(waiting)}
	_ = s.client.SessionUpdate(ctx, n) // a client that is gone needs to know nothing
}

// options returns what the client takes. Commands that run here are shown as terminals to clients
// that know those.
func (s *session) options() acpview.Options {
	o, can := s.takes, s.info.Capabilities
	a := s.waking()
	if a == nil || !a.workspace.fallback.runs(can) {
		return o
	}
	for _, name := range []string{"terminal_output_delta", "terminal_output"} {
		if o.Terminal == "" && string(can.Meta[name]) == "true" {
			o.Terminal = name
		}
	}
	return o
}

// admission admits a turn at the host.
type admission func(context.Context) (*host.Turn, error)

// admit registers a turn, to let the next message of the session find it.
func (s *session) admit(ctx context.Context, policy host.Busy) (*turn, error) {
	t := newTurn(ctx, s)
	acp.AfterResponse(ctx, func(context.Context) { close(t.answered) })
	return s.register(t, func(ctx context.Context) (*host.Turn, error) {
		going := slices.ContainsFunc(s.turns, (*turn).isGoing)
		if policy == host.BusyRefuse && going {
			return nil, host.ErrBusy
		}
		if t.steers = policy == host.BusySteer && going; t.steers {
			return s.hosted.AdmitWith(ctx, host.BusySteer)
		}
		return s.hosted.AdmitWith(ctx, host.BusyQueue)
	})
}

// admitOwn registers a turn that the client has not asked for.
func (s *session) admitOwn(ctx context.Context, admit admission) (*turn, error) {
	t := newTurn(ctx, s)
	t.own = true
	return s.register(t, admit)
}

// register registers a turn that is admitted with the turns that are registered.
func (s *session) register(t *turn, admit admission) (_ *turn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed != nil {
		t.cancel(nil)
		return nil, s.closed
	}
	s.turns = slices.DeleteFunc(s.turns, func(t *turn) bool { return t.isAnswered() && t.isEnded() })
	t.before = slices.Clone(s.turns)
	if t.hosted, err = admit(t.ctx); err != nil {
		t.cancel(nil)
		switch {
		case errors.Is(err, host.ErrClosed): // somebody else has closed or deleted it
			err = unknownSession(s.id)
		case errors.Is(err, host.ErrBusy):
			err = busySession(s.id)
		}
		return nil, failureOf(err)
	}
	s.turns = append(s.turns, t)
	return t, nil
}

// cancelOwn cancels the turn that runs if the client has not asked for it.
func (s *session) cancelOwn() {
	for _, t := range slices.Backward(s.unfinished()) {
		if t.own && t.told.Load() {
			t.cancel(acp.ErrTurnCancelled)
		}
	}
}

// going returns the turns that have not been answered and not been cancelled.
func (s *session) going() []*turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.turns), func(t *turn) bool { return t.isAnswered() || t.ctx.Err() != nil })
}

// end cancels all turns and prevents new ones: prompts are answered with the given error.
func (s *session) end(cause, answer error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = answer
	for _, t := range slices.Backward(s.turns) { // the end of one must not begin the next
		t.cancel(cause)
	}
}

// endCommands ends the commands of the session and lets none begin. The result is closed when they
// have ended. It may be called several times.
func (s *session) endCommands(ctx context.Context) <-chan struct{} {
	a := s.waking()
	if a == nil {
		done := make(chan struct{})
		close(done)
		return done
	}
	return a.endCommands(ctx)
}

func (a *awake) endCommands(ctx context.Context) <-chan struct{} {
	a.ending.Do(func() {
		a.ended = make(chan struct{})
		go func() {
			defer close(a.ended)
			a.closeWork(ctx)
		}()
	})
	return a.ended
}

func (a *awake) closeWork(ctx context.Context) {
	all := []*workspace.Session{a.work}
	if own := a.own(); own != nil {
		all = append(all, own)
	}
	var done sync.WaitGroup
	for _, work := range all {
		done.Go(func() { _ = work.Close(ctx) }) // a client that is gone has ended its terminals
	}
	done.Wait()
}

// own returns the workspace that the program uses instead of work, or nil.
func (a *awake) own() *workspace.Session {
	if d, ok := a.hosted.Deps().(deps.Carrier); ok {
		if own := d.ACP().Workspace; own != a.work {
			return own
		}
	}
	return nil
}

// Busy implements [host.Tied]: commands are kept.
func (a *awake) Busy() bool {
	own := a.own()
	return len(a.work.Terminals()) > 0 || own != nil && len(own.Terminals()) > 0
}

// News tells what is new about the servers, which begin with the first turn: see [host.Tied].
func (a *awake) News() (lines []string) {
	if a.mcp == nil {
		return nil
	}
	if !a.began {
		a.began = true
		a.mcp.Open(a.info, nil)
	}
	for _, line := range a.mcp.News(a.info.ID) {
		lines = append(lines, oneLine(line))
	}
	return lines
}

// Close implements [host.Tied].
func (a *awake) Close(ctx context.Context) error {
	<-a.endCommands(ctx)
	if a.began {
		a.mcp.Close(a.info.ID)
	}
	return a.workspace.Close()
}

// wait waits until the turns have ended, and reports whether they have before ctx.
func (s *session) wait(ctx context.Context) bool {
	for _, t := range s.unfinished() {
		select {
		case <-t.ended:
		case <-ctx.Done():
			if !t.isEnded() {
				return false
			}
		}
	}
	return true
}

// unfinished returns the turns that have not ended.
func (s *session) unfinished() []*turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.turns), (*turn).isEnded)
}

func busySession(id acp.SessionID) error {
	return acp.Errorf(acp.CodeInvalidRequest, "the session is busy: wait for the running turn to end, or cancel it").
		WithData(errorData{Kind: KindBusy, SessionID: id})
}

func unknownSession(id acp.SessionID) error {
	return acp.Errorf(acp.CodeResourceNotFound, "resource not found: session %q", id).
		WithData(errorData{Kind: KindSession, SessionID: id})
}

package acpbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// StuckError says that Serve has returned although something that it had to wait for has not ended: a tool, model or Deps function
// that ignores its context. It is left behind; the program should exit. Standard output, if it was taken over, still goes to standard
// error.
type StuckError struct {
	// Waited is for how long Serve has waited.
	Waited time.Duration
	// Tools are the tools that have not returned, as far as it is them.
	Tools []string
	// Err is why Serve ended; nil if the client ended its side.
	Err error
}

// Error implements error.
func (e *StuckError) Error() string {
	what := "something ignores its context"
	if len(e.Tools) > 0 {
		what = "these tools ignore their context: " + strings.Join(e.Tools, ", ")
	}
	text := fmt.Sprintf("acpbridge: gave up waiting after %v: %s", e.Waited, what)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns why Serve ended.
func (e *StuckError) Unwrap() error { return e.Err }

// serve runs the connection until it ends or ctx does, and then ends everything else.
func (s *server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	watch := &endWatcher{ended: make(chan struct{})}
	conn := acp.NewAgentConn(watchedReader{in, watch}, watchedWriter{out, watch}, func(c *acp.AgentConn) acp.Agent {
		s.client = c
		return s
	}, &s.conn)

	// The connection outlives ctx for as long as turns need it to end: a terminal is released by a call of the client.
	connDone := make(chan error, 1)
	go func() { connDone <- conn.Serve(context.WithoutCancel(ctx)) }()

	var cause error
	select {
	case err := <-connDone:
		cause = connError(err)
		connDone <- err
	case <-watch.ended:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	begun := time.Now()
	whole, cancel := context.WithDeadline(context.WithoutCancel(ctx), begun.Add(s.shutdown))
	defer cancel()
	turns, cancelTurns := context.WithDeadline(whole, begun.Add(s.shutdown*2/3))
	defer cancelTurns()

	ended := s.endSessions(turns, whole)
	conn.Close()
	select {
	case err := <-connDone:
		if cause == nil {
			cause = connError(err)
		}
	case <-whole.Done():
		ended = false
	}
	if !ended {
		return &StuckError{Waited: time.Since(begun).Round(time.Millisecond), Tools: s.runningTools(), Err: cause}
	}
	return cause
}

func connError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("acpbridge: serve: %w", err)
}

// endSessions cancels all turns, waits for them, and releases the sessions whose turns have ended. It reports whether all of that was
// done in time.
func (s *server) endSessions(turns, release context.Context) bool {
	s.mu.Lock()
	s.closing = true
	sessions := make([]*session, 0, len(s.sessions))
	for _, session := range s.sessions {
		sessions = append(sessions, session)
	}
	s.mu.Unlock()
	for _, session := range sessions {
		session.end(errShutdown, shuttingDown())
	}
	done := make([]bool, len(sessions))
	var all sync.WaitGroup
	for i, session := range sessions {
		all.Go(func() { done[i] = session.wait(turns) && s.releaseSession(release, session) })
	}
	all.Wait()
	return !slices.Contains(done, false)
}

// releaseSession frees what belongs to a session, once. It reports whether that was done before ctx ended.
func (s *server) releaseSession(ctx context.Context, session *session) bool {
	released := make(chan error, 1)
	go func() {
		session.release.Do(func() {
			session.client.close()
			released <- session.convo.release(ctx)
		})
		close(released)
	}()
	select {
	case err := <-released:
		if err != nil {
			s.logError("session not released", session.id, err)
		}
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *server) runningTools() []string {
	var tools []string
	for _, session := range s.allSessions() {
		for _, t := range session.unfinished() {
			tools = append(tools, t.runningTools()...)
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// logEnding logs how a turn ended that did not go well.
func (s *server) logEnding(t *turn, end *ending, err error) {
	if end.err != nil && !errors.Is(context.Cause(t.ctx), errShutdown) {
		s.logError("turn failed", t.session.id, err)
	}
}

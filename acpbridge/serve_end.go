// SPDX-License-Identifier: Apache-2.0

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

// StuckError reports that Serve has returned although something that it waits for has not ended: a
// tool, model or Deps function that ignores its context. It is left behind; the program should
// exit. Standard output, if it was taken over, still goes to standard error.
type StuckError struct {
	// Waited is for how long Serve has waited.
	Waited time.Duration
	// Tools lists the tools that have not returned, if it is tools.
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
	s.base = context.WithoutCancel(ctx)
	conn := acp.NewAgentConn(watchedReader{in, watch}, watchedWriter{out, watch}, func(c *acp.AgentConn) acp.Agent {
		s.client = c
		return s
	}, s.extend(s.conn))

	// The connection outlives ctx for as long as turns need it to end: a terminal is released by a
	// call of the client.
	connDone := make(chan error, 1)
	go func() { connDone <- conn.Serve(context.WithoutCancel(ctx)) }()

	var cause error
	byClient := false // or the streams have failed: the connection notices that too, and ends by itself
	select {
	case err := <-connDone:
		cause = connError(err)
		connDone <- err
	case <-watch.ended:
		byClient = true
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	close(s.ending)
	begun := time.Now()
	whole, cancel := context.WithDeadline(context.WithoutCancel(ctx), begun.Add(s.shutdown))
	defer cancel()
	polite, cancelPolite := context.WithDeadline(whole, begun.Add(s.shutdown*2/3))
	defer cancelPolite()

	s.cancelTurns()
	s.endSessions(polite, whole)
	if byClient { // what it wrote before is still handled
		select {
		case err := <-connDone:
			connDone <- err
		case <-polite.Done():
		}
	}
	conn.Close() // what still waits for an answer of the client fails
	select {
	case err := <-connDone:
		if cause == nil {
			cause = connError(err)
		}
	case <-whole.Done():
	}
	if lost := watch.lost.Load(); cause == nil && lost != nil { // also if the client ended its side first
		cause = connError(*lost)
	}
	if !s.endSessions(whole, whole) || whole.Err() != nil {
		return &StuckError{Waited: time.Since(begun).Round(time.Millisecond), Tools: s.runningTools(), Err: cause}
	}
	return cause
}

// connError returns Serve's error for an error of the connection. A closed reader is not an error:
// a client that is killed closes both of its ends, and which of the two is noticed first is chance.
func connError(err error) error {
	if err == nil || errors.Is(err, io.ErrClosedPipe) || slices.ContainsFunc(brokenPipeErrors, func(e error) bool { return errors.Is(err, e) }) {
		return nil
	}
	return fmt.Errorf("acpbridge: serve: %w", err)
}

// cancelTurns cancels all turns and lets none begin, and no session either.
func (s *server) cancelTurns() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	for _, session := range s.allSessions() {
		session.end(errShutdown, shuttingDown())
	}
}

// endSessions waits for the turns of all sessions and releases those whose turns have ended, until
// wait ends. It reports whether that was enough for all of them. It may be called again.
func (s *server) endSessions(wait, release context.Context) bool {
	sessions := s.allSessions()
	done := make([]bool, len(sessions))
	var all sync.WaitGroup
	for i, session := range sessions {
		all.Go(func() { done[i] = s.endSession(wait, release, session) })
	}
	all.Wait()
	return !slices.Contains(done, false)
}

// endSession ends the commands of a session, waits for its turns, which have been cancelled, and
// releases it. Commands do not wait for turns: a tool may ignore its context. It reports whether
// that was done before wait ended. It may be called again.
func (s *server) endSession(wait, release context.Context, session *session) bool {
	ended := session.endCommands(release)
	if !session.wait(wait) {
		return false
	}
	select {
	case <-ended:
		return s.releaseSession(wait, release, session)
	case <-wait.Done():
		return false
	}
}

// releaseSession frees what belongs to a session, once, with the release ctx. It reports whether
// that was done before wait ended.
func (s *server) releaseSession(wait, release context.Context, session *session) bool {
	released := make(chan struct{})
	go func() {
		defer close(released)
		session.release.Do(func() {
			session.client.gate.close()
			s.closeServers(session)
			if session.quiet != nil {
				session.quiet()
			}
			if err := session.hosted.Leave(release, session); err != nil {
				s.logError("session not released", session.id, err)
			}
		})
	}()
	select {
	case <-released:
		return true
	case <-wait.Done():
		return isClosed(released)
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

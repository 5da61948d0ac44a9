// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// State is the state of the connection to a server.
type State string

const (
	// StateIdle means that the server has not been used yet.
	StateIdle State = "idle"
	// StateConnecting means that an attempt to connect is in progress.
	StateConnecting State = "connecting"
	// StateReady means that the server is connected.
	StateReady State = "ready"
	// StateFailed means that the last attempt failed or that the connection was lost. The next use
	// connects again.
	StateFailed State = "failed"
	// StateClosed means that [Server.Close] was called.
	StateClosed State = "closed"
)

// Status describes a server at one moment.
type Status struct {
	// Server is the server's name.
	Server string
	// State is the state of the connection.
	State State
	// Err says why the last attempt failed, or why the connection was lost. It can be shown to
	// people: it holds no secrets of the configuration and no invisible characters.
	Err error
	// Tools is the number of tools the server offers. Problems lists those that cannot be offered.
	Tools    int
	Problems []Problem
}

// Problem is a tool of a server that is not offered to models, or that is offered under another
// name.
type Problem struct {
	// Tool is the name that the server gave the tool. Invisible characters are written out.
	Tool string
	// Err is the reason.
	Err error
}

func (p Problem) String() string { return fmt.Sprintf("tool %q: %v", p.Tool, p.Err) }

// Status returns the state of the server.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Server: s.config.Name, State: StateIdle}
	switch {
	case s.closed:
		st.State = StateClosed
	case s.link != nil && !s.link.over():
		st.State = StateReady
	case s.attempt != nil && !time.Now().Before(s.attempt.begun):
		st.State = StateConnecting
	case s.err != nil:
		st.State = StateFailed
	}
	if s.err != nil && st.State != StateReady {
		st.Err = &shownError{text: s.plain(s.err), err: s.err}
	}
	if s.known != nil {
		st.Tools, st.Problems = len(s.known.tools), slices.Clone(s.known.problems)
		for _, key := range slices.Sorted(maps.Keys(s.yielded)) {
			st.Problems = append(st.Problems, s.yielded[key])
		}
	}
	return st
}

// Problems returns the tools that are not offered, or not under the name that the server gave them.
func (s *Server) Problems() []Problem { return s.Status().Problems }

// changed calls OnChange.
func (s *Server) changed() {
	if s.config.OnChange == nil {
		return
	}
	s.notify.Lock()
	defer s.notify.Unlock()
	s.config.OnChange(s.Status())
}

// shownError is an error whose text people may see.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }

// plain writes an error for people: without the secrets of the configuration, on one line, of
// limited length.
func (s *Server) plain(err error) string {
	return visible(withoutSecrets(err.Error(), s.config.Transport.secrets()), 500)
}

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// Session is a [Workspace] in use by one conversation. It keeps the commands that the
// conversation has started: one that runs in the background is there in later runs, until it is
// released or the session is closed. It is safe for concurrent use. Close must be called.
type Session struct {
	workspace Workspace

	mu        sync.Mutex
	terminals []*Terminal // the oldest first
	next      int
	after     int64 // see ContinueAfter
	closed    bool

	plans planCache
	reads func(path string) (toolset.Verdict, string)
}

// NewSession returns a session. The caller closes the workspace. A run that gets the session of a
// nil workspace fails.
func NewSession(w Workspace) *Session { return &Session{workspace: w} }

// GuardReads restricts which files the session's tools read. For an absolute path, decide returns
// [toolset.VerdictDeny] with a reason for the model, or an empty verdict if the file may be read.
// With any other verdict, reading the file needs approval. A file must be permitted by its own name
// and by the name of the file that links lead to. search_files leaves out all other files, and the
// question of write_file does not show what they hold. Commands are not affected.
//
// decide must be quick and safe for concurrent use. GuardReads must be called before the session is
// used.
func (s *Session) GuardReads(decide func(path string) (verdict toolset.Verdict, reason string)) {
	s.reads = decide
}

// ContinueAfter makes the ids of terminals differ from the ids of earlier sessions of the same
// conversation, for example in a process that was killed. entry is the number of the conversation's
// last entry, such as the Head of a stored session. Call it before the session is used.
func (s *Session) ContinueAfter(entry int64) { s.after = entry }

// Workspace returns what the session works on.
func (s *Session) Workspace() Workspace { return s.workspace }

// Terminal is a command of a session, by the id that the model knows.
type Terminal struct {
	// ID is "terminal-1" and so on, and "terminal-17-1" in a session that continues after the entry
	// 17. It is not reused.
	ID string
	// Command is the command line, Dir its absolute directory.
	Command Command
	Dir     string
	// Process is the command at work.
	Process Process
	// Kept is set if the command is kept until it is released: because it runs in the background,
	// or because its output was too long to be shown at once. Otherwise a tool call is waiting for
	// it.
	Kept bool

	// title is the command for people and models.
	title string
}

// Title returns the command for people, in one line.
func (t *Terminal) Title() string { return t.title }

// short names the command in errors.
func (t *Terminal) short() string { return cutText(t.title, maxRepeated) }

// Terminals returns the commands that have not been released, the oldest first.
func (s *Session) Terminals() []Terminal {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Terminal, len(s.terminals))
	for i, t := range s.terminals {
		all[i] = *t
	}
	return all
}

// How many commands a session keeps.
const (
	maxTerminals = 32
	maxEnded     = 8
)

// errTooMany means that a session has too many commands.
var errTooMany = errors.New("too many commands are running")

// start starts a command. The terminal is added to the session first, so that it cannot be lost.
func (s *Session) start(ctx context.Context, c Command, dir, title string) (*Terminal, error) {
	if err := s.makeRoom(ctx); err != nil {
		return nil, err
	}
	p, err := s.workspace.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := s.closed
	s.next++
	t := &Terminal{ID: s.terminalID(s.next), Command: c, Dir: dir, Process: p, title: title}
	if !closed {
		s.terminals = append(s.terminals, t)
	}
	s.mu.Unlock()
	if closed { // meanwhile
		return nil, errors.Join(fmt.Errorf("workspace: start: session: %w", ErrClosed), closeProcess(ctx, p))
	}
	return t, nil
}

// terminalID returns the id of the terminal with this number.
func (s *Session) terminalID(number int) string {
	if s.after == 0 {
		return fmt.Sprintf("terminal-%d", number)
	}
	return fmt.Sprintf("terminal-%d-%d", s.after, number)
}

// makeRoom closes kept commands that have ended, the oldest first, if there are too many.
func (s *Session) makeRoom(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return fmt.Errorf("workspace: start: session: %w", ErrClosed)
	}
	kept := slices.DeleteFunc(slices.Clone(s.terminals), func(t *Terminal) bool { return !t.Kept })
	total := len(s.terminals)
	s.mu.Unlock()
	var ended []*Terminal
	for _, t := range kept {
		if c, err := t.Process.Output(ctx, -1, 1); err != nil || c.Exit != nil {
			ended = append(ended, t)
		}
	}
	for len(ended) > 0 && (len(ended) >= maxEnded || total >= maxTerminals) {
		_ = s.release(ctx, ended[0])
		ended, total = ended[1:], total-1
	}
	if total >= maxTerminals {
		return errTooMany
	}
	return nil
}

// keep makes a terminal the model's.
func (s *Session) keep(t *Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Kept = true
}

// kept returns the terminal that a model means, and those that there are.
func (s *Session) kept(id string) (found *Terminal, all []Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.terminals {
		if !t.Kept {
			continue
		}
		if t.ID == id {
			found = t
		}
		all = append(all, *t)
	}
	return found, all
}

// release closes a terminal, once.
func (s *Session) release(ctx context.Context, t *Terminal) error {
	s.mu.Lock()
	i := slices.Index(s.terminals, t)
	if i >= 0 {
		s.terminals = slices.Delete(s.terminals, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		return nil
	}
	return closeProcess(ctx, t.Process)
}

// cleanup is how long the end of a command may take after its caller has left.
const cleanup = 5 * time.Second

// closeProcess closes a process although ctx may have ended.
func closeProcess(ctx context.Context, p Process) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	return p.Close(ctx)
}

// Close ends all commands. Afterwards no command can be started. It may be called several times.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	all := s.terminals
	s.terminals, s.closed = nil, true
	s.mu.Unlock()
	s.plans.clear()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, t := range all {
		closing.Go(func() { errs[i] = closeProcess(ctx, t.Process) })
	}
	closing.Wait()
	return errors.Join(errs...)
}

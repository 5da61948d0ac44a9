// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// Session is an open session. It is safe for concurrent use.
type Session struct {
	host   *Host
	id     string
	place  Place // guarded by changing, and by mu
	policy approval.Policy

	// changing is a lock with a context: it has an element while the session wakes, falls asleep or
	// closes. It guards opened, w, instance and conversation.
	changing     chan struct{}
	tied         []Tied        // to the dependencies of instance
	gone         chan struct{} // closed when the host has forgotten the session
	opened       bool
	w            *session.Writer // nil while nothing here writes to the session
	instance     instance        // nil while asleep
	conversation *conversation   // nil while asleep

	mu        sync.Mutex
	changed   chan struct{} // closed with the next change that is heard of; nil if nobody waits
	again     bool          // something has changed
	attending bool          // a goroutine looks at what has changed
	grace     *time.Timer   // until the session looks again; nil if nothing waits
	holders   int
	left      bool // the place is gone
	listeners []*listener
	takers    []Taker
	showing   chan struct{}    // full while the prompts that wait are read and shown
	announced map[string]int64 // their versions, as listeners know them
	info      session.Info
	rules     string // the policy as it is stored
	stored    string // its value in the store
	closed    error  // why no more turns begin; nil while they do
	turns     []*Turn
	cutAt     int64 // the last entry of a turn that was cut off, and is left to Serve since cutSince; guarded by changing
	cutSince  time.Time
	moving    chan struct{} // closed when it may be another process's, or a turn begins or ends; nil if nobody waits
	advancing atomic.Int32  // calls of Turns.Advance
	uses      int
	writes    int // uses that need the lease
	timer     *time.Timer
	questions map[string]*question

	asking    atomic.Int32           // turns that were cut off and are taken up, or have just ended pending
	stopped   atomic.Pointer[string] // the turn that was left after a person had stopped it
	unended   atomic.Bool            // the last turn may have no end, as far as the holder of the lease knows
	deps      atomic.Pointer[any]    // of instance
	recording atomic.Pointer[transcript.Turn]
	saving    sync.Mutex // held while rules are stored
}

// conversation is the state read from the store.
type conversation struct {
	*transcript.Conversation
	w       *session.Writer  // of the last time that it was held
	epoch   string           // identifies the positions of the fold
	head    int64            // of the session when it was given back
	feed    *feed            // what brings entries of others; nil once it was held
	waiting map[string]int64 // versions of the prompts that wait, by entity, as they are shown
}

// ID returns the id of the session.
func (s *Session) ID() string { return s.id }

// Host returns the host of the session.
func (s *Session) Host() *Host { return s.host }

// Policy returns what the session remembers about approvals. It is kept with the session.
func (s *Session) Policy() *approval.Policy { return &s.policy }

// Info describes the session as this process knows it. Other processes may have changed its title
// and values.
func (s *Session) Info() session.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// DirectoriesValue is the name of the session's value with its further directories, a list of
// absolute paths.
const DirectoriesValue = "directories"

// Dirs returns the directories of the session: the one that it works in, and further ones. There
// are none if it works in none, or is nil.
func (s *Session) Dirs() []string {
	if s == nil {
		return nil
	}
	info := s.Info()
	if info.Dir == "" {
		return nil
	}
	var more []string
	_ = json.Unmarshal(info.Values[DirectoriesValue], &more) // it has none, or those that were given
	return append([]string{info.Dir}, more...)
}

// rulesValue is the name of the session's value with the rules of the policy.
const rulesValue = "approvals"

// own returns what is shown of the session itself: its title, and settings and commands if there
// are any.
func (s *Session) own() []*view.Entity {
	all := []*view.Entity{s.infoEntity()}
	if len(s.host.settings) > 0 {
		all = append(all, s.settingsEntity())
	}
	if slash := s.Commands(); len(slash) > 0 {
		all = append(all, &view.Entity{ID: transcript.CommandsID, Kind: view.Commands, Slash: slash})
	}
	return all
}

// window is the size of the context of the model that answers.
func (s *Session) window() int {
	if m := s.model(); m != nil {
		return m.Info().ContextWindow
	}
	return s.host.window
}

// wake makes the dependencies. The caller holds changing.
func (s *Session) wake(ctx context.Context) error {
	if s.instance != nil {
		return nil
	}
	i, err := s.host.core.open(ctx, s)
	if err != nil {
		return errors.Join(err, s.untie(ctx))
	}
	s.instance = i
	d := i.made()
	s.deps.Store(&d)
	return nil
}

// enter acquires changing.
func (s *Session) enter(ctx context.Context) error {
	select {
	case s.changing <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.changing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rest starts the timer after which an unused session falls asleep.
func (s *Session) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses > 0 || s.closed != nil || s.host.idle == 0 {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(s.host.idle, s.sleep)
}

// sleep releases the dependencies and the conversation, unless the session is in use.
func (s *Session) sleep() {
	ctx := context.Background()
	if s.enter(ctx) != nil {
		return
	}
	defer func() { <-s.changing }()
	s.mu.Lock()
	busy := s.uses > 0 || s.closed != nil
	s.mu.Unlock()
	if busy || !s.opened {
		return
	}
	if s.instance != nil && (s.instance.keep() || slices.ContainsFunc(s.tied, Tied.Busy)) {
		s.rest()
		return
	}
	if err := s.release(ctx); err != nil {
		s.logError("an idle session's dependencies were not released", err)
	}
	s.forgetConversation(nil)
}

// release frees the dependencies. The caller holds changing.
func (s *Session) release(ctx context.Context) error {
	i := s.instance
	s.instance = nil
	if i == nil {
		return nil
	}
	return errors.Join(i.release(ctx), s.untie(ctx))
}

// drop makes the next use read the conversation again, because the store does not match it.
func (s *Session) drop(c *conversation) {
	_ = s.enter(context.Background())
	defer func() { <-s.changing }()
	if s.conversation == c {
		s.forgetConversation(errDropped)
	}
}

var errDropped = errors.New("host: read again")

// End cancels all turns with a cause, and prevents new ones. It does not wait: see [Session.Close].
func (s *Session) End(cause error) {
	defer s.host.unlisten()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = cause
	}
	for _, t := range slices.Backward(s.turns) { // the end of one must not begin the next
		t.cancel(cause)
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.grace != nil {
		s.grace.Stop()
	}
}

// Close cancels the turns and waits for them, releases the dependencies, and lets other processes
// open the session. It does not matter how often it is open here: see [Session.Leave]. A session
// that is kept in memory is removed, and so is one without entries, unless it is archived or the
// user has named it. If ctx ends before the turns do, Close returns its cause and can be called
// again.
func (s *Session) Close(ctx context.Context) error {
	s.End(ErrClosed)
	for _, t := range s.running() {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer func() { <-s.changing }()
	if !s.opened {
		return nil
	}
	s.opened = false
	err := s.release(ctx)
	s.forgetConversation(ErrClosed)
	err = errors.Join(err, s.yield(ctx))
	s.forget(ErrClosed)
	return err
}

// forget removes the session from the host's open sessions.
func (s *Session) forget(cause error) {
	s.End(cause)
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if s.host.sessions[s.id] == s {
		delete(s.host.sessions, s.id)
		close(s.gone)
	}
}

// running returns the turns that have not ended.
func (s *Session) running() []*Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.turns), (*Turn).isEnded)
}

func (s *Session) policyText() string {
	data, _ := json.Marshal(s.policy.Rules()) // nil if that fails
	return string(data)
}

// saveRules stores the rules of the policy if they have changed, for the holder of a lease.
func (s *Session) saveRules(ctx context.Context, w *session.Writer) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	text := s.policyText()
	s.mu.Lock()
	same := text == s.rules
	s.mu.Unlock()
	if same {
		return nil
	}
	data, err := json.Marshal(&s.policy)
	if err != nil {
		return wrap("save the approvals of", s.id, err)
	}
	if err := s.updateHeld(ctx, w, session.Change{Values: map[string]json.RawMessage{rulesValue: data}}); err != nil {
		return err
	}
	s.mu.Lock()
	s.rules, s.stored = text, string(data)
	s.mu.Unlock()
	return nil
}

func (s *Session) update(ctx context.Context, c session.Change) error {
	info, err := s.host.store.Update(context.WithoutCancel(ctx), s.id, c)
	if err != nil {
		return err
	}
	s.know(&info)
	return nil
}

// logError logs the type of an error, because its text may quote users and files. Of an error of
// the store it also logs what was done and the cause.
func (s *Session) logError(what string, err error) {
	attrs := []any{"session", s.id, "error", fmt.Sprintf("%T", err)}
	if failed, ok := errors.AsType[*session.Error](err); ok {
		attrs = append(attrs, "op", failed.Op)
		for _, cause := range storeErrors {
			if errors.Is(failed, cause) {
				attrs = append(attrs, "cause", cause)
			}
		}
	}
	s.host.log.Error("host: "+what, attrs...)
}

// storeErrors are the causes that are logged.
var storeErrors = []error{
	session.ErrFull, session.ErrReadOnly, session.ErrUnavailable, session.ErrBusy, session.ErrCorrupt, session.ErrVersion, session.ErrLeaseLost,
	session.ErrHeadMoved, session.ErrNotFound, session.ErrClosed,
}

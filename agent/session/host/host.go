// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// Host runs sessions. It is safe for concurrent use. [Host.Close] must be called.
type Host struct {
	store   session.Store
	kept    bool // there is a store, so that sessions outlive their end
	durable bool // the store outlives the process, so that runs are worth a journal
	core    core
	render  func(any) (string, error)
	window  int
	info    model.Info // of the model that answers
	prices  model.PriceTable
	money   string // the currency of prices
	busy    Busy
	idle    time.Duration
	holder  string
	log     *slog.Logger

	errorText func(error) string // nil means ErrorText
	undoes    bool               // there are Files

	modes    []Mode
	models   []Model
	settings []Setting
	thinking []string
	commands []Command
	lasting  func(dir string) approval.Keeper // nil if nothing is kept beyond sessions
	more     func(*Session) []Command         // nil if sessions have no commands of their own

	mu        sync.Mutex
	sessions  map[string]*Session
	ephemeral *Host        // nil until it is asked for
	without   func() *Host // makes a host without the store
	closed    bool
	hearing   *feed // nil until a session is opened
	attending sync.WaitGroup
	life      context.Context // of what the host does by itself
	end       func()
	serving   bool          // by Serve, the sessions that keep says
	served    chan struct{} // closed when Serve is called; nil unless WillServe was before
	keep      []func(*session.Info) bool
	attempts  int
	runner    Runner
	away      bool     // turns run where the runner says
	damaged   sync.Map // what was logged: sessions and items
	reach     reach
}

// New returns a host.
func New[D, O any](c Config[D, O]) (*Host, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	h := &Host{
		store: c.Store, kept: c.Store != nil, durable: c.Store != nil, core: &typed[D, O]{c}, window: c.Window, busy: c.Busy, idle: c.idle(),
		prices: c.Prices, info: c.info(), money: cmp.Or(c.Currency, "USD"),
		holder: cmp.Or(c.Holder, holder()), log: c.Logger, sessions: map[string]*Session{},
		modes: slices.Clone(c.Modes), models: slices.Clone(c.Models), commands: slices.Clone(c.Commands), more: c.SessionCommands, lasting: c.Kept,
		thinking: slices.Clone(c.Thinking), errorText: c.ErrorText, undoes: c.Files != nil, settings: makeSettings(c.Modes, c.Models, c.Thinking, c.Settings),
	}
	if _, memory := c.Store.(*session.Memory); memory || c.Store == nil {
		h.durable = false
	}
	if h.store == nil {
		h.store = new(session.Memory)
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.attempts, h.runner = cmp.Or(c.Attempts, 3), c.Runner
	if h.away = c.Runner != nil; !h.away {
		h.runner = native{store: h.store}
	}
	h.render = safely(c.Render)
	if h.log == nil {
		h.log = slog.Default()
	}
	h.without = func() *Host {
		same := c
		same.Store, same.Runner = nil, nil
		other, _ := New(same) // the configuration was checked
		return other
	}
	return h, nil
}

// OwnErrorText reports whether the program has said what users are told of errors: see
// [Config].ErrorText.
func (h *Host) OwnErrorText() bool { return h.errorText != nil }

// Logger returns what gets the errors that no caller gets: see [Config].Logger.
func (h *Host) Logger() *slog.Logger { return h.log }

// Model describes the model that answers, unless the user of a session chooses another: see
// [Config].Info.
func (h *Host) Model() model.Info { return h.info }

// Busy returns what happens to a prompt that arrives while a turn of its session is running.
func (h *Host) Busy() Busy { return h.busy }

// Keeps reports whether sessions outlive their end: see [Config].Store.
func (h *Host) Keeps() bool { return h.kept }

// Settings returns the settings that sessions have, with their first values.
func (h *Host) Settings() []view.Setting {
	all := make([]view.Setting, len(h.settings))
	for i := range all {
		all[i] = h.settings[i].Setting
	}
	return all
}

// UndoesFiles reports whether a rewind takes files back, too: see [Config].Files.
func (h *Host) UndoesFiles() bool { return h.undoes }

// Store returns the store of the sessions.
func (h *Host) Store() session.Store { return h.store }

// Create makes a session and opens it, at a place: see [Host.Open].
func (h *Host) Create(ctx context.Context, n session.New, p Place) (*Session, error) {
	info, err := h.store.Create(ctx, n)
	if err != nil {
		return nil, err
	}
	s, err := h.open(ctx, info.ID, p, true)
	if err != nil {
		err = errors.Join(err, h.remove(ctx, info.ID))
	}
	return s, err
}

// remove deletes a session that has nothing.
func (h *Host) remove(ctx context.Context, id string) error {
	if err := h.store.Delete(context.WithoutCancel(ctx), id); err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	return nil
}

// Open opens a session of the store, and makes its dependencies. p is where its files and commands
// are. Nil means [Local]. If the host already has the session open, Open returns that one, which
// stays at its place: see [Session.Place]. If another process runs a turn of it, the session is
// followed: see [Session.Follow]. Each Open is undone by one [Session.Leave].
func (h *Host) Open(ctx context.Context, id string, p Place) (*Session, error) {
	return h.open(ctx, id, p, false)
}

func (h *Host) open(ctx context.Context, id string, p Place, own bool) (*Session, error) {
	if p == nil {
		p = Local
	}
	if h.away && p.Key() != Local.Key() {
		return nil, fmt.Errorf(
			"host: open session %s at %s: with a Runner, sessions are at the place local", id,
			p.Key(),
		)
	}
	s := &Session{host: h, id: id, place: p, holders: 1, changing: make(chan struct{}, 1), showing: make(chan struct{}, 1), gone: make(chan struct{})}
	h.mu.Lock()
	for h.closed || h.sessions[id] != nil {
		known := h.sessions[id]
		h.mu.Unlock()
		if known == nil {
			return nil, ErrClosed
		}
		if joined, err := known.join(ctx); joined || err != nil {
			if joined {
				known.takes(p)
			}
			return known, err
		}
		h.mu.Lock()
	}
	s.takes(p)
	s.changing <- struct{}{} // until it is open
	h.sessions[id] = s
	h.mu.Unlock()
	err := s.open(ctx)
	if err == nil && !own {
		err = s.mark(ctx)
	}
	<-s.changing
	if err != nil {
		s.forget(err)
		return nil, err
	}
	if h.kept {
		h.listen()
		s.hear()
	}
	return s, nil
}

// Session returns an open session, or nil.
func (h *Host) Session(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// Sessions returns the open sessions, ordered by id.
func (h *Host) Sessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.sessions), func(a, b *Session) int { return strings.Compare(a.id, b.id) })
}

// List lists the conversations of the store, and of these, if there is a keep, the ones that it
// returns true for. Internal sessions are left out, see [session.Internal]. A page may have fewer
// sessions than the query asks for although more follow; it is empty at the end only, and never has
// more. Sessions whose descriptions are damaged have no title, and are logged.
func (h *Host) List(ctx context.Context, q session.Query, keep ...func(*session.Info) bool) (session.Page, error) {
	q.Conversations = true
	for {
		page, err := h.store.List(ctx, q)
		if len(page.Sessions) > 0 && errors.Is(err, session.ErrCorrupt) {
			h.log.Error("host: sessions that are listed are damaged", "error", err)
		} else if err != nil {
			return session.Page{}, err
		}
		page.Sessions = slices.DeleteFunc(page.Sessions, func(i session.Info) bool {
			return slices.ContainsFunc(keep, func(k func(*session.Info) bool) bool { return !k(&i) })
		})
		if len(page.Sessions) > 0 || page.Next == "" {
			return page, nil
		}
		q.Cursor = page.Next
	}
}

// Delete removes a session from the store, after closing it if this host has it open. If the
// session does not exist, the error wraps [session.ErrNotFound]; if another process uses it for
// more than a moment, [session.ErrHeld].
func (h *Host) Delete(ctx context.Context, id string) error {
	if s := h.Session(id); s != nil {
		if err := s.Close(ctx); err != nil {
			return err
		}
	}
	for begun := time.Now(); ; {
		err := h.store.Delete(ctx, id)
		if !errors.Is(err, session.ErrHeld) || !again(ctx, begun) {
			return err
		}
	}
}

// Fork makes a copy of a session. With before, the id of a prompt ([transcript.PromptID]), the copy
// ends before that prompt. It has the values of the original, such as its settings, unless n has
// its own. "Always reject" answers still apply in the copy, "always allow" answers do not. The
// original may be open, but no turn of it may be running here. Of a turn that is running in another
// process, the copy has what is recorded, as of a turn that was cut off. Fork does not open the
// copy.
func (h *Host) Fork(ctx context.Context, id, before string, n session.New) (session.Info, error) {
	if s := h.Session(id); s != nil {
		done, err := s.quiet(ctx)
		if err != nil {
			return session.Info{}, err
		}
		defer done()
	}
	info, err := h.store.Get(ctx, id)
	if err != nil {
		return session.Info{}, err
	}
	at := info.Head
	if before != "" {
		if at, err = headBefore(ctx, h.store, id, before); err != nil {
			return session.Info{}, err
		}
	}
	if n.Values, err = forkedValues(&info, n.Values); err != nil {
		return session.Info{}, wrap("fork", id, err)
	}
	return h.store.Fork(ctx, id, at, n)
}

// Close cancels all turns, and closes the sessions when they have ended. It waits until ctx ends.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	sessions := h.Sessions()
	errs := make([]error, len(sessions))
	var all sync.WaitGroup
	for i, s := range sessions {
		all.Go(func() { errs[i] = s.Close(ctx) })
	}
	all.Wait()
	h.mu.Lock()
	hearing := h.hearing
	h.mu.Unlock()
	if hearing != nil {
		hearing.end()
	}
	late, over := lingering(ctx) // a turn that is taken up may not end
	go func() { h.attending.Wait(); over() }()
	<-late.Done()
	return errors.Join(append(errs, h.closeEphemeral(ctx))...)
}

func wrap(doing, id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("host: %s session %s: %w", doing, id, err)
}

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// listen hears of changes in the store from now on, if it does not yet.
func (h *Host) listen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hearing != nil || h.closed || !h.kept || len(h.sessions) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(h.life)
	f := &feed{cancel: cancel, done: make(chan struct{})}
	h.hearing = f
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			if w, ok := h.store.(session.Watcher); ok {
				for id, err := range w.Listen(ctx) {
					if err != nil {
						break
					}
					h.heard(id)
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
				h.heard("")
			}
		}
	}()
}

// unlisten ends listening if no session is open any more.
func (h *Host) unlisten() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hearing == nil {
		return
	}
	for _, s := range h.sessions {
		s.mu.Lock()
		open := s.closed == nil
		s.mu.Unlock()
		if open {
			return
		}
	}
	h.hearing.cancel()
	h.hearing = nil
}

// heard tells a session that it has changed, or all of them.
func (h *Host) heard(id string) {
	if id != "" {
		if s := h.Session(id); s != nil {
			s.hear()
		}
		return
	}
	for _, s := range h.Sessions() {
		s.hear()
	}
}

// hear has the session look at what has changed.
func (s *Session) hear() {
	s.mu.Lock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	s.again = true
	begins := !s.attending
	s.attending = true
	s.mu.Unlock()
	if !begins {
		return
	}
	if s.host.attends(s) {
		go s.attend()
	} else {
		s.mu.Lock()
		s.attending = false
		s.mu.Unlock()
	}
}

// attends notes that a session begins to look at what has changed. It reports false if that is of
// no use any more.
func (h *Host) attends(s *Session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.kept || h.closed || h.sessions[s.id] != s {
		return false
	}
	h.attending.Add(1)
	return true
}

// news returns a channel that is closed with the next change that is heard of.
func (s *Session) news() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// grace is how long a prompt is left to the process that has sent it.
const grace = time.Second

// attend looks at what has changed until nothing has.
func (s *Session) attend() {
	defer s.host.attending.Done()
	ctx, cancel := context.WithTimeout(s.host.life, attention)
	defer cancel()
	for {
		s.mu.Lock()
		s.attending, s.again = s.again, false
		changed := s.attending
		s.mu.Unlock()
		if !changed {
			return
		}
		if !s.lookOnce(ctx) {
			continue
		}
		s.mu.Lock()
		if s.closed == nil {
			if s.grace != nil {
				s.grace.Stop()
			}
			s.grace = time.AfterFunc(grace, s.hear)
		}
		s.mu.Unlock()
	}
}

// attention bounds how long a session looks at what has changed.
const attention = time.Minute

// lookOnce looks once. It reports whether to look again after a while, because something waits.
func (s *Session) lookOnce(ctx context.Context) (again bool) {
	if s.enter(ctx) != nil {
		return false
	}
	info, err := s.host.store.Get(ctx, s.id)
	c := s.conversation
	elsewhere := false
	if err == nil {
		titled := s.Info().Title != info.Title
		elsewhere = s.know(&info)
		if s.w == nil && c != nil && c.feed == nil && info.Head != c.head {
			s.forgetConversation(errDropped) // others have written
			c = nil
		} else if titled && c != nil {
			s.showInfo(c)
		}
	}
	opened := s.opened
	<-s.changing
	if err != nil || !opened {
		return opened && !errors.Is(err, session.ErrNotFound)
	}
	s.showWaiting(ctx, c)
	if info.Waiting == 0 {
		return elsewhere // a process that is killed does not say so
	}
	items, err := s.inbox(ctx)
	if err != nil {
		return true
	}
	for i := range items {
		if s.serve(ctx, &items[i]) {
			again = true
		}
	}
	return again || elsewhere
}

// serve does what an item asks for, if nobody else has the session. It reports whether the item
// waits.
func (s *Session) serve(ctx context.Context, i *session.Item) (waits bool) {
	// An answer is left to Advance, which is told of the turn that it resumes.
	away := s.host.away && s.Turn() == nil
	if s.runsAway() || away && i.Kind == session.ItemAnswer && ctx.Value(nothingCut{}) == nil {
		return s.remind(ctx, i)
	}
	var err error
	switch i.Kind {
	case session.ItemPrompt:
		return s.servePrompt(i)
	case session.ItemCancel:
		if waits, err = s.serveCancel(ctx, i); waits {
			return true
		}
	case session.ItemAnswer:
		err = s.serveAnswer(ctx, i)
	case session.ItemSetting:
		err = s.consume(ctx, i, func() error {
			var one settingJSON
			if err := json.Unmarshal(i.Data, &one); err != nil {
				return err
			}
			_, err := s.Set(ctx, one.ID, one.Value)
			return err
		})
	default:
		return false
	}
	return errors.Is(err, session.ErrHeld) || passes(err)
}

// consume does what an item asks for and consumes it. What it asks for may be done twice if the
// process ends between the two: the second time has no effect, but whoever sent the item may be told
// that it was refused. An item that asks for what is not possible is removed.
func (s *Session) consume(ctx context.Context, i *session.Item, do func() error) error {
	if s.isLeft(ctx) { // to take the lease would be heard as a change, again and again
		return s.errLeft()
	}
	c, done, err := s.useHeld(ctx, false, false)
	if err != nil {
		return err
	}
	defer done()
	if err = do(); errors.Is(err, session.ErrHeld) || passes(err) || ctx.Err() != nil {
		return err
	}
	if err == nil {
		_, err = c.w.Write(ctx, session.Batch{Consumed: []session.Ref{i.Ref()}})
	} else if _, err = c.w.Append(ctx); err == nil { // of nothing: it is still ours to refuse
		_, err = s.host.store.Change(ctx, s.id, i.ID, i.Version, nil)
	}
	return err
}

// servePrompt runs a prompt that nobody here waits for, unless it is too young: then whoever has
// sent it does.
func (s *Session) servePrompt(i *session.Item) (waits bool) {
	if s.host.away || s.waitsHere(i.ID) {
		return false
	}
	if time.Since(i.Time) < grace {
		return true
	}
	w, err := waitingOf(i)
	if err != nil {
		s.logError("a prompt in the inbox cannot be read", err)
		return false
	}
	admit := func(ctx context.Context) (*Turn, error) {
		t, err := s.AdmitWith(ctx, BusyQueue)
		if err == nil {
			t.own(i)
		}
		return t, err
	}
	if s.taken(w, admit) {
		return true
	}
	t, err := admit(context.Background())
	if err != nil {
		return false
	}
	go t.Run(Prompt{Parts: w.Parts, Shown: w.Shown, Plain: w.Plain, Wait: true})
	return true
}

// settingJSON is the data of a setting in the inbox.
type settingJSON struct {
	ID    string `json:"id"`
	Value string `json:"value"`
}

// before returns after which change of the inbox an item is yielded, whatever becomes of it.
func before(i *session.Item) int64 {
	if i.Rev == 1 {
		return -1
	}
	return i.Rev - 1
}

// errRefused means that the process that has the session cannot do what an item asks for.
var errRefused = errors.New("host: the process that has the session has refused this")

// send puts an item into the inbox of a session that another process has, and waits until that has
// consumed or refused it.
func (s *Session) send(ctx context.Context, i session.Item) error {
	i.By = s.host.holder
	put, err := s.host.store.Put(ctx, s.id, i)
	if err != nil {
		return err
	}
	s.wakeRunner(ctx)
	for {
		news := s.news()
		for now, err := range s.host.store.Items(ctx, s.id, before(&put)) {
			if damaged := damagedItem(err); err != nil && (damaged == "" || damaged == put.ID) {
				return err
			}
			if now.ID == put.ID && now.State == session.ItemRemoved {
				return errRefused
			} else if now.ID == put.ID && now.State == session.ItemConsumed {
				return nil
			}
		}
		select {
		case <-news:
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

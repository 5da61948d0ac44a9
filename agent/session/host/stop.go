// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// cancelJSON is the data of an [session.ItemCancel] that stops a turn which does not run here. It
// names the turn, so that no later one is stopped. Whoever runs the turn hears of the item. Whoever
// takes it up looks for the item once it has the lease, and hears of one that comes later. It waits
// until the turn has ended.
type cancelJSON struct {
	Turn string `json:"turn,omitempty"`
	// Holder is whoever has the session, if its turn has recorded nothing yet.
	Holder string `json:"holder,omitempty"`
}

// item returns the item. That of a turn is the same for all who stop it.
func (c cancelJSON) item() (i session.Item) {
	i.Kind = session.ItemCancel
	i.Data, _ = json.Marshal(c) // they are strings
	if i.ID = rand.Text(); c.Turn != "" {
		sum := sha256.Sum256(i.Data)
		i.ID = "cancel-" + hex.EncodeToString(sum[:16])
	}
	return i
}

// cancelOf returns what an item stops. The zero value is whatever runs.
func cancelOf(i *session.Item) (c cancelJSON) { _ = json.Unmarshal(i.Data, &c); return c }

// isStopped reports whether a person has stopped a turn that was cut off. The id of an item that is
// damaged still says so.
func (s *Session) isStopped(ctx context.Context, turn string) (bool, error) {
	own := cancelJSON{Turn: turn}.item().ID
	for i, err := range s.host.store.Items(ctx, s.id, 0, session.ItemCancel) {
		switch damaged := damagedItem(err); {
		case damaged == own, err == nil && (cancelOf(&i).Turn == "" || cancelOf(&i).Turn == turn):
			return true, nil
		case err != nil && damaged == "":
			return false, err
		}
	}
	return false, nil
}

// cancelElsewhere stops a turn that another process runs, or that was cut off and that nobody has
// taken up yet. Without an id, it is the one that the store shows.
func (s *Session) cancelElsewhere(turn string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	what := cancelJSON{Turn: turn}
	err := s.host.reaching(ctx, func() (err error) {
		if turn == "" {
			what, err = s.shownTurn(ctx)
		}
		return err
	})
	if err == nil && what != (cancelJSON{}) {
		i := what.item()
		i.By = s.host.holder
		_, err = (&patient{Store: s.host.store, to: s}).Put(ctx, s.id, i)
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		s.logError("a turn in another process was not stopped", err)
	} else if s.host.away && what != (cancelJSON{}) {
		s.wakeRunner(ctx)
	}
}

// shownTurn returns what to stop of what the store shows now. It is the zero value if nothing runs.
func (s *Session) shownTurn(ctx context.Context) (what cancelJSON, err error) {
	info, err := s.host.store.Get(ctx, s.id)
	if err != nil {
		return what, err
	}
	c, done, f, _, err := s.lookNow(ctx)
	if err != nil {
		return what, err
	}
	defer done()
	if f != nil {
		err = f.upTo(ctx, c, info.Head)
		if err == nil && c.Taken() < info.Head && info.Holder != "" { // what runs is not known
			return cancelJSON{Holder: info.Holder}, nil
		}
	} else if err = s.enter(ctx); err == nil {
		held, head := s.w != nil, c.head
		<-s.changing
		if held { // and no turn runs
			return what, nil
		}
		if head < info.Head { // the store did not answer to lookNow
			err = &session.Error{Op: "stop", Session: s.id, Err: session.ErrUnavailable}
		}
	}
	if what.Turn = c.Going(); what.Turn == "" {
		what.Holder = info.Holder
	}
	return what, err
}

// serveCancel stops what an item names. It reports whether the item waits.
func (s *Session) serveCancel(ctx context.Context, i *session.Item) (waits bool, err error) {
	what := cancelOf(i)
	if what.Turn != "" && s.cancelTurn(what.Turn, time.Time{}) {
		return true, nil
	}
	return false, s.consume(ctx, i, func() error {
		switch {
		case what.Turn != "": // it has ended
		case what.Holder == "":
			s.cancelHere()
		case what.Holder == s.host.holder:
			s.cancelTurn("", i.Time)
		default: // its turn may be taken up here
			s.cancelTurn("", time.Time{})
		}
		return nil
	})
}

// known notes the id of the turn. From now on an item that stops it is heard of here.
func (t *Turn) known(id string) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	t.named = id
}

// cancelTurn cancels a turn with an id, or without one what had begun before a time, or a turn that
// is taken up. It reports whether there is one, or may be: of what is taken up, the id is not known
// at first.
func (s *Session) cancelTurn(id string, before time.Time) (here bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		switch {
		case t.isEnded():
		case id == "" && before.IsZero() && t.first, id != "" && t.named == id,
			id == "" && !t.begun.IsZero() && t.begun.Before(before):
			t.stop()
			here = true
		default:
			here = here || t.first && t.named == ""
		}
	}
	return here
}

// stop cancels the turn because a person has stopped it. The caller holds the session's mu.
func (t *Turn) stop() { t.stopped = true; t.cancel(ErrCancelled) }

// isStopped reports whether a person has stopped the turn here.
func (t *Turn) isStopped() bool {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.stopped
}

// passOn stops the turn wherever it goes on, if it was left without an end after a person had
// stopped it.
func (t *Turn) passOn() {
	if t.left && t.isStopped() {
		t.session.cancelElsewhere(t.named)
	}
}

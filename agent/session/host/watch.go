// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
)

// Update is a change of the shown session.
type Update struct {
	view.Update
	// Position is where a watcher can continue after this update: see [Session.Watch].
	Position string
	// Reset voids the watcher's state of the session. The update has the complete state.
	Reset bool
}

// Watch yields what the session shows, and then each change, until ctx ends or the session is
// closed, which yields the cause or [ErrClosed]. With the position of an earlier update, it begins
// with what has changed since. A position that this process does not know, such as one of an
// earlier process, begins with a Reset.
//
// A watcher never holds up a turn. Of one that is slow, several changes become one, and none is
// lost. A session does not fall asleep while it is watched.
func (s *Session) Watch(ctx context.Context, from string) iter.Seq2[*Update, error] {
	return func(yield func(*Update, error) bool) {
		f, err := s.Follow(ctx, from)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		for {
			u, err := f.Update(ctx)
			if again, failed := f.Again(ctx, err); again {
				continue
			} else if failed != nil {
				yield(nil, failed)
				return
			}
			if !yield(&Update{Update: *u, Position: f.Position(), Reset: f.Reset}, nil) {
				return
			}
			f.Reset = false
		}
	}
}

// Follower is a client of a session: a cursor in what the session shows. The session does not fall
// asleep before Close. It is not safe for concurrent use.
type Follower struct {
	*view.Cursor
	// Reset is set as long as what the client has of the session is void, because its position is
	// not known. Whoever has told the client unsets it.
	Reset bool

	session *Session
	c       *conversation
	close   func()
}

// Follow begins to follow the session. With the position of an earlier follower, it begins with
// what has changed since: see [Session.Watch]. Close must be called.
func (s *Session) Follow(ctx context.Context, from string) (*Follower, error) {
	c, done, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	f := &Follower{Cursor: c.Fold().Cursor(nil), Reset: from != "", session: s, c: c, close: done}
	if pos, ok := c.known(from); ok {
		f.Cursor, f.Reset = c.Fold().CursorAt(pos), false
	}
	return f, nil
}

// Position returns where another follower can continue, once Take has reported false.
func (f *Follower) Position() string { return f.c.position(f.Pos()) }

// Close ends the use of the session.
func (f *Follower) Close() { f.close() }

// Again starts over if err, with which the cursor has ended, reports that the conversation was read
// again: then Reset is set. It returns any other error.
func (f *Follower) Again(ctx context.Context, err error) (again bool, _ error) {
	if !errors.Is(err, errDropped) {
		return false, err
	}
	c, done, err := f.session.look(ctx)
	if err != nil {
		return false, err
	}
	f.close()
	f.c, f.close, f.Cursor, f.Reset = c, done, c.Fold().Cursor(nil), true
	return true, nil
}

// View calls f with what the session shows. The session does not fall asleep meanwhile. f must not
// change the fold, and not use it later.
func (s *Session) View(ctx context.Context, f func(*view.Fold)) error {
	c, done, err := s.look(ctx)
	if err != nil {
		return err
	}
	defer done()
	f(c.Fold())
	return nil
}

// Snapshot returns what the session shows, and its position.
func (s *Session) Snapshot(ctx context.Context) (*view.Snapshot, string, error) {
	c, done, err := s.look(ctx)
	if err != nil {
		return nil, "", err
	}
	defer done()
	snapshot := c.Fold().Snapshot()
	return snapshot, c.position(snapshot.Pos()), nil
}

func (c *conversation) position(pos uint64) string {
	return c.epoch + "." + strconv.FormatUint(pos, 10)
}

func (c *conversation) known(position string) (pos uint64, ok bool) {
	epoch, text, _ := strings.Cut(position, ".")
	if epoch != c.epoch {
		return 0, false
	}
	pos, err := strconv.ParseUint(text, 10, 64)
	return pos, err == nil && pos <= c.Fold().Snapshot().Pos()
}

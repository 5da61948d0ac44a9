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

// Update is what has changed of what a session shows.
type Update struct {
	view.Update
	// Position is where a watcher can go on after this update: see [Session.Watch].
	Position string
	// Reset says that what the watcher has of the session is void. The update has everything there is.
	Reset bool
}

// Watch yields what the session shows, and then each change, until ctx ends or the session is closed, which yields the cause or
// [ErrClosed]. With the position of an earlier update, it begins with what has changed since. A position that this process does not know,
// such as one of an earlier process, begins with a Reset.
//
// A watcher never holds up a turn. Of one that is slow, several changes become one, and none is lost. A session does not fall asleep
// while it is watched.
func (s *Session) Watch(ctx context.Context, from string) iter.Seq2[*Update, error] {
	return func(yield func(*Update, error) bool) {
		for reset := from != ""; s.watch(ctx, from, reset, yield); reset = true {
			from = "" // what was read is read again
		}
	}
}

// watch yields updates of one conversation. It reports whether that was read again.
func (s *Session) watch(ctx context.Context, from string, reset bool, yield func(*Update, error) bool) (again bool) {
	c, done, err := s.use(ctx, false)
	if err != nil {
		yield(nil, err)
		return false
	}
	defer done()
	sub := c.Fold().Cursor(nil)
	if pos, ok := c.known(from); ok {
		sub, reset = c.Fold().CursorAt(pos), false
	}
	for {
		u, err := sub.Update(ctx)
		switch {
		case errors.Is(err, errDropped):
			return true
		case err != nil:
			yield(nil, err)
			return false
		case !yield(&Update{Update: *u, Position: c.position(u.Snapshot), Reset: reset}, nil):
			return false
		}
		reset = false
	}
}

// View calls f with what the session shows. The session does not fall asleep meanwhile. f must not change the fold, and not
// use it later.
func (s *Session) View(ctx context.Context, f func(*view.Fold)) error {
	c, done, err := s.use(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	f(c.Fold())
	return nil
}

// Snapshot returns what the session shows, and its position.
func (s *Session) Snapshot(ctx context.Context) (*view.Snapshot, string, error) {
	c, done, err := s.use(ctx, false)
	if err != nil {
		return nil, "", err
	}
	defer done()
	snapshot := c.Fold().Snapshot()
	return snapshot, c.position(snapshot), nil
}

func (c *conversation) position(s *view.Snapshot) string {
	return c.epoch + "." + strconv.FormatUint(s.Pos(), 10)
}

func (c *conversation) known(position string) (pos uint64, ok bool) {
	epoch, text, _ := strings.Cut(position, ".")
	if epoch != c.epoch {
		return 0, false
	}
	pos, err := strconv.ParseUint(text, 10, 64)
	return pos, err == nil && pos <= c.Fold().Snapshot().Pos()
}

// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// feed brings the entries that others write to a conversation.
type feed struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// end ends the feed, and waits for that.
func (f *feed) end() { f.cancel(); <-f.done }

// pause is how long it takes until a store is asked again that has failed, or cannot be watched.
const pause = 250 * time.Millisecond

// follow feeds a conversation that others may write to, until it is forgotten or held.
func (s *Session) follow(c *conversation) *feed {
	ctx, cancel := context.WithCancel(context.Background())
	f := &feed{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			err := s.followOnce(ctx, c)
			if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrCorrupt) || errors.Is(err, session.ErrClosed) {
				if ctx.Err() == nil {
					c.Fold().End(err)
				}
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	return f
}

// lag bounds how long reading waits for a feed. After that, what is known is shown.
const lag = time.Second

// upTo waits until a conversation that is followed has an entry: another process may have shown it
// to the client already.
func (f *feed) upTo(ctx context.Context, c *conversation, head int64) error {
	for end := time.Now().Add(lag); c.Taken() < head && time.Now().Before(end); {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-f.done: // it is damaged, or somebody else holds it now
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// followOnce takes entries until the store fails. One that cannot be watched is read once.
func (s *Session) followOnce(ctx context.Context, c *conversation) error {
	entries := s.host.store.Load
	if w, ok := s.host.store.(session.Watcher); ok {
		entries = w.Watch
	}
	for e, err := range entries(ctx, s.id, c.Taken()) {
		if err == nil {
			err = c.Take(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

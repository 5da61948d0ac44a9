// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// follower shows a session to a client, for a [Protocol]. It counts as a stream of the user until Close.
type follower struct {
	session *openSession
	done    func()
	at      *host.Follower // nil before Begin
}

// Follow reserves a stream, within the limits. Close must be called.
func (s *openSession) Follow() (*follower, error) {
	done, err := s.handler.following(s)
	if err != nil {
		return nil, err
	}
	return &follower{session: s, done: done}, nil
}

// Close ends the stream.
func (f *follower) Close() {
	if f.at != nil {
		f.at.Close()
	}
	f.done()
}

// Begin returns a cursor for the client, which has been shown nothing.
func (f *follower) Begin(ctx context.Context) (*view.Cursor, error) {
	at, err := f.session.Session.Follow(ctx, "")
	if err != nil {
		return nil, err
	}
	f.at = at
	return at.Cursor, nil
}

// Run calls show with a cursor for the client whenever there is something new, until done is closed, show returns false, or
// the client is gone. show takes everything. When done is closed, it is called once more, with what other processes have
// recorded until then. Changes within 15 ms are combined. While nothing changes, comments are written to out.
func (f *follower) Run(ctx context.Context, out *eventStream, done <-chan struct{}, show func(*view.Cursor) (more bool)) {
	if f.at == nil {
		if _, err := f.Begin(ctx); err != nil {
			return
		}
	}
	open := true // else the session is closed: done follows
	news := func() (more bool) {
		ended := f.at.Ended() != nil
		if more = show(f.at.Cursor); more && ended {
			open = f.again(ctx)
		}
		return more
	}
	if !news() {
		return
	}
	p := newPace()
	defer p.stop()
	for out.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-done:
			_ = f.session.View(ctx, func(*view.Fold) {})
			if news() && open {
				show(f.at.Cursor)
			}
			return
		case <-p.pause.C:
			p.ready = true
		case <-p.idle.C:
			out.comment()
			p.idle.Reset(keepAlive)
		case <-p.changed(f.at, open):
			if !news() {
				return
			}
			p.shown()
		}
	}
}

// again continues with a conversation that was read again. The client is told of the differences only. It reports false
// if the session is closed.
func (f *follower) again(ctx context.Context) bool {
	shown := f.at.Fold().Snapshot()
	again, _ := f.at.Again(ctx, f.at.Ended())
	if again {
		f.at.Cursor = f.at.Fold().CursorFrom(shown)
	}
	return again
}

// taken appends what a cursor has for its client.
func taken(c *view.Cursor, news []view.Delta) []view.Delta {
	for d := (view.Delta{}); c.Take(&d); {
		news = append(news, d)
	}
	return news
}

// pace is when a stream is written to: at most once in a frame, and now and then while nothing changes.
type pace struct {
	idle, pause *time.Timer
	ready       bool
}

func newPace() *pace {
	return &pace{idle: time.NewTimer(keepAlive), pause: time.NewTimer(frame), ready: true}
}

func (p *pace) stop() {
	p.idle.Stop()
	p.pause.Stop()
}

// shown begins the pause after an update.
func (p *pace) shown() {
	p.ready = false
	p.pause.Reset(frame)
	p.idle.Reset(keepAlive)
}

// changed returns a channel that is closed when there is something to show, nil during a pause.
func (p *pace) changed(f *host.Follower, open bool) <-chan struct{} {
	if !p.ready || !open {
		return nil
	}
	return f.Changed()
}

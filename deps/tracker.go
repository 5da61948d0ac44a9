// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// ErrUnknownToolCall is the error of a report about a tool call that has not been started, or that was forgotten long ago.
var ErrUnknownToolCall = errors.New("deps: unknown tool call")

// keptCalls is how many finished tool calls are remembered, so that what is reported about them late is known to be late.
const keptCalls = 512

// TrackerOptions tune a [Tracker]. The zero value, and nil, are good ones.
type TrackerOptions struct {
	// TextInterval is the least time between two updates that carry streamed text of a call; 0 means 100 ms.
	TextInterval time.Duration
	// TextLimit bounds the streamed text that a call shows, in bytes: of a longer one the end is shown. 0 means 16 KiB.
	TextLimit int
}

// Tracker keeps the state of a session's tool calls and reports its changes to the client.
//
// Methods that take a ctx return when the client has been told, or when ctx ends. What could not be sent then is not
// lost: it goes out with the next report about the call. The reports about one call are never reordered; those that come
// while one is being sent are joined. Sending is not refused because ctx has ended: whether a cancelled turn can still
// report is the client's business, and an acp.AgentConn does it as long as its queue has room.
type Tracker struct {
	client  acp.Client
	session acp.SessionID
	opts    TrackerOptions

	mu       sync.Mutex
	calls    map[acp.ToolCallID]*call
	finished []acp.ToolCallID // oldest first; may hold ids that were forgotten
}

// NewTracker returns a tracker that reports to the client.
func NewTracker(client acp.Client, session acp.SessionID, opts *TrackerOptions) *Tracker {
	t := &Tracker{client: client, session: session, calls: map[acp.ToolCallID]*call{}}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.TextInterval <= 0 {
		t.opts.TextInterval = 100 * time.Millisecond
	}
	if t.opts.TextLimit <= 0 {
		t.opts.TextLimit = 16 << 10
	}
	return t
}

// Start announces a tool call. If the call is known it is an [Tracker.Update] with what c says.
func (t *Tracker) Start(ctx context.Context, c acp.ToolCall) error {
	if t == nil {
		return nil
	}
	u := acp.ToolCallUpdate{
		ToolCallID: c.ToolCallID, Title: &c.Title, Name: c.Name, Kind: c.Kind, Status: c.Status, Content: c.Content,
		Locations: c.Locations, RawInput: c.RawInput, RawOutput: c.RawOutput, Meta: c.Meta,
	}
	t.mu.Lock()
	entity := t.calls[c.ToolCallID]
	if entity == nil {
		entity = &call{state: acp.ToolCallUpdate{ToolCallID: c.ToolCallID}, changed: acp.ToolCallUpdate{ToolCallID: c.ToolCallID}, dirty: true}
		t.calls[c.ToolCallID] = entity
	}
	t.change(entity, &u)
	t.mu.Unlock()
	return t.flush(ctx, entity)
}

// Update reports what is new about a call: fields that are absent, or equal to what the client has, are not sent. A status
// never goes back, and after the call has completed or failed nothing changes any more. Content replaces all content, text
// from [Tracker.Append] included. The call must have been started; see [ErrUnknownToolCall].
func (t *Tracker) Update(ctx context.Context, u acp.ToolCallUpdate) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	entity := t.calls[u.ToolCallID]
	if entity == nil {
		t.mu.Unlock()
		return ErrUnknownToolCall
	}
	t.change(entity, &u)
	t.mu.Unlock()
	return t.flush(ctx, entity)
}

// Complete is [Tracker.Update] for a call that has succeeded. Without content the call keeps what it shows.
func (t *Tracker) Complete(ctx context.Context, id acp.ToolCallID, content ...acp.ToolCallContent) error {
	return t.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolCallStatusCompleted, Content: content})
}

// Fail is [Tracker.Update] for a call that has failed. why, if not empty, is shown behind what the call shows already.
func (t *Tracker) Fail(ctx context.Context, id acp.ToolCallID, why string) error {
	u := acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolCallStatusFailed}
	if t != nil && why != "" {
		u.Content = append(t.Snapshot(id).Content, TextContent(why))
	}
	return t.Update(ctx, u)
}

// Append adds text to what a call shows, for output that comes little by little. The protocol has no such update: content
// is replaced as a whole. So the text goes out at most once in [TrackerOptions.TextInterval], and its last
// [TrackerOptions.TextLimit] bytes only. What came since the last update is sent by a timer, unless ctx has ended by then,
// or with the next report about the call.
func (t *Tracker) Append(ctx context.Context, id acp.ToolCallID, text string) error {
	if t == nil || text == "" {
		return nil
	}
	t.mu.Lock()
	entity := t.calls[id]
	if entity == nil {
		t.mu.Unlock()
		return ErrUnknownToolCall
	}
	due := t.append(ctx, entity, text)
	t.mu.Unlock()
	if !due {
		return nil
	}
	return t.flush(ctx, entity)
}

// Snapshot returns all that is known of a call, as the update that a permission request carries. Of an unknown call that is
// the id; of a finished one content, input and output are left out.
func (t *Tracker) Snapshot(id acp.ToolCallID) acp.ToolCallUpdate {
	if t == nil {
		return acp.ToolCallUpdate{ToolCallID: id}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if entity := t.calls[id]; entity != nil {
		return entity.snapshot()
	}
	return acp.ToolCallUpdate{ToolCallID: id}
}

// EndRun reports the calls of a run that have not ended as failed, and forgets all calls of the run. Call it when the run
// has ended and nobody reports about its calls any more.
func (t *Tracker) EndRun(ctx context.Context, runID string) error {
	if t == nil {
		return nil
	}
	prefix := runPrefix(runID)
	var open []*call
	t.mu.Lock()
	for id, entity := range t.calls {
		if strings.HasPrefix(string(id), prefix) {
			delete(t.calls, id)
			open = append(open, entity)
		}
	}
	sortByID(open)
	for _, entity := range open {
		if !entity.ended() {
			entity.change(&acp.ToolCallUpdate{Status: acp.ToolCallStatusFailed})
		}
		entity.stopTimer()
	}
	t.mu.Unlock()
	var errs []error
	for _, entity := range open {
		errs = append(errs, t.flush(ctx, entity))
	}
	return errors.Join(errs...)
}

// change merges u into the call. mu is held.
func (t *Tracker) change(c *call, u *acp.ToolCallUpdate) {
	if c.ended() {
		return
	}
	c.change(u)
	if !c.ended() {
		return
	}
	c.stopTimer()
	if t.finished = append(t.finished, c.state.ToolCallID); len(t.finished) > keptCalls {
		delete(t.calls, t.finished[0])
		t.finished = append(t.finished[:0], t.finished[1:]...)
	}
}

// flush sends what has changed. While another goroutine sends, it waits until that one has sent everything.
func (t *Tracker) flush(ctx context.Context, c *call) error {
	for {
		t.mu.Lock()
		if c.sending == nil {
			break // with mu held
		}
		sending := c.sending
		t.mu.Unlock()
		select {
		case <-sending:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer t.mu.Unlock()
	if !c.dirty {
		return nil
	}
	sending := make(chan struct{})
	c.sending = sending
	defer func() {
		c.sending = nil
		close(sending)
	}()
	for c.dirty {
		if err := t.send(ctx, c); err != nil {
			return err
		}
	}
	if c.ended() {
		c.shrink()
	}
	return nil
}

// send sends what has changed. mu is held, but not while the client is called.
func (t *Tracker) send(ctx context.Context, c *call) error {
	update, sent := c.take()
	t.mu.Unlock()
	err := errPanicked
	defer func() {
		t.mu.Lock()
		if err != nil {
			c.putBack(sent)
		}
	}()
	err = t.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: t.session, Update: update})
	return err
}

// errPanicked stands for the error of a client that panicked instead.
var errPanicked = errors.New("deps: client panicked")

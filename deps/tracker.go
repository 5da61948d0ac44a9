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

// ErrUnknownToolCall is returned for a report about a tool call that was not started, or finished so long ago that it was
// forgotten.
var ErrUnknownToolCall = errors.New("deps: unknown tool call")

// keptCalls is the number of finished tool calls to remember, so that late reports about them can be recognised.
const keptCalls = 512

// TrackerOptions configures a [Tracker]. The zero value and nil are usable.
type TrackerOptions struct {
	// TextInterval is the minimum time between two updates with streamed text of a call. 0 means 100 ms.
	TextInterval time.Duration
	// TextLimit limits the streamed text that a call shows, in bytes. Of longer text, the end is shown. 0 means 16 KiB.
	TextLimit int
}

// Tracker keeps the state of a session's tool calls and reports changes to the client.
//
// Methods that take a ctx return when the client has been told or ctx is done. Changes that could not be sent are not
// lost: they are sent with the next report about the call. Reports about one call are never reordered. Reports made while
// another one is being sent are merged into one. The tracker sends even if ctx is done. Whether a cancelled turn can
// still report is up to the client: acp.AgentConn does while its queue has room.
type Tracker struct {
	client  acp.Client
	session acp.SessionID
	opts    TrackerOptions

	mu       sync.Mutex
	calls    map[acp.ToolCallID]*call
	finished []acp.ToolCallID  // oldest first; may contain forgotten ids
	labels   map[string]string // of runs, by the prefix of their calls' ids
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

// Label sets what the titles of a run's calls begin with, such as the name of an agent inside another one. It holds for titles that are
// reported from now on, until [Tracker.EndRun]. The empty label changes nothing.
func (t *Tracker) Label(runID, label string) {
	if t == nil || label == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.labels == nil {
		t.labels = map[string]string{}
	}
	t.labels[runPrefix(runID)] = label + ": "
}

// labelled returns the title of a call with the label of its run. mu is held.
func (t *Tracker) labelled(id acp.ToolCallID, title *string) *string {
	if title == nil || len(t.labels) == 0 {
		return title
	}
	run, _, _ := strings.Cut(string(id), "/")
	if label := t.labels[run+"/"]; !strings.HasPrefix(*title, label) {
		return new(label + *title)
	}
	return title
}

// Start announces a tool call. For a known call it works like [Tracker.Update].
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

// Update reports changes to a call. Fields that are absent, or that the client already has, are not sent. A status never
// goes back, and nothing changes after the call has completed or failed. Content replaces all content, including text
// from [Tracker.Append]. The call must have been started. See [ErrUnknownToolCall].
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

// Complete updates a call that has succeeded. Without content, the call keeps what it shows.
func (t *Tracker) Complete(ctx context.Context, id acp.ToolCallID, content ...acp.ToolCallContent) error {
	return t.Update(ctx, acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolCallStatusCompleted, Content: content})
}

// Fail updates a call that has failed. If why is not empty, it is added to what the call shows.
func (t *Tracker) Fail(ctx context.Context, id acp.ToolCallID, why string) error {
	u := acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolCallStatusFailed}
	if t != nil && why != "" {
		u.Content = append(t.Snapshot(id).Content, TextContent(why))
	}
	return t.Update(ctx, u)
}

// Append adds text to what a call shows, for output that arrives in pieces. The protocol can only replace content as a
// whole, so text is sent at most once per [TrackerOptions.TextInterval], and only its last [TrackerOptions.TextLimit]
// bytes. Remaining text is sent by a timer, unless ctx is done by then, or with the next report about the call.
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

// Snapshot returns the whole state of a call, in the form a permission request carries. For an unknown call, it holds
// only the id. For a finished call, it omits content, input and output.
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

// EndRun reports the unfinished calls of a run as failed, and forgets all calls of the run. Call it when the run has
// ended and no one reports about its calls any more.
func (t *Tracker) EndRun(ctx context.Context, runID string) error {
	if t == nil {
		return nil
	}
	prefix := runPrefix(runID)
	var open []*call
	t.mu.Lock()
	delete(t.labels, prefix)
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

// change merges u into the call. mu must be held.
func (t *Tracker) change(c *call, u *acp.ToolCallUpdate) {
	if c.ended() {
		return
	}
	u.Title = t.labelled(c.state.ToolCallID, u.Title)
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

// flush sends the changes of a call. If another goroutine is sending, it waits until that one has sent everything.
func (t *Tracker) flush(ctx context.Context, c *call) error {
	for {
		t.mu.Lock()
		if c.sending == nil {
			break // while holding mu
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

// send sends the changes of a call. mu must be held. It is released while the client is called.
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

// errPanicked is used in place of an error if the client panicked.
var errPanicked = errors.New("deps: client panicked")

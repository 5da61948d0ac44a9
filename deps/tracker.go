// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// TrackerOptions configures a [Tracker]. The zero value and nil are usable.
type TrackerOptions struct {
	// TextInterval is the minimum time between two updates with streamed text of a call. 0 means
	// 100 ms.
	TextInterval time.Duration
	// TextLimit limits the streamed text that a call shows, in bytes. Of longer text, the end is
	// shown. 0 means 16 KiB.
	TextLimit int
	// Transcript takes the reports. If it is nil, the tracker keeps the calls itself and tells the
	// client.
	Transcript Transcript
}

// Tracker reports a session's tool calls, in the words of the protocol, to what the session shows.
// It keeps nothing of them but text that is streamed.
//
// Methods that take a ctx return when the client has been told or ctx is done. Changes that could
// not be sent are not lost: they are sent with the next report. Reports are never reordered.
// Reports made while another one is being sent are merged into one. The tracker sends even if ctx
// is done. Whether a cancelled turn can still report is up to the client: acp.AgentConn does while
// its queue has room.
type Tracker struct {
	opts  TrackerOptions
	calls Transcript
	own   bool // calls is the tracker's own

	mu      sync.Mutex
	streams map[string]*stream // of calls with streamed text
	labels  map[string]string  // of runs, by the prefix of their calls' ids
}

// NewTracker returns a tracker that reports to the client.
func NewTracker(client acp.Client, session acp.SessionID, opts *TrackerOptions) *Tracker {
	t := &Tracker{streams: map[string]*stream{}}
	if opts != nil {
		t.opts = *opts
	}
	if t.opts.TextInterval <= 0 {
		t.opts.TextInterval = 100 * time.Millisecond
	}
	if t.opts.TextLimit <= 0 {
		t.opts.TextLimit = 16 << 10
	}
	if t.calls = t.opts.Transcript; t.calls == nil {
		t.calls, t.own = newCalls(client, session), true
	}
	return t
}

// Label sets what the titles of a run's calls begin with, such as the name of an agent inside
// another one. It holds for titles that are reported from now on, until [Tracker.EndRun]. The empty
// label changes nothing. A [Transcript] knows its agents itself.
func (t *Tracker) Label(runID, label string) {
	if t == nil || label == "" || !t.own {
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
func (t *Tracker) labelled(id acp.ToolCallID, title string) string {
	if title == "" || len(t.labels) == 0 {
		return title
	}
	run, _, _ := strings.Cut(string(id), "/")
	if label := t.labels[run+"/"]; !strings.HasPrefix(title, label) {
		return label + title
	}
	return title
}

// Start announces a tool call. For a known call it works like [Tracker.Update].
func (t *Tracker) Start(ctx context.Context, c acp.ToolCall) error {
	if t == nil {
		return nil
	}
	return t.report(ctx, new(acpview.Update(&c)), true)
}

// Update reports changes to a call. Fields that are absent, or that the client already has, are not
// sent. A status never goes back, and nothing changes after the call has completed or failed.
// Content replaces all content, including text from [Tracker.Append]. The call must have been
// started. See [ErrUnknownToolCall].
func (t *Tracker) Update(ctx context.Context, u acp.ToolCallUpdate) error {
	if t == nil {
		return nil
	}
	return t.report(ctx, &u, false)
}

// report reports an update, with streamed text that has not been reported.
func (t *Tracker) report(ctx context.Context, u *acp.ToolCallUpdate, begin bool) error {
	if err := t.merge(u, begin); err != nil {
		return err
	}
	return t.calls.Show(ctx)
}

func (t *Tracker) merge(u *acp.ToolCallUpdate, begin bool) error {
	patch := acpview.CallOf(u)
	t.mu.Lock()
	defer t.mu.Unlock()
	patch.Title = t.labelled(u.ToolCallID, patch.Title)
	if s := t.streams[patch.ID]; s != nil && patch.Content == nil && s.text.fresh {
		patch.Content = s.take()
	} else if patch.Content != nil {
		t.drop(patch.ID)
	}
	if patch.Status.Ended() {
		t.drop(patch.ID)
	}
	return t.calls.Report(patch, begin)
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

// Append adds text to what a call shows, for output that arrives in pieces. The protocol can only
// replace content as a whole, so text is sent at most once per [TrackerOptions.TextInterval], and
// only its last [TrackerOptions.TextLimit] bytes. Remaining text is sent by a timer, unless ctx is
// done by then, or with the next report about the call.
func (t *Tracker) Append(ctx context.Context, id acp.ToolCallID, text string) error {
	if t == nil || text == "" {
		return nil
	}
	if due, err := t.append(ctx, acpview.CallID(id), text); !due || err != nil {
		return err
	}
	return t.calls.Show(ctx)
}

// Snapshot returns the whole state of a call, in the form a permission request carries. For an
// unknown call, it holds only the id. For a finished call, it omits content, input and output.
func (t *Tracker) Snapshot(id acp.ToolCallID) acp.ToolCallUpdate {
	if t == nil {
		return acp.ToolCallUpdate{ToolCallID: id}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, agent := t.calls.Call(acpview.CallID(id))
	if e == nil {
		return acp.ToolCallUpdate{ToolCallID: id}
	}
	if e.Status.Ended() {
		return acpview.Call(small(e), agent)
	}
	if s := t.streams[e.ID]; s != nil && s.text.fresh {
		shown := *e
		shown.Content = s.content()
		e = &shown
	}
	return acpview.Call(e, agent)
}

// EndRun reports the unfinished calls of a run as failed, and forgets all calls of the run. Call it
// when the run has ended and no one reports about its calls any more.
func (t *Tracker) EndRun(ctx context.Context, runID string) error {
	if t == nil {
		return nil
	}
	prefix := runPrefix(runID)
	t.mu.Lock()
	delete(t.labels, prefix)
	for id, s := range t.streams {
		if strings.HasPrefix(id, acpview.CallID(acp.ToolCallID(prefix))) {
			if s.text.fresh {
				_ = t.calls.Report(&view.Entity{ID: id, Content: s.take()}, false) // one that is not known is not shown
			}
			t.drop(id)
		}
	}
	t.calls.EndRun(runID)
	t.mu.Unlock()
	return t.calls.Show(ctx)
}

// TextContent returns text as the content of a tool call.
func TextContent(text string) acp.ToolCallContent {
	return acp.ToolCallContent{Content: &acp.Content{Content: acp.TextBlock(text)}}
}

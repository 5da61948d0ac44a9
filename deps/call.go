// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"bytes"
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// call holds the state of a tool call, and the changes the client has not been told about yet. It is guarded by the
// tracker's mu.
type call struct {
	state     acp.ToolCallUpdate
	announced bool

	changed acp.ToolCallUpdate // the fields of state that the client does not have
	dirty   bool               // changed must be sent, or the call announced
	sending chan struct{}      // closed when the sending goroutine is done; nil if there is none

	text     tail // streamed text
	textSent time.Time
	timer    *time.Timer // sends the remaining text; nil if not set
}

func (c *call) ended() bool { return rank(c.state.Status) == ranked }

// ranked is the rank of the final states.
const ranked = 3

func rank(s acp.ToolCallStatus) int {
	switch s {
	case "":
		return 0
	case acp.ToolCallStatusPending:
		return 1
	case acp.ToolCallStatusInProgress:
		return 2
	}
	return ranked
}

// change merges u into the state.
func (c *call) change(u *acp.ToolCallUpdate) {
	s, d := &c.state, &c.changed
	set(c, &s.Kind, &d.Kind, u.Kind, u.Kind != "" && u.Kind != s.Kind)
	set(c, &s.Status, &d.Status, u.Status, rank(u.Status) > rank(s.Status))
	set(c, &s.Title, &d.Title, u.Title, u.Title != nil && (s.Title == nil || *u.Title != *s.Title))
	set(c, &s.Name, &d.Name, u.Name, u.Name != nil && (s.Name == nil || *u.Name != *s.Name))
	set(c, &s.Locations, &d.Locations, u.Locations, u.Locations != nil && !reflect.DeepEqual(u.Locations, s.Locations))
	set(c, &s.RawInput, &d.RawInput, u.RawInput, u.RawInput != nil && !bytes.Equal(u.RawInput, s.RawInput))
	set(c, &s.RawOutput, &d.RawOutput, u.RawOutput, u.RawOutput != nil && !bytes.Equal(u.RawOutput, s.RawOutput))
	set(c, &s.Meta, &d.Meta, u.Meta, u.Meta != nil && !reflect.DeepEqual(u.Meta, s.Meta))
	if u.Content != nil {
		set(c, &s.Content, &d.Content, u.Content, c.text.len() > 0 || !reflect.DeepEqual(u.Content, s.Content))
		c.text = tail{}
	}
}

func set[T any](c *call, state, changed *T, value T, differs bool) {
	if differs {
		*state, *changed, c.dirty = value, value, true
	}
}

// snapshot returns the state in newly allocated slices.
func (c *call) snapshot() acp.ToolCallUpdate {
	s := c.state
	s.Content, s.Locations = slices.Clone(c.content()), slices.Clone(s.Locations)
	return s
}

// content returns what the call shows: its content followed by the streamed text.
func (c *call) content() []acp.ToolCallContent {
	if c.text.len() == 0 {
		return c.state.Content
	}
	return append(slices.Clone(c.state.Content), TextContent(c.text.String()))
}

// take returns the update to send, and the changes it contains.
func (c *call) take() (update acp.SessionUpdate, sent taken) {
	sent = taken{changed: c.changed, announced: c.announced, streamed: c.text.fresh}
	u := c.changed
	if c.text.fresh || u.Content != nil {
		u.Content = c.content()
	}
	if c.text.fresh {
		c.text.fresh, c.textSent = false, time.Now()
		c.stopTimer()
	}
	c.changed, c.dirty = acp.ToolCallUpdate{ToolCallID: u.ToolCallID}, false
	if c.announced {
		return acp.SessionUpdate{ToolCallUpdate: &u}, sent
	}
	c.announced = true
	announcement := acp.ToolCall{
		ToolCallID: u.ToolCallID, Name: u.Name, Kind: u.Kind, Status: u.Status, Content: u.Content,
		Locations: u.Locations, RawInput: u.RawInput, RawOutput: u.RawOutput, Meta: u.Meta,
	}
	if u.Title != nil {
		announcement.Title = *u.Title
	}
	return acp.SessionUpdate{ToolCall: &announcement}, sent
}

// taken holds the changes an update contains.
type taken struct {
	changed             acp.ToolCallUpdate
	announced, streamed bool
}

// putBack restores the changes of an update that was not sent. Newer changes win.
func (c *call) putBack(t taken) {
	newer := c.changed
	c.changed, c.announced, c.dirty = t.changed, t.announced, true
	c.text.fresh = c.text.fresh || t.streamed
	d := &c.changed
	d.Kind, d.Status = cmp.Or(newer.Kind, d.Kind), cmp.Or(newer.Status, d.Status)
	d.Title, d.Name = cmp.Or(newer.Title, d.Title), cmp.Or(newer.Name, d.Name)
	orSlice(&d.Content, newer.Content)
	orSlice(&d.Locations, newer.Locations)
	orSlice(&d.RawInput, newer.RawInput)
	orSlice(&d.RawOutput, newer.RawOutput)
	if newer.Meta != nil {
		d.Meta = newer.Meta
	}
}

func orSlice[S ~[]E, E any](old *S, newer S) {
	if newer != nil {
		*old = newer
	}
}

// shrink drops data that a finished call does not need.
func (c *call) shrink() {
	c.state.Content, c.state.RawInput, c.state.RawOutput, c.state.Meta = nil, nil, nil, nil
	c.text = tail{}
}

func (c *call) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// append adds streamed text and reports whether there may be something to send now. If not, a timer is set. Text for a
// finished call is dropped. mu must be held.
func (t *Tracker) append(ctx context.Context, c *call, text string) (due bool) {
	if c.ended() {
		return true // the final state may not have been sent yet
	}
	c.text.write(text, t.opts.TextLimit)
	c.dirty = true
	wait := t.opts.TextInterval - time.Since(c.textSent)
	if wait <= 0 {
		return true
	}
	if c.timer == nil {
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			t.mu.Lock()
			mine := c.timer == timer
			if mine {
				c.timer = nil
			}
			t.mu.Unlock()
			if mine && ctx.Err() == nil {
				_ = t.flush(ctx, c) // on failure it goes out with the next report
			}
		})
		c.timer = timer
	}
	return false
}

// TextContent returns text as the content of a tool call.
func TextContent(text string) acp.ToolCallContent {
	return acp.ToolCallContent{Content: &acp.Content{Content: acp.TextBlock(text)}}
}

func sortByID(calls []*call) {
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.state.ToolCallID, b.state.ToolCallID) })
}

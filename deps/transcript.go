// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// ErrUnknownToolCall is returned for a report about a tool call that was not started, or finished
// so long ago that it was forgotten.
var ErrUnknownToolCall = errors.New("deps: unknown tool call")

// Transcript holds the tool calls of a session. Each has the id of its entity: see
// [acpview.CallID].
type Transcript interface {
	// Call returns a call as it is, nil if it is not known, and the name of the agent inside
	// another call whose call it is.
	Call(id string) (call *view.Entity, agent string)
	// Report merges the fields of patch that are not empty into a call, as [view.Entity.Merge]
	// does, unless the call has ended. Unless begin is set, a call that is not known is
	// [ErrUnknownToolCall]. It does not block.
	Report(patch *view.Entity, begin bool) error
	// EndRun ends the calls of a run that have not ended as failed. It does not block.
	EndRun(run string)
	// Show sends the client the changes that it has not seen. After an error, the next Show sends
	// the rest.
	Show(ctx context.Context) error
}

// keptCalls is the number of finished tool calls to remember, so that late reports about them can
// be recognised.
const keptCalls = 512

// calls is the transcript of a tracker that has been given none.
type calls struct {
	client  acp.Client
	session acp.SessionID

	mu       sync.Mutex
	fold     *view.Fold
	shown    *acpview.Client
	known    map[string]bool
	finished []string // oldest first
	stale    int      // calls that have ended since fold was made
}

func newCalls(client acp.Client, session acp.SessionID) *calls {
	c := &calls{client: client, session: session, known: map[string]bool{}}
	c.begin(new(view.Fold))
	return c
}

// begin shows another fold from now on, which has nothing that the client does not know.
func (c *calls) begin(fold *view.Fold) {
	c.fold, c.stale = fold, 0
	c.shown = acpview.New(c.client, c.session, fold, fold.Snapshot(), acpview.Options{})
}

// Call implements [Transcript].
func (c *calls) Call(id string) (*view.Entity, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known[id] {
		return nil, ""
	}
	return c.fold.Get(id), ""
}

// Report implements [Transcript].
func (c *calls) Report(patch *view.Entity, begin bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := view.Entity{ID: patch.ID, Kind: view.ToolCall}
	if known := c.fold.Get(patch.ID); known != nil && c.known[patch.ID] {
		e = *known
	} else if !begin {
		return ErrUnknownToolCall
	}
	if e.Status.Ended() {
		return nil
	}
	e.Merge(patch)
	c.known[e.ID] = true
	_ = c.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e}) // it has an id
	if e.Status.Ended() {
		c.ended(e.ID)
	}
	return nil
}

// ended notes that a call has ended, and forgets the oldest of those that have. mu is held.
func (c *calls) ended(id string) {
	c.stale++
	if c.finished = append(c.finished, id); len(c.finished) > keptCalls {
		delete(c.known, c.finished[0])
		c.finished = append(c.finished[:0], c.finished[1:]...)
	}
}

// Show implements [Transcript]. Once the client knows everything, what it need not be told again is
// let go.
func (c *calls) Show(ctx context.Context) error {
	c.mu.Lock()
	shown := c.shown
	c.mu.Unlock()
	if err := shown.Show(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale >= staleCalls && c.shown == shown && shown.Idle() {
		c.begin(c.rest())
	}
	return nil
}

// staleCalls is how many calls end before what they show is let go.
const staleCalls = 128

// rest returns the calls that are known, without what a finished one does not need. mu is held.
func (c *calls) rest() *view.Fold {
	fold := new(view.Fold)
	for e := range c.fold.Snapshot().All() {
		if c.known[e.ID] {
			if e.Status.Ended() {
				e = small(e)
			}
			_ = fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e})
		}
	}
	return fold
}

// small returns a finished call without what it shows, its input and its output.
func small(e *view.Entity) *view.Entity {
	return &view.Entity{
		ID: e.ID, Parent: e.Parent, Kind: e.Kind, Title: e.Title, Name: e.Name, Class: e.Class, Status: e.Status, Locations: e.Locations,
	}
}

// EndRun implements [Transcript]. It forgets all calls of the run.
func (c *calls) EndRun(run string) {
	prefix := acpview.CallID(acp.ToolCallID(runPrefix(run)))
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := range c.fold.Snapshot().All() {
		if !c.known[e.ID] || !strings.HasPrefix(e.ID, prefix) {
			continue
		}
		if !e.Status.Ended() {
			failed := *e
			failed.Merge(&view.Entity{Status: view.Failed})
			_ = c.fold.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &failed})
			c.stale++
		}
		delete(c.known, e.ID)
	}
	c.finished = slices.DeleteFunc(c.finished, func(id string) bool { return !c.known[id] })
}

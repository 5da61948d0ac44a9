// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/model"
)

// Inbox passes messages to a run in progress. The zero value is ready to use. An Inbox is safe for
// concurrent use and serves one run at a time; a second run fails with [ErrInboxInUse]. See
// [WithInbox].
type Inbox struct {
	inUse atomic.Bool
	mu    sync.Mutex
	soon  [][]model.Part
	later [][]model.Part
}

// Send delivers the parts with the next request to the model.
func (b *Inbox) Send(parts ...model.Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.soon = append(b.soon, slices.Clone(parts))
}

// SendAtEnd delivers the parts when the run would otherwise end. The run continues with them.
func (b *Inbox) SendAtEnd(parts ...model.Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later = append(b.later, slices.Clone(parts))
}

// take removes and returns the messages that are due, in the order in which they were sent.
func (b *Inbox) take(atEnd bool) [][]model.Part {
	if b == nil { // a run resumes without the inbox that it had
		return nil
	}
	b.mu.Lock()
	due := b.soon
	b.soon = nil
	if atEnd {
		due = append(due, b.later...)
		b.later = nil
	}
	b.mu.Unlock()
	return due
}

// giveBack returns messages that were taken but not delivered to the front of the inbox.
func (b *Inbox) giveBack(messages [][]model.Part, atEnd bool) {
	b.mu.Lock()
	if atEnd {
		b.later = append(messages, b.later...)
	} else {
		b.soon = append(messages, b.soon...)
	}
	b.mu.Unlock()
}

// Left removes and returns the messages that no run has read, for example because they were sent after the run had ended.
func (b *Inbox) Left() [][]model.Part { return b.take(true) }

// WithInbox delivers the messages of the inbox to the run. A message that comes too late stays in the inbox.
func WithInbox(b *Inbox) RunOption {
	return runOption(func(o *runOptions) { o.more().inbox = b })
}

// claimInbox reserves the inbox for the run until the run is closed.
func (r *agentRun[D, O]) claimInbox() error {
	if r.options.inbox == nil {
		return nil
	}
	if !r.options.inbox.inUse.CompareAndSwap(false, true) {
		return ErrInboxInUse
	}
	r.claimed = true
	return nil
}

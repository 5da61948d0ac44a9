// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ponte-go/ponte/agent/model"
)

// Inbox takes messages for a run that is going on, to steer it. The zero value is ready. It is safe for concurrent use, and
// serves one run at a time: a second one fails with [ErrInboxInUse]. See [WithInbox].
type Inbox struct {
	inUse atomic.Bool
	mu    sync.Mutex
	soon  [][]model.Part
	later [][]model.Part
}

// Send has the model read the parts with its next request, which is the earliest that it can.
func (b *Inbox) Send(parts ...model.Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.soon = append(b.soon, slices.Clone(parts))
}

// SendAtEnd has the model read the parts when the run would otherwise end: the run goes on with them instead.
func (b *Inbox) SendAtEnd(parts ...model.Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.later = append(b.later, slices.Clone(parts))
}

// take removes and returns what is due, each message by itself, in the order in which it was sent.
func (b *Inbox) take(atEnd bool) [][]model.Part {
	if b == nil { // a run resumes without the inbox that it had
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	due := b.soon
	b.soon = nil
	if atEnd {
		due = append(due, b.later...)
		b.later = nil
	}
	return due
}

// giveBack puts back what was taken and then not read, ahead of what has come in since.
func (b *Inbox) giveBack(messages [][]model.Part, atEnd bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if atEnd {
		b.later = append(messages, b.later...)
	} else {
		b.soon = append(messages, b.soon...)
	}
}

// Left removes and returns the messages that no run has taken, for example because the run had ended when they were sent.
func (b *Inbox) Left() [][]model.Part { return b.take(true) }

// WithInbox has the run read the messages that are sent to the inbox. A message that comes in too late stays in the inbox.
func WithInbox(b *Inbox) RunOption {
	return runOption(func(o *runOptions) { o.inbox = b })
}

// claimInbox keeps other runs from reading the run's inbox until the run is closed.
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

// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

// begun waits for the end of a turn that the agent has begun by itself.
type begun func(context.Context) (*acpclient.Turn, error)

// attend has the conversation told of the turns that the agent begins by itself in the session that
// is open now, until stop is called: of prompts that waited there, and of those that were queued.
func (t *talk) attend(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	session, over := t.session, make(chan struct{})
	go func() {
		defer close(over)
		for {
			wait, err := session.Begun(ctx)
			if err != nil {
				return
			}
			select {
			case t.begins <- wait:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// removed is after which time a prompt that does not wait, and has no turn, has none any more:
// somebody else has removed it, or runs it.
const removed = time.Second

// queue gives a prompt to an agent that takes it behind those that wait, and shows turns until none
// does.
func (t *talk) queue(ctx context.Context, request string) error {
	t.mu.Lock()
	t.typed = request
	t.mu.Unlock()
	if err := t.session.Queue(ctx, acp.TextBlock(request)); err != nil {
		return t.ended(nil, err)
	}
	for {
		select {
		case wait := <-t.begins:
			if err := t.during(ctx, wait); err != nil || !t.waits() {
				return err
			}
		case <-time.After(removed):
			if !t.waits() {
				return nil
			}
		case <-t.config.Interrupts:
			t.out.Note("The prompt waits: /waiting lists what does.")
			return nil
		case <-t.client.Done():
			return t.client.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tellPrompt shows the prompt of a turn that was not typed here. The caller holds mu.
func (t *talk) tellPrompt(c *view.Change) {
	e := c.Entity
	if t.begins == nil || c.Op != view.Upsert || e.Kind != view.Message || e.Role != view.User {
		return
	}
	if text := e.Text(); text != t.typed {
		t.out.Note("› " + text)
	} else {
		t.typed = ""
	}
}

// waits reports whether prompts wait for their turns.
func (t *talk) waits() bool { return t.session.Snapshot().Last(view.Waiting) != nil }

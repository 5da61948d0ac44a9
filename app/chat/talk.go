// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/screen"
)

// talk is a conversation in which text is only appended.
type talk struct {
	config  *Config
	out     front
	lines   *lines
	client  *acpclient.Client
	session *acpclient.Session
	begins  chan begun // turns that the agent begins by itself; nil if it does not
	again   func()     // attends to the session that is open now; nil if begins is

	listed []screen.Session // the last time

	asking sync.Mutex // one question at a time

	mu      sync.Mutex
	shown   *view.Snapshot // what has been shown
	refused bool           // something was, in this turn
	typed   string         // the prompt that is on the screen already
}

// hold asks for one thing after the other.
func (t *talk) hold(ctx context.Context) error {
	if t.config.Prompt != "" {
		return t.turn(ctx, t.config.Prompt)
	}
	prompter, _ := t.out.(interface{ Prompt() })
	answered, _ := t.out.(interface{ Answered() })
	if prompter == nil || !t.config.Person {
		prompter, answered = nil, nil
	}
	if prompter != nil {
		t.greet()
	}
	if t.client.Queues() {
		t.begins = make(chan begun)
		stop := t.attend(ctx)
		t.again = func() {
			stop()
			stop = t.attend(ctx)
		}
		defer func() { stop() }()
	}
	var failed error // the first thing that went wrong, which the exit code tells if nobody is there to see it
	over := func(err error) (ends bool) {
		switch {
		case err == nil:
			return false
		case errors.Is(err, errQuit), ctx.Err() != nil, t.client.Err() != nil:
			return true
		case !errors.Is(err, errRefused):
			t.out.Fail(explain(err))
		}
		if prompter == nil {
			failed = cmp.Or(failed, err)
		}
		return false
	}
	for {
		if prompter != nil {
			prompter.Prompt()
		}
		select {
		case line, ok := <-t.lines.read():
			switch {
			case !ok:
				t.out.EndTurn()
				return failed
			case line.err != nil:
				t.out.Fail(explain(line.err))
				if prompter == nil {
					failed = cmp.Or(failed, line.err)
				}
				continue
			case strings.TrimSpace(line.text) == "":
				continue
			}
			if answered != nil {
				answered.Answered()
			}
			if t.command(ctx, line.text) {
				continue
			}
			if err := t.turn(ctx, line.text); over(err) {
				return err
			}
		case wait := <-t.begins:
			if err := t.during(ctx, wait); over(err) {
				return err
			}
		case <-t.config.Interrupts:
			t.out.EndTurn()
			return errQuit
		case <-t.client.Done():
			return t.client.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *talk) greet() {
	name := "the agent"
	if info := t.client.Agent().AgentInfo; info != nil {
		name = strings.TrimSpace(info.Name + " " + info.Version)
	}
	t.out.Note(fmt.Sprintf("%s in %s. Ctrl-C cancels a turn, Ctrl-D ends.", name, t.config.Dir))
}

// interruptible calls f and ends it at the first interrupt.
func (t *talk) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-t.config.Interrupts:
			cancel(errQuit)
		}
	}
}

// turn asks one thing, and shows the answer until the turn has ended.
func (t *talk) turn(ctx context.Context, request string) error {
	if t.begins != nil {
		return t.queue(ctx, request)
	}
	return t.during(ctx, func(ctx context.Context) (*acpclient.Turn, error) { return t.session.Say(ctx, request) })
}

// during shows a turn until it has ended, for which wait waits. The first interrupt cancels the
// turn, the second one ends the conversation.
func (t *talk) during(ctx context.Context, wait begun) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var following sync.WaitGroup
	following.Go(func() { t.follow(ctx) })
	type result struct {
		turn *acpclient.Turn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		turn, err := wait(ctx)
		done <- result{turn, err}
	}()
	cancelled := false
	for {
		select {
		case r := <-done:
			stop(nil)
			following.Wait()
			t.catchUp()
			t.out.EndTurn()
			return t.ended(r.turn, r.err)
		case <-t.config.Interrupts:
			if cancelled {
				stop(errQuit)
				continue
			}
			cancelled = true
			t.out.Note("Cancelling. Ctrl-C again quits.")
			go func() {
				if err := t.session.Cancel(ctx); err != nil {
					stop(err)
				}
			}()
		}
	}
}

// follow shows what happens until ctx ends.
func (t *talk) follow(ctx context.Context) {
	t.mu.Lock()
	sub := t.session.Cursor(t.shown)
	t.mu.Unlock()
	for {
		if _, err := sub.Update(ctx); err != nil {
			return
		}
		t.catchUp()
	}
}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// catchUp shows everything that has not been shown.
func (t *talk) catchUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u, err := t.session.Cursor(t.shown).Update(ended); err == nil { // what there is comes before the end of the context
		t.shown = u.Snapshot
		for i := range u.Changes {
			t.tellPrompt(&u.Changes[i])
			t.out.Update(&view.Update{Changes: u.Changes[i : i+1], Snapshot: u.Snapshot})
		}
	}
}

// ended tells how a turn has ended, and returns an error unless that is as it should be.
func (t *talk) ended(turn *acpclient.Turn, err error) error {
	t.mu.Lock()
	refused := t.refused
	t.refused = false
	t.mu.Unlock()
	if err != nil {
		t.out.Ended("", explain(err))
		return err
	}
	t.out.Ended(string(turn.StopReason), "")
	switch why := turn.StopReason; why {
	case acp.StopReasonEndTurn:
		if refused {
			return errRefused
		}
		return nil
	case acp.StopReasonCancelled:
		t.out.Note("Cancelled.")
		if t.config.Prompt != "" {
			return errQuit
		}
		return nil
	default:
		return errors.New(Stopped(why))
	}
}

// Stopped says why a turn ended that the agent did not end by itself, and what to do.
func Stopped(why acp.StopReason) string {
	switch why {
	case acp.StopReasonMaxTokens:
		return "the model has reached its limit of tokens; ask for less at a time"
	case acp.StopReasonMaxTurnRequests:
		return "the agent has reached its limit of requests in a turn; ask it to continue"
	case acp.StopReasonRefusal:
		return "the agent refuses to answer that"
	}
	return "the turn has ended for a reason that this client does not know: " + string(why)
}

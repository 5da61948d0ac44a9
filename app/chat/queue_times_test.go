// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/chat"
)

// take returns what was shown since the last time.
func (p *paper) take() string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.buf.Reset()
	return p.buf.String()
}

// queues has a person talk in plain lines to an agent at which prompts wait. Another surface has
// the agent busy with other.
func queues(
	t *testing.T,
	then func(p *person, h *host.Host, other func(text string), asked, answer chan string),
) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		h, asked, answer := p.hosting(t)
		wait := p.start(t)
		p.out.take()
		s := h.Sessions()[0]
		var all sync.WaitGroup
		then(p, h, func(text string) {
			synctest.Wait()
			all.Go(func() { _, _ = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(text)}}) })
			require.Equal(t, text, <-asked)
		}, asked, answer)
		require.NoError(t, p.types.Close())
		require.Equal(t, chat.ExitOK, wait())
		all.Wait()
	})
}

// What is shown of prompts that wait behind the turns of another surface. What was typed is not
// shown again, unless somebody else says it.
func TestPromptsThatWaitInPlainLines(t *testing.T) {
	queues(t, func(p *person, h *host.Host, other func(text string), asked, answer chan string) {
		other("first")
		p.enter(t, "second")
		time.Sleep(time.Minute)
		require.Empty(t, p.out.take())
		p.interrupt <- struct{}{}
		require.Equal(t, "  The prompt waits: /waiting lists what does.\n\n› ", p.out.take())
		answer <- "one"
		require.Equal(t, "second", <-asked)
		answer <- "two"
		time.Sleep(time.Second) // it may be heard late that none waits any more
		require.Equal(t, "\n  › first\n\none\n\ntwo\n\n› ", p.out.take())
		other("second")
		answer <- "three"
		other("third")
		p.enter(t, "fourth")
		synctest.Wait()
		answer <- "four"
		require.Equal(t, "fourth", <-asked)
		answer <- "five"
		time.Sleep(time.Second)
		require.Equal(t, "  › second\n\nthree\n\n  › third\n\nfour\n\nfive\n\n› ", p.out.take())
	})
}

// After each second it is looked whether the prompt still waits: somebody else may remove it.
func TestAPromptThatSomebodyElseRemoves(t *testing.T) {
	queues(t, func(p *person, h *host.Host, other func(text string), asked, answer chan string) {
		other("first")
		p.enter(t, "second")
		time.Sleep(1500 * time.Millisecond)
		s := h.Sessions()[0]
		all, err := s.Waiting(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.NoError(t, s.RemoveWaiting(t.Context(), all[0].ID, all[0].Version))
		time.Sleep(500*time.Millisecond - 1)
		require.Empty(t, p.out.take())
		time.Sleep(time.Nanosecond)
		require.Equal(t, "\n› ", p.out.take())
		answer <- "one"
	})
}

// The person is asked for the next prompt when none waits any more.
func TestTheNextPromptIsAskedForWhenNoneWaits(t *testing.T) {
	queues(t, func(p *person, h *host.Host, other func(text string), asked, answer chan string) {
		p.enter(t, "first")
		require.Equal(t, "first", <-asked)
		leaveBehind(t, h, "second")
		synctest.Wait() // the agent has told of it
		answer <- "one"
		require.Equal(t, "second", <-asked)
		require.Equal(t, "\none\n  › second\n", p.out.take())
		answer <- "two"
		time.Sleep(time.Second)
		require.Equal(t, "\ntwo\n\n› ", p.out.take())
	})
}

// A prompt that waits behind another surface's turn is on the screen, and does not keep a person
// from another conversation.
func TestAPromptThatWaitsOnAScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		w := p.sitDown()
		h, asked, answer := p.hosting(t)
		wait := p.start(t)
		synctest.Wait()
		s := h.Sessions()[0]
		var all sync.WaitGroup
		all.Go(func() { _, _ = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("first")}}) })
		require.Equal(t, "first", <-asked)
		w.types("second", "\r")
		time.Sleep(time.Second)
		require.Contains(t, w.now(), "waits 1: second")
		w.types("/new", "\r")
		synctest.Wait()
		require.NotContains(t, w.now(), "Not while a turn is running")
		answer <- "one" // the session is closed after that
		time.Sleep(time.Second)
		require.Contains(t, w.now(), "A new conversation.")
		require.NotContains(t, w.now(), "waits 1: second")
		w.types("\x04")
		require.Equal(t, chat.ExitOK, wait())
		all.Wait()
	})
}

// An agent that is gone while a prompt waits ends the conversation: no other prompt is asked for.
func TestAnAgentThatIsGoneWhileAPromptWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(t)
		h, asked, answer := p.hosting(t)
		var client *acpclient.Client
		connect := p.Connect
		p.Connect = func(ctx context.Context, c acpclient.Config) (_ *acpclient.Client, err error) {
			client, err = connect(ctx, c)
			return client, err
		}
		wait := p.start(t)
		synctest.Wait()
		s := h.Sessions()[0]
		var all sync.WaitGroup
		all.Go(func() { _, _ = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("first")}}) })
		require.Equal(t, "first", <-asked)
		p.enter(t, "second")
		p.out.take()
		go client.Close()
		synctest.Wait()
		close(answer)
		require.Equal(t, chat.ExitError, wait())
		require.NotContains(t, p.out.take(), "›")
		all.Wait()
	})
}

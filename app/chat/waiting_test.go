// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/chat"
)

type none struct{}

// hosting has the person talk to an agent in this process, which says what it was asked and waits
// for its answers.
func (p *person) hosting(t *testing.T) (h *host.Host, asked, answer chan string) {
	t.Helper()
	asked, answer = make(chan string, 10), make(chan string)
	m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		asked <- last[len(last)-1].Text
		select {
		case text := <-answer:
			return model.Response(model.Text(text)), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	a, err := agent.New(agent.Config[none, string]{Name: "asker", Model: m})
	require.NoError(t, err)
	h, err = host.New(host.Config[none, string]{
		Agent: a, Store: &session.Memory{}, Logger: slog.New(slog.DiscardHandler), Commands: []host.Command{host.WaitingCommand()},
	})
	require.NoError(t, err)
	p.Connect = func(ctx context.Context, config acpclient.Config) (*acpclient.Client, error) {
		agentIn, clientOut := acp.Pipe()
		clientIn, agentOut := acp.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- acpbridge.ServeHost(context.WithoutCancel(ctx), h, acpbridge.Options{In: agentIn, Out: agentOut})
		}()
		t.Cleanup(func() { require.NoError(t, <-served); require.NoError(t, h.Close(context.Background())) })
		return acpclient.Connect(ctx, clientIn, clientOut, config)
	}
	return h, asked, answer
}

// pages sends prompts as another surface does, while a turn runs. They wait.
func pages(t *testing.T, h *host.Host, all *sync.WaitGroup, texts ...string) *host.Session {
	t.Helper()
	s := h.Sessions()[0]
	for _, text := range texts {
		turn, err := s.AdmitWith(t.Context(), host.BusyQueue)
		require.NoError(t, err)
		queued := make(chan struct{})
		all.Go(func() { turn.Run(host.Prompt{Parts: []model.Part{model.User(text)}, Queued: func() { close(queued) }}) })
		<-queued
	}
	return s
}

// What waits at the agent, from whichever surface, is on the screen and is changed from there while
// the turn runs.
func TestWaitingPromptsAreShownAndChangedOnAScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	h, asked, answer := p.hosting(t)
	wait := p.start(t)
	screen.waitFor(t, "Enter sends")
	screen.types("first", "\r")
	require.Equal(t, "first", <-asked)
	var all sync.WaitGroup
	s := pages(t, h, &all, "second", "third")
	screen.waitFor(t, "waits 2: third")
	screen.types("/waiting edit 1 other", "\r")
	screen.waitFor(t, "waits 1.2: other")
	screen.types("/waiting remove 2", "\r")
	screen.waitFor(t, "Removed")
	answer <- "one"
	require.Equal(t, "other", <-asked)
	answer <- "two"
	all.Wait()
	waiting, err := s.Waiting(t.Context())
	require.NoError(t, err)
	require.Empty(t, waiting)
	require.Empty(t, asked)
	screen.types("\x04")
	wait()
}

// The same without a screen.
func TestWaitingPromptsAreListedInPlainLines(t *testing.T) {
	p := newPerson(t)
	h, asked, answer := p.hosting(t)
	wait := p.start(t)
	p.enter(t, "first")
	require.Equal(t, "first", <-asked)
	answer <- "one"
	p.enter(t, "/waiting")
	p.out.waitFor(t, "No prompts wait.")

	// Another surface runs a turn.
	s := h.Sessions()[0]
	var all sync.WaitGroup
	all.Go(func() { _, _ = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("second")}}) })
	require.Equal(t, "second", <-asked)
	pages(t, h, &all, "third")
	p.enter(t, "/waiting")
	p.out.waitFor(t, "third")
	answer <- "two"
	require.Equal(t, "third", <-asked)
	answer <- "three"
	all.Wait()
	p.enter(t, " /waiting")
	require.Equal(t, " /waiting", <-asked, "a line that begins with a space is no command")
	answer <- "four"
	require.NoError(t, p.types.(io.Closer).Close())
	require.Equal(t, chat.ExitOK, wait())
}

// leaveBehind has a prompt wait that a process had taken which has ended.
func leaveBehind(t *testing.T, h *host.Host, text string) {
	t.Helper()
	data := fmt.Sprintf(`{"parts":[{"kind":"user","text":%q}]}`, text)
	_, err := h.Store().Put(t.Context(), h.Sessions()[0].ID(), session.Item{Kind: session.ItemPrompt, Data: []byte(data)})
	require.NoError(t, err)
}

// The end of the program during such a turn is one, and no success.
func TestEndDuringATurnThatTheAgentBegan(t *testing.T) {
	p := newPerson(t)
	h, asked, answer := p.hosting(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	code := make(chan int, 1)
	go func() { code <- chat.Run(ctx, p.Config) }()
	p.enter(t, "first")
	require.Equal(t, "first", <-asked)
	answer <- "answer 1"
	p.out.waitFor(t, "answer 1")
	leaveBehind(t, h, "second")
	require.Equal(t, "second", <-asked)
	p.out.waitFor(t, "› second") // it is shown
	cancel()
	require.Equal(t, chat.ExitInterrupted, <-code)
}

// Turns of prompts that waited, and that nobody else runs, are shown in plain lines, too, while the
// person is asked for the next one and before it.
func TestTurnsOfWaitingPromptsAreShownInPlainLines(t *testing.T) {
	p := newPerson(t)
	h, asked, answer := p.hosting(t)
	wait := p.start(t)
	p.enter(t, "first")
	require.Equal(t, "first", <-asked)
	answer <- "answer 1"
	p.out.waitFor(t, "answer 1")
	leaveBehind(t, h, "second")
	require.Equal(t, "second", <-asked)
	answer <- "answer 2"
	p.out.waitFor(t, "answer 2")

	p.enter(t, "third")
	require.Equal(t, "third", <-asked)
	leaveBehind(t, h, "fourth")
	answer <- "answer 3"
	require.Equal(t, "fourth", <-asked)
	p.enter(t, "fifth")
	answer <- "answer 4"
	require.Equal(t, "fifth", <-asked)
	answer <- "answer 5"
	p.out.waitFor(t, "answer 5")
	require.NoError(t, p.types.(io.Closer).Close())
	require.Equal(t, chat.ExitOK, wait())
	for _, text := range []string{"answer 1", "answer 2", "answer 3", "answer 4", "answer 5", "second", "fourth"} {
		require.Equal(t, 1, strings.Count(p.out.String(), text), p.out.String())
	}
}

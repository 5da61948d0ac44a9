// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// waits admits a prompt and waits until it is in the inbox.
func waits(t *testing.T, s *host.Session, all *sync.WaitGroup, parts ...model.Part) *host.Waiting {
	t.Helper()
	turn, err := s.AdmitWith(t.Context(), host.BusyQueue)
	require.NoError(t, err)
	queued := make(chan struct{})
	all.Go(func() { turn.Run(host.Prompt{Parts: parts, Queued: func() { close(queued) }}) })
	<-queued
	waiting, err := s.Waiting(t.Context())
	require.NoError(t, err)
	return waiting[len(waiting)-1]
}

// told has a command carried out at once.
func told(t *testing.T, s *host.Session, command string) string {
	t.Helper()
	text, ok := s.AtOnce(t.Context(), command)
	require.True(t, ok, command)
	return text
}

func TestWaitingPromptsAreChangedByACommandWhileATurnRuns(t *testing.T) {
	for name, store := range map[string]session.Store{"in memory": nil, "kept": &session.Memory{}} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Store: store, Commands: host.BuiltIns(nil)}))
			require.Equal(t, "No prompts wait.", told(t, s, "/waiting"))
			var all sync.WaitGroup
			all.Go(func() { prompt(t, s, "first") })
			require.Equal(t, "first", <-g.asked)
			second := waits(t, s, &all, model.User("second"))
			third := waits(t, s, &all, model.User("third\n`rm -rf`"))
			list := told(t, s, "/waiting")
			require.Contains(t, list, "- "+second.Number()+": `` second ``")
			require.Contains(t, list, "- "+third.Number()+": `` third⟨LF⟩'rm -rf' ``", "one line, and nothing ends the code")

			require.Contains(t, told(t, s, "/waiting edit "+second.Number()+" another one"), "Changed: `` second ``")
			require.Contains(t, told(t, s, "/waiting edit "+second.Number()+" too late"), "No prompt with the number", "the version that was shown is gone")
			require.Contains(t, told(t, s, "/waiting"), "- "+second.Number()+".2: `` another one ``")
			require.Contains(t, told(t, s, "/waiting remove "+third.Number()), "Removed")
			require.NotContains(t, told(t, s, "/waiting"), "third")
			for _, wrong := range []string{"edit", "edit 1", "remove", "remove 1 2", "drop 1"} {
				require.Contains(t, told(t, s, "/waiting "+wrong), "Use `/waiting`", wrong)
			}
			g.answer <- "one"
			require.Equal(t, "another one", <-g.asked)
			g.answer <- "two"
			all.Wait()
			require.Empty(t, g.asked, "what was removed is not run")
			require.NotContains(t, shown(t, s), "/waiting", "nothing is recorded")
		})
	}
}

// The contents of files that belong to a prompt look like what was typed.
func TestPromptWithFilesIsNotEditedByACommand(t *testing.T) {
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model()), Commands: host.BuiltIns(nil)}))
	var all sync.WaitGroup
	all.Go(func() { prompt(t, s, "first") })
	<-g.asked
	file := waits(t, s, &all, model.User("read this"), model.User("Contents of a.txt"))
	picture := waits(t, s, &all, model.User("see this"), model.Media("image/png", []byte{1}))
	require.Contains(t, told(t, s, "/waiting edit "+file.Number()+" x"), "more than a text")
	require.Contains(t, told(t, s, "/waiting edit "+picture.Number()+" look"), "Changed")
	waiting, err := s.Waiting(t.Context())
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.User("look"), model.Media("image/png", []byte{1})}, waiting[1].Parts)
	require.Contains(t, waiting[1].Line(), "look [image]")
	for _, w := range waiting {
		require.NoError(t, s.RemoveWaiting(t.Context(), w.ID, w.Version))
	}
	g.answer <- "done"
	all.Wait()
}

func TestCommandsThatNeedATurnAreNotCarriedOutAtOnce(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Commands: host.BuiltIns(nil)}))
	for _, text := range []string{"/cost", "/nothing", "waiting", " /waiting", ""} {
		_, ok := s.AtOnce(t.Context(), text)
		require.False(t, ok, text)
		require.False(t, s.IsAtOnce(text), text)
	}
	prompt(t, s, "/waiting")
	require.Contains(t, shown(t, s), "No prompts wait.", "it is a prompt like others, too")
	var names []string
	for _, c := range s.Commands() {
		if c.AtOnce {
			names = append(names, c.Name)
		}
	}
	require.Equal(t, "waiting", strings.Join(names, " "))
}

// A prompt of a template leaves the inbox with the record of the prompt, a command that may have no
// prompt before it is carried out.
func TestWaitingTemplateStaysUntilItsPromptIsRecorded(t *testing.T) {
	templates, err := host.Templates(fstest.MapFS{"p/review.md": {Data: []byte("Review $ARGUMENTS.")}}, "p")
	require.NoError(t, err)
	waiting := func(s *host.Session) int {
		all, err := s.Waiting(t.Context())
		require.NoError(t, err)
		return len(all)
	}
	acted := -1
	act := host.Command{Name: "act", Run: func(_ context.Context, call *host.CommandCall) (agent.CommandResult, error) {
		acted = waiting(call.Session)
		return agent.CommandResult{Notice: "Done."}, nil
	}}
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(g.model()), Store: new(session.Memory), Commands: append(templates, act),
	}))
	var all sync.WaitGroup
	all.Go(func() { prompt(t, s, "first") })
	require.Equal(t, "first", <-g.asked)
	before := -1
	turn, err := s.AdmitWith(t.Context(), host.BusyQueue)
	require.NoError(t, err)
	queued := make(chan struct{})
	all.Go(func() {
		turn.Run(host.Prompt{
			Parts: []model.Part{model.User("/review a.go")}, Queued: func() { close(queued) },
			More: func(*host.Turn) []model.Part { before = waiting(s); return nil },
		})
	})
	<-queued
	g.answer <- "one"
	require.Equal(t, "Review a.go.", <-g.asked)
	require.Equal(t, 1, before, "it waits until its prompt is recorded")
	require.Zero(t, waiting(s))
	waits(t, s, &all, model.User("/act"))
	g.answer <- "two"
	all.Wait()
	require.Zero(t, acted, "it is not carried out again")
	require.Contains(t, shown(t, s), "/review a.go")
}

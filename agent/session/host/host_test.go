// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

type none struct{}

// echo answers with how many prompts it has seen.
func echo() model.Model {
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		n, last := 0, ""
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartUser {
					n, last = n+1, p.Text
				}
			}
		}
		return model.Response(model.Text(strings.Repeat("I", n) + " " + last)), nil
	})
}

func newAgent(m model.Model, tools ...*toolset.Tool[none]) *agent.Agent[none, string] {
	return agent.Must(agent.New(agent.Config[none, string]{Model: m, Tools: tools}))
}

// durable is a store in memory that hosts take for one that lasts.
type durable struct{ session.Store }

func newHost(t *testing.T, c host.Config[none, string]) *host.Host {
	t.Helper()
	h, err := host.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	return h
}

func create(t *testing.T, h *host.Host) *host.Session {
	t.Helper()
	s, err := h.Create(t.Context(), session.New{Dir: "/repo"}, nil)
	require.NoError(t, err)
	return s
}

func say(text string) host.Prompt { return host.Prompt{Parts: []model.Part{model.User(text)}} }

func prompt(t *testing.T, s *host.Session, text string) *host.Outcome {
	t.Helper()
	o, err := s.Prompt(t.Context(), say(text))
	require.NoError(t, err)
	return o
}

// shown returns what a session shows, an entity a line, without the session's own.
func shown(t *testing.T, s *host.Session) string {
	t.Helper()
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	var b strings.Builder
	for e := range snapshot.All() {
		if e.Kind == view.Session {
			continue
		}
		data, err := json.Marshal(e)
		require.NoError(t, err)
		b.Write(append(data, '\n'))
	}
	return b.String()
}

func TestSessionGoesOnInAnotherProcess(t *testing.T) {
	store := durable{new(session.Memory)}
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	require.NoError(t, err)
	s, err := h.Create(t.Context(), session.New{Dir: "/repo"}, nil)
	require.NoError(t, err)
	o := prompt(t, s, "\n  Fix the\ttest.  \nNow.")
	require.NoError(t, o.Err)
	require.Equal(t, transcript.Done, o.Reason)
	require.True(t, o.Titled)
	before := shown(t, s)
	require.Contains(t, before, "I \\n  Fix")
	other, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	require.NoError(t, err)
	s, err = other.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err, "between turns nobody has it")
	require.Equal(t, before, shown(t, s))
	require.NoError(t, h.Close(t.Context()))
	require.Equal(t, before, shown(t, s))
	require.Equal(t, "Fix the⟨TAB⟩test.", s.Info().Title)
	require.NoError(t, prompt(t, s, "Again").Err)
	require.Contains(t, shown(t, s), "II Again")
	require.NoError(t, other.Close(t.Context()))
}

func TestTitleOfAPersonStays(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo())})
	s := create(t, h)
	require.NoError(t, s.SetTitle(t.Context(), "Mine"))
	require.False(t, prompt(t, s, "Hello").Titled)
	require.Equal(t, "Mine", s.Info().Title)
	require.NoError(t, s.SetTitle(t.Context(), ""))
	require.True(t, prompt(t, s, "Other").Titled)
	require.Equal(t, "Other", s.Info().Title)
}

func TestEmptySessionIsNotKept(t *testing.T) {
	store := new(session.Memory)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	s := create(t, h)
	require.NoError(t, s.Close(t.Context()))
	_, err := store.Get(t.Context(), s.ID())
	require.ErrorIs(t, err, session.ErrNotFound)
}

// gate is a model that waits.
type gate struct {
	asked  chan string
	answer chan string
}

func newGate() *gate { return &gate{make(chan string, 10), make(chan string)} }

func (g *gate) model() model.Model {
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1].Parts
		g.asked <- last[len(last)-1].Text
		select {
		case text := <-g.answer:
			if text == "call" {
				return model.Response(model.ToolCall("c", "noop", "{}")), nil
			}
			return model.Response(model.Text(text)), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
}

func TestBusySessions(t *testing.T) {
	noop := toolset.Func("noop", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "ok", nil })
	start := func(t *testing.T, busy host.Busy) (*host.Session, *gate, *sync.WaitGroup, *host.Outcome) {
		g := newGate()
		s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model(), noop), Busy: busy}))
		var all sync.WaitGroup
		first := new(host.Outcome)
		all.Go(func() { *first = *prompt(t, s, "first") })
		require.Equal(t, "first", <-g.asked)
		return s, g, &all, first
	}
	t.Run("refuse", func(t *testing.T) {
		s, g, all, _ := start(t, host.BusyRefuse)
		_, err := s.Prompt(t.Context(), say("second"))
		require.ErrorIs(t, err, host.ErrBusy)
		g.answer <- "done"
		all.Wait()
	})
	t.Run("queue", func(t *testing.T) {
		s, g, all, _ := start(t, host.BusyQueue)
		second, err := s.Admit(t.Context())
		require.NoError(t, err)
		all.Go(func() { second.Run(say("second")) })
		g.answer <- "done"
		require.Equal(t, "second", <-g.asked)
		g.answer <- "done too"
		all.Wait()
		require.Contains(t, shown(t, s), "done too")
	})
	t.Run("a prompt that is not read is a turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			h, err := host.New(host.Config[none, string]{Agent: newAgent(g.model()), Busy: host.BusySteer})
			require.NoError(t, err)
			s := create(t, h)
			var all sync.WaitGroup
			var o *host.Outcome
			all.Go(func() { prompt(t, s, "first") })
			require.Equal(t, "first", <-g.asked)
			all.Go(func() { o = prompt(t, s, "second") })
			synctest.Wait()
			g.answer <- "one"
			g.answer <- "two"
			all.Wait()
			require.Contains(t, shown(t, s), `"text":"two"`)
			require.NoError(t, o.Err)
			require.NoError(t, h.Close(t.Context()))
		})
	})
	t.Run("steer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			h, err := host.New(host.Config[none, string]{Agent: newAgent(g.model(), noop), Busy: host.BusySteer})
			require.NoError(t, err)
			s := create(t, h)
			var all sync.WaitGroup
			var o *host.Outcome
			all.Go(func() { prompt(t, s, "first") })
			synctest.Wait()
			require.Equal(t, "first", <-g.asked)
			all.Go(func() { o = prompt(t, s, "second") })
			synctest.Wait()
			g.answer <- "call"
			require.Equal(t, "second", <-g.asked, "it is read with the next request")
			g.answer <- "one"
			all.Wait()
			require.True(t, o.Steered)
			require.NoError(t, h.Close(t.Context()))
		})
	})
}

func TestCancelKeepsTheHistory(t *testing.T) {
	g := newGate()
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(g.model())}))
	var all sync.WaitGroup
	var o *host.Outcome
	all.Go(func() { o = prompt(t, s, "first") })
	<-g.asked
	s.Cancel()
	all.Wait()
	require.Equal(t, transcript.Cancelled, o.Reason)
	require.ErrorIs(t, o.Err, context.Canceled)
	all.Go(func() { o = prompt(t, s, "second") })
	require.Equal(t, "second", <-g.asked)
	g.answer <- "done"
	all.Wait()
	require.NoError(t, o.Err)
	require.Contains(t, shown(t, s), `"text":"first"`)
}

type payment struct {
	To string `json:"to"`
}

func TestSlowWatcherMissesNothing(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo())}))
	fold, position, n := new(view.Fold), "", 0
	read := func() {
		for u, err := range s.Watch(t.Context(), position) {
			require.NoError(t, err)
			require.False(t, u.Reset)
			for _, c := range u.Changes {
				require.NoError(t, fold.Apply(c))
			}
			position = u.Position
			n++
			break
		}
	}
	prompt(t, s, "one")
	read()
	for range 5 {
		prompt(t, s, "more")
	}
	read()
	require.Equal(t, 2, n)
	want, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	for e := range want.All() {
		require.Equal(t, e, fold.Get(e.ID))
	}
	for u := range s.Watch(t.Context(), "elsewhere.17") {
		require.True(t, u.Reset, "a position of another process begins anew")
		require.Len(t, u.Changes, 13)
		break
	}
}

func TestWatchEndsWithTheSession(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo())}))
	prompt(t, s, "one")
	for _, err := range s.Watch(t.Context(), "") {
		if err != nil {
			require.ErrorIs(t, err, host.ErrClosed)
			break
		}
		require.NoError(t, s.Close(t.Context()))
	}
	_, err := s.Prompt(t.Context(), say("two"))
	require.ErrorIs(t, err, host.ErrClosed)
}

func TestIdleSessionsWakeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, released := 0, 0
		store := durable{new(session.Memory)}
		h, err := host.New(host.Config[none, string]{
			Agent: newAgent(echo()), Store: store, Idle: time.Minute,
			Deps:    func(context.Context, *host.Session) (none, error) { made++; return none{}, nil },
			Release: func(context.Context, *host.Session, none) error { released++; return nil },
		})
		require.NoError(t, err)
		s := create(t, h)
		prompt(t, s, "one")
		before := shown(t, s)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []int{1, 1}, []int{made, released})
		require.Equal(t, before, shown(t, s))
		require.Equal(t, 1, made, "to look at it needs no dependencies")
		require.NoError(t, prompt(t, s, "two").Err)
		require.Contains(t, shown(t, s), "II two")
		require.Equal(t, 2, made)
		require.NoError(t, h.Close(t.Context()))
		require.Equal(t, 2, released)
	})
}

func TestForkAndRewind(t *testing.T) {
	store := durable{new(session.Memory)}
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	s := create(t, h)
	prompt(t, s, "one")
	one := shown(t, s)
	prompt(t, s, "two")
	two := shown(t, s)
	snapshot, _, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	var second string
	for e := range snapshot.Of(view.Message) {
		if e.Text() == "two" {
			second = e.ID
		}
	}
	for before, want := range map[string]string{"": two, second: one} {
		info, err := h.Fork(t.Context(), s.ID(), before, session.New{})
		require.NoError(t, err)
		f, err := h.Open(t.Context(), info.ID, nil)
		require.NoError(t, err)
		require.Equal(t, want, shown(t, f))
		require.NoError(t, prompt(t, f, "three").Err)
	}
	_, err = h.Fork(t.Context(), s.ID(), "prompt:x", session.New{})
	require.ErrorIs(t, err, session.ErrInvalid)
	_, err = s.Rewind(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, one, shown(t, s))
	prompt(t, s, "other")
	require.Contains(t, shown(t, s), "II other")
	_, err = s.Rewind(t.Context(), second)
	require.ErrorIs(t, err, session.ErrInvalid)
}

func TestCommandsNeedNoRun(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Commands: []agent.Command[none]{
		{Name: "hello", Description: "Say hello.", Run: func(context.Context, agent.CommandCall[none]) (agent.CommandResult, error) {
			return agent.CommandResult{Notice: "Hello!"}, nil
		}},
		{Name: "twice", Description: "Twice.", Hint: "what", Prompt: "Do it twice."},
	}}))
	store := durable{new(session.Memory)}
	h := newHost(t, host.Config[none, string]{Agent: a, Store: store})
	s := create(t, h)
	require.Empty(t, prompt(t, s, "/hello").Turn)
	require.Contains(t, shown(t, s), "Hello!")
	prompt(t, s, "/hello you")
	require.Contains(t, shown(t, s), "takes no arguments")
	require.Empty(t, prompt(t, s, "/helo").Turn, "a command that does not exist does not go to the model")
	require.Contains(t, shown(t, s), "Unknown command /helo. Did you mean /hello?")
	require.NoError(t, prompt(t, s, "/twice jump").Err)
	all := shown(t, s)
	require.Contains(t, all, "/twice jump", "the user sees what was typed")
	require.NotContains(t, all, `"role":"user","content":[{"kind":"text","text":"Do it twice`)
	require.NoError(t, s.Close(t.Context()))
	s, err := h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, all, shown(t, s))
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
	}
	if spec := os.Getenv(payerEnv); spec != "" {
		var p payer
		err := json.Unmarshal([]byte(spec), &p)
		if err == nil {
			err = p.run()
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaktest.Main(m)
}

// The surface of the last answer is that of the turn that goes on.

func TestSessionsOfTheProgramAreNotListed(t *testing.T) {
	store := new(session.Memory)
	for i := range 20 {
		dir := session.InternalDir + "spend"
		if i%7 == 0 {
			dir = "/repo"
		}
		_, err := store.Create(t.Context(), session.New{Dir: dir})
		require.NoError(t, err)
	}
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	require.NoError(t, err)
	n := 0
	for q := (session.Query{Limit: 2}); ; {
		page, err := h.List(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Sessions), q.Limit)
		for _, i := range page.Sessions {
			require.Equal(t, "/repo", i.Dir)
			n++
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
		require.NotEmpty(t, page.Sessions, "a page is empty only at the end")
	}
	require.Equal(t, 3, n)
	require.NoError(t, h.Close(t.Context()))
}

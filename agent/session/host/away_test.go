// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// queue is a runner whose worker is the host that serves. It advances one session at a time.
type queue struct {
	wakes chan string
	move  chan struct{} // ends the context of one Advance
}

func newQueue() *queue { return &queue{make(chan string, 1000), make(chan struct{})} }

func (q *queue) Wake(_ context.Context, id string) error { q.wakes <- id; return nil }

func (q *queue) Serve(ctx context.Context, t host.Turns) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case id := <-q.wakes:
			for err := error(nil); err == nil || errors.Is(err, session.ErrHeld); {
				err = q.advance(ctx, t, id)
				time.Sleep(time.Millisecond)
			}
		}
	}
}

func (q *queue) advance(ctx context.Context, t host.Turns, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-q.move:
			cancel(host.ErrMoved)
		case <-ctx.Done():
		}
	}()
	_, err := t.Advance(ctx, id)
	if cause := context.Cause(ctx); cause != nil {
		return cause // another process continues
	}
	return err
}

// away is a surface and a worker that share a store and a runner.
type away struct {
	store           *session.Memory
	runner          *queue
	surface, worker *host.Host
}

func newAway(t *testing.T, m model.Model, tools ...*toolset.Tool[none]) *away {
	a := &away{store: new(session.Memory), runner: newQueue()}
	config := host.Config[none, string]{Store: shared{a.store}, Runner: a.runner, Holder: "surface", Busy: host.BusyQueue, Agent: newAgent(modeltest.Func(
		func(context.Context, *model.Request) (*model.Message, error) { panic("a turn ran in the surface") }), tools...)}
	a.surface = newHost(t, config)
	config.Agent, config.Holder = newAgent(m, tools...), "worker"
	a.worker = newHost(t, config)
	return a
}

func (a *away) serve(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.worker.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-served, context.Canceled)
	})
}

// Prompts of a surface run where the runner says, in order, and the surface sees how they end.
func TestRunnersRunThePromptsOfSurfaces(t *testing.T) {
	a := newAway(t, echo())
	s := create(t, a.surface)
	waiting := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("zero")}})
		waiting <- o
	}()
	eventually(t, "it waits while nobody serves", func() bool { return len(shownWaiting(t, s)) == 1 })
	a.serve(t)
	require.Equal(t, transcript.Done, (<-waiting).Reason)
	for _, text := range []string{"one", "two"} {
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(text)}})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.True(t, o.Elsewhere)
		require.Equal(t, transcript.Done, o.Reason)
	}
	eventually(t, "it is shown", func() bool { return len(shownWaiting(t, s)) == 0 })
	eventually(t, "it is shown", func() bool { return strings.Contains(shown(t, s), "III two") })

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := s.Prompt(ctx, host.Prompt{Parts: []model.Part{model.User("three")}})
	require.NoError(t, err)
	require.ErrorIs(t, o.Err, context.Canceled)
}

// TestRunnersRefuseStateInMemory: a tool that keeps state in memory is refused by New, or by the
// turn that would offer it, before the model is asked.
func TestRunnersRefuseStateInMemory(t *testing.T) {
	known := toolset.Func("count", "Count.", func(context.Context, *toolset.RunContext[none], struct{}) (string, error) {
		return "1", nil
	}, toolset.InMemory("a count"))
	config := host.Config[none, string]{Store: new(session.Memory), Agent: newAgent(echo(), known)}
	newHost(t, config)
	config.Runner = newQueue()
	_, err := host.New(config)
	require.ErrorAs(t, err, new(*toolset.InMemoryError))
	require.ErrorContains(t, err, `the tool "count" keeps state in memory (a count)`)
	require.ErrorContains(t, err, "host: config: with a Runner, the next turn may run elsewhere: ")
	config.Store = nil
	_, err = host.New(config)
	require.ErrorContains(t, err, "Runner is set and Store is nil: a runner needs a store")

	a := newAway(t, echo(), toolset.Func("fine", "Fine.", func(context.Context, *toolset.RunContext[none], struct{}) (string, error) {
		return "", nil
	}))
	script := modeltest.Script(modeltest.SayText("never"))
	config.Agent = agent.Must(agent.New(agent.Config[none, string]{
		Model: script, Toolsets: []toolset.Toolset[none]{enginetest.Counter[none]()},
	}))
	config.Store, config.Runner, config.Holder = shared{a.store}, a.runner, "worker"
	a.worker = newHost(t, config)
	a.serve(t)
	o, err := create(t, a.surface).Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("Count.")}})
	require.NoError(t, err)
	require.Equal(t, transcript.Failed, o.Reason)
	require.Empty(t, script.Requests())
}

// A surface in the process of the worker does not keep its turns from running.
func TestRunnersRunThePromptsOfTheirOwnProcess(t *testing.T) {
	a := newAway(t, echo())
	a.serve(t)
	s := create(t, a.worker)
	all := make(chan *host.Outcome, 5)
	for range cap(all) {
		go func() {
			o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("x")}})
			all <- o
		}()
	}
	for range cap(all) {
		require.Equal(t, transcript.Done, (<-all).Reason)
	}
	eventually(t, "it is shown", func() bool { return strings.Contains(shown(t, s), "IIIII x") })
}

// Questions of turns that run elsewhere are answered on the surface: while the turn runs, and after it has ended pending.
func TestRunnersAreToldOfAnswers(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		act := toolset.Func("act", "Act.", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			return "acted " + run.IdempotencyKey(), nil
		}, toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Act?"}, nil
		}))
		if deferred {
			act = toolset.Func("act", "Act.", func(context.Context, *toolset.RunContext[none], none) (toolset.Result, error) {
				return toolset.Result{}, toolset.Deferred(nil)
			})
		}
		a := newAway(t, modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
				return model.Response(model.Text("then " + last.Parts[0].Text)), nil
			}
			return model.Response(model.ToolCall("c", "act", `{}`)), nil
		}), act)
		a.serve(t)
		s := create(t, a.surface)
		ended := make(chan *host.Outcome, 1)
		go func() {
			o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
			ended <- o
		}()
		var q *view.Entity
		eventually(t, "it asks", func() bool {
			all, err := questions(s)
			if err == nil && len(all) == 1 {
				q = all[0]
			}
			return q != nil
		})
		answer := host.Answer{Digest: q.Digest, Choice: host.AllowOnce}
		if deferred {
			require.Equal(t, transcript.Pending, (<-ended).Reason)
			answer.Choice, answer.Result = "", &toolset.Result{Text: "acted outside"}
		}
		require.NoError(t, s.Decide(t.Context(), q.ID, "", answer))
		if !deferred {
			require.Equal(t, transcript.Done, (<-ended).Reason)
		}
		eventually(t, "the turn goes on", func() bool {
			info, err := a.store.Get(t.Context(), s.ID())
			return err == nil && info.Waiting == 0 && info.Holder == ""
		})
		eventually(t, "it is shown", func() bool { return strings.Contains(shown(t, s), "then acted") })
	}
}

// A surface does not touch a turn that was cut off, whatever its users do. The runner's next attempt continues it.
func TestRunnersContinueTurnsThatMove(t *testing.T) {
	began, asked := make(chan struct{}, 10), 0
	a := newAway(t, modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
		if asked++; asked == 1 {
			began <- struct{}{}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return model.Response(model.Text("at last")), nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.worker.Serve(ctx) }()
	s := create(t, a.surface)
	ended := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
		ended <- o
	}()
	<-began
	id := s.ID()
	a.runner.move <- struct{}{} // the session is left as it is
	eventually(t, "nobody holds it", func() bool {
		info, err := a.store.Get(t.Context(), id)
		return err == nil && info.Holder == ""
	})
	cancel()
	require.ErrorIs(t, <-served, context.Canceled)
	short, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	_, err := s.Rewind(short, "")
	require.ErrorIs(t, err, session.ErrHeld)
	other := newHost(t, host.Config[none, string]{Store: shared{a.store}, Runner: a.runner, Agent: newAgent(echo())})
	_, err = other.Open(t.Context(), id, nil)
	require.NoError(t, err)
	require.Empty(t, ended, "the turn goes on")
	require.NotContains(t, shown(t, s), "interrupted")

	a.serve(t)
	require.NoError(t, a.runner.Wake(t.Context(), id))
	require.Equal(t, transcript.Done, (<-ended).Reason)
	eventually(t, "it is shown", func() bool { return strings.Contains(shown(t, s), "at last") })
}

// What a host with a runner, or any host, does not know is refused.
func TestOptionsThatAreTheRunnersAreRefused(t *testing.T) {
	_, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Runner: newQueue()})
	require.ErrorContains(t, err, "Store is nil")
	a := newAway(t, echo())
	_, err = a.surface.Create(t.Context(), session.New{}, elsewhere("editor:1"))
	require.ErrorContains(t, err, "place local")

	for name, o := range map[string]agent.RunOption{
		"WithEngine":  agent.WithEngine(nil),
		"WithJournal": agent.WithJournal(new(transcript.Turn)),
	} {
		for _, store := range []session.Store{nil, durable{new(session.Memory)}} {
			own := host.Config[none, string]{Agent: newAgent(echo()), Store: store, RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
				return []agent.RunOption{o}, nil
			}}
			s := create(t, newHost(t, own))
			out, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("x")}})
			require.NoError(t, err)
			require.ErrorContains(t, out.Err, "agent."+name)
			own.RunOptions = nil
			s = create(t, newHost(t, own))
			out, err = s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("x")}, Options: []agent.RunOption{o}})
			require.NoError(t, err)
			require.ErrorContains(t, out.Err, "agent."+name)
		}
	}
}

// elsewhere is a place.
type elsewhere string

func (e elsewhere) Key() string { return string(e) }

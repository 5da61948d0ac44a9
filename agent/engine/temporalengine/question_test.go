// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// colour is the form of the questions of these tests.
const colour = `{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}`

// asking is a tool that asks for a colour.
func asking(opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], a args) (string, error) {
		reply, err := run.Ask(ctx, toolset.Question{Message: fmt.Sprint("Which colour for ", a.N, "?"), Schema: json.RawMessage(colour)})
		if errors.Is(err, toolset.ErrNobody) {
			return "", toolset.Failed("%s", err)
		}
		return fmt.Sprint(reply.Action, " ", string(reply.Content)), err
	}, opts...)
}

// asker is an agent with tools that makes one step with calls of them.
func asker(calls []model.Part, tools ...*toolset.Tool[deps]) *agent.Agent[deps, report] {
	return agent.Must(agent.New(agent.Config[deps, report]{Name: "asker", Tools: tools, Model: said(model.Response(calls...), model.Response(final("done")))}))
}

func ask(id string) model.Part { return model.ToolCall(id, "ask", `{"n":1}`) }

// questions waits until a run asks.
func questions(t testing.TB, run *temporalengine.Run[report]) []temporalengine.Question {
	t.Helper()
	return waitForQuestions(t, run, func(n int) bool { return n > 0 })
}

// noQuestions waits until a run asks no longer.
func noQuestions(t testing.TB, run *temporalengine.Run[report]) {
	t.Helper()
	waitForQuestions(t, run, func(n int) bool { return n == 0 })
}

// waitForQuestions waits until a run has as many questions as is wanted.
func waitForQuestions(t testing.TB, run *temporalengine.Run[report], enough func(n int) bool) (all []temporalengine.Question) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := run.State(t.Context())
		if err != nil {
			t.Log(err)
			return false
		}
		all = state.Questions
		return enough(len(all))
	}, 2*time.Minute, 10*time.Millisecond)
	return all
}

func accept(content string) toolset.Reply {
	return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(content)}
}

// returns are the results of the calls of a run, by the ids of the calls.
func returns(t testing.TB, run *temporalengine.Run[report]) map[string]string {
	t.Helper()
	res, err := run.Result(t.Context())
	require.NoError(t, err)
	all := map[string]string{}
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn && p.CallID != "o" {
				all[p.CallID] = p.Text
			}
		}
	}
	return all
}

func TestQuestionWaitsForReply(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	run, err := start(t, c, config(asker([]model.Part{ask("q")}, asking()), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	all := questions(t, run)
	require.Len(t, all, 1)
	q := all[0].Question
	require.Equal(t, "Which colour for 1?", q.Message)
	require.JSONEq(t, colour, string(q.Schema))
	require.Equal(t, []string{"q"}, q.Path)
	require.Equal(t, "ask", q.Tool)
	require.Equal(t, "asker", q.Agent)
	require.Equal(t, run.ID(), q.RunID)
	require.False(t, all[0].Asked.IsZero())

	id := all[0].ID
	for name, wrong := range map[string]toolset.Reply{
		"unknown action":             {Action: "perhaps"},
		"has no content":             {Action: toolset.ActionDecline, Content: json.RawMessage(`{}`)},
		"is not a JSON object":       accept(`["red"]`),
		`must be one of`:             accept(`{"colour":"green"}`),
		`field "colour" is required`: {Action: toolset.ActionAccept},
		`"size" is not a field`:      accept(`{"colour":"red","size":1}`),
	} {
		err := run.Reply(t.Context(), id, wrong)
		require.ErrorIs(t, err, temporalengine.ErrAnswer, name)
		require.ErrorContains(t, err, name)
	}
	for _, other := range []string{"", "nobody", id + "0", run.ID() + "?", "other" + id, run.ID() + "/none" + id[len(run.ID()):]} {
		require.ErrorIs(t, run.Reply(t.Context(), other, accept(`{"colour":"red"}`)), temporalengine.ErrAnswer, other)
	}
	require.Equal(t, all, questions(t, run), "nothing of this counts")
	require.NoError(t, run.Reply(t.Context(), id, accept(`{"colour":"blue"}`)))
	require.Equal(t, map[string]string{"q": `accept {"colour":"blue"}`}, returns(t, run))
	require.ErrorIs(t, run.Reply(t.Context(), id, accept(`{"colour":"red"}`)), temporalengine.ErrEnded)
	nobody := clientOf(t, c, "nowhere").Run("nobody")
	require.ErrorIs(t, nobody.Reply(t.Context(), "nobody?1", accept(`{}`)), temporalengine.ErrNoRun)
}

func TestFirstReplyCounts(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	got, goOn := make(chan toolset.Reply, 2), make(chan struct{})
	visit := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
		for range 2 {
			reply, err := run.Ask(ctx, toolset.Question{Message: "Log in.", URL: "https://example.com"})
			if err != nil {
				return "", err
			}
			got <- reply
		}
		<-goOn
		return "", nil
	})
	run, err := start(t, c, config(asker([]model.Part{ask("q")}, visit), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	first := questions(t, run)[0]
	require.ErrorIs(t, run.Reply(t.Context(), first.ID, accept(`{}`)), temporalengine.ErrAnswer, "an address has no form")
	var replies sync.WaitGroup
	errs := make(chan error, 8)
	for range 8 {
		replies.Go(func() { errs <- run.Reply(t.Context(), first.ID, toolset.Reply{Action: toolset.ActionAccept}) })
	}
	replies.Wait()
	close(errs)
	refused := 0
	for err := range errs {
		if err != nil {
			require.ErrorIs(t, err, temporalengine.ErrAnswer)
			refused++
		}
	}
	require.Equal(t, 7, refused)
	require.Equal(t, toolset.ActionAccept, (<-got).Action)
	second := questions(t, run)[0]
	require.NotEqual(t, first.ID, second.ID, "the same question again is another one")
	require.NoError(t, run.Reply(t.Context(), second.ID, toolset.Reply{Action: toolset.ActionDecline}))
	require.Equal(t, toolset.ActionDecline, (<-got).Action)
	err = run.Reply(t.Context(), second.ID, toolset.Reply{Action: toolset.ActionAccept})
	require.ErrorIs(t, err, temporalengine.ErrAnswer)
	require.ErrorContains(t, err, "has been answered")
	close(goOn)
	_, err = run.Result(t.Context())
	require.NoError(t, err)
}

// TestManyCallsAsk: 30 calls of a step ask on eight workers, which is more than a server lets in at a time.
func TestManyCallsAsk(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	const calls = 30
	var parts []model.Part
	for i := range calls {
		parts = append(parts, model.ToolCall(fmt.Sprint("q", i), "ask", fmt.Sprintf(`{"n":%d}`, i)))
	}
	queue := rand.Text()
	cfg := config(asker(parts, asking()), blobs)
	cfg.Name = "many"
	for range 8 {
		w := worker.New(c, queue, worker.Options{MaxConcurrentActivityExecutionSize: 4})
		closeRuns, err := temporalengine.Register(w, cfg)
		require.NoError(t, err)
		require.NoError(t, w.Start())
		t.Cleanup(func() {
			w.Stop()
			closeRuns()
		})
	}
	runs, err := temporalengine.NewClient[report](c, temporalengine.ClientOptions{Name: "many", TaskQueue: queue})
	require.NoError(t, err)
	run, err := runs.Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	waitForQuestions(t, run, func(n int) bool { return n >= 5 })
	answered := map[string]bool{}
	for len(answered) < calls {
		all := questions(t, run)
		require.LessOrEqual(t, len(all), 5)
		for _, q := range all {
			if !answered[q.ID] {
				answered[q.ID] = true
				require.NoError(t, run.Reply(t.Context(), q.ID, accept(`{"colour":"red"}`)))
			}
		}
	}
	all := returns(t, run)
	require.Len(t, all, calls)
	for id, text := range all {
		require.Equal(t, `accept {"colour":"red"}`, text, id)
	}
}

func TestLargeQuestionsAndRepliesAreNoPartOfEvents(t *testing.T) {
	blobs := temporalengine.DirBlobs{Dir: t.TempDir()}
	c := dial(t, blobs)
	long := strings.Repeat("0123456789abcdef", 100_000)
	tool := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
		reply, err := run.Ask(ctx, toolset.Question{Message: long, Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)})
		return string(reply.Content), err
	})
	run, err := start(t, c, config(asker([]model.Part{ask("q")}, tool), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	q := questions(t, run)[0]
	require.Equal(t, long, q.Question.Message)
	require.ErrorIs(t, run.Reply(t.Context(), q.ID, accept(`{"`+long+`":1}`)), temporalengine.ErrAnswer)
	content := `{"text":"` + long + `"}`
	require.NoError(t, run.Reply(t.Context(), q.ID, accept(content)))
	require.Equal(t, content, returns(t, run)["q"])
	smallEvents(t, c, run.ID())
}

// warnings notes what the SDK warns of.
type warnings struct {
	log.Logger
	mu  sync.Mutex
	all []string
}

func (w *warnings) Warn(msg string, keyvals ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, msg)
}

// With keeps loggers with fields the same.
func (w *warnings) With(...any) log.Logger { return w }

// dialWithoutWarnings is dial, for a client whose workers must not warn that a workflow ends while handlers are at work.
func dialWithoutWarnings(t *testing.T, blobs temporalengine.Blobs) client.Client {
	t.Helper()
	dial(t, blobs) // skips
	w := &warnings{Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	c, err := client.Dial(client.Options{HostPort: shared.server.address, DataConverter: temporalengine.Converter(blobs), Logger: w})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, text := range w.all {
			require.NotContains(t, text, "handlers")
		}
	})
	return c
}

// TestQuestionIsWithdrawn when nobody waits for the reply, however that comes about.
func TestQuestionIsWithdrawn(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dialWithoutWarnings(t, blobs)
	t.Run("the tool goes on", func(t *testing.T) {
		stop, goOn := make(chan struct{}), make(chan struct{})
		tool := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
			asking, cancel := context.WithCancel(ctx)
			go func() {
				<-stop
				cancel()
			}()
			_, err := run.Ask(asking, toolset.Question{Message: "Well?"})
			<-goOn
			return fmt.Sprint(err), nil
		})
		run, err := start(t, c, config(asker([]model.Part{ask("q")}, tool), blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		q := questions(t, run)[0]
		close(stop)
		noQuestions(t, run)
		require.ErrorIs(t, run.Reply(t.Context(), q.ID, accept("")), temporalengine.ErrAnswer)
		close(goOn)
		require.Equal(t, "context canceled", returns(t, run)["q"])
	})
	t.Run("the tool has a timeout", func(t *testing.T) {
		a := asker([]model.Part{ask("q")}, asking(toolset.Timeout(300*time.Millisecond)))
		run, err := start(t, c, config(a, blobs)).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		res, err := run.Result(t.Context())
		require.NoError(t, err)
		require.Contains(t, plain(t, res.Messages), "Timed out after 300ms")
	})
	t.Run("the run is cancelled", func(t *testing.T) {
		cfg := config(asker([]model.Part{ask("q")}, asking()), blobs)
		cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: time.Second} }
		run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		questions(t, run)
		require.NoError(t, run.Cancel(t.Context()))
		_, err = run.Result(t.Context())
		require.ErrorIs(t, err, context.Canceled)
		noQuestions(t, run)
	})
	t.Run("another call fails the run", func(t *testing.T) {
		fail := make(chan struct{})
		fails := toolset.Func("fail", "Fail.", func(context.Context, *toolset.RunContext[deps], args) (string, error) {
			<-fail
			return "", errors.New("no more")
		})
		cfg := config(asker([]model.Part{ask("q"), model.ToolCall("f", "fail", `{"n":1}`)}, asking(), fails), blobs)
		cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Heartbeat: time.Second} }
		run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
		require.NoError(t, err)
		questions(t, run)
		close(fail)
		_, err = run.Result(t.Context())
		require.ErrorContains(t, err, "no more")
		noQuestions(t, run)
	})
}

// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

const askingEnv = "PONTE_TEMPORALENGINE_ASKING"

// loggedAsk is the tool that asks. It writes a line for each attempt.
func loggedAsk(logFile string) *toolset.Tool[deps] {
	return toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], a args) (string, error) {
		f, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintln(f, run.IdempotencyKey())
		if err := f.Close(); err != nil {
			return "", err
		}
		if err != nil {
			return "", err
		}
		reply, err := run.Ask(ctx, toolset.Question{Message: "Which colour?", Schema: json.RawMessage(colour)})
		return string(reply.Content), err
	})
}

// askingChild is a worker for calls, which asks.
func askingChild(spec string) {
	var w task
	err := json.Unmarshal([]byte(spec), &w)
	if err == nil {
		blobs := temporalengine.DirBlobs{Dir: w.Blobs}
		c, dialErr := connect(w.Address, blobs)
		if err = dialErr; err == nil {
			wk := worker.New(c, w.Queue, worker.Options{})
			if _, err = temporalengine.Register(wk, config(asker(nil, loggedAsk(w.Log)), blobs)); err == nil {
				err = wk.Run(nil)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestReplyOutlivesWorker: the worker whose call asks is killed, and the reply comes before there is another one, which gets the reply
// without asking again.
func TestReplyOutlivesWorker(t *testing.T) {
	dir := t.TempDir()
	blobs := temporalengine.DirBlobs{Dir: filepath.Join(dir, "blobs")}
	c := dial(t, blobs)
	calls, log := rand.Text(), filepath.Join(dir, "log")
	spec, err := json.Marshal(task{Address: shared.server.address, Queue: calls, Blobs: blobs.Dir, Log: log})
	require.NoError(t, err)
	begin := func() (kill func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), askingEnv+"="+string(spec), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	cfg := config(asker([]model.Part{ask("q")}, loggedAsk(log)), blobs)
	cfg.Tool = func(string) temporalengine.Activity {
		return temporalengine.Activity{TaskQueue: calls, Heartbeat: time.Second, Attempts: 100}
	}
	kill := begin()
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	before := questions(t, run)
	kill()
	require.Equal(t, before, questions(t, run), "the question waits without a worker")
	require.NoError(t, run.Reply(t.Context(), before[0].ID, accept(`{"colour":"red"}`)))
	noQuestions(t, run)
	defer begin()()
	require.Equal(t, map[string]string{"q": `{"colour":"red"}`}, returns(t, run))
	lines, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(lines), run.ID()+"/1/q\n"), "two attempts")
}

// TestNextAttemptComesBackToTheQuestion: an attempt that has taken too long has asked for the next one, too.
func TestNextAttemptComesBackToTheQuestion(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	began, goOn := make(chan int, 10), make(chan string)
	attempt := 0
	tool := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
		attempt++
		began <- attempt
		var all []string
		for _, message := range []string{"One?", <-goOn} {
			reply, err := run.Ask(ctx, toolset.Question{Message: message, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
			if err != nil {
				return "", err
			}
			all = append(all, string(reply.Content))
		}
		return strings.Join(all, " "), nil
	})
	cfg := config(asker([]model.Part{ask("q")}, tool), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Timeout: 3 * time.Second} }
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	<-began
	goOn <- "Two?"
	first := questions(t, run)
	require.Equal(t, "One?", first[0].Question.Message)
	require.NoError(t, run.Reply(t.Context(), first[0].ID, accept(`{"n":1}`)))
	second := questions(t, run)
	require.Equal(t, "Two?", second[0].Question.Message)
	require.Equal(t, 2, <-began, "the first attempt has taken too long")
	require.Equal(t, second, questions(t, run))
	require.NoError(t, run.Reply(t.Context(), second[0].ID, accept(`{"n":2}`)), "nobody waits at the moment")
	goOn <- "Two?"
	require.Equal(t, map[string]string{"q": `{"n":1} {"n":2}`}, returns(t, run))
}

// TestAttemptThatAsksSomethingElseWithdraws what the one before has asked in its place: its answer would be one to another question.
func TestAttemptThatAsksSomethingElseWithdraws(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	attempt := 0
	tool := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
		attempt++
		_, err := run.Ask(ctx, toolset.Question{Message: "Log in.", URL: fmt.Sprint("https://example.com/", attempt)})
		return fmt.Sprint("attempt ", attempt), err
	})
	cfg := config(asker([]model.Part{ask("q")}, tool), blobs)
	cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Timeout: 3 * time.Second} }
	run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	first := questions(t, run)
	require.Equal(t, "https://example.com/1", first[0].Question.URL)
	next := first
	for next[0].ID == first[0].ID {
		next = questions(t, run)
	}
	require.Len(t, next, 1)
	require.Equal(t, "https://example.com/2", next[0].Question.URL)
	require.ErrorIs(t, run.Reply(t.Context(), first[0].ID, toolset.Reply{Action: toolset.ActionAccept}), temporalengine.ErrAnswer)
	require.NoError(t, run.Reply(t.Context(), next[0].ID, toolset.Reply{Action: toolset.ActionAccept}))
	require.Equal(t, map[string]string{"q": "attempt 2"}, returns(t, run))
}

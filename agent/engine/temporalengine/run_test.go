// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ user string }

type report struct {
	Text string `json:"text" validate:"required"`
}

type args struct {
	N int `json:"n"`
}

// newAgent is an agent with a tool, one that needs approval, and one whose result comes from elsewhere.
func newAgent(t testing.TB, m model.Model) *agent.Agent[deps, report] {
	t.Helper()
	guarded := toolset.Func("guarded", "Guarded.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
		return fmt.Sprint("guarded ", a.N, " for ", run.Deps.user), nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[deps], args) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "guarded"}, nil
	}))
	a, err := agent.New(agent.Config[deps, report]{
		Name: "reporter", Model: m,
		Tools: []*toolset.Tool[deps]{
			toolset.Func("work", "Work.", func(_ context.Context, run *toolset.RunContext[deps], a args) (string, error) {
				return fmt.Sprint("worked ", a.N, " for ", run.Deps.user), nil
			}),
			guarded,
		},
	})
	require.NoError(t, err)
	return a
}

func config(a *agent.Agent[deps, report], b temporalengine.Blobs) temporalengine.Config[deps, report] {
	return temporalengine.Config[deps, report]{Name: "reporter", Agent: a, Blobs: b, Deps: func(_ context.Context, in temporalengine.Input) (deps, error) {
		return deps{in.Metadata["user"]}, nil
	}}
}

// environment is a workflow environment in this process, with an agent's runs.
func environment(t testing.TB, c temporalengine.Config[deps, report]) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	suite := new(testsuite.WorkflowTestSuite)
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a second is little on a machine that is busy
	env.SetTestTimeout(time.Minute)                                             // of real time in which nothing happens; it would be 3 s
	env.SetDataConverter(temporalengine.ByReferences(c.Blobs))
	closeRuns, err := temporalengine.Register(env, c)
	require.NoError(t, err)
	t.Cleanup(closeRuns)
	return env
}

// play runs an agent, and returns what it comes to.
func play(t testing.TB, c temporalengine.Config[deps, report], in temporalengine.Input) (*agent.Result[report], error) {
	t.Helper()
	env := environment(t, c)
	env.ExecuteWorkflow(c.Name, in)
	require.True(t, env.IsWorkflowCompleted())
	if err := env.GetWorkflowError(); err != nil {
		return nil, err
	}
	res := new(agent.Result[report])
	require.NoError(t, env.GetWorkflowResult(res))
	return res, nil
}

func TestRunIsThatOfTheNativeEngine(t *testing.T) {
	script := func() model.Model {
		return modeltest.Script(
			modeltest.Say(model.Text("at work"), model.ToolCall("a", "work", `{"n":1}`), model.ToolCall("b", "work", `{"n":"two"}`)),
			modeltest.Say(model.ToolCall("b2", "work", `{"n":2}`)),
			modeltest.Say(model.ToolCall("o", "final_result", `{"text":""}`)),
			modeltest.Say(model.ToolCall("o", "final_result", `{"text":"done"}`)),
		)
	}
	want, err := newAgent(t, script()).Run(t.Context(), deps{"ada"}, "Go.", agent.WithRunID("default-test-workflow-id"))
	require.NoError(t, err)
	for name, tool := range map[string]func(string) temporalengine.Activity{
		"activities":       nil,
		"local activities": func(string) temporalengine.Activity { return temporalengine.Activity{Local: true} },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(newAgent(t, script()), new(temporalengine.MemoryBlobs))
			c.Tool = tool
			got, err := play(t, c, temporalengine.Input{Prompt: "Go.", Metadata: map[string]string{"user": "ada"}})
			require.NoError(t, err)
			require.Equal(t, want.Output, got.Output)
			require.Equal(t, want.Usage, got.Usage)
			require.Equal(t, texts(want.Messages), texts(got.Messages))
		})
	}
}

// texts are the parts of messages.
func texts(messages []*model.Message) (all []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			all = append(all, fmt.Sprint(p.Kind, " ", p.Tool, " ", p.Text, " ", string(p.Args)))
		}
	}
	return all
}

func TestMessagesReachTheRun(t *testing.T) {
	var heard []string
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		heard = nil
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartUser {
					heard = append(heard, p.Text)
				}
			}
		}
		if len(req.Messages) > 2 {
			return model.Response(model.ToolCall("o", "final_result", `{"text":"done"}`)), nil
		}
		return model.Response(model.ToolCall("a", "work", `{"n":1}`)), nil
	})
	env := environment(t, config(newAgent(t, m), new(temporalengine.MemoryBlobs)))
	env.RegisterDelayedCallback(func() { env.SignalWorkflow("message", []model.Part{model.User("Be brief.")}) }, 0)
	env.ExecuteWorkflow("reporter", temporalengine.Input{Prompt: "Go."})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"Go.", "Be brief."}, heard)
}

func TestRunThatWaitsForPeopleCanBeCancelled(t *testing.T) {
	c := config(newAgent(t, modeltest.Script(modeltest.Say(model.ToolCall("a", "guarded", `{"n":1}`)))), new(temporalengine.MemoryBlobs))
	env := environment(t, c)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow(c.Name, temporalengine.Input{Prompt: "Go."})
	require.True(t, env.IsWorkflowCompleted())
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, env.GetWorkflowError(), &cancelled)
}

func TestLimitsBoundTheRun(t *testing.T) {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.ToolCall(fmt.Sprint(len(req.Messages)), "work", `{"n":1}`)), nil
	})
	_, err := play(t, config(newAgent(t, m), new(temporalengine.MemoryBlobs)), temporalengine.Input{Prompt: "Go.", Limits: toolset.Limits{Requests: 3}})
	require.ErrorContains(t, err, "limit")
}

func TestDependenciesAreMadeOnceAWorkerAndReleased(t *testing.T) {
	made, released := 0, 0
	c := config(newAgent(t, modeltest.Script(modeltest.Say(model.ToolCall("a", "work", `{"n":1}`)), modeltest.Say(model.ToolCall("o", "final_result", `{"text":"done"}`)))), new(temporalengine.MemoryBlobs))
	c.Deps = func(_ context.Context, in temporalengine.Input) (deps, error) {
		made++
		require.Empty(t, in.Prompt, "what is said belongs to the history")
		return deps{in.Metadata["user"]}, nil
	}
	c.Release = func(_ context.Context, d deps) error {
		released++
		require.Equal(t, "ada", d.user)
		return nil
	}
	t.Run("run", func(t *testing.T) {
		_, err := play(t, c, temporalengine.Input{Prompt: "Go.", Metadata: map[string]string{"user": "ada"}})
		require.NoError(t, err)
		require.Equal(t, 1, made)
		require.Zero(t, released)
	})
	require.Equal(t, 1, released, "when the worker has stopped")
}

func TestDependenciesThatCannotBeMadeFailTheRun(t *testing.T) {
	for name, fail := range map[string]func() (deps, error){
		"an error": func() (deps, error) { return deps{}, errors.New("no database") },
		"a panic":  func() (deps, error) { panic("no database") },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(newAgent(t, modeltest.Script()), new(temporalengine.MemoryBlobs))
			c.Deps = func(context.Context, temporalengine.Input) (deps, error) { return fail() }
			c.Step.Attempts = 2
			_, err := play(t, c, temporalengine.Input{Prompt: "Go."})
			require.ErrorContains(t, err, "make the dependencies of run default-test-workflow-id")
			require.ErrorContains(t, err, "no database")
		})
	}
}

func TestDependenciesThatCannotEverBeMade(t *testing.T) {
	c := config(newAgent(t, modeltest.Script()), new(temporalengine.MemoryBlobs))
	tries := 0
	c.Deps = func(context.Context, temporalengine.Input) (deps, error) {
		tries++
		return deps{}, temporal.NewNonRetryableApplicationError("no such user", "", nil)
	}
	_, err := play(t, c, temporalengine.Input{Prompt: "Go."})
	require.ErrorContains(t, err, "no such user")
	require.Equal(t, 1, tries)
}

func TestConfigIsChecked(t *testing.T) {
	_, err := temporalengine.Register[deps, report](nil, temporalengine.Config[deps, report]{Step: temporalengine.Activity{Local: true}})
	for _, want := range []string{"Config.Agent is nil", "Config.Name is empty", "Config.Blobs is nil", "Config.Step is local"} {
		require.ErrorContains(t, err, want)
	}
	_, err = temporalengine.NewClient[report](nil, temporalengine.ClientOptions{})
	require.ErrorContains(t, err, "needs a client")
}

// TestBlobsOutliveAPowerCut: a file that was renamed lasts when its directory is synced, and so does a directory that was made.
func TestBlobsOutliveAPowerCut(t *testing.T) {
	const key = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	root := t.TempDir()
	var synced []string
	defer temporalengine.Synced(func(path string) { synced = append(synced, path) })()
	b := temporalengine.DirBlobs{Dir: filepath.Join(root, "a", "b")}
	in := filepath.Join(b.Dir, key[:2])
	require.NoError(t, b.Put(t.Context(), key, []byte("hello")))
	require.Equal(t, []string{root, filepath.Join(root, "a"), b.Dir, in}, synced)
	synced = nil
	require.NoError(t, b.Put(t.Context(), key, []byte("hello")))
	require.Equal(t, []string{in}, synced, "perhaps another process has just put it")
	synced = nil
	file := filepath.Join(in, key)
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)))
	require.NoError(t, b.Put(t.Context(), key, []byte("hello")))
	require.Empty(t, synced)
}

func TestBlobs(t *testing.T) {
	const key = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	for name, b := range map[string]temporalengine.Blobs{"memory": new(temporalengine.MemoryBlobs), "directory": temporalengine.DirBlobs{Dir: filepath.Join(t.TempDir(), "a", "b")}} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Get(t.Context(), key)
			require.ErrorIs(t, err, temporalengine.ErrNoBlob)
			for range 2 {
				require.NoError(t, b.Put(t.Context(), key, []byte("hello")))
			}
			data, err := b.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, "hello", string(data))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, b.Put(ctx, key, nil), context.Canceled)
			_, err = b.Get(ctx, key)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	dir := temporalengine.DirBlobs{Dir: t.TempDir()}
	for _, bad := range []string{"../../etc/passwd", "", key + "0", strings.ToUpper(key)} {
		require.Error(t, dir.Put(t.Context(), bad, nil))
		_, err := dir.Get(t.Context(), bad)
		require.Error(t, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type deps struct{ base int }

type addArgs struct {
	X int `json:"x" jsonschema:"description=First number"`
	Y int `json:"y" validate:"max=100"`
}

type none struct{}

type city struct {
	City       string `json:"city" validate:"required"`
	Population int    `json:"population" validate:"min=1"`
}

func addTool(opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func("add", "Add two numbers.", func(_ context.Context, run *toolset.RunContext[deps], in addArgs) (int, error) {
		return run.Deps.base + in.X + in.Y, nil
	}, opts...)
}

// tool makes a tool without arguments.
func tool(name string, fn func(ctx context.Context, run *toolset.RunContext[deps]) (string, error), opts ...toolset.Option) *toolset.Tool[deps] {
	return toolset.Func(name, "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) { return fn(ctx, run) }, opts...)
}

// says makes a tool without arguments that returns a text.
func says(name, text string) *toolset.Tool[deps] {
	return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) { return text, nil })
}

// fails makes a tool without arguments that returns an error.
func fails(name string, err error) *toolset.Tool[deps] {
	return tool(name, func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", err })
}

func call(id, tool string) model.Part { return model.ToolCall(id, tool, "{}") }

func add(id string, x, y int) model.Part {
	return model.ToolCall(id, "add", fmt.Sprintf(`{"x":%d,"y":%d}`, x, y))
}

func final(id, args string) model.Part { return model.ToolCall(id, "final_result", args) }

func newAgent[O any](t testing.TB, config agent.Config[deps, O], tools ...*toolset.Tool[deps]) *agent.Agent[deps, O] {
	t.Helper()
	if len(tools) > 0 {
		config.Toolsets = append(config.Toolsets, toolset.Of(tools...))
	}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

// run runs a fresh agent with output type O over a script, and checks that Stream gives the same.
func run[O any](t *testing.T, config agent.Config[deps, O], steps []modeltest.Step, tools ...*toolset.Tool[deps]) (*agent.Result[O], *agent.RunError, *modeltest.Scripted) {
	t.Helper()
	return runWith(t, config, steps, "go", nil, tools...)
}

func runWith[O any](t *testing.T, config agent.Config[deps, O], steps []modeltest.Step, prompt string, opts []agent.RunOption, tools ...*toolset.Tool[deps]) (*agent.Result[O], *agent.RunError, *modeltest.Scripted) {
	t.Helper()
	script := modeltest.Script(steps...)
	config.Model = script
	a := newAgent(t, config, tools...)
	res, err := a.Run(context.Background(), deps{}, prompt, opts...)
	runErr := asRunError(t, err)

	config.Model = modeltest.Script(steps...)
	streamed, streamErr := newAgent(t, config, tools...).Stream(context.Background(), deps{}, prompt, opts...).Result()
	if err != nil {
		require.EqualError(t, streamErr, err.Error(), "Stream is the same loop")
		require.Equal(t, dump(runErr.Messages), dump(asRunError(t, streamErr).Messages), "Stream is the same loop")
		require.Equal(t, runErr.Usage, asRunError(t, streamErr).Usage)
	} else {
		require.NoError(t, streamErr)
		require.Equal(t, dump(res.Messages), dump(streamed.Messages), "Stream is the same loop")
		require.Equal(t, res.Output, streamed.Output)
		require.Equal(t, res.Usage, streamed.Usage)
	}
	remotely(t, config, steps, prompt, opts, tools, res, runErr)
	return res, runErr, script
}

// remotely runs the script once more, with every task executed by a worker that has nothing but its JSON, and checks that the result is
// the same.
func remotely[O any](t *testing.T, config agent.Config[deps, O], steps []modeltest.Step, prompt string, opts []agent.RunOption, tools []*toolset.Tool[deps], res *agent.Result[O], runErr *agent.RunError) {
	t.Helper()
	config.Model = modeltest.Script(steps...)
	a := newAgent(t, config, tools...)
	w := agent.NewWorker(a, deps{}, opts...)
	got, err := a.Run(context.Background(), deps{}, prompt, append(opts[:len(opts):len(opts)], onEngine(w, len(steps)%2 == 0))...)
	switch closeErr := w.Close(context.Background()); {
	case err != nil && strings.Contains(err.Error(), "cannot be written as JSON") && !strings.Contains(err.Error(), "<nil>"):
		return // such an output cannot be made elsewhere
	case closeErr != nil: // here it is not part of the run's error
		require.True(t, runErr == nil || strings.Contains(runErr.Error(), closeErr.Error()))
		return
	}
	if runErr != nil {
		require.EqualError(t, err, runErr.Error(), "a remote engine changes nothing")
		require.Equal(t, dump(runErr.Messages), dump(asRunError(t, err).Messages), "a remote engine changes nothing")
		require.Equal(t, runErr.Usage, asRunError(t, err).Usage)
		return
	}
	require.NoError(t, err)
	require.Equal(t, dump(res.Messages), dump(got.Messages), "a remote engine changes nothing")
	require.Equal(t, res.Output, got.Output)
	require.Equal(t, res.Usage, got.Usage)
}

// onJSON runs a run on an engine that takes every task through JSON to a worker: the run's own if w is nil.
func onJSON(w engine.Worker) agent.RunOption { return onEngine(w, false) }

// onEngine is onJSON. fuse has each step done by one task.
func onEngine(w engine.Worker, fuse bool) agent.RunOption {
	return agent.WithEngine(func(_ context.Context, local engine.Worker) (engine.Engine, error) {
		w := w
		if w == nil {
			w = local
		}
		eng := enginetest.NewRemote(local, func(ctx context.Context, task []byte, report func([]byte) error) ([]byte, error) {
			return engine.Execute(ctx, w, task, report)
		})
		eng.Fuse = fuse
		return eng, nil
	})
}

func asRunError(t *testing.T, err error) *agent.RunError {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *agent.RunError
	require.ErrorAs(t, err, &e)
	return e
}

// dump shows a history in a compact form, without ids and times.
func dump(messages []*model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(string(m.Kind))
		if m.Interrupted {
			b.WriteString(" interrupted")
		}
		if m.Instructions != "" {
			fmt.Fprintf(&b, " [%s]", m.Instructions)
		}
		for i := range m.Parts {
			b.WriteString("\n  " + dumpPart(&m.Parts[i]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func dumpPart(p *model.Part) string {
	s := string(p.Kind)
	for _, f := range []string{p.CallID, p.Tool, string(p.Outcome)} {
		if f != "" {
			s += " " + f
		}
	}
	if p.Kind == model.PartToolCall {
		return s + " " + string(p.Args)
	}
	return s + ": " + p.Text
}

// last shows the parts of the last message, one a line.
func last(messages []*model.Message) string { return dump(messages[len(messages)-1:]) }

var errBoom = errors.New("boom")

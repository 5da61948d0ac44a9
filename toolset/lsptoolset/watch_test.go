// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// play runs an agent with the capability and the tools for files, whose model makes these calls. It
// returns the texts of the results.
func (b *bench) play(o lsptoolset.Options, calls ...model.Part) (results []string) {
	b.Helper()
	var script []modeltest.Step
	for _, c := range calls {
		script = append(script, modeltest.Say(c))
	}
	a, err := agent.New(agent.Config[*workspace.Session, string]{
		Model:    modeltest.Script(append(script, modeltest.SayText("done"))...),
		Toolsets: []toolset.Toolset[*workspace.Session]{workspace.Tools(identity)},
		Capabilities: []agent.Capability[*workspace.Session]{
			lsptoolset.Capability(b.servers, identity, o),
		},
		Asker: toolset.AskerFuncs{
			OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
				b.asked = append(b.asked, r.Approval)
				return toolset.Allow(), nil
			},
		},
	})
	require.NoError(b, err)
	res, err := a.Run(b.Context(), b.session, "go")
	require.NoError(b, err)
	for _, m := range res.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn {
				results = append(results, p.Text)
			}
		}
	}
	return results
}

func toolCall(tool string, args map[string]any) model.Part {
	data, _ := json.Marshal(args)
	return model.ToolCall(fmt.Sprintf("call%d", nextCall.Add(1)), tool, string(data))
}

func write(path, content string) model.Part {
	return toolCall("write_file", map[string]any{"path": path, "content": content})
}

var checkA = toolCall("get_diagnostics", map[string]any{"path": "a.toy"})

// The result of an edit ends with what it broke, and only with that.
func TestEditsTellWhatTheyBroke(t *testing.T) {
	for _, mode := range []string{"good", "is asked for diagnostics"} {
		t.Run(mode, func(t *testing.T) { testEditsTell(t, mode) })
	}
}

func testEditsTell(t *testing.T, mode string) {
	b := newBench(
		t,
		fakeConfig(t, mode),
		lsptoolset.Options{},
		files{"a.toy": "def a\nBAD\nok\n", "b.txt": "x\n"},
	)
	got := b.play(
		lsptoolset.Options{},
		checkA,
		write("a.toy", "def a\n# moved\n\nBAD\nok\n"),
		write("a.toy", "def a\nBAD\nok BAD\nmore BAD BAD\n"),
		write("a.toy", "def a\nok\n"),
		toolCall(
			"edit_file",
			map[string]any{
				"path":  "a.toy",
				"edits": []map[string]string{{"old_text": "ok", "new_text": "BAD"}},
			},
		),
		toolCall(
			"edit_symbol",
			map[string]any{"path": "a.toy", "symbol": "a", "where": "replace", "text": "def b BAD"},
		),
		write("b.txt", "BAD\n"),
		write("new.toy", "def n\nBAD\n"),
	)
	require.Equal(t, "a.toy:2: error: BAD is bad [fake]", got[0])
	require.Equal(t, "Wrote a.toy (22 bytes).", got[1], "a problem that has moved is not new")
	require.Equal(
		t,
		"Wrote a.toy (30 bytes).\n\nNew problems since this change:\na.toy:3: error: BAD is bad [fake]\n"+
			"a.toy:4: error: BAD is bad [fake]\na.toy:4: error: BAD is bad [fake]",
		got[2],
	)
	require.Equal(t, "Wrote a.toy (9 bytes).", got[3])
	require.True(
		t,
		strings.HasSuffix(
			got[4],
			"\n\nNew problems since this change:\na.toy:2: error: BAD is bad [fake]",
		),
		got[4],
	)
	require.True(
		t,
		strings.HasSuffix(
			got[5],
			"\n\nNew problems since this change:\na.toy:1: error: BAD is bad [fake]",
		),
		got[5],
	)
	require.Equal(t, "Wrote b.txt (4 bytes).", got[6])
	require.Equal(
		t,
		"Created new.toy (10 bytes).\n\nNew problems since this change:\nnew.toy:2: error: BAD is bad [fake]",
		got[7],
	)
}

// Edits do not start servers, and can be left alone.
func TestEditsWithoutServer(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{}, project)
	got := b.play(lsptoolset.Options{Trust: true}, write("a.toy", "BAD\n"))
	require.Equal(
		t,
		"Wrote a.toy (4 bytes).\n[No diagnostics: the language server fake is not running. get_diagnostics starts it.]",
		got[0],
	)
	require.Empty(t, b.servers.Status()[0].Err)
	require.Equal(t, lsptoolset.StateIdle, b.servers.Status()[0].State)
	got = b.play(lsptoolset.Options{Trust: true, Budget: -1}, checkA, write("a.toy", "BAD BAD\n"))
	require.Equal(t, "Wrote a.toy (8 bytes).", got[1])
}

// What is not known in time is said.
func TestSlowDiagnostics(t *testing.T) {
	b := newBench(t, fakeConfig(t, "publishes slowly"), lsptoolset.Options{}, project)
	began := time.Now()
	got := b.play(
		lsptoolset.Options{Trust: true, Budget: 100 * time.Millisecond},
		checkA,
		write("a.toy", "BAD\n"),
	)
	require.Equal(
		t,
		"Wrote a.toy (4 bytes).\n[fake is still checking: there may be more, see get_diagnostics.]",
		got[1],
	)
	require.Less(t, time.Since(began), 10*time.Second)
	b = newBench(t, fakeConfig(t, "publishes nothing"), lsptoolset.Options{}, project)
	got = b.play(
		lsptoolset.Options{Trust: true, Budget: 50 * time.Millisecond},
		toolCall("find_symbols", map[string]any{"path": "a.toy"}),
		write("a.toy", "BAD\n"),
	)
	require.Equal(
		t,
		"Wrote a.toy (4 bytes).\n[fake is still checking: see get_diagnostics.]",
		got[1],
	)
	b = newBench(t, fakeConfig(t, "is asked for diagnostics"), lsptoolset.Options{}, project)
	got = b.play(lsptoolset.Options{Trust: true, Budget: 50 * time.Millisecond}, checkA, write("a.toy", "HANGS\n"))
	require.Equal(t, "Wrote a.toy (6 bytes).\n[fake is still checking: there may be more, see get_diagnostics.]", got[1])
	b = newBench(t, fakeConfig(t, "publishes without version"), lsptoolset.Options{}, project)
	got = b.play(lsptoolset.Options{Trust: true}, checkA, write("a.toy", "BAD\n"))
	require.Equal(
		t,
		"Wrote a.toy (4 bytes).\n\nNew problems since this change:\na.toy:1: error: BAD is bad [fake]",
		got[1],
	)
}

// A server that dies during an edit costs the edit nothing.
func TestEditsSurviveServers(t *testing.T) {
	b := newBench(t, fakeConfig(t, "exits when told of BAD"), lsptoolset.Options{}, project)
	got := b.play(lsptoolset.Options{Trust: true}, checkA, write("a.toy", "BAD\n"))
	require.Equal(t, "Wrote a.toy (4 bytes).\n[No diagnostics: fake has failed.]", got[1])
	require.Equal(t, "BAD\n", b.read("a.toy"))
}

func TestDiagnosticsOfTheProject(t *testing.T) {
	c := fakeConfig(t, "good")
	c.Servers[0].OpenOnly = true
	b := newBench(
		t,
		c,
		lsptoolset.Options{},
		files{"a.toy": "BAD\n", "sub/b.toy": "ok\nBAD\n", "sub/c.toy": "ok\n"},
	)
	require.Equal(
		t,
		"a.toy:1: error: BAD is bad [fake]\nsub/b.toy:2: error: BAD is bad [fake]",
		b.call("get_diagnostics", `{}`).Text,
	)
	require.Equal(
		t,
		"sub/b.toy:2: error: BAD is bad [fake]",
		b.call("get_diagnostics", `{"path":"sub"}`).Text,
	)
	require.Equal(t, "No problems.", b.call("get_diagnostics", `{"path":"sub/c.toy"}`).Text)
	command := lsptoolset.Capability(b.servers, identity, lsptoolset.Options{}).Commands[0]
	res, err := command.Run(t.Context(), commandCall{Deps: b.session, Args: "sub"})
	require.NoError(t, err)
	require.Equal(t, "sub/b.toy:2: error: BAD is bad [fake]", res.Notice)
	_, err = command.Run(t.Context(), commandCall{Deps: b.session, Args: "missing.toy"})
	require.EqualError(t, err, "Could not read missing.toy: not found.")
}

// Runs that do not use the capability pay nothing for it. A whole run allocates what it does with
// a capability of this shape that does nothing: one with tools that are chosen per run, and a hook.
func TestIdleCost(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{}, project)
	c := lsptoolset.Capability(b.servers, identity, lsptoolset.Options{})
	run := &toolset.RunContext[*workspace.Session]{
		Deps: b.session,
		Call: toolset.Call{Tool: "other"},
	}
	next := func(context.Context, any) (toolset.Result, error) { return toolset.Result{}, nil }
	ctx := t.Context()
	in, err := c.Toolsets[0].Open(ctx, run)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		in, _ := c.Toolsets[0].Open(ctx, run)
		_, _ = in.Tools(ctx, run)
		_, _ = c.Hooks[0].Call(ctx, run, nil, next)
		_ = in.Close(ctx)
	}))
	nothing := agent.Capability[*workspace.Session]{
		Name: c.Name, Toolsets: []toolsetOf{chosen{in}},
		Hooks: []agent.Hooks[*workspace.Session]{{Call: pass}},
	}
	least, _ := allocsOfRuns(b, c)
	_, most := allocsOfRuns(b, nothing)
	require.LessOrEqual(t, least, most)
	require.Empty(t, b.servers.Status(), "no server was started")
}

// chosen is a toolset with an instance that exists.
type chosen struct {
	in toolset.Instance[*workspace.Session]
}

func (c chosen) Name() string { return "lsp" }

func (c chosen) Open(
	context.Context,
	*toolset.RunContext[*workspace.Session],
) (toolset.Instance[*workspace.Session], error) {
	return c.in, nil
}

func pass(
	ctx context.Context,
	_ *toolset.RunContext[*workspace.Session],
	args any,
	next toolset.CallFunc,
) (toolset.Result, error) {
	return next(ctx, args)
}

// allocsOfRuns returns what a run allocates in which the model calls another tool: the least and the most of five
// measurements. With the race detector, pools lose some of what is put there.
func allocsOfRuns(b *bench, c agent.Capability[*workspace.Session]) (least, most float64) {
	type nothing struct{}
	call := toolCall("other", map[string]any{})
	a, err := agent.New(agent.Config[*workspace.Session, string]{
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			part := model.Part{Kind: model.PartText, Text: "done"}
			if len(req.Messages) == 1 {
				part = call
			}
			return &model.Message{Kind: model.KindResponse, Parts: []model.Part{part}}, nil
		}),
		Tools: []*toolset.Tool[*workspace.Session]{toolset.Func("other", "Does nothing.",
			func(context.Context, *toolset.RunContext[*workspace.Session], nothing) (string, error) {
				return "", nil
			})},
		Capabilities: []agent.Capability[*workspace.Session]{c},
	})
	require.NoError(b, err)
	least = math.Inf(1)
	for range 5 {
		n := testing.AllocsPerRun(100, func() {
			_, err := a.Run(b.Context(), b.session, "go")
			require.NoError(b, err)
		})
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

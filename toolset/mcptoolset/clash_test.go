// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func named(name string) func(*mcptoolset.Config) {
	return func(c *mcptoolset.Config) { c.Name = name }
}

// ownTool is a tool of the program.
func ownTool(name string) toolset.Toolset[none] {
	return toolset.Of(toolset.Raw(name, "", json.RawMessage(`{"type":"object"}`), func(context.Context, *toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
		return toolset.Result{Text: "own"}, nil
	}))
}

// runWith runs an agent whose model calls the named tools in steps of their own, and returns their results.
func runWith(t *testing.T, sets []toolset.Toolset[none], calls ...func(tools []string) string) []string {
	t.Helper()
	step := 0
	m := model.Func(model.Info{Provider: "test", Name: "m"}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if step == len(calls) {
			return model.Response(model.Text("done")), nil
		}
		var tools []string
		for _, d := range req.Tools {
			tools = append(tools, d.Name)
		}
		step++
		return model.Response(model.ToolCall("c", calls[step-1](tools), `{}`)), nil
	})
	a, err := agent.New(agent.Config[none, string]{Model: m, Toolsets: sets})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), none{}, "go", agent.WithAsker(&person{}))
	require.NoError(t, err)
	var results []string
	for _, msg := range res.Messages {
		for _, p := range msg.Parts {
			if p.Kind == model.PartToolReturn {
				results = append(results, p.Text)
			}
		}
	}
	return results
}

func calling(name string) func([]string) string { return func([]string) string { return name } }

// callingLike calls the one tool whose name begins with a text, and has more.
func callingLike(t *testing.T, start string) func([]string) string {
	return func(tools []string) string {
		i := slices.IndexFunc(tools, func(name string) bool { return strings.HasPrefix(name, start) && name != start })
		require.GreaterOrEqual(t, i, 0, "%v", tools)
		return tools[i]
	}
}

func TestServersToolGivesWayToTheProgramsOwn(t *testing.T) {
	f := newFake(nil)
	f.tool("file", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("theirs"), nil })
	f.tool("final_result", echo)
	var log logBuffer
	s := serve(t, f, named("read"), func(c *mcptoolset.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, sets := range [][]toolset.Toolset[none]{
		{mcptoolset.Tools(s, mcptoolset.Options[none]{}), ownTool("read_file")},
		{ownTool("read_file"), toolset.Filtered(mcptoolset.All([]*mcptoolset.Server{s}, mcptoolset.Options[none]{}), func(context.Context, *toolset.RunContext[none], *toolset.Tool[none]) (bool, error) { return true, nil })},
	} {
		require.Equal(t, []string{"own", "theirs"}, runWith(t, sets, calling("read_file"), callingLike(t, "read_file_")))
	}
	require.Len(t, s.Problems(), 1)
	require.Regexp(t, `tool "file": the name "read_file" is taken or too long: it is offered as "read_file_[0-9a-f]{8}"`, s.Problems()[0].String())
	require.Equal(t, 1, strings.Count(log.String(), "is taken or too long"), "it is said once")
}

// A server that has made up the name under which another of its tools is offered gets one tool of that name.
func TestNameThatLooksLikeARenamedOneIsOfferedOnce(t *testing.T) {
	sum := sha256.Sum256([]byte("a b"))
	f := newFake(nil)
	for _, name := range []string{"a b", "a.b", "a_b_" + hex.EncodeToString(sum[:4]), "plain"} {
		f.tool(name, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say(name), nil })
	}
	s := serve(t, f, named("x"))
	var seen []string
	results := runWith(t, []toolset.Toolset[none]{mcptoolset.Tools(s, mcptoolset.Options[none]{})}, func(tools []string) string {
		seen = tools
		return "x_plain"
	})
	require.Equal(t, []string{"plain"}, results)
	require.Len(t, seen, 3)
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(seen))), 3)
	require.Contains(t, problemsOf(s), "is offered as \"x_a_b_"+hex.EncodeToString(sum[:4])+"\" already")
}

func problemsOf(s *mcptoolset.Server) string {
	var all []string
	for _, p := range s.Problems() {
		all = append(all, p.String())
	}
	return strings.Join(all, "\n")
}

// The names are the same whichever server answers first.
func TestNamesDoNotDependOnWhoAnswersFirst(t *testing.T) {
	var all [][]string
	for _, late := range []string{"", "a", "a_b"} {
		one, two := newFake(nil), newFake(nil)
		one.tool("b_c", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("one"), nil })
		two.tool("c", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("two"), nil })
		release := make(chan struct{})
		held := func(f *fake, name string) *mcptoolset.Server {
			return serve(t, f, named(name), func(c *mcptoolset.Config) {
				c.Wait = time.Millisecond
				if name != late {
					c.Wait = patience
					return
				}
				c.Transport = mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) { <-release; return f.dial(ctx) })
			})
		}
		a, ab := held(one, "a"), held(two, "a_b")
		tools := func(name string) *mcptoolset.Server { return map[string]*mcptoolset.Server{"a": a, "a_b": ab}[name] }
		var seen []string
		results := runWith(t, []toolset.Toolset[none]{mcptoolset.Tools(a, mcptoolset.Options[none]{}), ownTool("wait"), mcptoolset.Tools(ab, mcptoolset.Options[none]{})},
			func([]string) string {
				close(release)
				if late != "" {
					require.Eventually(t, func() bool { return tools(late).Status().State == mcptoolset.StateReady }, patience, tick)
				}
				return "wait"
			},
			func(tools []string) string {
				seen = tools
				return tools[slices.IndexFunc(tools, func(n string) bool { return strings.HasPrefix(n, "a_b_c") })]
			},
		)
		require.Equal(t, "one", results[1])
		require.Len(t, seen, 3)
		require.NotContains(t, seen, "a_b_c")
		all = append(all, seen)
	}
	require.Equal(t, all[0], all[1])
	require.Equal(t, all[0], all[2])
}

// A server that takes the name of another tool while a run goes on does not end it.
func TestClashInTheMiddleOfARun(t *testing.T) {
	f := newFake(nil)
	f.tool("x", echo)
	s := serve(t, f, named("read"), legacy)
	results := runWith(t, []toolset.Toolset[none]{mcptoolset.Tools(s, mcptoolset.Options[none]{}), ownTool("read_file")},
		func([]string) string {
			f.tool("file", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("theirs"), nil })
			return "read_x"
		},
		func(tools []string) string {
			require.Eventually(t, func() bool { return len(list(t, s, mcptoolset.Options[none]{})) == 2 }, patience, tick)
			return "read_file"
		},
		callingLike(t, "read_file_"),
	)
	require.Equal(t, []string{"own", "theirs"}, results[1:])
}

func TestNamesAreValidForEveryProvider(t *testing.T) {
	f := newFake(nil)
	wanted := []string{"3d", "-x", "a.b", "a b", "a_b", strings.Repeat("n", 70), strings.Repeat("n", 71), "日本", "日語", "FINAL", "a/b"}
	for _, name := range wanted {
		f.tool(name, echo)
	}
	for _, change := range []func(*mcptoolset.Config){named("9s"), func(c *mcptoolset.Config) { c.Unprefixed = true }} {
		s := serve(t, f, change)
		for _, set := range []toolset.Toolset[none]{
			mcptoolset.Tools(s, mcptoolset.Options[none]{}), toolset.Prefixed(mcptoolset.Tools(s, mcptoolset.Options[none]{}), "a_long_prefix_"),
		} {
			var offered []string
			runWith(t, []toolset.Toolset[none]{set}, func(tools []string) string { offered = tools; return tools[0] })
			require.Len(t, offered, len(wanted))
			for _, name := range offered {
				require.Regexp(t, `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, name)
			}
			slices.Sort(offered)
			require.Len(t, slices.Compact(offered), len(wanted))
		}
	}
}

// Servers connect at the same time, however they are put together, and none waits for another one.
func TestServersConnectAtTheSameTime(t *testing.T) {
	const n = 5
	begun, release := make(chan struct{}, n), make(chan struct{})
	var sets []toolset.Toolset[none]
	for i := range n {
		f := newFake(nil)
		f.tool("echo", echo)
		s := serve(t, f, named(string(rune('a'+i))), func(c *mcptoolset.Config) {
			c.Wait = patience
			c.Transport = mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
				begun <- struct{}{}
				<-release // nobody is let through before all have begun
				return f.dial(ctx)
			})
		})
		set := mcptoolset.Tools(s, mcptoolset.Options[none]{Required: true})
		if i%2 == 0 {
			set = toolset.Prefixed(toolset.Named(set, "set"), "p_")
		}
		sets = append(sets, set)
	}
	go func() {
		for range n {
			<-begun
		}
		close(release)
	}()
	var offered []string
	runWith(t, []toolset.Toolset[none]{toolset.Combine(sets[:3]...), toolset.Combine(sets[3:]...)}, func(tools []string) string { offered = tools; return tools[0] })
	require.Equal(t, []string{"p_a_echo", "b_echo", "p_c_echo", "d_echo", "p_e_echo"}, offered, "in their own order")
}

func TestErrorsOfAllRequiredServersAreTold(t *testing.T) {
	var sets []toolset.Toolset[none]
	for _, name := range []string{"one", "two"} {
		f := newFake(nil)
		f.refuse = context.DeadlineExceeded
		sets = append(sets, mcptoolset.Tools(serve(t, f, named(name)), mcptoolset.Options[none]{Required: true}))
	}
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(), Toolsets: sets}))
	_, err := a.Run(t.Context(), none{}, "go")
	require.ErrorIs(t, err, mcptoolset.ErrUnavailable)
	require.ErrorContains(t, err, `server "one"`)
	require.ErrorContains(t, err, `server "two"`)
}

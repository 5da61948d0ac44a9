// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// Tools are looked at up to the limit, and pages up to two hundred. No page is asked for after
// that, and that there are more is a problem.
func TestPagesOfToolsAreBounded(t *testing.T) {
	for _, c := range []struct{ tools, limit, offered, pages, problems int }{
		{2, 2, 2, 2, 0}, {3, 2, 2, 3, 1}, {4, 2, 2, 3, 1}, {1, 2, 1, 1, 0}, {200, 1000, 200, 200, 0}, {201, 1000, 200, 200, 1},
	} {
		f := newFake(&mcp.ServerOptions{PageSize: 1})
		for i := range c.tools {
			f.tool(fmt.Sprintf("tool%03d", i), echo)
		}
		s := serve(t, f, func(config *mcptoolset.Config) { config.Limits.Tools = c.limit })
		tools := list(t, s, mcptoolset.Options[none]{})
		require.Len(t, tools, c.offered, c)
		require.Equal(t, "s_tool000", tools[0].Def.Name)
		require.Equal(t, c.pages, f.count("tools/list"), c)
		require.Len(t, s.Problems(), c.problems, c)
		for _, p := range s.Problems() {
			require.Equal(t, fmt.Sprintf(`tool "": the server has too many tools: only the first %d are looked at`, c.limit), p.String())
		}
	}
}

// The tools of a server are listed one at a time, however many need them, and all who come in the
// meantime share the next list.
func TestToolsAreListedOneAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var now, most atomic.Int32
		f := newFake(nil)
		f.tool("echo", echo)
		f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					most.Store(max(most.Load(), now.Add(1)))
					defer now.Add(-1)
					time.Sleep(time.Second)
				}
				return next(ctx, method, req)
			}
		})
		s := serve(t, f, legacy)
		require.Len(t, list(t, s, mcptoolset.Options[none]{}), 1)
		for i := range 4 { // each begins while the list of the one before is made
			f.tool(fmt.Sprint("more", i), echo)
			time.Sleep(time.Second / 2)
			for range 3 {
				go list(t, s, mcptoolset.Options[none]{})
			}
		}
		time.Sleep(time.Minute)
		require.Len(t, list(t, s, mcptoolset.Options[none]{}), 5)
		require.EqualValues(t, 1, most.Load())
		require.LessOrEqual(t, f.count("tools/list"), 5)
	})
}

// Tools stay the same values as long as the server says the same of them, also if it is only one.
func TestToolsStayTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(nil)
		f.tool("echo", echo)
		f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				if l, ok := res.(*mcp.ListToolsResult); ok {
					l.TTLMs = 1000
				}
				return res, err
			}
		})
		s := serve(t, f, legacy)
		run := &toolset.RunContext[none]{}
		instance, err := mcptoolset.Tools(s, mcptoolset.Options[none]{}).Open(t.Context(), run)
		require.NoError(t, err)
		var seen []*toolset.Tool[none]
		for range 3 {
			l, err := instance.Tools(t.Context(), run)
			require.NoError(t, err)
			require.Len(t, l.Tools, 1)
			seen = append(seen, l.Tools[0])
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, 3, f.count("tools/list"))
		require.Same(t, seen[0], seen[1])
		require.Same(t, seen[1], seen[2])
		f.RemoveTools("echo")
		f.tool("other", echo)
		time.Sleep(2 * time.Second)
		l, err := instance.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, []string{"s_other"}, names(l.Tools))
	})
}

// A tool that is called without arguments gets an object.
func TestCallsWithoutArguments(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	tools := list(t, serve(t, f), mcptoolset.Options[none]{})
	for given, want := range map[string]string{"": "{}", "{}": "{}", `{"a":1}`: `{"a":1}`} {
		res, err := tools[0].Call(t.Context(), &toolset.RunContext[none]{}, jsonOf(given))
		require.NoError(t, err)
		require.Equal(t, want, res.Text)
	}
}

// One user signs in at a time, and the reason of a refusal is told with a hundred bytes of it.
func TestUsersSignInOneAtATime(t *testing.T) {
	address, entered := "", make(chan string, 100)
	l, err := mcptoolset.NewLoopback(func(_ context.Context, url string) error { entered <- url; return nil })
	require.NoError(t, err)
	stop := errors.New("stop")
	ended, end := context.WithCancelCause(t.Context())
	end(stop)
	for n, want := range map[int]string{100: strings.Repeat("r", 100), 101: strings.Repeat("r", 100) + "…"} {
		first := make(chan error, 1)
		go func() {
			_, err := l.Authorize(t.Context(), "first")
			first <- err
		}()
		require.Equal(t, "first", <-entered)
		for range 20 {
			_, err = l.Authorize(ended, "second")
			require.Equal(t, stop, err)
		}
		require.Empty(t, entered)
		address = l.RedirectURL() + "?error=" + strings.Repeat("r", n)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(address)
		require.NoError(t, err)
		said, err := io.ReadAll(res.Body)
		require.NoError(t, errors.Join(err, res.Body.Close()))
		require.Equal(t, "You are not signed in. You can close this window.\n", string(said))
		require.EqualError(t, <-first, "the authorization server refused: "+want)
	}
	require.NoError(t, l.Close())
	require.Error(t, l.Close())
	_, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(address)
	require.Error(t, err, "nobody listens")
}

// Why a prompt cannot be used is told with five hundred bytes.
func TestErrorsOfPromptsAreBounded(t *testing.T) {
	f := newFake(nil)
	var reason string
	f.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, errors.New(reason)
	})
	commands, err := mcptoolset.Commands[none](t.Context(), serve(t, f))
	require.NoError(t, err)
	const before = `The MCP server "s" refused the call: `
	for n, cut := range map[int]string{500: "", 501: "…"} {
		reason = strings.Repeat("r", n-len(before))
		_, err = commands[0].Run(t.Context(), agent.CommandCall[none]{})
		require.EqualError(t, err, (before + reason)[:500]+cut)
	}
}

// A prompt that is no longer wanted ends with the reason, and nothing in the place of a message, or
// of an argument, harms nobody.
func TestPromptsThatEnd(t *testing.T) {
	f := newFake(nil)
	because := errors.New("because")
	f.AddPrompt(&mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{nil, {Name: "a"}, nil}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil, {Role: "user", Content: &mcp.TextContent{Text: "hello"}}, nil}}, nil
	})
	commands, err := mcptoolset.Commands[none](t.Context(), serve(t, f))
	require.NoError(t, err)
	res, err := commands[0].Run(t.Context(), agent.CommandCall[none]{Args: "x"})
	require.NoError(t, err)
	require.Equal(t, agent.CommandResult{Prompt: "hello"}, res)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err = commands[0].Run(ctx, agent.CommandCall[none]{})
	require.Equal(t, because, err)
}

// Any timeout is one, however short.
func TestShortTimeoutsOfExportedTools(t *testing.T) {
	wait := func(ctx context.Context, _ *toolset.RunContext[deps]) (toolset.Result, error) {
		<-ctx.Done()
		return toolset.Result{}, ctx.Err()
	}
	c := serveExported(t, mcptoolset.ExportConfig[deps]{Timeout: 1}, plain("own", wait, toolset.Timeout(2)), plain("servers", wait))
	for tool, want := range map[string]string{"own": "The tool took longer than 2ns.", "servers": "The tool took longer than 1ns."} {
		text, res := textOf(t, c, tool, nil)
		require.True(t, res.IsError)
		require.Equal(t, want, text)
	}
	var log logged
	config := config(nil, &log)
	config.Timeout = 1
	slow := model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	text, _ := textOf(t, serveAgent[string](t, slow, config, nil), "do", map[string]string{"prompt": "x"})
	require.Equal(t, `The tool "do" failed.`, text)
	require.Contains(t, log.String(), "deadline exceeded")
}

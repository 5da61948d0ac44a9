// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// A list of tools is made again when the first of its pages is no longer valid, as the server says
// in milliseconds. A server that says nothing of it is asked once.
func TestListsAreRenewedWhenAPageIsOld(t *testing.T) {
	for _, c := range []struct {
		pages []int
		after time.Duration // the list is valid for so long; 0 means for ever
	}{
		{[]int{5000, 2000, 0}, 2 * time.Second}, {[]int{2000, 5000}, 2 * time.Second}, {[]int{0, 0, 7}, 7 * time.Millisecond},
		{[]int{1}, time.Millisecond}, {[]int{0}, 0}, {[]int{-1, 0}, 0},
	} {
		bubble(t, func(t *testing.T) {
			f := newFake(&mcp.ServerOptions{PageSize: 1})
			for i := range c.pages {
				f.tool(fmt.Sprint("tool", i), echo)
			}
			page := 0
			f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					res, err := next(ctx, method, req)
					if l, ok := res.(*mcp.ListToolsResult); ok {
						l.TTLMs = c.pages[page%len(c.pages)]
						page++
					}
					return res, err
				}
			})
			s := serve(t, f, legacy)
			lists := func() int {
				require.Len(t, list(t, s, mcptoolset.Options[none]{}), len(c.pages))
				return f.count("tools/list") / len(c.pages)
			}
			require.Equal(t, 1, lists())
			if c.after == 0 {
				time.Sleep(time.Hour)
				require.Equal(t, 1, lists(), c)
				return
			}
			time.Sleep(c.after)
			require.Equal(t, 1, lists(), c)
			time.Sleep(time.Nanosecond)
			require.Equal(t, 2, lists(), c)
			require.Equal(t, 2, lists(), "it is valid again")
			time.Sleep(c.after + 1)
			require.Equal(t, 3, lists(), c)
		})
	}
}

// If tools cannot be listed again, they are as they were, and the next who needs them asks again.
func TestListsThatFailAreMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told seen
		var fails atomic.Bool
		f := newFake(nil)
		f.tool("echo", echo)
		f.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" && fails.Load() {
					return nil, errors.New("not\nnow")
				}
				return next(ctx, method, req)
			}
		})
		s := serve(t, f, legacy, told.config)
		require.Len(t, list(t, s, mcptoolset.Options[none]{}), 1)
		told.told()
		fails.Store(true)
		f.tool("more", echo)
		time.Sleep(time.Second) // the server tells of several changes at once
		for range 2 {
			require.Equal(t, []string{"s_echo"}, names(list(t, s, mcptoolset.Options[none]{})))
			require.Contains(t, told.told(), `level=WARN msg="mcptoolset: tools not listed" server=s error="list tools: `)
		}
		fails.Store(false)
		require.Equal(t, []string{"s_echo", "s_more"}, names(list(t, s, mcptoolset.Options[none]{})))
		require.Equal(t, "ready, 2 tools\n", told.told())
		require.Len(t, list(t, s, mcptoolset.Options[none]{}), 2)
		require.Empty(t, told.told())
		require.Equal(t, 2, f.count("tools/list"), "those that did not fail")
	})
}

// A run waits for its servers once. One that is closed in the middle of it leaves the run its
// tools, whose calls fail.
func TestRunsGoOnWithoutAServer(t *testing.T) {
	for _, required := range []bool{false, true} {
		f := newFake(nil)
		f.tool("echo", echo)
		s := serve(t, f)
		run := &toolset.RunContext[none]{}
		set := mcptoolset.Tools(s, mcptoolset.Options[none]{Required: required})
		instance, err := set.Open(t.Context(), run)
		require.NoError(t, err)
		before, err := instance.Tools(t.Context(), run)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		after, err := instance.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, before, after)
		res, err := after.Tools[0].Call(t.Context(), run, jsonOf(`{}`))
		require.Equal(t, `The MCP server "s" is not available now, so nothing was done: the server is closed`, failed(t, res, err))
		require.NoError(t, instance.Close(t.Context()))
	}
}

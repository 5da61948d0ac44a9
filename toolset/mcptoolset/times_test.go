// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// bubble runs a part of a test in a bubble, as a subtest.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, f) })
}

// seen is what a program is told of a server: its log, and the changes of its state.
type seen struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Write(p)
}

// config makes a server tell what it does.
func (s *seen) config(c *mcptoolset.Config) {
	c.Logger = slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	c.OnChange = func(st mcptoolset.Status) {
		fmt.Fprintf(s, "%s, %d tools", st.State, st.Tools)
		if st.Err != nil {
			fmt.Fprintf(s, ": %v", st.Err)
		}
		fmt.Fprintln(s)
	}
}

// told returns what was told since the last time.
func (s *seen) told() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.lines.String()
	s.lines.Reset()
	return text
}

// A server that cannot be reached is tried again after half a second, then one, two and four. Calls
// wait for up to three seconds of that.
func TestCallsWaitForTheNextAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told seen
		f := newFake(nil)
		f.tool("echo", echo)
		s := serve(t, f, told.config)
		tools := list(t, s, mcptoolset.Options[none]{})
		require.Equal(t, "level=INFO msg=\"mcptoolset: server connected\" server=s tools=1\nready, 1 tools\n", told.told())
		call := func(after time.Duration, want string) {
			t.Helper()
			began := time.Now()
			run := &toolset.RunContext[none]{}
			res, err := tools[0].Call(t.Context(), run, jsonOf(`{}`))
			require.Equal(t, `The MCP server "s" is not available now, so nothing was done: the server is not available: `+want, failed(t, res, err))
			require.Equal(t, after, time.Since(began))
		}
		f.refuse = errors.New("no\nnetwork")
		time.Sleep(time.Minute)
		f.drop()
		require.Equal(t, "level=WARN msg=\"mcptoolset: connection lost\" server=s error=\"the server closed the connection\"\nfailed, 1 tools: the server closed the connection\n", told.told())
		const down = "level=WARN msg=\"mcptoolset: server cannot be reached\" server=s error=no\\nnetwork\nfailed, 1 tools: no\\nnetwork\n"
		const s1 = time.Second
		call(s1/2, `no\nnetwork`)
		require.Equal(t, down, told.told())
		call(s1, `no\nnetwork`)
		call(2*s1, `no\nnetwork`)
		told.told()
		call(0, `no\nnetwork`) // in four seconds
		time.Sleep(s1 - 1)
		call(0, `no\nnetwork`)
		time.Sleep(time.Nanosecond)
		require.Empty(t, told.told())
		call(3*s1, `no\nnetwork`)
		require.Equal(t, down, told.told())
		because := errors.New("because")
		time.Sleep(6 * s1)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(s1, func() { cancel(because) })
		_, err := tools[0].Call(ctx, &toolset.RunContext[none]{}, jsonOf(`{}`))
		require.Equal(t, because, err)
		require.NoError(t, s.Close())
		require.Contains(t, told.told(), "closed, 1 tools: the server is closed\n")
		require.NoError(t, s.Close())
		require.Empty(t, told.told(), "it was closed already")
	})
}

// A connection that has lasted for half a minute makes up for earlier failures.
func TestConnectionsThatLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFake(nil)
		f.tool("echo", echo)
		s := serve(t, f)
		tools := list(t, s, mcptoolset.Options[none]{})
		const s1 = time.Second
		for i, c := range []struct{ lasts, after time.Duration }{
			{30 * s1, s1 / 2}, {30*s1 - 1, s1}, {0, 2 * s1}, {30*s1 - 1, 3 * s1}, {30 * s1, s1 / 2}, {time.Hour, s1 / 2}, {s1, s1},
		} {
			time.Sleep(c.lasts)
			f.drop()
			synctest.Wait()
			time.Sleep(max(0, map[bool]time.Duration{true: s1}[c.after == 3*s1])) // four seconds are too far away for a call
			began := time.Now()
			_, err := tools[0].Call(t.Context(), &toolset.RunContext[none]{}, jsonOf(`{}`))
			require.NoError(t, err, i)
			require.Equal(t, c.after, time.Since(began), i)
		}
	})
}

// Runs wait ten seconds for a server that connects for the first time, or as long as they are told,
// and go on without its tools. Runs that require them end. An attempt takes thirty seconds at most.
func TestRunsWaitForServers(t *testing.T) {
	const s1 = time.Second
	const late = `mcptoolset: server "s": the server is not available: not connected yet`
	for name, c := range map[string]struct {
		takes    time.Duration // until it is connected
		wait     time.Duration
		required bool
		tools    int
		after    time.Duration
		err      string
	}{
		"at once":               {0, 0, false, 1, 0, ""},
		"in time":               {10*s1 - 1, 0, false, 1, 10*s1 - 1, ""},
		"too late":              {10*s1 + 1, 0, false, 0, 10 * s1, ""},
		"required, in time":     {10*s1 - 1, 0, true, 1, 10*s1 - 1, ""},
		"required, too late":    {10*s1 + 1, 0, true, 0, 10 * s1, late},
		"never waits":           {s1, -1, false, 0, 0, ""},
		"never waits, required": {s1, -1, true, 0, 0, late},
		"waits longer":          {20 * s1, 25 * s1, false, 1, 20 * s1, ""},
		"waits for an attempt":  {time.Hour, time.Hour, false, 0, 30 * s1, ""},
		"an attempt, required":  {time.Hour, time.Hour, true, 0, 30 * s1, `mcptoolset: server "s": the server is not available: no connection within 30s`},
	} {
		bubble(t, func(t *testing.T) {
			f := newFake(nil)
			f.tool("echo", echo)
			s := serve(t, f, func(c2 *mcptoolset.Config) {
				c2.Wait = c.wait
				c2.Transport = mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
					select {
					case <-time.After(c.takes):
						return f.dial(ctx)
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				})
			})
			run := &toolset.RunContext[none]{}
			instance, err := mcptoolset.Tools(s, mcptoolset.Options[none]{Required: c.required}).Open(t.Context(), run)
			require.NoError(t, err)
			began := time.Now()
			l, err := instance.Tools(t.Context(), run)
			require.Equal(t, c.after, time.Since(began), name)
			require.Len(t, l.Tools, c.tools, name)
			if c.err != "" {
				require.EqualError(t, err, c.err, name)
				require.ErrorIs(t, err, mcptoolset.ErrUnavailable, name)
			} else {
				require.NoError(t, err, name)
			}
			began = time.Now()
			_, _ = instance.Tools(t.Context(), run)
			if c.err == "" {
				require.Zero(t, time.Since(began), "a run waits once")
			}
		})
	}
	bubble(t, func(t *testing.T) {
		s := serve(t, newFake(nil), func(c *mcptoolset.Config) {
			c.ConnectTimeout = 7 * s1
			c.Transport = mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
		})
		because := errors.New("because")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(s1, func() { cancel(because) })
		tools := func(ctx context.Context, required bool) (time.Duration, error) {
			run := &toolset.RunContext[none]{}
			instance, err := mcptoolset.Tools(s, mcptoolset.Options[none]{Required: required}).Open(ctx, run)
			require.NoError(t, err)
			began := time.Now()
			_, err = instance.Tools(ctx, run)
			return time.Since(began), err
		}
		after, err := tools(ctx, false)
		require.ErrorIs(t, err, because)
		require.EqualError(t, err, `mcptoolset: server "s": because`)
		require.Equal(t, s1, after)
		require.Equal(t, mcptoolset.StateConnecting, s.Status().State)
		time.Sleep(6 * s1)
		synctest.Wait()
		require.EqualError(t, s.Status().Err, "no connection within 7s")
		require.Equal(t, mcptoolset.StateFailed, s.Status().State)
		after, err = tools(t.Context(), false)
		require.NoError(t, err)
		require.Zero(t, after, "a server that has failed is not waited for")
		after, err = tools(t.Context(), true)
		require.EqualError(t, err, `mcptoolset: server "s": the server is not available: no connection within 7s`)
		require.Equal(t, 7*s1+s1/2, after, "unless it is required")
		require.NoError(t, s.Close())
		_, err = mcptoolset.Tools(s, mcptoolset.Options[none]{}).Open(t.Context(), &toolset.RunContext[none]{})
		require.ErrorIs(t, err, mcptoolset.ErrClosed)
		require.EqualError(t, err, `mcptoolset: server "s": the server is closed`)
	})
}

// waiting is an HTTP transport whose requests end with their context.
type waiting struct{}

func (waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// nobody signs in.
type nobody struct{}

func (nobody) RedirectURL() string { return "http://localhost:1/callback" }

func (nobody) Authorize(context.Context, string) (mcptoolset.Authorization, error) {
	return mcptoolset.Authorization{}, errors.New("nobody")
}

// A server where a user may have to sign in has five minutes, if it is given less.
func TestUsersHaveTimeToSignIn(t *testing.T) {
	oauth := &mcptoolset.OAuth{SignIn: nobody{}}
	for _, c := range []struct {
		oauth *mcptoolset.OAuth
		given time.Duration
		want  string
	}{{nil, 0, "30s"}, {oauth, 0, "5m0s"}, {oauth, time.Hour, "1h0m0s"}} {
		bubble(t, func(t *testing.T) {
			s := serve(t, newFake(nil), func(config *mcptoolset.Config) {
				config.ConnectTimeout = c.given
				config.Transport = mcptoolset.HTTP{URL: "https://a.test", OAuth: c.oauth, Client: &http.Client{Transport: waiting{}}}
			})
			s.Connect()
			began := time.Now()
			for s.Status().State == mcptoolset.StateConnecting {
				time.Sleep(time.Second)
				synctest.Wait()
			}
			require.Contains(t, s.Status().Err.Error(), "no connection within "+c.want)
			limit, _ := time.ParseDuration(c.want)
			require.Equal(t, limit, time.Since(began))
		})
	}
}

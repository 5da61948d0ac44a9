// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func TestNegativeNumbersAreRefused(t *testing.T) {
	limits := reflect.TypeFor[mcptoolset.Limits]()
	for i := range limits.NumField() {
		c := mcptoolset.Config{Name: "files", Transport: mcptoolset.Command{Path: "x"}}
		reflect.ValueOf(&c.Limits).Elem().Field(i).SetInt(-1)
		_, err := mcptoolset.New(c)
		require.ErrorContains(t, err, `server "files": Limits.`+limits.Field(i).Name+" must not be negative")
	}
	_, err := mcptoolset.New(mcptoolset.Config{Name: "files", Transport: mcptoolset.Command{Path: "x", Grace: -1}})
	require.ErrorContains(t, err, "Grace must not be negative")
	_, err = mcptoolset.Export(t.Context(), toolset.Of[none](), mcptoolset.ExportConfig[none]{Name: "x", Timeout: -1})
	require.ErrorContains(t, err, "Timeout must not be negative")
}

func TestServerConnectsWhenItIsNeeded(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f)
	require.Equal(t, mcptoolset.StateIdle, s.Status().State)
	require.Zero(t, f.dials)
	list(t, s, mcptoolset.Options[none]{})
	require.Equal(t, 1, f.dials)

	eager := serve(t, f, func(c *mcptoolset.Config) { c.Eager = true })
	require.Eventually(t, func() bool { return eager.Status().State == mcptoolset.StateReady }, patience, tick)
}

func TestLostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f)
	before := list(t, s, mcptoolset.Options[none]{})
	f.drop()
	require.Eventually(t, func() bool { return s.Status().State == mcptoolset.StateFailed }, patience, tick)
	require.ErrorContains(t, s.Status().Err, "closed the connection")
	set := mcptoolset.Tools(s, mcptoolset.Options[none]{})
	require.Len(t, list(t, s, mcptoolset.Options[none]{}), len(before), "known tools stay on offer")
	res, err := call(t, s, nil, "r", "s_echo", `{}`)
	require.NoError(t, err, "the call waits for the new connection")
	require.Equal(t, "{}", res.Text)
	require.Equal(t, 2, f.dials)

	// The tools of a run are the same slice before and after.
	instance, err := set.Open(t.Context(), &toolset.RunContext[none]{})
	require.NoError(t, err)
	one, err := instance.Tools(t.Context(), nil)
	require.NoError(t, err)
	f.drop()
	require.Eventually(t, func() bool { return s.Status().State == mcptoolset.StateFailed }, patience, tick)
	s.Connect()
	require.Eventually(t, func() bool { return s.Status().State == mcptoolset.StateReady }, patience, tick)
	two, err := instance.Tools(t.Context(), nil)
	require.NoError(t, err)
	require.Same(t, one.Tools[0], two.Tools[0])
}

func TestAttemptsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials []time.Time
		s, err := mcptoolset.New(mcptoolset.Config{Name: "s", Transport: mcptoolset.Func(func(context.Context) (mcp.Transport, error) {
			dials = append(dials, time.Now())
			return nil, errors.New("no network")
		})})
		require.NoError(t, err)
		for range 1000 { // 100 s
			s.Connect()
			time.Sleep(100 * time.Millisecond)
		}
		require.NoError(t, s.Close())
		var gaps []time.Duration
		for i := 1; i < len(dials); i++ {
			gaps = append(gaps, dials[i].Sub(dials[i-1]).Round(500*time.Millisecond))
		}
		const s1 = time.Second
		require.Equal(t, []time.Duration{s1 / 2, s1, 2 * s1, 4 * s1, 8 * s1, 16 * s1, 30 * s1, 30 * s1}, gaps)
	})
}

func TestServerThatComesBackServesTheRunningRun(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	f.tool("echo", echo)
	f.refuse = errors.New("no network")
	s := serve(t, f)
	instance, err := mcptoolset.Tools(s, mcptoolset.Options[none]{}).Open(t.Context(), &toolset.RunContext[none]{})
	require.NoError(t, err)
	l, err := instance.Tools(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, l.Tools)
	require.ErrorContains(t, s.Status().Err, "no network")
	f.mu.Lock()
	f.refuse = nil
	f.mu.Unlock()
	require.Eventually(t, func() bool {
		l, err := instance.Tools(t.Context(), nil) // as each step does
		require.NoError(t, err)
		return len(l.Tools) == 1
	}, patience, tick)
	require.NoError(t, instance.Close(t.Context()))
}

func TestListChangeIsSeenInTheNextStep(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f)
	instance, err := mcptoolset.Tools(s, mcptoolset.Options[none]{}).Open(t.Context(), &toolset.RunContext[none]{})
	require.NoError(t, err)
	step, err := instance.Tools(t.Context(), nil)
	require.NoError(t, err)
	f.tool("new", echo)
	require.Eventually(t, func() bool {
		next, err := instance.Tools(t.Context(), nil)
		require.NoError(t, err)
		return len(next.Tools) == 2
	}, patience, tick)
	require.Equal(t, []string{"s_echo"}, names(step.Tools), "the step before keeps its tools")
	res, err := step.Tools[0].Call(t.Context(), &toolset.RunContext[none]{}, jsonOf(`{}`))
	require.NoError(t, err, "and they can be called")
	require.Equal(t, "{}", res.Text)
}

func TestRemovedToolIsNotCalled(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	f.tool("other", echo)
	s := serve(t, f)
	step := list(t, s, mcptoolset.Options[none]{})
	f.RemoveTools("echo")
	require.Eventually(t, func() bool { return len(list(t, s, mcptoolset.Options[none]{})) == 1 }, patience, tick)
	res, err := step[0].Call(t.Context(), &toolset.RunContext[none]{}, jsonOf(`{}`))
	require.Contains(t, failed(t, res, err), "has changed or removed this tool")
	require.Zero(t, f.count("tools/call"))
}

func TestClosedServerFailsRunsClearly(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	s := serve(t, f)
	tools := list(t, s, mcptoolset.Options[none]{})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Equal(t, mcptoolset.StateClosed, s.Status().State)
	_, err := mcptoolset.Tools(s, mcptoolset.Options[none]{}).Open(t.Context(), &toolset.RunContext[none]{})
	require.ErrorIs(t, err, mcptoolset.ErrClosed)
	res, err := tools[0].Call(t.Context(), &toolset.RunContext[none]{}, jsonOf(`{}`))
	require.Contains(t, failed(t, res, err), "the server is closed")
}

func TestCloseEndsCallsInProgress(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	waiting, cancelled := make(chan struct{}), make(chan struct{})
	f.tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(waiting)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	s := serve(t, f)
	type outcome struct {
		res toolset.Result
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := callIn(t.Context(), s, nil, "r", "s_wait", `{}`)
		done <- outcome{res, err}
	}()
	<-waiting
	require.NoError(t, s.Close())
	o := <-done
	require.Contains(t, failed(t, o.res, o.err), "was lost during this call")
	<-cancelled
}

func TestCancellationReachesTheServer(t *testing.T) {
	f := newFake(nil)
	waiting, cancelled := make(chan struct{}), make(chan struct{})
	f.tool("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(waiting)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	})
	s := serve(t, f)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-waiting
		cancel(errors.New("stop"))
	}()
	_, err := callIn(ctx, s, nil, "r", "s_wait", `{}`)
	require.ErrorContains(t, err, "stop")
	<-cancelled
}

func TestConfigIsChecked(t *testing.T) {
	at := func(to mcptoolset.Transport) mcptoolset.Config { return mcptoolset.Config{Name: "a", Transport: to} }
	for _, c := range []struct {
		config mcptoolset.Config
		want   string
	}{
		{mcptoolset.Config{Name: "a b", Transport: mcptoolset.Command{Path: "x"}}, `Name "a b" must have`},
		{mcptoolset.Config{Name: "a"}, "Transport is nil"},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Command{}}, "the command has no Path"},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Command{Path: "x", Env: []string{"secret"}}}, `entry without "NAME="`},
		{at(mcptoolset.HTTP{URL: "https://h.test", Headers: map[string]string{"A": "b", "C": "secret\n"}}),
			`the header "C" is not valid; does`},
		{at(mcptoolset.SSE{URL: "https://h.test", Headers: map[string]string{"A B": "c"}}),
			`the header "A B" is not valid; does`},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Func(nil)}, "function is nil"},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Command{Path: "x"}, CallTimeout: -1}, "must not be negative"},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Command{Path: "x"}, ProtocolVersion: "1"}, `ProtocolVersion "1"`},
		{mcptoolset.Config{Name: "a", Transport: mcptoolset.Command{Path: "x"}, Sampling: "maybe"}, `Sampling "maybe"`},
	} {
		_, err := mcptoolset.New(c.config)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "secret")
	}
	require.Panics(t, func() { mcptoolset.Must(mcptoolset.New(mcptoolset.Config{})) })
	_, err := mcptoolset.Tools(nil, mcptoolset.Options[none]{}).Open(t.Context(), nil)
	require.ErrorContains(t, err, "the server is nil")
}

func TestOnChangeReportsStates(t *testing.T) {
	f := newFake(nil)
	f.tool("echo", echo)
	states := make(chan mcptoolset.State, 100)
	s := serve(t, f, func(c *mcptoolset.Config) { c.OnChange = func(st mcptoolset.Status) { states <- st.State } })
	list(t, s, mcptoolset.Options[none]{})
	require.Equal(t, mcptoolset.StateReady, <-states)
	require.NoError(t, s.Close())
	require.Equal(t, mcptoolset.StateClosed, <-states)
}

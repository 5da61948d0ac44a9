// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// stubborn makes a tool that ignores its ctx until release is closed.
func stubborn(called chan<- struct{}, release <-chan struct{}) *toolset.Tool[bare] {
	return tool("stubborn", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		called <- struct{}{}
		<-release
		return "at last", nil
	})
}

func callsOnce(name string) model.Model {
	return modeltest.Script(modeltest.Say(model.ToolCall("1", name, "{}")), modeltest.SayText("done"))
}

func TestServeReturnsNilWhenTheClientEndsItsSide(t *testing.T) {
	e, _ := start(t, config(t, echo()))
	require.NoError(t, e.stop())
}

func TestTheEndOfTheInputEndsRunningTools(t *testing.T) {
	called := make(chan struct{}, 2)
	ended := make(chan error, 2)
	wait := tool("wait", func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		called <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	})
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "wait", "{}"), model.ToolCall("2", "wait", "{}")))
	e, id := start(t, config(t, m, wait))
	e.sendPrompt(id, "go")
	<-called
	<-called
	require.NoError(t, e.stop())
	require.Len(t, ended, 2)
	assert.Error(t, <-ended)
}

func TestATurnThatEndsWithItsClientHasNotFailed(t *testing.T) {
	for name, end := range map[string]func(*editor){
		"at the end of the input": func(e *editor) { require.NoError(t, e.stop()) },
		"when serving is over":    func(e *editor) { e.cancel(); require.ErrorIs(t, e.result(), context.Canceled) },
	} {
		t.Run(name, func(t *testing.T) {
			called := make(chan struct{}, 1)
			var log logBuffer
			c := config(t, callsOnce("wait"), waits("wait", called))
			c.Host.Logger = log.logger()
			e, id := start(t, c)
			e.sendPrompt(id, "go")
			<-called
			end(e)
			assert.NotContains(t, log.String(), "a turn has failed")
		})
	}
}

func TestServeReturnsTheCauseOfItsContext(t *testing.T) {
	called := make(chan struct{}, 1)
	e, id := start(t, config(t, callsOnce("wait"), waits("wait", called)))
	n := e.sendPrompt(id, "go")
	<-called
	e.cancel()
	require.ErrorIs(t, e.result(), context.Canceled)
	answer := e.answer(n)
	requireError(t, acp.CodeRequestCancelled, acpbridge.KindShutdown, answer)
	open := map[acp.ToolCallID]bool{}
	for _, u := range e.updates(id) {
		if u.ToolCall != nil {
			open[u.ToolCall.ToolCallID] = true
		}
		if u.ToolCallUpdate != nil && u.ToolCallUpdate.Status == acp.ToolCallStatusFailed {
			delete(open, u.ToolCallUpdate.ToolCallID)
		}
	}
	assert.Empty(t, open)
}

// A terminal is released by a call of the client, so the connection has to live until the turns have ended.
func TestToolsMayStillCallTheClientWhenServeEnds(t *testing.T) {
	called, released := make(chan struct{}, 1), make(chan error, 1)
	wait := tool("wait", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
		called <- struct{}{}
		<-ctx.Done()
		_, err := run.Deps.Client.ReleaseTerminal(context.WithoutCancel(ctx), &acp.ReleaseTerminalRequest{SessionID: run.Deps.Session.ID, TerminalID: "t"})
		released <- err
		return "", ctx.Err()
	})
	e, id := start(t, config(t, callsOnce("wait"), wait))
	e.sendPrompt(id, "go")
	<-called
	e.cancel()
	request := e.await(func(l wireLine) bool { return l.Method == acp.MethodReleaseTerminal })
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", request.ID))
	require.NoError(t, <-released)
	require.ErrorIs(t, e.result(), context.Canceled)
}

func TestAClientThatDoesNotAnswerCannotHoldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := make(chan struct{}, 1)
		wait := tool("wait", func(ctx context.Context, run *toolset.RunContext[bare]) (string, error) {
			called <- struct{}{}
			<-ctx.Done()
			_, err := run.Deps.Client.ReleaseTerminal(context.WithoutCancel(ctx), &acp.ReleaseTerminalRequest{SessionID: run.Deps.Session.ID, TerminalID: "t"})
			assert.ErrorIs(t, err, acp.ErrClosed)
			return "", ctx.Err()
		})
		e, id := start(t, config(t, callsOnce("wait"), wait))
		e.sendPrompt(id, "go")
		<-called
		begun := time.Now()
		e.cancel()
		require.Equal(t, context.Canceled, e.result(), "nothing is stuck")
		assert.Equal(t, time.Second, time.Since(begun), "half a second is left for what has to be released")
	})
}

func TestAToolThatIgnoresItsContextCannotHoldServe(t *testing.T) {
	for _, how := range []string{"end of input", "context"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				called, release := make(chan struct{}, 1), make(chan struct{})
				c := config(t, callsOnce("stubborn"), stubborn(called, release))
				e, id := start(t, c)
				e.sendPrompt(id, "go")
				<-called
				begun := time.Now()
				if how == "context" {
					e.cancel()
				} else {
					e.w.Close()
				}
				err := e.result()
				assert.Equal(t, 1500*time.Millisecond, time.Since(begun))
				var stuck *acpbridge.StuckError
				require.ErrorAs(t, err, &stuck)
				assert.Equal(t, []string{"stubborn"}, stuck.Tools)
				assert.ErrorContains(t, err, "these tools ignore their context: stubborn")
				assert.Equal(t, how == "context", errors.Is(err, context.Canceled))
				close(release)
			})
		})
	}
}

func TestStuckTurnKeepsItsDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, finish := make(chan struct{}, 1), make(chan struct{})
		released := make(chan struct{}, 1)
		c := config(t, callsOnce("stubborn"), stubborn(called, finish))
		c.Host.Release = func(_ context.Context, _ *host.Session, _ bare) error { released <- struct{}{}; return nil }
		e, id := start(t, c)
		e.sendPrompt(id, "go")
		<-called
		e.cancel()
		var stuck *acpbridge.StuckError
		require.ErrorAs(t, e.result(), &stuck)
		require.Empty(t, released, "the tool still uses them")
		close(finish)
	})
}

func TestStuckErrorNamesEachToolOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4
		called, finish := make(chan struct{}, n), make(chan struct{})
		hold := func(context.Context, *toolset.RunContext[bare]) (string, error) {
			called <- struct{}{}
			<-finish
			return "", nil
		}
		m := modeltest.Script(modeltest.Say(
			model.ToolCall("1", "write", "{}"), model.ToolCall("2", "build", "{}"), model.ToolCall("3", "write", "{}"), model.ToolCall("4", "ask", "{}")))
		e, id := start(t, config(t, m, tool("write", hold), tool("build", hold), tool("ask", hold)))
		e.sendPrompt(id, "go")
		for range n {
			<-called
		}
		e.cancel()
		var stuck *acpbridge.StuckError
		require.ErrorAs(t, e.result(), &stuck)
		require.Equal(t, []string{"ask", "build", "write"}, stuck.Tools)
		close(finish)
	})
}

func TestDepsThatIgnoreTheirContextCannotHoldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called, finish := make(chan struct{}), make(chan struct{})
		c := config(t, echo())
		c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
			close(called)
			<-finish
			return d, nil
		}
		e := serve(t, c)
		e.initialize(`{}`)
		e.send(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
		<-called
		e.cancel()
		err := e.result()
		var stuck *acpbridge.StuckError
		require.ErrorAs(t, err, &stuck)
		require.Empty(t, stuck.Tools)
		require.ErrorContains(t, err, "something ignores its context")
		require.ErrorIs(t, err, context.Canceled)
		close(finish)
	})
}

// brokenWriter fails as a disk does, and not as a pipe.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestABrokenOutputEndsServe(t *testing.T) {
	for name, test := range map[string]struct{ write, want error }{
		"a client that is gone is no error": {io.ErrClosedPipe, nil},
		"anything else is":                  {io.ErrShortWrite, io.ErrShortWrite},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(t, echo())
			in, w := acp.Pipe()
			c.In, c.Out = in, brokenWriter{test.write}
			served := make(chan error, 1)
			go func() { served <- acpbridge.Serve(t.Context(), c) }()
			_, err := io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`+"\n")
			require.NoError(t, err)
			require.ErrorIs(t, <-served, test.want)
		})
	}
}

func TestACancelledTurnEndsThoughTheClientHasStoppedReading(t *testing.T) {
	for _, c := range []struct {
		options acpbridge.Options
		want    time.Duration // a quarter of a second for the turn, and a sixth of the shutdown for the rest
	}{
		{acpbridge.Options{}, 500 * time.Millisecond},
		{acpbridge.Options{ShutdownTimeout: 600 * time.Millisecond}, 350 * time.Millisecond},
		{acpbridge.Options{Conn: acp.ConnOptions{FlushTimeout: 1}}, 250*time.Millisecond + 1},
		{acpbridge.Options{ShutdownTimeout: 1}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			cancelled := make(chan error, 1)
			m := model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
				for {
					if err := sink(model.Delta{Kind: model.PartText, Text: strings.Repeat("x", 10_000)}); err != nil {
						return nil, err
					}
					if err := context.Cause(ctx); err != nil {
						cancelled <- err
						return nil, err
					}
				}
			})
			config := config(t, m)
			config.Options = c.options
			e := connect(t, config)
			_, initialize := e.request(acp.MethodInitialize, `{"protocolVersion":1}`)
			_, session := e.request(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
			e.write(initialize, session)
			id := readSession(t, e.r)
			e.sendPrompt(id, "go")
			synctest.Wait() // all queues are full
			e.write(cancelLine(id))
			assert.ErrorIs(t, <-cancelled, acp.ErrTurnCancelled)
			begun := time.Now()
			e.cancel()
			require.ErrorIs(t, e.result(), context.Canceled)
			assert.Equal(t, c.want, time.Since(begun))
		})
	}
}

// readSession reads up to the answer to session/new without reading on.
func readSession(t *testing.T, r io.Reader) acp.SessionID {
	t.Helper()
	var line []byte
	for n := 0; ; {
		var b [1]byte
		_, err := r.Read(b[:])
		require.NoError(t, err)
		if b[0] != '\n' {
			line = append(line, b[0])
			continue
		}
		if n++; n == 2 {
			break
		}
		line = line[:0]
	}
	var answer struct{ Result acp.NewSessionResponse }
	require.NoError(t, json.Unmarshal(line, &answer))
	return answer.Result.SessionID
}

func TestNothingIsLostOnASlowClientAndMemoryIsBounded(t *testing.T) {
	updates := 100_000
	if testing.Short() {
		updates = 20_000
	}
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for i := range updates {
			if err := sink(model.Delta{Kind: model.PartText, Text: fmt.Sprintf("%d,", i)}); err != nil {
				return nil, err
			}
		}
		return model.Response(model.Text("done")), nil
	})
	e := connect(t, config(t, m))
	_, initialize := e.request(acp.MethodInitialize, `{"protocolVersion":1}`)
	_, session := e.request(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
	e.write(initialize, session)
	id := readSession(t, e.r)
	n := e.sendPrompt(id, "go")

	var before, after runtime.MemStats
	time.Sleep(50 * time.Millisecond) // the queues fill up
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peak uint64
	chunks := 0
	lines := bufio.NewScanner(slowReader{e.r})
	lines.Buffer(make([]byte, 16<<10), 1<<20)
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}`, n)
	for lines.Scan() && lines.Text() != answer {
		if want := fmt.Sprintf(`"text":"%d,"`, chunks); !bytes.Contains(lines.Bytes(), []byte(want)) {
			require.Contains(t, lines.Text(), want)
		}
		if chunks++; chunks%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			peak = max(peak, after.HeapAlloc)
		}
	}
	require.NoError(t, lines.Err())
	assert.Equal(t, answer, lines.Text())
	assert.Equal(t, updates, chunks)
	t.Logf("%d updates, at most %d KiB more than before", chunks, (int64(peak)-int64(before.HeapAlloc))>>10)
	assert.Less(t, int64(peak)-int64(before.HeapAlloc), int64(4<<20), "the queue is bounded")
}

// slowReader reads in small bites, now and then with a pause.
type slowReader struct{ r io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return s.r.Read(p[:min(len(p), 16<<10)])
}

func TestSessionsRunInParallelAndKnowNothingOfEachOther(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := tool("meet", func(context.Context, *toolset.RunContext[bare]) (string, error) {
		both.Done()
		both.Wait() // only if both sessions are here
		return "met", nil
	})
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if req.Messages[len(req.Messages)-1].Parts[0].Kind == model.PartUser {
			return model.Response(model.ToolCall("1", "meet", "{}")), nil
		}
		return model.Response(model.Text(said(req))), nil
	})
	e, first := start(t, config(t, m, meet))
	second := e.newSession()
	_, line1 := e.promptLine(first, "one")
	_, line2 := e.promptLine(second, "two")
	e.write(line1, line2)
	e.await(func(l wireLine) bool { return l.Is(4) })
	e.await(func(l wireLine) bool { return l.Is(5) })
	assert.Equal(t, "one", e.text(first))
	assert.Equal(t, "two", e.text(second))
}

func TestCloseCancelsTheSessionsWorkAndForgetsIt(t *testing.T) {
	called := make(chan struct{}, 1)
	released := make(chan acp.SessionID, 2)
	c := config(t, callsOnce("wait"), waits("wait", called))
	c.Host.Release = func(_ context.Context, _ *host.Session, d bare) error { released <- d.Session.ID; return nil }
	e, id := start(t, c)
	other := e.newSession()
	n := e.sendPrompt(id, "go")
	<-called
	closing := e.send(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id))
	assert.JSONEq(t, `{}`, string(e.answer(closing).Result))
	assert.Equal(t, id, <-released)
	requireStop(t, acp.StopReasonCancelled, e.answer(n))
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.prompt(id, "go"))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(other, "go"))
	require.NoError(t, e.stop())
	assert.Equal(t, other, <-released)
	assert.Empty(t, released)
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		called, release := make(chan struct{}, 1), make(chan struct{})
		c := config(t, callsOnce("stubborn"), stubborn(called, release))
		c.Host.Logger = log.logger()
		e, id := start(t, c)
		n := e.sendPrompt(id, "go")
		<-called
		assert.Nil(t, e.call(acp.MethodCloseSession, fmt.Sprintf(`{"sessionId":%q}`, id)).Error)
		assert.Contains(t, log.String(), "something ignores its context")
		close(release)
		requireStop(t, acp.StopReasonCancelled, e.answer(n))
	})
}

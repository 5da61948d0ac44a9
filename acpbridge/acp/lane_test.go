// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestRequestsOfOneSessionAreHandledInTheOrderOfTheWire(t *testing.T) {
	const n = 2000
	var got []string
	p := initializedAgent(t, &fakeAgent{setMode: func(_ context.Context, p *acp.SetSessionModeRequest) error {
		got = append(got, string(p.ModeID)) // the lane makes this safe
		return nil
	}}, nil)
	var lines, want []string
	for i := range n {
		lines = append(lines, modeLine(i, "s", fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	go p.send(lines...)
	for i := range n {
		p.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i))
	}
	assert.Equal(t, want, got)
}

func TestAPromptRegistersItsTurnBeforeTheNextMessageIsHandled(t *testing.T) {
	const n = 2000
	var active atomic.Int64
	var wrong atomic.Int64
	p := initializedAgent(t, &fakeAgent{
		prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			active.Add(1)
			acp.Async(ctx)
			<-ctx.Done()
			return nil, ctx.Err()
		},
		setMode: func(context.Context, *acp.SetSessionModeRequest) error {
			if active.Load() == 0 {
				wrong.Add(1)
			}
			return nil
		},
	}, nil)
	for i := range n {
		active.Store(0)
		p.send(promptLine(2*i, "s"), modeLine(2*i+1, "s", "m"))
		p.line() // the mode's answer: the prompt goes on
		p.send(cancelLine("s"))
		p.line()
	}
	assert.Zero(t, wrong.Load())
}

func TestSessionsDoNotWaitForEachOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			time.Sleep(time.Second)
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}}, nil)
		start := time.Now()
		for i := range 100 {
			p.send(promptLine(i, fmt.Sprint("s", i)))
		}
		for range 100 {
			require.Contains(t, p.line(), "end_turn")
		}
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestWithoutAsyncLaterMessagesOfTheSessionQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
			time.Sleep(time.Second)
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}}, nil)
		p.send(promptLine(1, "s"), modeLine(2, "s", "m"))
		assert.Contains(t, p.line(), `"id":1,`)
		assert.Contains(t, p.line(), `"id":2,`)
	})
}

func TestAsyncReleasesTheLane(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			acp.Async(ctx)
			acp.Async(ctx) // twice is once
			time.Sleep(time.Second)
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}}, nil)
		p.send(promptLine(1, "s"), modeLine(2, "s", "m"), modeLine(3, "s", "m"))
		assert.Contains(t, p.line(), `"id":2,`)
		assert.Contains(t, p.line(), `"id":3,`)
		assert.Contains(t, p.line(), `"id":1,`)
	})
}

func TestAsyncAfterTheHandlerHasReturnedDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var old context.Context
		running := 0
		p := initializedAgent(t, &fakeAgent{setMode: func(ctx context.Context, _ *acp.SetSessionModeRequest) error {
			if old == nil {
				old = ctx
				return nil
			}
			running++
			assert.Equal(t, 1, running)
			acp.Async(old)
			time.Sleep(time.Second)
			running--
			return nil
		}}, nil)
		p.send(modeLine(1, "s", "a"), modeLine(2, "s", "b"), modeLine(3, "s", "c"))
		for range 3 {
			p.line()
		}
	})
	acp.Async(t.Context()) // no handler's ctx
}

func TestMessagesWithoutASessionShareOneLane(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		p := initializedAgent(t, &fakeAgent{list: func(context.Context) error {
			if assert.True(t, mu.TryLock()) {
				defer mu.Unlock()
			}
			time.Sleep(time.Second)
			return nil
		}}, nil)
		for i := range 5 {
			p.send(request(i, "session/list", "{}"))
		}
		for i := range 5 {
			p.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"sessions":[]}}`, i))
		}
	})
}

func TestIdleLanesCostNothing(t *testing.T) {
	p := initializedAgent(t, &fakeAgent{}, nil)
	before := runtime.NumGoroutine()
	for i := range 1000 {
		p.send(modeLine(i, fmt.Sprint("session ", i), "m"))
		p.line()
	}
	assert.True(t, settled(before), "lanes of idle sessions have goroutines")
}

func TestABacklogBeyondItsBoundRefusesRequestsAndHoldsNotificationsUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		block := make(chan struct{})
		handled := 0
		opts := &acp.ConnOptions{
			MaxBacklog: 4 << 10,
			ExtNotification: func(context.Context, string, json.RawMessage) error {
				handled++
				<-block
				return nil
			},
		}
		p := initializedAgent(t, &fakeAgent{}, opts)
		const n = 200
		written := make(chan struct{})
		go func() {
			defer close(written)
			for range n {
				p.send(notification("_slow", fmt.Sprintf(`{"sessionId":"s","pad":%q}`, strings.Repeat("x", 1<<10))))
			}
		}()
		synctest.Wait()
		select {
		case <-written:
			t.Error("the reader took everything in")
		default:
		}
		assert.Equal(t, 1, handled)
		close(block)
		<-written
		synctest.Wait()
		assert.Equal(t, n, handled)
	})
	bubble(t, func(t *testing.T) {
		block := make(chan struct{})
		p := initializedAgent(t, &fakeAgent{setMode: func(context.Context, *acp.SetSessionModeRequest) error {
			<-block
			return nil
		}}, &acp.ConnOptions{MaxBacklog: 1 << 10})
		for i := range 30 {
			p.send(modeLine(i, "s", "m"))
		}
		assert.Contains(t, p.line(), "too many requests")
		close(block)
	})
}

func TestAHandlerThatCallsThePeerGetsItsAnswerWhateverTheBacklog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		updates := 0
		var agent fakeAgent
		var client *acp.ClientConn
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return &agent },
			func(conn *acp.ClientConn) acp.Client {
				client = conn
				return &fakeClient{update: func(ctx context.Context, _ *acp.SessionNotification) error {
					if updates++; updates == 1 {
						_, err := client.ListSessions(ctx, &acp.ListSessionsRequest{})
						return err
					}
					return nil
				}}
			},
			nil, &acp.ConnOptions{MaxBacklog: 1 << 10})
		serveBoth(t, a, c)
		_, err := client.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
		require.NoError(t, err)
		for range 1000 {
			require.NoError(t, agent.conn.SessionUpdate(t.Context(), text("x")))
		}
		synctest.Wait()
		assert.Equal(t, 1000, updates)
	})
}

// A handler that holds its lane and waits for the peer must not keep the reader from the answer. Once it has the answer, the
// backlog is bounded again.
func TestBacklogIsBoundedAgainAfterAHandlersCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		block := make(chan struct{})
		handled := 0
		agent := &fakeAgent{}
		p := initializedAgent(t, agent, &acp.ConnOptions{
			MaxBacklog: 4 << 10,
			ExtNotification: func(ctx context.Context, _ string, _ json.RawMessage) error {
				if handled++; handled == 1 {
					_, err := agent.conn.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
					assert.NoError(t, err)
				}
				<-block
				return nil
			},
		})
		p.send(notification("_slow", `{"sessionId":"s"}`))
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":""}}`, p.next().ID))
		synctest.Wait()
		const n = 200
		written := make(chan struct{})
		go func() {
			defer close(written)
			for range n {
				p.send(notification("_slow", fmt.Sprintf(`{"sessionId":"s","pad":%q}`, strings.Repeat("x", 1<<10))))
			}
		}()
		synctest.Wait()
		select {
		case <-written:
			t.Error("the reader took everything in")
		default:
		}
		close(block)
		<-written
		synctest.Wait()
		require.Equal(t, n+1, handled)
	})
}

func TestHandlersCallFreesAReaderThatWaitsForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		full := make(chan struct{})
		handled := 0
		agent := &fakeAgent{}
		p := initializedAgent(t, agent, &acp.ConnOptions{
			MaxBacklog: 4 << 10,
			ExtNotification: func(ctx context.Context, _ string, _ json.RawMessage) error {
				if handled++; handled > 1 {
					return nil
				}
				<-full
				_, err := agent.conn.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
				assert.NoError(t, err)
				return nil
			},
		})
		const n = 200
		go func() {
			for range n {
				p.send(notification("_slow", fmt.Sprintf(`{"sessionId":"s","pad":%q}`, strings.Repeat("x", 1<<10))))
			}
			p.send(`{"jsonrpc":"2.0","id":1,"result":{"content":""}}`) // the call's id is the first one
		}()
		synctest.Wait()
		close(full)
		require.Equal(t, "1", string(p.next().ID))
		synctest.Wait()
		require.Equal(t, n, handled)
	})
}

func TestPromptOfAnAsyncHandlerEndsAfterItsUpdates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 3
		agent := &fakeAgent{}
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			for range n {
				if err := agent.conn.SessionUpdate(ctx, text("x")); err != nil {
					return nil, err
				}
			}
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}
		var client *acp.ClientConn
		updates := 0
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent },
			func(conn *acp.ClientConn) acp.Client {
				client = conn
				return &fakeClient{
					update: func(context.Context, *acp.SessionNotification) error {
						time.Sleep(time.Second)
						updates++
						return nil
					},
					readFile: func(ctx context.Context, _ *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
						acp.Async(ctx)
						_, err := client.Prompt(ctx, &acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{}})
						assert.Equal(t, n, updates)
						return &acp.ReadTextFileResponse{}, err
					},
				}
			}, nil, nil)
		serveBoth(t, a, c)
		_, err := client.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: acp.Version})
		require.NoError(t, err)
		_, err = a.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
		require.NoError(t, err)
	})
}

// serveBoth serves the ends of a pair until the test ends.
func serveBoth(t testing.TB, a *acp.AgentConn, c *acp.ClientConn) {
	ctx := context.WithoutCancel(t.Context())
	go a.Serve(ctx) //nolint:errcheck // the end is the test's
	go c.Serve(ctx) //nolint:errcheck
	t.Cleanup(func() {
		c.Close()
		a.Close()
		<-c.Done()
		<-a.Done()
	})
}

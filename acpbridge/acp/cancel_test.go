// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// A cancel in the same packet as its prompt is the case that loses turns when a turn is registered by its handler.
func TestACancelWrittenWithItsPromptIsNeverLost(t *testing.T) {
	const n = 2000
	agent := &fakeAgent{}
	agent.prompt = func(ctx context.Context, p *acp.PromptRequest) (*acp.PromptResponse, error) {
		acp.Async(ctx)
		for {
			err := agent.conn.SessionUpdate(ctx, &acp.SessionNotification{SessionID: p.SessionID, Update: acp.TextChunk("x")})
			if err != nil {
				return nil, err
			}
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(time.Minute):
				return nil, errors.New("the cancel was lost")
			default:
			}
		}
	}
	p := initializedAgent(t, agent, nil)
	go func() {
		for i := range n {
			session := fmt.Sprint("s", i)
			p.send(promptLine(i, session), cancelLine(session))
		}
	}()
	answered := map[string]bool{}
	for len(answered) < n {
		m := p.next()
		if m.Method != "" {
			session := strings.SplitN(string(m.Params), `"`, 5)[3]
			require.False(t, answered[session], "an update behind the answer of %s", session)
			continue
		}
		require.JSONEq(t, `{"stopReason":"cancelled"}`, string(m.Result))
		answered["s"+string(m.ID)] = true
	}
}

func TestACancelReachesAPromptThatIsStillQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var started atomic.Int64
		release := make(chan struct{})
		p := initializedAgent(t, &fakeAgent{prompt: func(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
			started.Add(1)
			<-release // whatever its ctx says
			return nil, errors.New("interrupted")
		}}, nil)
		p.send(promptLine(1, "s"), promptLine(2, "s"), promptLine(3, "other"))
		synctest.Wait()
		p.send(cancelLine("s"))
		synctest.Wait()
		close(release)
		got := map[string]string{}
		for range 3 {
			m := p.next()
			got[string(m.ID)] = string(m.Result)
		}
		assert.Equal(t, map[string]string{"1": `{"stopReason":"cancelled"}`, "2": `{"stopReason":"cancelled"}`, "3": ""}, got)
		assert.EqualValues(t, 2, started.Load(), "the queued prompt must not be started")
	})
}

// The turn before may still send updates. They must not arrive after the answer to a later prompt.
func TestQueuedPromptThatIsCancelledIsAnsweredInItsTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		cancelled, finish := make(chan struct{}), make(chan struct{})
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			<-cancelled
			acp.Async(ctx) // from here on the next prompt may be handled
			<-finish
			require.NoError(t, agent.conn.SessionUpdate(ctx, text("last words")))
			return nil, context.Cause(ctx)
		}
		p := initializedAgent(t, agent, nil)
		p.send(promptLine(1, "s"), promptLine(2, "s"))
		synctest.Wait()
		p.send(cancelLine("s"))
		synctest.Wait()
		close(cancelled)
		synctest.Wait()
		close(finish)
		assert.Contains(t, p.line(), "last words")
		p.expect(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`, `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}`)
	})
}

func TestACancelledTurnIsAnsweredCancelledWhateverErrorItsHandlerReturns(t *testing.T) {
	failures := map[string]func(ctx context.Context) error{
		"ctx's error":      func(ctx context.Context) error { return ctx.Err() },
		"ctx's cause":      context.Cause,
		"an error":         func(context.Context) error { return errors.New("boom") },
		"a protocol error": func(context.Context) error { return acp.ErrAuthRequired },
		"a panic":          func(context.Context) error { panic("boom") },
	}
	for name, fail := range failures {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := initializedAgent(t, &fakeAgent{
					prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
						acp.Async(ctx)
						<-ctx.Done()
						assert.ErrorIs(t, context.Cause(ctx), acp.ErrTurnCancelled)
						assert.ErrorIs(t, context.Cause(ctx), context.Canceled)
						return nil, fail(ctx)
					}}, nil)
				p.send(promptLine(1, "s"))
				synctest.Wait()
				p.send(cancelLine("s"))
				p.expect(`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`)
			})
		})
	}
}

func TestAgentCancelIsCalledInLaneOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []string
		p := initializedAgent(t, &fakeAgent{
			prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
				calls = append(calls, "prompt")
				<-ctx.Done()
				return nil, ctx.Err()
			},
			setMode: func(context.Context, *acp.SetSessionModeRequest) error {
				calls = append(calls, "mode")
				return nil
			},
			cancel: func(_ context.Context, p *acp.CancelNotification) error {
				calls = append(calls, "cancel "+string(p.SessionID))
				return nil
			},
		}, nil)
		p.send(promptLine(1, "s"), modeLine(2, "s", "m"))
		synctest.Wait()
		p.send(cancelLine("s"), modeLine(3, "s", "m"))
		for range 3 {
			p.line()
		}
		assert.Equal(t, []string{"prompt", "mode", "cancel s", "mode"}, calls)
	})
}

func TestACancelOfOneSessionLeavesTheOthersAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
				return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
			}
		}}, nil)
		p.send(promptLine(1, "a"), promptLine(2, "b"), cancelLine("a"))
		assert.Contains(t, p.line(), `"id":1,"result":{"stopReason":"cancelled"}`)
		assert.Contains(t, p.line(), `"id":2,"result":{"stopReason":"end_turn"}`)
	})
}

func TestCancelRequestEndsTheRequestsCtx(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{
			setMode: func(ctx context.Context, _ *acp.SetSessionModeRequest) error {
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), acp.ErrRequestCancelled)
				return ctx.Err()
			},
			list: func(ctx context.Context) error { return ctx.Err() },
		}, nil)
		p.send(modeLine(`"a\u0062"`, "s", "m"), modeLine(2, "s", "queued"))
		synctest.Wait()
		p.send(notification("$/cancel_request", `{"requestId":2}`), notification("$/cancel_request", `{"requestId":"ab"}`))
		p.failure(`"a\u0062"`, acp.CodeRequestCancelled)
		p.failure("2", acp.CodeRequestCancelled)

		p.send(notification("$/cancel_request", `{"requestId":99}`), notification("$/cancel_request", `[]`)) // nothing to cancel
		p.send(request(3, "session/list", "{}"))
		p.expect(`{"jsonrpc":"2.0","id":3,"result":{"sessions":[]}}`)
	})
}

func TestACallEndsWithItsCtxAndTellsThePeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		boom := errors.New("boom")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(boom)
		}()
		start := time.Now()
		_, err := p.conn.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
		assert.ErrorIs(t, err, boom)
		assert.EqualError(t, err, "acp: fs/read_text_file: boom")
		assert.Equal(t, time.Second, time.Since(start))
		p.expect(
			`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s","path":"/f"}}`,
			`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)

		p.send(`{"jsonrpc":"2.0","id":1,"result":{"content":"late"}}`) // ignored
		_, err = p.conn.ReadTextFile(ctx, &acp.ReadTextFileRequest{})
		assert.ErrorIs(t, err, boom, "a call is not begun with a ctx that has ended")
	})
}

func TestATurnCanBeCancelledWhileThePeerDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		ended := make(chan error, 1)
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			acp.Async(ctx)
			for {
				if err := agent.conn.SessionUpdate(ctx, text(strings.Repeat("x", 1000))); err != nil {
					ended <- err
					return nil, err
				}
			}
		}
		p := initializedAgent(t, agent, nil)
		p.send(promptLine(1, "s"))
		synctest.Wait() // the pipe and the queue are full now
		p.send(cancelLine("s"))
		assert.ErrorIs(t, <-ended, acp.ErrTurnCancelled)
		for {
			if m := p.next(); m.Method == "" {
				assert.JSONEq(t, `{"stopReason":"cancelled"}`, string(m.Result))
				return
			}
		}
	})
}

// endsWithAnswer is a context that ends when the answer to a request has arrived, before the caller looks for either.
type endsWithAnswer struct {
	context.Context
	sent    atomic.Bool
	arrived chan struct{}
}

func (c *endsWithAnswer) Done() <-chan struct{} {
	if c.sent.Load() {
		<-c.arrived
		return c.arrived
	}
	return nil
}

func (c *endsWithAnswer) Err() error {
	if c.sent.Load() {
		return context.Canceled
	}
	return nil
}

// TestAnswerThatHasArrivedIsNotLostWithItsContext: the context of an agent's client ends behind its connection, which may
// end right behind an answer.
func TestAnswerThatHasArrivedIsNotLostWithItsContext(t *testing.T) {
	for range 40 {
		ctx := &endsWithAnswer{Context: t.Context(), arrived: make(chan struct{})}
		var answers atomic.Int64 // the first is that to initialize; each may be traced late
		c := pipes(t, &fakeAgent{}, nil, &acp.ConnOptions{Trace: func(e acp.Event) {
			switch {
			case e.Direction == acp.Sent && e.Method == acp.MethodNewSession:
				ctx.sent.Store(true)
			case e.Direction == acp.Received && answers.Add(1) == 2:
				close(ctx.arrived)
			}
		}})
		_, err := c.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/repo"})
		require.NoError(t, err)
	}
}

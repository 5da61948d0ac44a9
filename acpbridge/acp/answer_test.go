// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestUpdatesGoOutBeforeTheAnswerAndNoneBehindIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		late := make(chan error, 3)
		var turn context.Context
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			turn = ctx
			for i := range 3 {
				require.NoError(t, agent.conn.SessionUpdate(ctx, text(fmt.Sprint(i))))
			}
			acp.AfterResponse(ctx, func(context.Context) {
				late <- agent.conn.SessionUpdate(ctx, text("late"))
				late <- agent.conn.SessionUpdate(context.WithoutCancel(ctx), text("late"))
			})
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}
		p := initializedAgent(t, agent, nil)
		p.send(promptLine(1, "s"))
		for i := range 3 {
			assert.Contains(t, p.line(), fmt.Sprintf(`"text":"%d"`, i))
		}
		assert.Contains(t, p.line(), `"id":1,`)
		assert.ErrorIs(t, <-late, acp.ErrAnswered)
		assert.ErrorIs(t, <-late, acp.ErrAnswered)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(turn), acp.ErrAnswered)
		_, err := agent.conn.ReadTextFile(turn, &acp.ReadTextFileRequest{})
		assert.ErrorIs(t, err, acp.ErrAnswered)

		p.send(modeLine(2, "s", "m"))
		assert.Contains(t, p.line(), `"id":2,`, "nothing went out behind the answer")
	})
}

func TestAnUpdateThatWaitsForRoomIsRefusedOnceItsTurnIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		late, full := make(chan error, 1), make(chan struct{})
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			go func() {
				for { // a goroutine that the handler does not wait for
					if err := agent.conn.SessionUpdate(context.WithoutCancel(ctx), text("stray")); err != nil {
						late <- err
						return
					}
				}
			}()
			<-full
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}
		p := initializedAgent(t, agent, &acp.ConnOptions{MaxQueue: 1 << 10})
		p.send(promptLine(1, "s"))
		synctest.Wait() // until pipe and queue are full
		close(full)
		for p.next().Method != "" {
		}
		assert.ErrorIs(t, <-late, acp.ErrAnswered)
		p.send(modeLine(2, "s", "m"))
		assert.Contains(t, p.line(), `"id":2,`)
	})
}

func TestAfterResponseRunsBehindTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := &fakeAgent{}
		agent.newSession = func(ctx context.Context) (*acp.NewSessionResponse, error) {
			for _, s := range []string{"first", "second"} {
				assert.True(t, acp.AfterResponse(ctx, func(ctx context.Context) {
					assert.NoError(t, agent.conn.SessionUpdate(ctx, text(s)))
				}))
			}
			return &acp.NewSessionResponse{SessionID: "s"}, nil
		}
		p := initializedAgent(t, agent, nil)
		p.send(request(1, "session/new", `{"cwd":"/","mcpServers":[]}`))
		p.expect(`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`)
		assert.Contains(t, p.line(), "first")
		assert.Contains(t, p.line(), "second")
	})
	assert.False(t, acp.AfterResponse(t.Context(), func(context.Context) {}), "not a handler's ctx")
}

func TestAfterResponseDoesNotRunBehindAnError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{newSession: func(ctx context.Context) (*acp.NewSessionResponse, error) {
			acp.AfterResponse(ctx, func(context.Context) { t.Error("called") })
			return nil, errors.New("no session")
		}}, nil)
		p.send(request(1, "session/new", `{"cwd":"/","mcpServers":[]}`))
		p.failure("1", acp.CodeInternal)
		synctest.Wait()
	})
}

func TestAPanicBecomesAnInternalErrorAndTheConnectionLives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log bytes.Buffer
		p := initializedAgent(t, &fakeAgent{
			setMode: func(_ context.Context, p *acp.SetSessionModeRequest) error {
				if p.ModeID == "nil" {
					var none []int
					_ = none[len(p.SessionID)]
				}
				panic("a secret " + p.ModeID)
			},
			cancel: func(context.Context, *acp.CancelNotification) error { panic(errors.New("a secret error")) },
			newSession: func(ctx context.Context) (*acp.NewSessionResponse, error) {
				acp.AfterResponse(ctx, func(context.Context) { panic("a secret hook") })
				return &acp.NewSessionResponse{}, nil
			},
		}, &acp.ConnOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		p.send(modeLine(1, "s", "m"))
		assert.NotContains(t, p.failure("1", acp.CodeInternal), "secret")
		p.send(modeLine(2, "s", "nil"))
		p.failure("2", acp.CodeInternal)
		p.send(cancelLine("s"), request(3, "session/new", `{"cwd":"/","mcpServers":[]}`))
		p.expect(`{"jsonrpc":"2.0","id":3,"result":{"sessionId":""}}`)
		p.send(request(4, "session/list", "{}"))
		assert.Contains(t, p.line(), `"id":4,"result"`)
		synctest.Wait()
		assert.NotContains(t, log.String(), "secret")
		assert.Contains(t, log.String(), "answer_test.go", "the stack is logged")
		assert.Contains(t, log.String(), "index out of range", "what the runtime says is no payload")
	})
}

func TestErrorsAreAnsweredAsWhatTheyAre(t *testing.T) {
	data := json.RawMessage(`{"n":18446744073709551615}`)
	tests := []struct {
		err  error
		want string
	}{
		{acp.ErrAuthRequired, `{"code":-32000,"message":"authentication required"}`},
		{fmt.Errorf("wrapped: %w", acp.Errorf(acp.CodeResourceNotFound, "no %s", "file")), `{"code":-32002,"message":"no file"}`},
		{&acp.Error{Code: -5, Message: "own", Data: data}, `{"code":-5,"message":"own","data":{"n":18446744073709551615}}`},
		{&acp.Error{Code: -6, Message: "bad data", Data: json.RawMessage(`{`)}, `{"code":-6,"message":"bad data"}`},
		{errors.New("first line\nsecond line"), `{"code":-32603,"message":"first line","data":{"kind":"internal"}}`},
		{acp.ErrInternal.WithData(map[string]int{"a": 1}), `{"code":-32603,"message":"internal error","data":{"a":1}}`},
	}
	bubble(t, func(t *testing.T) {
		i := 0
		p := initializedAgent(t, &fakeAgent{list: func(context.Context) error { return tests[i].err }}, nil)
		for i = range tests {
			p.send(request(1, "session/list", "{}"))
			p.expect(`{"jsonrpc":"2.0","id":1,"error":` + tests[i].want + `}`)
		}
	})
}

func TestAnErrorOfThePeerComesBackWithItsMethod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		errs := make(chan error, 1)
		go func() {
			_, err := p.conn.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
			errs <- err
		}()
		p.line()
		p.send(`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-32002,"message":"no such file","data":[1]}}`)
		err := <-errs
		assert.EqualError(t, err, "acp: fs/read_text_file: no such file (-32002)")
		assert.ErrorIs(t, err, acp.ErrResourceNotFound)
		assert.NotErrorIs(t, err, acp.ErrAuthRequired)
		var call *acp.CallError
		require.ErrorAs(t, err, &call)
		assert.Equal(t, acp.MethodReadTextFile, call.Method)
		var e *acp.Error
		require.ErrorAs(t, err, &e)
		assert.JSONEq(t, "[1]", string(e.Data))

		go func() {
			_, err := p.conn.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
			errs <- err
		}()
		p.line()
		p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		assert.EqualError(t, <-errs, "acp: fs/read_text_file: ReadTextFileResponse.content: required, but missing")
	})
}

func TestAResultThatCannotBeEncodedIsAnInternalError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{prompt: func(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
			return &acp.PromptResponse{Meta: map[string]json.RawMessage{"x": json.RawMessage("{")}}, nil
		}, newSession: func(context.Context) (*acp.NewSessionResponse, error) {
			return nil, nil
		}}, nil)
		p.send(promptLine(1, "s"))
		assert.Contains(t, p.failure("1", acp.CodeInternal), "session/prompt")
		p.send(request(2, "session/new", `{"cwd":"/","mcpServers":[]}`))
		assert.Contains(t, p.failure("2", acp.CodeInternal), "neither a result nor an error")
		assert.ErrorContains(t, p.conn.SessionUpdate(t.Context(), &acp.SessionNotification{}), "SessionUpdate: no variant is set")
	})
}

func TestExtensionMethodsGoToTheirHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		noted := ""
		opts := &acp.ConnOptions{
			ExtMethod: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
				switch method {
				case "_echo":
					return params, nil
				case "_none":
					return nil, nil
				}
				return nil, acp.ErrMethodNotFound
			},
			ExtNotification: func(_ context.Context, method string, params json.RawMessage) error {
				noted = method + string(params)
				return nil
			},
		}
		agent := &fakeAgent{}
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent },
			func(*acp.ClientConn) acp.Client { return &fakeClient{} }, opts, nil)
		serveBoth(t, a, c)
		_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: 1})
		require.NoError(t, err)

		var raw json.RawMessage
		require.NoError(t, c.Call(t.Context(), "_echo", json.RawMessage(`{"n":18446744073709551615, "h":"<>"}`), &raw))
		assert.Equal(t, `{"n":18446744073709551615, "h":"<>"}`, string(raw))
		var typed struct{ A int }
		require.NoError(t, c.Call(t.Context(), "_echo", map[string]int{"a": 5}, &typed))
		assert.Equal(t, 5, typed.A)
		require.NoError(t, c.Call(t.Context(), "_none", nil, nil))
		assert.ErrorIs(t, c.Call(t.Context(), "session/fork", nil, nil), acp.ErrMethodNotFound)
		assert.ErrorIs(t, a.Call(t.Context(), "_anything", nil, nil), acp.ErrMethodNotFound, "no hook")
		assert.Error(t, c.Call(t.Context(), "_echo", func() {}, nil), "no JSON form")
		require.NoError(t, c.Notify(t.Context(), "_note", map[string]int{"a": 1}))
		synctest.Wait()
		assert.Equal(t, `_note{"a":1}`, noted)
		require.NoError(t, c.Cancel(t.Context(), &acp.CancelNotification{SessionID: "s"}))
		synctest.Wait()
		assert.Equal(t, `_note{"a":1}`, noted, "what the agent's methods take is no extension")
	})
}

func TestWhenPromptReturnsTheUpdatesBeforeItsAnswerHaveBeenHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled := 0
		agent := &fakeAgent{}
		agent.prompt = func(ctx context.Context, _ *acp.PromptRequest) (*acp.PromptResponse, error) {
			for range 10 {
				require.NoError(t, agent.conn.SessionUpdate(ctx, text("x")))
			}
			agent.conn.Close() // what was written is still delivered
			return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
		}
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent },
			func(*acp.ClientConn) acp.Client {
				return &fakeClient{update: func(context.Context, *acp.SessionNotification) error {
					time.Sleep(time.Second)
					handled++
					return nil
				}}
			}, nil, nil)
		serveBoth(t, a, c)
		_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: 1})
		require.NoError(t, err)
		turn, err := c.Prompt(t.Context(), &acp.PromptRequest{SessionID: "s"})
		require.NoError(t, err)
		assert.Equal(t, acp.StopReasonEndTurn, turn.StopReason)
		assert.Equal(t, 10, handled)
	})
}

func TestAHandlerThatHoldsItsLaneMayPrompt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var c *acp.ClientConn
		prompted := make(chan error, 1)
		agent := &fakeAgent{}
		a, c := acp.Pair(
			func(conn *acp.AgentConn) acp.Agent { agent.conn = conn; return agent },
			func(*acp.ClientConn) acp.Client {
				return &fakeClient{update: func(ctx context.Context, n *acp.SessionNotification) error {
					_, err := c.Prompt(ctx, &acp.PromptRequest{SessionID: n.SessionID})
					prompted <- err
					return err
				}}
			}, nil, nil)
		serveBoth(t, a, c)
		_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: 1})
		require.NoError(t, err)
		require.NoError(t, a.SessionUpdate(t.Context(), text("x")))
		assert.NoError(t, <-prompted)
	})
}

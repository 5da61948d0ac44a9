// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func TestBadLinesAreAnsweredAndTheConnectionLives(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000)
	tests := []struct {
		name, line string
		id         string
		code       int
	}{
		{"not JSON", `{"jsonrpc":`, "null", acp.CodeParseError},
		{"not JSON behind the message", `{"jsonrpc":"2.0","id":1,"method":"session/list"} x`, "null", acp.CodeParseError},
		{"two messages in a line", `{"jsonrpc":"2.0","id":1,"method":"session/list"}{}`, "null", acp.CodeParseError},
		{"control character", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x01\"}", "null", acp.CodeParseError},
		{"deep nesting", deep, "null", acp.CodeParseError},
		{"unfinished string", `"abc`, "null", acp.CodeParseError},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"session/list"}]`, "null", acp.CodeInvalidRequest},
		{"number", `17`, "null", acp.CodeInvalidRequest},
		{"empty object", `{}`, "null", acp.CodeInvalidRequest},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", acp.CodeInvalidRequest},
		{"method is no string", `{"jsonrpc":"2.0","id":1,"method":7}`, "1", acp.CodeInvalidRequest},
		{"no version", `{"id":"a","method":"session/list"}`, `"a"`, acp.CodeInvalidRequest},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"session/list"}`, "1", acp.CodeInvalidRequest},
		{"id is a boolean", `{"jsonrpc":"2.0","id":true,"method":"session/list"}`, "null", acp.CodeInvalidRequest},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"session/list"}`, "null", acp.CodeInvalidRequest},
		{"id is a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"session/list"}`, "null", acp.CodeInvalidRequest},
		{"unknown method", request(1, "no/such", "{}"), "1", acp.CodeMethodNotFound},
		{"unimplemented method", request(1, "logout", "{}"), "1", acp.CodeMethodNotFound},
		{"notification as a request", request(1, "session/cancel", `{"sessionId":"s"}`), "1", acp.CodeMethodNotFound},
		{"params are an array", request(1, "session/list", "[]"), "1", acp.CodeInvalidParams},
	}
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for _, tt := range tests {
			t.Log(tt.name)
			p.send(tt.line)
			p.failure(tt.id, tt.code)
		}
		p.send("", "  ", "\r", request(1, "session/list", "{}")+"\r") // blank lines and CRLF are nothing special
		assert.Contains(t, p.line(), `"id":1,"result"`)
	})
}

func TestWhatNeedsNoAnswerGetsNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var problems []string
		opts := &acp.ConnOptions{Trace: func(ev acp.Event) {
			mu.Lock()
			defer mu.Unlock()
			if ev.Problem != "" {
				problems = append(problems, ev.Problem)
			}
		}}
		p := initializedAgent(t, &fakeAgent{}, opts)
		p.send(
			notification("no/such", "{}"),
			notification("_ext", "{}"),
			notification("$/unknown", "{}"),
			notification("session/prompt", "{}"),
			notification("session/cancel", "{}"),
			`{"jsonrpc":"2.0","id":77,"result":{}}`,
			`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
			`{"jsonrpc":"2.0","result":{}}`,
			request(1, "session/list", "{}"))
		assert.Contains(t, p.line(), `"id":1,"result"`)
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{
			"no call waits for this answer", "no call waits for this answer", "no call waits for this answer", "an answer without an id",
		}, problems)
	})
}

func TestInvalidParamsNameTheField(t *testing.T) {
	tests := map[string]string{
		request(1, "session/new", `{}`):                                            "NewSessionRequest.cwd: required, but missing",
		request(1, "session/new", `{"cwd":7,"mcpServers":[]}`):                     "NewSessionRequest.cwd: is a number, want a string",
		request(1, "session/new", `{"cwd":"/"}`):                                   "NewSessionRequest.mcpServers: required, but missing",
		request(1, "session/new", `{"cwd":"/","mcpServers":[{}]}`):                 "MCPServerStdio.name: required, but missing",
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt"}`:                       "PromptRequest.sessionId: required, but missing",
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":null}`:         "PromptRequest.sessionId: required, but missing",
		request(1, "session/prompt", `{"sessionId":"s","prompt":[{}]}`):            "ContentBlock.type: required, but missing",
		request(1, "session/prompt", `{"sessionId":"s","prompt":null}`):            "PromptRequest.prompt: is null, want an array",
		request(1, "initialize", `{"protocolVersion":70000}`):                      "InitializeRequest.protocolVersion: want an integer from 0 to 2^16-1",
		request(1, "initialize", `{"protocolVersion":"1"}`):                        "InitializeRequest.protocolVersion: is a string, want an integer",
		request(1, "session/set_config_option", `{"sessionId":"","configId":"c"}`): "SetSessionConfigOptionRequestValueID.value: required, but missing",
	}
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for line, want := range tests {
			p.send(line)
			assert.Equal(t, "invalid params: "+want, p.failure("1", acp.CodeInvalidParams))
		}
	})
}

func TestIDsComeBackAsTheyWereWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		for _, id := range []string{"0", "-1", "18446744073709551616123", `""`, `"a\u0062\"ü"`, `"1"`, "null"} {
			p.send(request(id, "session/list", "{}"))
			p.expect(`{"jsonrpc":"2.0","id":` + id + `,"result":{"sessions":[]}}`)
		}
	})
}

func TestAnIDInUseIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		p := initializedAgent(t, &fakeAgent{list: func(context.Context) error { <-release; return nil }}, nil)
		p.send(request(`"ab"`, "session/list", "{}"), request(`"a\u0062"`, "session/list", "{}"))
		p.failure(`"a\u0062"`, acp.CodeInvalidRequest)
		p.send(request("null", "session/list", "{}"), request("null", "session/list", "{}")) // null names nothing
		close(release)
		for range 3 {
			assert.Contains(t, p.line(), "result")
		}
		p.send(request(`"ab"`, "session/list", "{}")) // free again
		assert.Contains(t, p.line(), "result")
	})
}

func TestRequestsBeforeInitializeAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := servedAgent(t, &fakeAgent{
			cancel: func(context.Context, *acp.CancelNotification) error { t.Error("called"); return nil },
		}, nil)
		p.send(request(1, "session/new", `{"cwd":"/","mcpServers":[]}`), cancelLine("s"), request(2, "_ext", "{}"))
		assert.Contains(t, p.failure("1", acp.CodeInvalidRequest), "initialized")
		p.failure("2", acp.CodeInvalidRequest)
		p.send(request(3, "initialize", `{"protocolVersion":1}`), request(4, "session/new", `{"cwd":"/","mcpServers":[]}`))
		assert.Contains(t, p.line(), `"id":3,"result"`)
		assert.Contains(t, p.line(), `"id":4,"result"`)
		p.send(request(5, "initialize", `{"protocolVersion":1}`)) // a second one is the agent's to judge
		assert.Contains(t, p.line(), `"id":5,"result"`)
	})
}

func TestRequestsBehindAnUnansweredInitializeWaitForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ready := make(chan error)
		started := false
		p := servedAgent(t, &fakeAgent{
			initialize: func(context.Context) (*acp.InitializeResponse, error) {
				return &acp.InitializeResponse{ProtocolVersion: 1}, <-ready
			},
			prompt: func(context.Context, *acp.PromptRequest) (*acp.PromptResponse, error) {
				started = true
				return &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, nil
			},
		}, nil)
		p.send(request(1, "initialize", `{"protocolVersion":1}`), promptLine(2, "s"), promptLine(3, "t"), cancelLine("t"))
		synctest.Wait()
		assert.False(t, started)
		ready <- fmt.Errorf("not today")
		p.failure("1", acp.CodeInternal)
		p.failure("2", acp.CodeInvalidRequest)
		assert.Contains(t, p.line(), "cancelled")
		p.send(promptLine(4, "s"))
		p.failure("4", acp.CodeInvalidRequest)

		p.send(request(5, "initialize", `{"protocolVersion":1}`), promptLine(6, "s"), promptLine(7, "t"), cancelLine("t"))
		synctest.Wait()
		ready <- nil
		assert.Contains(t, p.line(), `"id":5,"result"`)
		got := p.line() + p.line()
		assert.Contains(t, got, `"id":6,"result":{"stopReason":"end_turn"}`)
		assert.Contains(t, got, `"id":7,"result":{"stopReason":"cancelled"}`)
	})
}

func TestALineOverTheLimitIsAnsweredNotFatal(t *testing.T) {
	const limit = 1 << 10
	pad := strings.Repeat(`x\"},{[`, limit)
	tests := []struct{ name, line, id string }{
		{"id first", `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"id":1,"x":"` + pad + `"}}`, "7"},
		{"id behind the payload", `{"jsonrpc":"2.0","method":"session/list","params":{"id":1,"x":["` + pad + `"]},"id":"a\"b"}`, `"a\"b"`},
		{"no id", `{"jsonrpc":"2.0","method":"_note","params":{"id":1,"x":"` + pad + `"}}`, "null"},
		{"id of another type", `{"jsonrpc":"2.0","id":{"id":1},"method":"session/list","params":"` + pad + `"}`, "null"},
		{"id too long", `{"jsonrpc":"2.0","id":"` + pad + `","method":"session/list"}`, "null"},
		{"no JSON", pad, "null"},
	}
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{MaxLine: limit})
		for _, tt := range tests {
			t.Log(tt.name)
			p.send(tt.line)
			assert.Contains(t, p.failure(tt.id, acp.CodeInvalidRequest), "longer than 1024 bytes")
		}
		p.send(request(1, "session/list", `{"x":"`+strings.Repeat("x", limit-100)+`"}`))
		assert.Contains(t, p.line(), `"id":1,"result"`)
	})
}

func TestAnAnswerOverTheLimitFailsItsCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{MaxLine: 1 << 10})
		errs := make(chan error, 1)
		go func() {
			_, err := p.conn.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
			errs <- err
		}()
		p.line()
		p.send(`{"jsonrpc":"2.0","result":{"content":"` + strings.Repeat("x", 2<<10) + `"},"id":1}`)
		var long *acp.TooLongError
		require.ErrorAs(t, <-errs, &long)
		assert.Equal(t, 1<<10, long.Limit)
		p.send(request(1, "session/list", `{}`))
		assert.Contains(t, p.line(), `"id":1,"result"`, "an answer is not answered")
	})
}

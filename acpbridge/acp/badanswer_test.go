// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// outgoing are the requests that an agent makes of a client.
var outgoing = map[string]func(ctx context.Context, c *acp.AgentConn) error{
	acp.MethodReadTextFile: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
		return err
	},
	acp.MethodWriteTextFile: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.WriteTextFile(ctx, &acp.WriteTextFileRequest{SessionID: "s", Path: "/f"})
		return err
	},
	acp.MethodRequestPermission: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.RequestPermission(ctx, &acp.RequestPermissionRequest{SessionID: "s", Options: []acp.PermissionOption{}})
		return err
	},
	acp.MethodCreateTerminal: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.CreateTerminal(ctx, &acp.CreateTerminalRequest{SessionID: "s", Command: "ls"})
		return err
	},
	acp.MethodTerminalOutput: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.TerminalOutput(ctx, &acp.TerminalOutputRequest{SessionID: "s", TerminalID: "t"})
		return err
	},
	acp.MethodWaitForTerminalExit: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.WaitForTerminalExit(ctx, &acp.WaitForTerminalExitRequest{SessionID: "s", TerminalID: "t"})
		return err
	},
	acp.MethodKillTerminal: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.KillTerminal(ctx, &acp.KillTerminalRequest{SessionID: "s", TerminalID: "t"})
		return err
	},
	acp.MethodReleaseTerminal: func(ctx context.Context, c *acp.AgentConn) error {
		_, err := c.ReleaseTerminal(ctx, &acp.ReleaseTerminalRequest{SessionID: "s", TerminalID: "t"})
		return err
	},
}

// malformed are answers that are not responses. ID stands for the id of the request, CUT for the end of the line.
var malformed = []struct{ name, line, want string }{
	{"neither result nor error", `{"jsonrpc":"2.0","id":ID}`, "neither a result nor an error"},
	{"error null", `{"jsonrpc":"2.0","id":ID,"error":null}`, "neither a result nor an error"},
	{"result and error", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":-32000,"message":"no"}}`, "no (-32000)"},
	{"two results", `{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}`, "two results"},
	{"two errors", `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"m"},"error":{"code":1,"message":"m"}}`, "two errors"},
	{"two ids", `{"jsonrpc":"2.0","id":ID,"result":{},"id":"x"}`, "without an id"},
	{"two ids, the first a whole number", `{"jsonrpc":"2.0","id":ID.0,"result":{},"id":"x"}`, "without an id"},
	{"two ids, the last a whole number", `{"jsonrpc":"2.0","id":"x","result":{},"id":ID.0}`, "without an id"},
	{"a method too", `{"jsonrpc":"2.0","id":ID,"method":"x","result":{}}`, "has a method"},
	{"method null", `{"jsonrpc":"2.0","id":ID,"method":null}`, "neither a result nor an error"},
	{"error is text", `{"jsonrpc":"2.0","id":ID,"error":"no"}`, "want an object"},
	{"error without a code", `{"jsonrpc":"2.0","id":ID,"error":{}}`, "Error.code: required, but missing"},
	{"result of the wrong type", `{"jsonrpc":"2.0","id":ID,"result":[7]}`, "is an array, want an object"},
	{"misspelt result", `{"jsonrpc":"2.0","id":ID,"reslut":{}}`, "neither a result nor an error"},
	{"id in quotes", `{"jsonrpc":"2.0","id":"ID","result":{}}`, "its id is a string, want the number ID"},
	{"id is a fraction", `{"jsonrpc":"2.0","id":ID.5,"result":{}}`, "without an id"},
	{"id nobody had", `{"jsonrpc":"2.0","id":99999,"result":{}}`, "no request had the id 99999"},
	{"id of another kind", `{"jsonrpc":"2.0","id":{},"result":{}}`, "without an id"},
	{"id null", `{"jsonrpc":"2.0","id":null,"result":{}}`, "no request had the id null"},
	{"id null and a parse error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, "no request had the id null"},
	{"no id", `{"jsonrpc":"2.0","result":{}}`, "without an id"},
	{"nothing but an id nobody had", `{"jsonrpc":"2.0","id":99999}`, "neither a method nor"},
	{"empty object", `{}`, "neither a method nor"},
	{"batch", `[{"jsonrpc":"2.0","id":ID,"result":{}}]`, "batches"},
	{"empty batch", `[]`, "not a JSON object"},
	{"number", `7`, "not a JSON object"},
	{"not JSON", `oops`, "not valid JSON"},
	{"control characters", "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"a\x01\tb\"}}", "not valid JSON"},
	{"control characters before the id", "{\"result\":{\"content\":\"a\x01\tb\"},\"id\":ID}", "not valid JSON"},
	{"line break in a string", "{\"id\":ID,\"result\":{\"content\":\"a\nb\"}}", "not valid JSON"},
	{"deep nesting", `{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, "not valid JSON"},
	{"deep nesting in error data", `{"id":ID,"error":{"code":1,"message":"m","data":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}}`, "not valid JSON"},
	{"huge number", `{"jsonrpc":"2.0","id":ID,"error":{"code":1e999,"message":"m"}}`, "want a 64-bit integer"},
	{"number with a leading zero", `{"jsonrpc":"2.0","id":ID,"result":{"exitCode":007}}`, "not valid JSON"},
	{"batch that breaks off", `[{"jsonrpc":"2.0","id":ID,"result":{`, "not valid JSON"},
	{"two answers in a line", `{"jsonrpc":"2.0","id":ID,"result":{}}{}`, "not valid JSON"},
	{"too long", `{"jsonrpc":"2.0","id":ID,"result":{"content":"` + strings.Repeat("x", 1<<20) + `"}}`, "longer than the limit"},
	{"too long, with an id that is", `{"result":{"content":"` + strings.Repeat("x", 1<<20) + `"},"id":"` + strings.Repeat("y", 1000) + `"}`, "longer than MaxLine"},
}

// answering makes calls one after the other and answers each with a line. It returns what each call ended with, and how many lines the
// trace has a problem with.
func answering(t *testing.T, lines []string, call func(context.Context, *acp.AgentConn) error) (errs []error, problems int) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		counted := make(chan struct{}, 1000)
		p := initializedAgent(t, &fakeAgent{}, &acp.ConnOptions{MaxLine: 1 << 20, Trace: func(ev acp.Event) {
			if ev.Problem != "" {
				counted <- struct{}{}
			}
		}})
		for i, line := range lines {
			done := make(chan error, 1)
			go func() { done <- call(t.Context(), p.conn) }()
			asked := p.next()
			p.send(strings.ReplaceAll(line, "ID", string(asked.ID)))
			synctest.Wait()
			select {
			case err := <-done:
				errs = append(errs, err)
			default:
				t.Fatalf("%.200s: the call waits", line)
			}
			ping := fmt.Sprintf(`"ping %d"`, i)
			p.send(request(ping, "session/list", "{}"))
			for m := p.next(); string(m.ID) != ping; m = p.next() {
				require.Equal(t, "null", string(m.ID), "an id that the client did not use")
			}
		}
		problems = len(counted)
	})
	return errs, problems
}

func TestMalformedAnswersEndCalls(t *testing.T) {
	var lines []string
	for _, m := range malformed {
		lines = append(lines, m.line)
	}
	for method, call := range outgoing {
		errs, problems := answering(t, lines, call)
		for i, m := range malformed {
			var failed *acp.CallError
			require.ErrorAs(t, errs[i], &failed, m.name)
			require.Equal(t, method, failed.Method)
			require.ErrorContains(t, errs[i], strings.ReplaceAll(m.want, "ID", fmt.Sprint(i+1)), m.name)
		}
		require.GreaterOrEqual(t, problems, len(malformed)-5, "the trace has all but those that are responses with a bad body")
	}
	require.GreaterOrEqual(t, len(outgoing)*len(malformed), 8*16)
}

func TestUnusualAnswersAreUnderstood(t *testing.T) {
	for name, line := range map[string]string{
		"no version":        `{"id":ID,"result":{"content":"a"}}`,
		"id is 1.0":         `{"jsonrpc":"2.0","id":ID.0,"result":{"content":"a"}}`,
		"id is 1e0":         `{"jsonrpc":"2.0","id":IDe0,"result":{"content":"a"}}`,
		"error null too":    `{"jsonrpc":"2.0","id":ID,"result":{"content":"a"},"error":null}`,
		"method null too":   `{"jsonrpc":"2.0","id":ID,"method":null,"result":{"content":"a"}}`,
		"unknown members":   `{"jsonrpc":"2.0","id":ID,"result":{"content":"a","x":[]},"y":{}}`,
		"invalid UTF-8":     "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":\"a\xff\"}}",
		"half a surrogate":  `{"jsonrpc":"2.0","id":ID,"result":{"content":"a\ud800"}}`,
		"the same id twice": `{"jsonrpc":"2.0","id":ID,"result":{"content":"a"},"id":ID}`,
	} {
		errs, _ := answering(t, []string{line}, outgoing[acp.MethodReadTextFile])
		require.NoError(t, errs[0], name)
	}
}

// Wherever a line breaks off, the call ends.
func TestAnswersThatBreakOffEndCalls(t *testing.T) {
	for _, whole := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":{"content":"a"}}`,
		`{"result":{"content":"a \"b\" "},"id":ID,"jsonrpc":"2.0"}`,
		`{"error":{"code":-32000,"message":"m"},"id":ID}`,
	} {
		var lines []string
		for end := 1; end < len(whole); end++ {
			lines = append(lines, whole[:end])
		}
		errs, problems := answering(t, lines, outgoing[acp.MethodReadTextFile])
		for i, err := range errs {
			var malformed *acp.AnswerError
			require.ErrorAs(t, err, &malformed, lines[i])
		}
		require.Equal(t, len(lines), problems)
	}
}

func TestSecondAnswerIsDropped(t *testing.T) {
	for _, second := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"result":`, `[{"id":1,"error":{"code":1,"message":"m"}}]`,
	} {
		bubble(t, func(t *testing.T) {
			p := initializedAgent(t, &fakeAgent{}, nil)
			call := outgoing[acp.MethodWriteTextFile]
			done := make(chan error, 1)
			go func() { done <- call(t.Context(), p.conn) }()
			p.next()
			p.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			require.NoError(t, <-done)
			p.send(second, request(`"ping"`, "session/list", "{}"))
			for m := p.next(); string(m.ID) != `"ping"`; m = p.next() {
				require.Equal(t, "null", string(m.ID))
			}
		})
	}
}

// A late answer, or an error that may be about a notification, ends no other call.
func TestStrayAnswersEndNoOtherCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() { given <- outgoing[acp.MethodWriteTextFile](ctx, p.conn) }()
		p.next()
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		p.next() // the cancellation

		done := make(chan error, 1)
		go func() { done <- outgoing[acp.MethodWriteTextFile](t.Context(), p.conn) }()
		p.next()
		p.send(
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"$/cancel_request"}}`,
			request(2, "session/list", "{}"), // the client's own request with the same id
		)
		require.Equal(t, "2", string(p.next().ID))
		select {
		case err := <-done:
			t.Fatal(err)
		default:
		}
		p.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, <-done)
	})
}

// Other output of an agent process ends no call to it. An answer that is cut off does.
func TestNoiseOfAnAgentEndsNoCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, w := acp.Pipe()
		pr, pw := acp.Pipe()
		c := acp.NewClientConn(r, pw, func(*acp.ClientConn) acp.Client { return &fakeClient{} }, nil)
		go func() { _ = c.Serve(t.Context()) }()
		defer func() {
			_ = c.Close()
			_ = pr.Close()
			<-c.Done()
		}()
		go func() { // the agent
			in := json.NewDecoder(pr)
			for {
				var m message
				if in.Decode(&m) != nil {
					return
				}
				switch m.Method {
				case acp.MethodInitialize:
					fmt.Fprintln(w, "npm warn something\n{\"level\":\"info\",\"msg\":\"x\"}\n{\"level\":\"in\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1}}")
				case acp.MethodNewSession:
					fmt.Fprintln(w, `{"jsonrpc":"2.0","id":`)
				}
			}
		}()
		_, err := c.Initialize(t.Context(), &acp.InitializeRequest{ProtocolVersion: 1})
		require.NoError(t, err)
		_, err = c.NewSession(t.Context(), &acp.NewSessionRequest{Cwd: "/"})
		assert.EqualError(t, err, "acp: session/new: the peer sent a malformed answer: it does not say which call it answers (the line is not valid JSON)")
	})
}

// An answer that comes again is late, whatever the number of its request. It is no sign that the client takes our ids for text.
func TestAnswersThatComeAgainAreIgnored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := initializedAgent(t, &fakeAgent{}, nil)
		read := func() (chan error, string) {
			done := make(chan error, 1)
			go func() {
				_, err := p.conn.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/f"})
				done <- err
			}()
			return done, string(p.next().ID)
		}
		const answer = `{"jsonrpc":"2.0","id":%s,"result":{"content":"a"}}`
		var ids []string
		for range 20 {
			done, id := read()
			p.send(fmt.Sprintf(answer, id))
			require.NoError(t, <-done)
			ids = append(ids, id)
		}
		done, id := read()
		for _, old := range ids {
			p.send(`{"jsonrpc":"2.0","id":` + old + `,"error":{"code":-32603,"message":"again"}}`)
		}
		synctest.Wait()
		require.Empty(t, done, "the answers to other calls have ended this one")
		p.send(fmt.Sprintf(answer, id))
		require.NoError(t, <-done)
	})
}

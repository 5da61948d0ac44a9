// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// receivedLines are lines that a peer may send: messages, answers, and what is neither, whole and cut.
func receivedLines() []string {
	long := strings.Repeat("x", 300)
	lines := []string{
		`{"jsonrpc":"2.0","id":7,"method":"session/list","params":{}}`, `{"jsonrpc":"2.0","id":"a","method":"session/list"}`, `{"jsonrpc":"2.0","id":null,"method":"session/list","params":null}`,
		`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{}}`, `{"jsonrpc":"2.0","id":7,"method":"_none","params":{}}`,
		`{"jsonrpc":"2.0","id":7.0,"method":"session/list"}`, `{"jsonrpc":"2.0","id":1e3,"method":"session/list"}`, `{"jsonrpc":"2.0","id":true,"method":"session/list"}`, `{"jsonrpc":"2.0","id":{},"method":"session/list"}`, `{"jsonrpc":"1.0","id":7,"method":"session/list"}`,
		`{"id":7,"method":"session/list"}`, `{"jsonrpc":"2.0","id":7}`, `{"jsonrpc":"2.0","id":7,"method":5}`, `{"jsonrpc":"2.0","id":7,"method":""}`, `{"jsonrpc":"2.0"}`, `{}`, `{"jsonrpc":"2.0","id":7,"id":8,"method":"session/list"}`, `{"jsonrpc":"2.0","id":7,"id":7,"method":"session/list"}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","method":"_none"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":7}}`, `{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{}}`, `{"jsonrpc":"2.0","id":1,"error":7}`, `{"jsonrpc":"2.0","id":1,"error":null}`, `{"jsonrpc":"2.0","id":1,"result":{"content":"c"},"error":null}`, `{"jsonrpc":"2.0","id":1,"result":{"content":"c"},"error":{"code":7,"message":"no"}}`, `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":7,"message":"no","data":[1]}}`,
		`{"jsonrpc":"2.0","id":1.0,"result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":"1","result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":"0x1","result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":1.5,"result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":2,"result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":0,"result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":null,"result":{"content":"c"}}`,
		`{"jsonrpc":"2.0","result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid"}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}`, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"content":"c"},"result":{"content":"d"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a"},"error":{"code":1,"message":"b"}}`, `{"jsonrpc":"2.0","id":1,"method":"session/list","result":{"content":"c"}}`, `{"jsonrpc":"2.0","id":1,"method":"session/list","result":null}`, `{"jsonrpc":"2.0","id":1,"method":"session/list"}`, `{"id":1,"result":{"content":"c"},"more":1}`,
		`{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"more":7}`, `{"jsonrpc":"2.0","id":1,"params":{}}`, `{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 60) + `","result":{}}`,
		`[]`, `7`, `"x"`, `null`, `[{"jsonrpc":"2.0","id":1,"result":{"content":"c"}}]`, `[{"jsonrpc":"2.0","id":1,"result":{"content":"c"}},{"jsonrpc":"2.0","id":9,"method":"session/list"}]`, `[7,{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}}]`, `[{"jsonrpc":"2.0","id":9,"method":"session/list"}]`, ` [ ] `,
		`hello`, `{"jsonrpc":"2.0","id":1,"result":{"content":"c"`, `{"jsonrpc":"2.0","id":1,"res`, `{"jsonrpc":"2.0","id":1`, `{"jsonrpc":"2.0","id":2,"result":{`, `{"result":{`, `{"id":1,"more":`, `{"jsonrpc":"2.0","id":7,"method":"session/list","params":{`, `[{"jsonrpc":"2.0","id":1,"result":{`, `{`, `}`, `[`, `{"jsonrpc":"2.0","id":1,"result":{}} x`, `{"jsonrpc":"2.0","id":1,"result":{}}}`, " \t", "\xff",
		`{"jsonrpc":"2.0","id":7,"method":"session/list","params":{"x":"` + long + `"}}`, `{"jsonrpc":"2.0","id":1,"result":{"content":"` + long + `"}}`, `{"jsonrpc":"2.0","result":{"content":"` + long + `"}}`, `{"jsonrpc":"2.0","id":5,"result":{"content":"` + long + `"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"` + long + `"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":"` + long + `"}`, `{"result":"` + long + `","method":"m","id":1}`, long, `{"` + long + `":1,"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"` + long + `","result":{}}`,
	}
	return lines
}

// played plays a line to a side of a connection, which waits for the answer to a call, and returns all
// that comes of it.
func played(t *testing.T, agent, calls, initialized bool, line string) (told string) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var notes [4]strings.Builder // what was received, sent, written, and what became of the call
		note := func(of int, format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&notes[of], format, args...)
		}
		r, w := acp.Pipe()
		pr, pw := acp.Pipe()
		var ready bool
		opts := &acp.ConnOptions{MaxLine: 250, Trace: func(e acp.Event) {
			if ready {
				note(int(e.Direction), "  %s %s %q id %q size %d problem %q\n", e.Direction, e.Kind, e.Method, e.ID, e.Size, e.Problem)
			}
		}}
		var conn interface {
			Close() error
			Done() <-chan struct{}
		}
		var serve, call func() error
		if agent {
			c := acp.NewAgentConn(r, pw, func(*acp.AgentConn) acp.Agent { return &fakeAgent{} }, opts)
			conn, serve = c, func() error { return c.Serve(t.Context()) }
			call = func() error {
				answer, err := c.ReadTextFile(t.Context(), &acp.ReadTextFileRequest{SessionID: "s", Path: "/x"})
				if err == nil {
					note(3, "  the call got %q\n", answer.Content)
				}
				return err
			}
		} else {
			c := acp.NewClientConn(r, pw, func(*acp.ClientConn) acp.Client { return &fakeClient{} }, opts)
			conn, serve = c, func() error { return c.Serve(t.Context()) }
			call = func() error {
				_, err := c.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: "s"})
				if err == nil {
					note(3, "  the call got its answer\n")
				}
				return err
			}
		}
		go func() { _ = serve() }()
		lines := bufio.NewReader(pr)
		skip := 0
		if agent && initialized {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`+"\n")
			skip++
		}
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if !calls {
				return
			}
			if err := call(); err != nil && !errors.Is(err, acp.ErrClosed) {
				note(3, "  the call failed: %v\n", err)
			}
		}()
		synctest.Wait()
		if calls {
			skip++
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				text, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if skip > 0 {
					skip--
					continue
				}
				note(2, "  wrote %s", text)
			}
		}()
		synctest.Wait()
		ready = true
		_, _ = io.WriteString(w, line+"\n")
		synctest.Wait()
		ready = false
		_ = conn.Close()
		<-conn.Done()
		<-done
		_ = pr.Close()
		<-read
		for i := range notes {
			told += notes[i].String()
		}
	})
	return told
}

// TestReceivedLines compares what an agent and a client make of each line: what they answer, what they
// report, and what becomes of a call that waits for its answer.
func TestReceivedLines(t *testing.T) {
	for name, side := range map[string]struct{ agent, calls, initialized bool }{
		"agent": {true, true, true}, "client": {false, true, true}, "idle agent": {true, false, true}, "idle client": {false, false, true}, "new agent": {true, true, false},
	} {
		var told strings.Builder
		for _, line := range receivedLines() {
			fmt.Fprintf(&told, "%s\n%s", strings.ReplaceAll(fmt.Sprintf("%q", line), strings.Repeat("x", 300), "x×300"), played(t, side.agent, side.calls, side.initialized, line))
		}
		acp.GoldenText(t, strings.ReplaceAll("received "+name+".txt", " ", "_"), told.String())
	}
}

// SPDX-License-Identifier: Apache-2.0

package acpproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acpproxy"
)

func TestNegativeNumbersAreRefused(t *testing.T) {
	for _, c := range []acpproxy.Config{{MaxLine: -1}, {Grace: -time.Second}} {
		err := acpproxy.Serve(t.Context(), strings.NewReader(""), new(bytes.Buffer), strings.NewReader(""), new(bytes.Buffer), c)
		require.ErrorContains(t, err, "acpproxy: config: MaxLine and Grace must not be negative")
		err = acpproxy.Run(t.Context(), strings.NewReader(""), new(bytes.Buffer), acpclient.Command{Path: "/no/such/agent"}, c)
		require.ErrorContains(t, err, "acpproxy: config: MaxLine and Grace must not be negative")
	}
}

func TestLinesPassByteByByte(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`  { "id" : 18446744073709551617 , "jsonrpc" :"2.0","method":"_x.dev/y", "params":[1.50,"\u00e9é\/"],"_meta":{"a":null} }  ` + "\r",
		`{"jsonrpc":"2.0","method":"session/unknown","params":{"_meta":{"traceparent":"00-1"}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"a"}]`,
		`not json`, ``, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","id":"q","error":{"code":-1,"message":"m","data":[{}]}}`,
		strings.Repeat(`"`+strings.Repeat("x", 200<<10)+`" `, 3),
	}
	editor, agent, wait := serve(t, acpproxy.Config{Record: new(bytes.Buffer)})
	for from, to := range map[*end]*end{editor: agent, agent: editor} {
		go from.write(lines...)
		to.expect(lines...)
	}
	require.NoError(t, editor.out.Close())
	require.Empty(t, agent.read())
	agent.write("goodbye")
	require.NoError(t, agent.out.Close())
	editor.expect("goodbye", "")
	require.NoError(t, wait())
}

// A cancel that is written with its prompt arrives with it, and a turn's updates before its answer.
func TestOrderIsKept(t *testing.T) {
	editor, agent, _ := serve(t, acpproxy.Config{Policy: func(*acpproxy.Request) acpproxy.Verdict { return acpproxy.Verdict{} }})
	var sent, back []string
	for i := range 500 {
		sent = append(sent, request(i, acp.MethodPrompt, `{"sessionId":"s","prompt":[]}`), `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
		back = append(back, `{"jsonrpc":"2.0","method":"session/update","params":{}}`, result(i, `{"stopReason":"cancelled"}`))
	}
	go editor.write(sent...)
	agent.expect(sent...)
	go agent.write(back...)
	editor.expect(back...)
}

// In a bubble, time passes only when everybody waits for it.
func TestNothingWaitsForTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor, agent, _ := serve(t, acpproxy.Config{Record: new(bytes.Buffer)})
		start := time.Now()
		for i := range 200 {
			editor.write(request(i, "m", "{}"))
			agent.expect(request(i, "m", "{}"))
			agent.write(result(i, "{}"))
			editor.expect(result(i, "{}"))
		}
		require.Zero(t, time.Since(start))
	})
}

func TestSlowReaderHoldsUpTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor, agent, _ := serve(t, acpproxy.Config{})
		written := 0
		go func() {
			line := strings.Repeat("x", 10_000) + "\n"
			for written < 8<<20 {
				if _, err := agent.out.Write([]byte(line)); err != nil {
					return
				}
				written += len(line)
			}
		}()
		synctest.Wait()
		require.Greater(t, written, 1<<20)
		require.Less(t, written, 2<<20, "the queue, two pipes and a few lines")
		// The other direction goes on.
		for i := range 1000 {
			editor.write(request(i, "m", "{}"))
			agent.expect(request(i, "m", "{}"))
		}
		before := written
		for range 50 { // half of what waits
			editor.read()
		}
		synctest.Wait()
		require.Greater(t, written, before)
	})
}

func TestEndOfTheAgentAnswersWhatIsOpen(t *testing.T) {
	editor, agent, wait := serve(t, acpproxy.Config{})
	editor.write(request(1, acp.MethodInitialize, "{}"), request(2, acp.MethodPrompt, `{"sessionId":"s"}`))
	agent.read()
	agent.read()
	agent.write(result(1, "{}"), `{"jsonrpc":"2.0","method":"last"}`)
	require.NoError(t, agent.out.Close())
	editor.expect(result(1, "{}"), `{"jsonrpc":"2.0","method":"last"}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"session/prompt: the agent has ended"}}`, "")
	require.ErrorIs(t, wait(), acpproxy.ErrAgentEnded)
}

func TestAgentThatDoesNotReadAnyMoreIsHeardOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor, agent, wait := serve(t, acpproxy.Config{})
		require.NoError(t, agent.r.Close())
		editor.write(request(1, "m", "{}"))
		synctest.Wait()
		agent.write("last words")
		require.NoError(t, agent.out.Close())
		editor.expect("last words")
		require.Contains(t, editor.read(), "the agent has ended")
		require.Error(t, wait())
	})
}

func TestAgentThatDoesNotEndIsLeftAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor, agent, wait := serve(t, acpproxy.Config{Grace: time.Minute})
		start := time.Now()
		require.NoError(t, editor.out.Close())
		require.Empty(t, agent.read())
		require.NoError(t, wait())
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestEditorThatIsGoneEndsTheProxy(t *testing.T) {
	editor, agent, wait := serve(t, acpproxy.Config{})
	require.NoError(t, editor.r.Close())
	agent.write("anybody there?")
	require.Error(t, wait())
	_, err := agent.out.Write([]byte("hello\n"))
	require.Error(t, err, "the agent notices")
}

// An editor that ends closes both of its streams. The agent may be writing just then.
func TestEditorThatIsGoneInBothDirectionsIsNoError(t *testing.T) {
	for range 20 {
		editor, agent, wait := serve(t, acpproxy.Config{})
		go func() {
			for {
				if _, err := agent.out.Write([]byte("hello\n")); err != nil {
					return
				}
			}
		}()
		require.NoError(t, editor.out.Close())
		require.NoError(t, editor.r.Close())
		require.NoError(t, wait())
	}
}

func TestContextEndsTheProxy(t *testing.T) {
	reads, writes := acp.Pipe()
	reads2, writes2 := acp.Pipe()
	defer writes.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	require.ErrorIs(t, acpproxy.Serve(ctx, reads, writes2, reads2, writes, acpproxy.Config{}), why)
}

func TestLongLinesAreAnswered(t *testing.T) {
	config := acpproxy.Config{MaxLine: 1000}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	long := `{"x":"` + strings.Repeat("x", 1000) + `"}`
	editor.write(request(1, "m", long))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the message is longer than 1000 bytes"}}`, editor.read())
	require.Contains(t, problem(), "from the editor: acp: a request is longer than 1000 bytes")
	editor.write(request(2, "m", "{}"))
	agent.expect(request(2, "m", "{}"))
	agent.write(result(2, long))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"the message is longer than 1000 bytes"}}`, editor.read())
	agent.write(`{"jsonrpc":"2.0","method":"m","params":`+long+`}`, request(3, "m", long), "short")
	editor.expect("short")
	require.Contains(t, agent.read(), `"id":3,"error"`)
}

func TestServersAreAddedToSessions(t *testing.T) {
	config := acpproxy.Config{MCPServers: []acp.MCPServer{
		{Stdio: &acp.MCPServerStdio{Name: "shop", Command: "/bin/shop", Args: []string{}, Env: []acp.EnvVariable{}}},
		{HTTP: &acp.MCPServerHTTP{Name: "web", URL: "http://127.0.0.1:1/mcp", Headers: []acp.HTTPHeader{}}},
	}}
	problem := problems(&config)
	editor, agent, _ := serve(t, config)
	const shop = `{"name":"shop","command":"/bin/shop","args":[],"env":[]}`
	for _, method := range []string{acp.MethodNewSession, acp.MethodLoadSession, acp.MethodResumeSession, "session/fork"} {
		editor.write(request(1, method, `{"_x": 1e3,"mcpServers" : [ ],"cwd":"/"}`))
		agent.expect(request(1, method, `{"_x": 1e3,"mcpServers" : [`+shop+`],"cwd":"/"}`))
		require.Contains(t, problem(), `"web" is left out: the agent does not support servers over HTTP`)
	}
	editor.write(request(2, acp.MethodInitialize, `{}`))
	agent.read()
	agent.write(result(2, `{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`))
	editor.read()
	editor.write(request(3, acp.MethodNewSession, `{"cwd":"/","mcpServers":[{"name":"shop",  "command":"x"}]}`), request(4, acp.MethodNewSession, `{"cwd":"/"}`))
	line := agent.read()
	require.Contains(t, line, `"mcpServers":[{"name":"shop",  "command":"x"},{"name":"shop-2","command":"/bin/shop","args":[],"env":[]},{`)
	require.Contains(t, line, `"http://127.0.0.1:1/mcp"`)
	require.Contains(t, agent.read(), `"params":{"mcpServers":[`+shop)
	for _, odd := range []string{
		request(5, acp.MethodNewSession, `{"mcpServers":{}}`), request(5, acp.MethodNewSession, `[]`), request(5, acp.MethodNewSession, `{"mcpServers":[],"mcpServers":[]}`),
	} {
		editor.write(odd)
		agent.expect(odd)
		require.Contains(t, problem(), "are not added to the session")
	}
	editor.write(request(6, acp.MethodPrompt, `{"mcpServers":[]}`))
	agent.expect(request(6, acp.MethodPrompt, `{"mcpServers":[]}`))
}

func TestLogHasNoContent(t *testing.T) {
	var log bytes.Buffer
	editor, agent, wait := serve(t, acpproxy.Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	editor.write(request(1, acp.MethodPrompt, `{"sessionId":"s","prompt":"my secret plan"}`))
	agent.read()
	agent.write(result(1, `"the secret answer"`))
	editor.read()
	require.NoError(t, agent.out.Close())
	require.Error(t, wait())
	require.Contains(t, log.String(), "method=session/prompt")
	require.NotContains(t, log.String(), "secret")
}

// BenchmarkRelay measures a message there and its answer back.
func BenchmarkRelay(b *testing.B) {
	editorReads, toEditor := acp.Pipe()
	fromEditor, editorWrites := acp.Pipe()
	agentReads, toAgent := acp.Pipe()
	fromAgent, agentWrites := acp.Pipe()
	go acpproxy.Serve(b.Context(), fromEditor, toEditor, fromAgent, toAgent, acpproxy.Config{})
	go func() { // the agent repeats
		buf := make([]byte, 1<<16)
		for {
			n, err := agentReads.Read(buf)
			if err != nil {
				return
			}
			_, _ = agentWrites.Write(buf[:n])
		}
	}()
	line := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"text":%q}}}`, strings.Repeat("x", 100)) + "\n")
	buf := make([]byte, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = editorWrites.Write(line)
		for got := 0; got < len(line); {
			n, err := editorReads.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			got += n
		}
	}
	_ = editorWrites.Close()
	_ = agentWrites.Close()
}

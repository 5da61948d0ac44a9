// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// raw is an agent that writes whatever a script says.
type raw struct {
	in  *bufio.Reader
	out io.Writer
}

// message is what a client sends.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *acp.Error      `json:"error"`
}

// next reads a message; its Method is "" after the end of the input, and for answers.
func (a *raw) next() message {
	line, err := a.in.ReadBytes('\n')
	var m message
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		return message{}
	}
	return m
}

// await reads until a message of the method, or an answer if it is "", has come.
func (a *raw) await(method string) message {
	for {
		m := a.next()
		if m.Method == method || m.Method == "" && m.ID == nil {
			return m
		}
	}
}

func (a *raw) write(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

func (a *raw) answer(m message, result string) {
	a.write(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (a *raw) fail(m message, failure string) {
	a.write(`{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, failure)
}

// hello answers initialize with some capabilities.
func (a *raw) hello(capabilities string) {
	a.answer(a.await("initialize"), `{"protocolVersion":1,"agentInfo":{"name":"raw","version":"1"},"authMethods":[{"id":"key","name":"Key"}],"agentCapabilities":`+capabilities+`}`)
}

// open answers initialize and session/new.
func (a *raw) open() {
	a.hello(`{}`)
	a.answer(a.await("session/new"), `{"sessionId":"s"}`)
}

func (a *raw) update(update string) {
	a.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}`, update)
}

func (a *raw) say(text string) {
	quoted, _ := json.Marshal(text)
	a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(quoted) + `}}`)
}

// call sends a request, and returns its answer.
func (a *raw) call(method, params string) message {
	a.write(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`, method, params)
	return a.await("")
}

// answerAndCancel reads an answer and a cancellation, which come in any order, and returns the answer.
func (a *raw) answerAndCancel() message {
	m := a.next()
	if m.Method == "session/cancel" {
		return a.next()
	}
	a.await("session/cancel")
	return m
}

const endTurn = `{"stopReason":"end_turn"}`

// turn answers a prompt by what the script does.
func (a *raw) turn(script func()) {
	p := a.await("session/prompt")
	script()
	a.answer(p, endTurn)
}

// wait waits for the end of the input.
func (a *raw) wait() {
	for {
		if m := a.next(); m.Method == "" && m.ID == nil {
			return
		}
	}
}

// connect connects a client with an agent that a script plays. Everything is ended with the test.
func connect(t *testing.T, config acpclient.Config, script func(a *raw)) (*acpclient.Client, error) {
	t.Helper()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	played := make(chan struct{})
	go func() {
		defer close(played)
		script(&raw{bufio.NewReaderSize(toAgent, 1<<16), fromAgent})
		_ = fromAgent.Close()
		_, _ = io.Copy(io.Discard, toAgent)
	}()
	t.Cleanup(func() { <-played })
	c, err := acpclient.Connect(t.Context(), toClient, fromClient, config)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return c, err
}

// begin opens a session with an agent that a script plays.
func begin(t *testing.T, config acpclient.Config, script func(a *raw)) *acpclient.Session {
	t.Helper()
	c, err := connect(t, config, script)
	require.NoError(t, err)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	return s
}

// requireProblem waits until a problem is reported: calls fail before that.
func requireProblem(t *testing.T, c *acpclient.Client, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(problems(c), text) }, time.Minute, time.Millisecond, text)
}

// problems are the texts of what was reported.
func problems(c *acpclient.Client) string {
	var all []string
	for _, p := range c.Problems() {
		all = append(all, p.Error())
	}
	return strings.Join(all, "\n")
}

func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// newWorkspace is a workspace in memory whose commands are all the same.
func newWorkspace(t *testing.T, run workspace.MemoryScript) *workspace.Memory {
	t.Helper()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Command: func(workspace.Command) workspace.MemoryScript { return run }})
	require.NoError(t, err)
	require.NoError(t, ws.Disk().WriteFile("/repo/a.txt", []byte("one\ntwo\nthree\n"), 0o644))
	return ws
}

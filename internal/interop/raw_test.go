// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// rawClient is a pipe to the agent and nothing more: it can write what no SDK would.
type rawClient struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr lockedText
	lines  chan []byte   // of the agent; closed at their end
	read   chan struct{} // closed at the same time
	waited bool          // for the agent's end
	wire   wireLines     // for validate
	calls  int           // so far, of call
	known  map[string]bool
}

// announces reports whether a message is an update that an agent sends about a session by itself, such as the commands that it has. There must be
// none before the client knows the session.
func (c *rawClient) announces(m *wireMessage) bool {
	var params struct {
		ID      string `json:"sessionId"`
		Updated struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
	}
	if m.isAnswer() {
		if json.Unmarshal(m.Result, &params) == nil && params.ID != "" {
			if c.known == nil {
				c.known = map[string]bool{}
			}
			c.known[params.ID] = true
		}
		return false
	}
	if m.Method != "session/update" || json.Unmarshal(m.Params, &params) != nil {
		return false
	}
	switch params.Updated.Kind {
	case "available_commands_update", "config_option_update", "current_mode_update", "session_info_update":
	default:
		return false
	}
	if !c.known[params.ID] {
		c.t.Fatalf("%s %s came before the session's answer", m.Method, m.Params)
	}
	return true
}

// startRaw starts the agent. A test that does not read its output has to wait for its end.
func startRaw(t testing.TB, agent []string, env ...string) *rawClient {
	t.Helper()
	ranTest(t)
	c := &rawClient{t: t, cmd: exec.Command(agent[0], agent[1:]...), lines: make(chan []byte, 1<<16), read: make(chan struct{})}
	c.cmd.Env = cleanEnv(append(env, "HOME="+scratch)...)
	c.cmd.Stderr = &c.stderr
	var err1, err2 error
	c.stdin, err1 = c.cmd.StdinPipe()
	c.stdout, err2 = c.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, startGroup(t, c.cmd)); err != nil {
		t.Fatal(err)
	}
	return c
}

// reading hands over the agent's lines as they come. Unless the test has seen to the agent's end, it is ended with the test, which it
// has to survive without an error.
func (c *rawClient) reading() *rawClient {
	c.t.Cleanup(c.validate)
	c.t.Cleanup(func() {
		if c.waited {
			return
		}
		if err := c.end(); err != nil {
			c.t.Errorf("the agent, at the end of its input: %v\n%s", err, &c.stderr)
		}
	})
	go func() {
		defer close(c.read)
		defer close(c.lines)
		lines := bufio.NewReaderSize(c.stdout, 1<<16)
		for {
			line, err := lines.ReadBytes('\n')
			if len(line) > 0 {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return c
}

// initialized is a client whose connection is initialized, and a session of it. The ids up to 99 are its own.
func initialized(t testing.TB, env ...string) (c *rawClient, session string) {
	t.Helper()
	c = startRaw(t, ideagent(), env...).reading()
	c.send(initializeLine(1))
	c.wantResult(`1`)
	return c, c.newSession(`2`)
}

// validate holds what the agent has sent against the schema, where there is node. Text comes in many pieces, of which some are enough.
func (c *rawClient) validate() {
	schemas, err := loadUnstable()
	if err != nil {
		return
	}
	sent, pieces := map[string]string{}, 0 // the client's methods, by id
	for _, line := range c.wire {
		var m wireMessage
		if json.Unmarshal(line.raw, &m) != nil {
			continue // nonsense of the client's
		}
		id := string(m.ID)
		name, value := schemas.requests[m.Method], m.Params
		switch {
		case !line.byAgent:
			if m.isRequest() && sent[id] == "" {
				sent[id] = m.Method
			}
			continue
		case m.isAnswer() && m.Error != nil:
			delete(sent, id)
			name, value = "Error", mustMarshal(m.Error)
		case m.isAnswer():
			name, value = schemas.responses[sent[id]], m.Result
			delete(sent, id)
		case bytes.Contains(line.raw, []byte(`_message_chunk"`)):
			if pieces++; pieces > 10 {
				continue
			}
		}
		if name == "" && m.isAnswer() { // to what was not written as a line
			continue
		}
		if err := schemas.validate(name, value); err != nil {
			c.t.Errorf("the agent breaks the schema: %v\n%s", err, line.raw[:min(len(line.raw), 1000)])
		}
	}
}

func initializeLine(version int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%d,"clientCapabilities":{}}}`, version)
}

func (c *rawClient) newSession(id string) string {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, id, scratch))
	session := sessionOf(c.wantResult(id))
	if session == "" {
		c.t.Fatal("session/new was answered without an id")
	}
	return session
}

func promptLine(id, session, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%s}]}}`,
		id, session, mustMarshal(text))
}

func cancelLine(session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, session)
}

// send writes lines in one write.
func (c *rawClient) send(lines ...string) {
	c.t.Helper()
	var all []byte
	for _, line := range lines {
		all = append(append(all, line...), '\n')
		c.wire = append(c.wire, wireLine{raw: []byte(line)})
	}
	c.write(all)
}

func (c *rawClient) write(data []byte) {
	c.t.Helper()
	if _, err := c.stdin.Write(data); err != nil {
		c.t.Fatalf("write to the agent: %v\n%s", err, &c.stderr)
	}
}

// next returns the agent's next message, which has to be one JSON object on a line. What the agent announces about sessions is passed over.
func (c *rawClient) next() wireMessage {
	c.t.Helper()
	return c.nextBefore(time.After(patience))
}

func (c *rawClient) nextBefore(timeout <-chan time.Time) wireMessage {
	c.t.Helper()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the agent has ended its output\n%s", &c.stderr)
			}
			var m wireMessage
			if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" || line[len(line)-1] != '\n' || !utf8.Valid(line) {
				c.t.Fatalf("not a message: %v\n%s", err, line)
			}
			c.wire = append(c.wire, wireLine{byAgent: true, raw: line})
			if c.announces(&m) {
				continue
			}
			return m
		case <-timeout:
			c.t.Fatalf("no answer from the agent for %v\n%s", patience, &c.stderr)
			return wireMessage{}
		}
	}
}

// answer returns the next answer, and passes over the updates before it.
func (c *rawClient) answer() wireMessage {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		if m := c.nextBefore(timeout); m.isAnswer() {
			return m
		}
	}
}

func (c *rawClient) wantResult(id string) json.RawMessage {
	c.t.Helper()
	m := c.answer()
	if string(m.ID) != id || m.Error != nil {
		c.t.Fatalf("the answer is to %s: %s, %v; want a result for %s", m.ID, m.Result, m.Error, id)
	}
	return m.Result
}

func (c *rawClient) wantStop(id, reason string) {
	c.t.Helper()
	var result struct {
		StopReason string `json:"stopReason"`
	}
	raw := c.wantResult(id)
	if err := json.Unmarshal(raw, &result); err != nil || result.StopReason != reason {
		c.t.Fatalf("the prompt was answered with %s, want the stop reason %s", raw, reason)
	}
}

func (c *rawClient) wantError(id string, code int) *rpcError {
	c.t.Helper()
	m := c.answer()
	if string(m.ID) != id || m.Error == nil || m.Error.Code != code {
		c.t.Fatalf("the answer is to %s: %s, %v; want an error for %s with code %d", m.ID, m.Result, m.Error, id, code)
	}
	return m.Error
}

// awaitRequest returns the id of the agent's next request of a method, and passes over everything else.
func (c *rawClient) awaitRequest(method string) json.RawMessage {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		if m := c.nextBefore(timeout); m.isRequest() && m.Method == method {
			return m.ID
		}
	}
}

// respond answers the agent's next request of a method.
func (c *rawClient) respond(method, result string) {
	c.t.Helper()
	c.reply(c.awaitRequest(method), result)
}

func (c *rawClient) reply(id json.RawMessage, result string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// mustWork checks that the connection lives: a prompt gets an answer, and nothing else was on its way.
func (c *rawClient) mustWork(session string) {
	c.t.Helper()
	c.mustBeQuiet()
	c.send(promptLine(`"works"`, session, "help"))
	c.wantStop(`"works"`, "end_turn")
	c.mustBeQuiet()
}

// mustBeQuiet checks that the agent sends nothing: the answer to a request is the next of its lines.
func (c *rawClient) mustBeQuiet() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"quiet","method":"_interop/quiet"}`)
	if m := c.next(); string(m.ID) != `"quiet"` {
		c.t.Fatalf("the agent sent something that nobody expected: %s %s%s %v", m.Method, m.Params, m.Result, m.Error)
	}
}

// end ends the agent's input and waits for its end.
func (c *rawClient) end() error {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.wait()
}

// wait waits for the agent's end.
func (c *rawClient) wait() error {
	c.t.Helper()
	c.waited = true
	go func() {
		for range c.lines { // so that the agent is not held up
		}
	}()
	err := awaitExit(c.cmd, c.read)
	if stderr := c.stderr.String(); strings.Contains(stderr, "DATA RACE") || strings.Contains(stderr, "panic: ") {
		c.t.Errorf("the agent complains: %s", stderr)
	}
	return err
}

func (c *rawClient) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

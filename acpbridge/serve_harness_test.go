// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset"
)

// bare is the dependencies of most agents here: what the bridge gives and nothing else.
type bare = deps.ACPDeps

// none is the arguments of a tool that takes none.
type none struct{}

// config returns the configuration of an agent that answers with text.
func config(t testing.TB, m model.Model, tools ...*toolset.Tool[bare]) acpbridge.Config[bare, string] {
	t.Helper()
	a, err := agent.New(agent.Config[bare, string]{Model: m, Toolsets: []toolset.Toolset[bare]{toolset.Of(tools...)}})
	require.NoError(t, err)
	return acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}, Options: acpbridge.Options{Info: acp.Implementation{Name: "test", Version: "1"}}}
}

// tool makes a tool without arguments.
func tool(name string, fn func(ctx context.Context, run *toolset.RunContext[bare]) (string, error), opts ...toolset.Option) *toolset.Tool[bare] {
	return toolset.Func(name, "", func(ctx context.Context, run *toolset.RunContext[bare], _ none) (string, error) {
		return fn(ctx, run)
	}, opts...)
}

// waits makes a tool that signals when it is called and then waits for its ctx to end.
func waits(name string, called chan<- struct{}) *toolset.Tool[bare] {
	return tool(name, func(ctx context.Context, _ *toolset.RunContext[bare]) (string, error) {
		called <- struct{}{}
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
}

// editor is the client's end of a served agent, at the level of lines.
type editor struct {
	t      testing.TB
	w      io.WriteCloser
	r      io.ReadCloser
	cancel context.CancelFunc // of Serve's ctx
	served chan error         // Serve's result
	nextID int

	mu      sync.Mutex
	more    sync.Cond
	lines   []wireLine
	answers map[string]wireLine // by id
	ended   bool
}

// wireLine is a line taken apart. Text is the line itself.
type wireLine struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID acp.SessionID
		Update    acp.SessionUpdate
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    map[string]any
	}
	Text string `json:"-"`
}

// StopReason is the result's.
func (l wireLine) StopReason() acp.StopReason {
	var r acp.PromptResponse
	_ = json.Unmarshal(l.Result, &r)
	return r.StopReason
}

// Is reports whether the line is the answer to the request.
func (l wireLine) Is(id int) bool { return string(l.ID) == fmt.Sprint(id) && l.Method == "" }

// serve serves the configuration to an editor that has sent nothing yet.
func serve[D deps.Carrier, O any](t testing.TB, c acpbridge.Config[D, O]) *editor {
	t.Helper()
	e := connect(t, c)
	go e.read()
	return e
}

// connect is serve for an editor that does not read.
func connect[D deps.Carrier, O any](t testing.TB, c acpbridge.Config[D, O]) *editor {
	t.Helper()
	in, w := acp.Pipe()
	r, out := acp.Pipe()
	if over, ok := c.Out.(*remote); ok {
		over.WriteCloser = out
		c.In = in
	} else {
		c.In, c.Out = in, out
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &editor{t: t, w: w, r: r, cancel: cancel, served: make(chan error, 1), answers: map[string]wireLine{}}
	e.more.L = &e.mu
	go func() { e.served <- acpbridge.Serve(ctx, c) }()
	t.Cleanup(func() {
		e.stop()
		e.cancel()
		e.r.Close()
	})
	return e
}

// start is serve behind an initialize and a session/new, whose session it returns.
func start[D deps.Carrier, O any](t testing.TB, c acpbridge.Config[D, O]) (*editor, acp.SessionID) {
	t.Helper()
	e := serve(t, c)
	e.initialize(`{}`)
	return e, e.newSession()
}

func (e *editor) read() {
	lines := bufio.NewReaderSize(e.r, 64<<10)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var l wireLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			e.t.Errorf("the agent wrote %q: %v", text, err)
		}
		l.Text = strings.TrimSuffix(text, "\n")
		e.mu.Lock()
		e.lines = append(e.lines, l)
		if l.Method == "" {
			e.answers[string(l.ID)] = l
		}
		e.more.Broadcast()
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.more.Broadcast()
}

// stop ends the editor's side, unless it has ended, and returns Serve's result.
func (e *editor) stop() error {
	e.w.Close()
	return e.result()
}

// result waits for Serve.
func (e *editor) result() error {
	e.t.Helper()
	select {
	case err := <-e.served:
		e.served <- err
		return err
	case <-time.After(time.Minute):
		require.Fail(e.t, "Serve does not end")
		return nil
	}
}

// request returns a request as a line, and its id.
func (e *editor) request(method, params string) (id int, line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nextID++
	params = strings.ReplaceAll(params, "\n", " ")
	return e.nextID, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.nextID, method, params)
}

// write writes lines, all at once.
func (e *editor) write(lines ...string) {
	e.t.Helper()
	_, err := io.WriteString(e.w, strings.Join(lines, ""))
	require.NoError(e.t, err)
}

// send sends a request and returns its id.
func (e *editor) send(method, params string) int {
	e.t.Helper()
	id, line := e.request(method, params)
	e.write(line)
	return id
}

// call sends a request and waits for its answer.
func (e *editor) call(method, params string) wireLine {
	e.t.Helper()
	return e.answer(e.send(method, params))
}

// answer waits for the answer to a request.
func (e *editor) answer(id int) wireLine {
	e.t.Helper()
	var answer wireLine
	e.wait(func() (ok bool) {
		answer, ok = e.answers[fmt.Sprint(id)]
		return ok
	})
	return answer
}

// await waits for a line.
func (e *editor) await(want func(wireLine) bool) wireLine {
	e.t.Helper()
	var line wireLine
	next := 0
	e.wait(func() bool {
		for ; next < len(e.lines); next++ {
			if line = e.lines[next]; want(line) {
				return true
			}
		}
		return false
	})
	return line
}

// wait waits until ok, which is called with mu held, is true.
func (e *editor) wait(ok func() bool) {
	e.t.Helper()
	late := false
	timer := time.AfterFunc(time.Minute, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		late = true
		e.more.Broadcast()
	})
	defer timer.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for !ok() {
		require.False(e.t, e.ended, "the connection ended before what was waited for")
		require.False(e.t, late, "what was waited for does not come")
		e.more.Wait()
	}
}

// awaitUpdate waits for an update.
func (e *editor) awaitUpdate(want func(*acp.SessionUpdate) bool) {
	e.t.Helper()
	e.await(func(l wireLine) bool { return l.Method == acp.MethodSessionUpdate && want(&l.Params.Update) })
}

// all returns the lines so far.
func (e *editor) all() []wireLine {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lines[:len(e.lines):len(e.lines)]
}

// updates returns the updates so far of a session.
func (e *editor) updates(id acp.SessionID) []acp.SessionUpdate {
	var updates []acp.SessionUpdate
	for _, l := range e.all() {
		if l.Method == acp.MethodSessionUpdate && l.Params.SessionID == id {
			updates = append(updates, l.Params.Update)
		}
	}
	return updates
}

func (e *editor) initialize(capabilities string) wireLine {
	e.t.Helper()
	return e.call(acp.MethodInitialize, fmt.Sprintf(
		`{"protocolVersion":1,"clientCapabilities":%s,"clientInfo":{"name":"editor","version":"2"}}`, capabilities))
}

func (e *editor) newSession() acp.SessionID {
	e.t.Helper()
	answer := e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
	var r acp.NewSessionResponse
	require.NoError(e.t, json.Unmarshal(answer.Result, &r), answer.Text)
	require.NotEmpty(e.t, r.SessionID)
	return r.SessionID
}

func (e *editor) promptLine(id acp.SessionID, text string) (int, string) {
	return e.request(acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, text))
}

// prompt sends a prompt and waits for its answer.
func (e *editor) prompt(id acp.SessionID, text string) wireLine {
	e.t.Helper()
	return e.answer(e.sendPrompt(id, text))
}

func (e *editor) sendPrompt(id acp.SessionID, text string) int {
	e.t.Helper()
	n, line := e.promptLine(id, text)
	e.write(line)
	return n
}

func cancelLine(id acp.SessionID) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", id)
}

// text returns the text of the agent's messages in a session.
func (e *editor) text(id acp.SessionID) string {
	var b strings.Builder
	for _, u := range e.updates(id) {
		if c := u.AgentMessageChunk; c != nil && c.Content.Text != nil {
			b.WriteString(c.Content.Text.Text)
		}
	}
	return b.String()
}

// requireStop asserts how a turn ended.
func requireStop(t testing.TB, want acp.StopReason, answer wireLine) {
	t.Helper()
	require.Equal(t, want, answer.StopReason(), answer.Text)
}

// requireError asserts that a request failed.
func requireError(t testing.TB, code int, kind acpbridge.ErrorKind, answer wireLine) {
	t.Helper()
	require.NotNil(t, answer.Error, answer.Text)
	require.Equal(t, code, answer.Error.Code, answer.Text)
	require.Equal(t, string(kind), answer.Error.Data["kind"], answer.Text)
	assert.NotEmpty(t, answer.Error.Message)
	assert.NotContains(t, answer.Error.Message, "\n")
}

// logBuffer is a log that a test can read.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// toolCall returns what an update says of a tool call, whether it announces it or not; nil for other updates.
func toolCall(u *acp.SessionUpdate) *acp.ToolCallUpdate {
	if u.ToolCall != nil {
		return new(acpview.Update(u.ToolCall))
	}
	return u.ToolCallUpdate
}

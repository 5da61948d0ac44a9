// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// editor is what stands behind a peer: an editor with a directory, files, terminals and a user.
type editor struct {
	t    testing.TB
	dir  string
	peer peer
	user func(q *permissionRequest) (kind string)

	mu        sync.Mutex
	changed   chan struct{} // closed when something has changed
	updates   []updateNotification
	raw       []json.RawMessage // the same, as the peer has passed them on
	questions []permissionRequest
	calls     []string // the methods that the agent has called
	terminals map[string]*terminal

	schemas func() (*schemaSet, error) // what the agent's messages are held against
	elicit  func(q *elicitation) any   // answers the agent's forms and addresses
	visited []string                   // the addresses that the agent has done with
}

// everything is what an editor can do.
var everything = object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true}

// The kinds of answers to a permission request. Anything else answers that the user was not asked to the end.
const (
	allowOnce    = "allow_once"
	allowAlways  = "allow_always"
	rejectOnce   = "reject_once"
	rejectAlways = "reject_always"
)

// answer is a user who always gives the same answer.
func answer(kind string) func(*permissionRequest) string {
	return func(*permissionRequest) string { return kind }
}

// openEditor starts the agent with a peer and initializes the connection. At the end of the test it closes the connection, and checks
// what went over the wire and how the agent ended.
func openEditor(t *testing.T, dial connect, capabilities object, user func(*permissionRequest) string) *editor {
	t.Helper()
	return openEditorOf(t, ideagent(), dial, capabilities, user)
}

// openEditorOf is openEditor for another agent.
func openEditorOf(t *testing.T, command []string, dial connect, capabilities object, user func(*permissionRequest) string) *editor {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e, file := startEditor(t, command, dial, dir, user)
	t.Cleanup(func() {
		problems, err := e.peer.close()
		if err != nil {
			t.Errorf("the agent, at the end of its input: %v", err)
		}
		for _, problem := range problems {
			t.Errorf("the SDK complains: %s", problem)
		}
		wire := readTranscript(t, file)
		wire.check(t)
		if schemas, err := e.schemas(); err == nil {
			wire.checkSchema(t, schemas)
		}
		if t.Failed() {
			e.show(wire)
		}
	})
	e.initialize(capabilities)
	return e
}

// startEditor starts the agent with a peer, and a recorder between them that writes to the file.
func startEditor(t *testing.T, command []string, dial connect, dir string, user func(*permissionRequest) string) (e *editor, file string) {
	t.Helper()
	e = &editor{t: t, dir: dir, user: user, changed: make(chan struct{}), terminals: map[string]*terminal{}, schemas: loadSchema}
	if slices.Contains(command, binary) { // the sample serves what is not stable, which the unstable schema has beside the stable
		e.schemas = loadUnstable
	}
	ranTest(t)
	agent, file := recorded(t, command)
	e.peer = dial(t, agent, e)
	return e, file
}

func (e *editor) initialize(capabilities object) {
	e.t.Helper()
	var result struct {
		ProtocolVersion int `json:"protocolVersion"`
	}
	e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": capabilities}, &result)
	if result.ProtocolVersion != 1 {
		e.t.Fatalf("the agent speaks version %d of the protocol", result.ProtocolVersion)
	}
}

// show logs the end of a transcript.
func (e *editor) show(wire wireLines) {
	const last = 40
	for _, line := range wire[max(0, len(wire)-last):] {
		who := ">"
		if line.byAgent {
			who = "<"
		}
		e.t.Logf("%s %s", who, line.raw[:min(len(line.raw), 1000)])
	}
}

// call calls the agent, and fails the test if that fails.
func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if err := e.try(method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	raw, err := e.peer.call(ctx, method, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

func (e *editor) write(name, content string) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(content), 0o666); err != nil {
		e.t.Fatal(err)
	}
}

// read returns what is in a file, "" if there is none.
func (e *editor) read(name string) string {
	e.t.Helper()
	data, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.t.Fatal(err)
	}
	return string(data)
}

// conversation is a session.
type conversation struct {
	*editor
	id string
}

func (e *editor) newSession() conversation {
	e.t.Helper()
	var result struct {
		SessionID string `json:"sessionId"`
	}
	e.call("session/new", object{"cwd": e.dir, "mcpServers": []any{}}, &result)
	return conversation{e, result.SessionID}
}

// turn is what came of a prompt.
type turn struct {
	t       testing.TB
	stop    string
	err     error
	updates []update
}

// prompt runs a turn to its end.
func (c conversation) prompt(text string) turn {
	c.t.Helper()
	return c.start(text)()
}

// start begins a turn; the function that it returns waits for its end.
func (c conversation) start(text string) (wait func() turn) {
	return c.startWith([]object{{"type": "text", "text": text}})
}

// startWith is start with blocks of any kind.
func (c conversation) startWith(blocks []object) (wait func() turn) {
	c.mu.Lock()
	before := len(c.updates)
	c.mu.Unlock()
	done := make(chan turn, 1)
	go func() {
		var result struct {
			StopReason string `json:"stopReason"`
		}
		err := c.try("session/prompt", object{"sessionId": c.id, "prompt": blocks}, &result)
		tn := turn{t: c.t, stop: result.StopReason, err: err}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, u := range c.updates[before:] {
			if u.SessionID == c.id {
				tn.updates = append(tn.updates, u.Update)
			}
		}
		done <- tn
	}()
	return func() turn { return <-done }
}

func (c conversation) cancel() {
	c.t.Helper()
	if err := c.peer.notify("session/cancel", object{"sessionId": c.id}); err != nil {
		c.t.Fatal(err)
	}
}

// await waits until the condition holds; it is called with e's lock held, after every message of the agent.
func (e *editor) await(what string, condition func() bool) {
	e.t.Helper()
	timeout := time.After(patience)
	for {
		e.mu.Lock()
		ok, changed := condition(), e.changed
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			e.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// change does something to the editor's state and wakes those who wait for it.
func (e *editor) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

// said reports whether the agent has said something in the session. The caller holds e's lock.
func (e *editor) said(session, text string) bool {
	var b strings.Builder
	for _, u := range e.updates {
		if u.SessionID == session && u.Update.Kind == "agent_message_chunk" {
			b.WriteString(u.Update.text())
		}
	}
	return strings.Contains(b.String(), text)
}

// replayed returns what the agent has sent about sessions up to the first list of commands, which comes behind what is replayed when a session is loaded.
func (e *editor) replayed() (updates []updateNotification, raw []json.RawMessage) {
	e.t.Helper()
	e.await("the list of commands", func() bool {
		end := slices.IndexFunc(e.updates, func(u updateNotification) bool { return u.Update.Kind == "available_commands_update" })
		updates, raw = slices.Clone(e.updates[:end+1]), slices.Clone(e.raw[:end+1])
		return end >= 0
	})
	return updates, raw
}

// notification implements [handler].
func (e *editor) notification(method string, params json.RawMessage) {
	if method == "elicitation/complete" {
		var n elicitation
		if err := json.Unmarshal(params, &n); err != nil {
			e.t.Errorf("%s: %v", method, err)
		}
		e.change(func() { e.visited = append(e.visited, n.ElicitationID) })
		return
	}
	var n updateNotification
	if err := json.Unmarshal(params, &n); err != nil {
		e.t.Errorf("%s: %v", method, err)
	}
	e.change(func() {
		e.updates, e.raw = append(e.updates, n), append(e.raw, params)
	})
}

// request implements [handler].
func (e *editor) request(method string, params json.RawMessage) (any, *rpcError) {
	e.change(func() { e.calls = append(e.calls, method) })
	switch method {
	case "session/request_permission":
		return e.ask(params)
	case "elicitation/create":
		var q elicitation
		if err := json.Unmarshal(params, &q); err != nil || e.elicit == nil {
			return nil, &rpcError{Code: -32602, Message: "no elicitation"}
		}
		return e.elicit(&q), nil
	case "fs/read_text_file", "fs/write_text_file":
		return e.file(method, params)
	}
	return e.terminal(method, params)
}

func (e *editor) ask(params json.RawMessage) (any, *rpcError) {
	var q permissionRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	e.change(func() { e.questions = append(e.questions, q) })
	kind := e.user(&q)
	for _, option := range q.Options {
		if option.Kind == kind {
			return object{"outcome": object{"outcome": "selected", "optionId": option.ID}}, nil
		}
	}
	return object{"outcome": object{"outcome": "cancelled"}}, nil
}

func (e *editor) file(method string, params json.RawMessage) (any, *rpcError) {
	var p struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Line    *int   `json:"line"`
		Limit   *int   `json:"limit"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	if rel, err := filepath.Rel(e.dir, p.Path); err != nil || !filepath.IsLocal(rel) {
		e.t.Errorf("%s of %s, which is not in the session's directory", method, p.Path)
	}
	if method == "fs/write_text_file" {
		if err := os.WriteFile(p.Path, []byte(p.Content), 0o666); err != nil {
			return nil, &rpcError{Code: -32603, Message: err.Error()}
		}
		return object{}, nil
	}
	data, err := os.ReadFile(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &rpcError{Code: -32002, Message: "Resource not found: " + p.Path}
	case err != nil:
		return nil, &rpcError{Code: -32603, Message: err.Error()}
	}
	lines := strings.SplitAfter(string(data), "\n")
	if p.Line != nil {
		lines = lines[min(max(*p.Line-1, 0), len(lines)):]
	}
	if p.Limit != nil {
		lines = lines[:min(*p.Limit, len(lines))]
	}
	return object{"content": strings.Join(lines, "")}, nil
}

// mustEnd fails the test unless the turn ended for the reason.
func (tn turn) mustEnd(reason string) {
	tn.t.Helper()
	if tn.err != nil {
		tn.t.Fatalf("the prompt was answered with %v, want the stop reason %s", tn.err, reason)
	}
	if tn.stop != reason {
		tn.t.Fatalf("the turn ended with %s, want %s", tn.stop, reason)
	}
}

// text returns what the agent said.
func (tn turn) text() string {
	var b strings.Builder
	for i := range tn.updates {
		if tn.updates[i].Kind == "agent_message_chunk" {
			b.WriteString(tn.updates[i].text())
		}
	}
	return b.String()
}

func (tn turn) mustSay(text string) {
	tn.t.Helper()
	if said := tn.text(); !strings.Contains(said, text) {
		tn.t.Errorf("the agent did not say %q, but:\n%s", text, said)
	}
}

// shownCall is a tool call as the user has seen it.
type shownCall struct {
	toolCall               // as it was last
	shown    []toolContent // all that it has shown
	statuses []string
}

// call returns the turn's tool call of a kind. It has to be the only one.
func (tn turn) call(kind string) shownCall {
	tn.t.Helper()
	calls := map[string]*shownCall{}
	for i := range tn.updates {
		u := &tn.updates[i]
		if u.Kind != "tool_call" && u.Kind != "tool_call_update" {
			continue
		}
		c := calls[u.ID]
		if c == nil {
			c = &shownCall{}
			calls[u.ID] = c
		}
		c.merge(&u.toolCall)
	}
	var found []shownCall
	for _, c := range calls {
		if c.ToolKind == kind {
			found = append(found, *c)
		}
	}
	if len(found) != 1 {
		tn.t.Fatalf("the turn has %d tool calls of kind %s, want 1", len(found), kind)
	}
	return found[0]
}

func (c *shownCall) merge(u *toolCall) {
	c.ID = u.ID
	if u.ToolKind != "" {
		c.ToolKind = u.ToolKind
	}
	if u.Title != "" {
		c.Title = u.Title
	}
	if u.Status != "" {
		c.Status = u.Status
		c.statuses = append(c.statuses, u.Status)
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	c.shown = append(c.shown, u.content()...)
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// transcript is what client and agent wrote, in order.
type wireLines []wireLine

type wireLine struct {
	byAgent bool
	raw     []byte // with its end
}

// wireMessage is a JSON-RPC message of either side.
type wireMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

func (m *wireMessage) isRequest() bool { return m.Method != "" && m.ID != nil }
func (m *wireMessage) isAnswer() bool  { return m.Method == "" }

// check reports what the agent has done that the protocol, or the README of acpbridge/acp, forbids. It holds for a client that keeps
// the protocol itself.
func (tr wireLines) check(t *testing.T) {
	t.Helper()
	c := &checker{
		sent: map[string]wireMessage{}, asked: map[string]wireMessage{}, sessions: map[string]*sessionState{}, terminals: map[string]bool{},
	}
	for i, line := range tr {
		if c.line(line); len(c.problems) > 0 {
			shown := bytes.TrimSpace(line.raw)
			t.Errorf("line %d of the transcript: %s\n%s", i+1, strings.Join(c.problems, "; "), shown[:min(len(shown), 2000)])
			c.problems = nil
		}
	}
	for id := range c.terminals {
		t.Errorf("the terminal %s was never released", id)
	}
	for id, request := range c.sent {
		t.Errorf("the request %s, %s, was never answered", id, request.Method)
	}
}

type checker struct {
	problems []string

	capabilities struct {
		FS struct {
			Read  bool `json:"readTextFile"`
			Write bool `json:"writeTextFile"`
		} `json:"fs"`
		Terminal    bool    `json:"terminal"`
		Elicitation *object `json:"elicitation"`
	}
	sent      map[string]wireMessage // by the client, not answered, by id
	asked     map[string]wireMessage // by the agent, likewise
	sessions  map[string]*sessionState
	terminals map[string]bool // created and not released
}

type sessionState struct {
	turns   int
	loading bool              // it is being replayed
	calls   map[string]string // the status of each tool call
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) line(line wireLine) {
	var m wireMessage
	err := json.Unmarshal(line.raw, &m)
	if !line.byAgent {
		if err == nil {
			c.fromClient(&m)
		}
		return
	}
	switch {
	case !bytes.HasSuffix(line.raw, []byte("\n")):
		c.bad("no line end")
	case !utf8.Valid(line.raw):
		c.bad("not UTF-8")
	case err != nil:
		c.bad("not a JSON object: %v", err)
		return
	case m.Version != "2.0":
		c.bad("jsonrpc is %q", m.Version)
	}
	c.members(line.raw)
	if m.isAnswer() {
		c.answer(&m)
		return
	}
	c.nulls("params", m.Params)
	if m.isRequest() {
		c.request(&m)
	} else {
		c.notification(&m)
	}
}

// members checks that the message has the members of JSON-RPC and no others.
func (c *checker) members(raw []byte) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return
	}
	known := []string{"jsonrpc", "id", "method", "params", "result", "error"}
	for name := range all {
		if !slices.Contains(known, name) {
			c.bad("the message has a member %q", name)
		}
	}
	if (all["result"] != nil) == (all["error"] != nil) && all["method"] == nil {
		c.bad("an answer has either a result or an error")
	}
}

// nulls reports members that are null. Raw input and output are the model's and the tools' own.
func (c *checker) nulls(path string, raw json.RawMessage) {
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil {
		return
	}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case nil:
			c.bad("%s is null", path)
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		case map[string]any:
			for name, e := range v {
				if name != "rawInput" && name != "rawOutput" && name != "_meta" {
					walk(path+"."+name, e)
				}
			}
		}
	}
	walk(path, value)
}

func (c *checker) fromClient(m *wireMessage) {
	switch {
	case m.isAnswer():
		c.clientAnswer(m)
		return
	case m.isRequest():
		c.sent[string(m.ID)] = *m
	}
	switch m.Method {
	case "initialize":
		var p struct {
			Capabilities *json.RawMessage `json:"clientCapabilities"`
		}
		if json.Unmarshal(m.Params, &p) == nil && p.Capabilities != nil {
			_ = json.Unmarshal(*p.Capabilities, &c.capabilities)
		}
	case "session/prompt":
		if s := c.sessions[sessionOf(m.Params)]; s != nil {
			s.turns++
		}
	case "session/load":
		c.sessions[sessionOf(m.Params)] = &sessionState{loading: true, calls: map[string]string{}}
	}
}

// clientAnswer follows the client's answer to a request of the agent.
func (c *checker) clientAnswer(m *wireMessage) {
	request, ok := c.asked[string(m.ID)]
	if !ok {
		return
	}
	delete(c.asked, string(m.ID))
	if m.Error != nil {
		if m.Error.Code == -32602 || m.Error.Code == -32600 || m.Error.Code == -32601 {
			c.bad("the client refused %s: %v", request.Method, m.Error)
		}
		return
	}
	switch request.Method {
	case "terminal/create":
		c.terminals[terminalOf(m.Result)] = true
	case "terminal/release":
		delete(c.terminals, terminalOf(request.Params))
	}
}

func (c *checker) answer(m *wireMessage) {
	if m.Result != nil {
		c.nulls("result", m.Result)
	}
	if m.Error != nil && (m.Error.Message == "" || strings.Contains(m.Error.Message, "\n")) {
		c.bad("an error's message is one line")
	}
	request, ok := c.sent[string(m.ID)]
	if !ok {
		if string(m.ID) != "null" {
			c.bad("an answer to nothing")
		}
		return
	}
	delete(c.sent, string(m.ID))
	switch request.Method {
	case "session/new", "session/fork":
		if m.Error == nil {
			c.sessions[sessionOf(m.Result)] = &sessionState{calls: map[string]string{}}
		}
	case "session/resume":
		if m.Error == nil {
			c.sessions[sessionOf(request.Params)] = &sessionState{calls: map[string]string{}}
		}
	case "session/load":
		if m.Error == nil {
			c.sessions[sessionOf(request.Params)].loading = false
		} else {
			delete(c.sessions, sessionOf(request.Params))
		}
	case "session/prompt":
		if s := c.sessions[sessionOf(request.Params)]; s != nil {
			s.turns--
			if s.turns == 0 {
				for id, status := range s.calls {
					if status != "completed" && status != "failed" {
						c.bad("the turn ends, and its tool call %s is %s", id, status)
					}
				}
			}
		}
	}
}

func (c *checker) request(m *wireMessage) {
	if _, again := c.asked[string(m.ID)]; again {
		c.bad("the id is in use")
	}
	c.asked[string(m.ID)] = *m
	s := c.sessions[sessionOf(m.Params)]
	if s == nil {
		c.bad("a request for no session of the client's")
		return
	}
	if s.turns == 0 && m.Method != "terminal/release" && m.Method != "terminal/kill" {
		c.bad("a request outside of a turn")
	}
	allowed := map[string]bool{
		"fs/read_text_file":          c.capabilities.FS.Read,
		"fs/write_text_file":         c.capabilities.FS.Write,
		"session/request_permission": true,
		"elicitation/create":         c.capabilities.Elicitation != nil,
	}
	for _, method := range []string{"create", "output", "wait_for_exit", "kill", "release"} {
		allowed["terminal/"+method] = c.capabilities.Terminal
	}
	if !allowed[m.Method] {
		c.bad("the client has not announced that it can do this")
	}
	if m.Method == "session/request_permission" {
		c.permission(s, m.Params)
	}
}

func (c *checker) permission(s *sessionState, params json.RawMessage) {
	var p permissionRequest
	if err := json.Unmarshal(params, &p); err != nil {
		c.bad("%v", err)
		return
	}
	if _, known := s.calls[p.ToolCall.ID]; !known {
		c.bad("permission is asked for a tool call that has not been announced")
	}
	seen := map[string]bool{}
	for _, option := range p.Options {
		if option.ID == "" || option.Name == "" || seen[option.ID] {
			c.bad("the options need ids of their own and names")
		}
		seen[option.ID] = true
	}
}

func (c *checker) notification(m *wireMessage) {
	if strings.HasPrefix(m.Method, "$/") || m.Method == "elicitation/complete" {
		return
	}
	if m.Method != "session/update" {
		c.bad("the notification is not one of an agent's")
		return
	}
	s := c.sessions[sessionOf(m.Params)]
	if s == nil {
		c.bad("an update before the answer to session/new")
		return
	}
	var p updateNotification
	if err := json.Unmarshal(m.Params, &p); err != nil {
		c.bad("%v", err)
		return
	}
	u := &p.Update
	turnless := []string{
		"available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update",
	}
	if s.turns == 0 && !s.loading && !slices.Contains(turnless, u.Kind) {
		c.bad("an update outside of a turn: behind the prompt's answer, or before the prompt")
	}
	switch u.Kind {
	case "tool_call":
		if _, again := s.calls[u.ID]; again {
			c.bad("the tool call was announced before")
		}
		if u.Title == "" {
			c.bad("a tool call needs a title")
		}
		s.calls[u.ID] = u.Status
	case "tool_call_update":
		status, known := s.calls[u.ID]
		if !known {
			c.bad("an update of a tool call that was not announced; known are %v", slices.Sorted(maps.Keys(s.calls)))
		}
		if u.Status != "" {
			if status == "completed" || status == "failed" {
				c.bad("the tool call was %s before", status)
			}
			s.calls[u.ID] = u.Status
		}
	}
}

func sessionOf(params json.RawMessage) string {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(params, &p) // "" names no session
	return p.SessionID
}

func terminalOf(params json.RawMessage) string {
	var p struct {
		TerminalID string `json:"terminalId"`
	}
	_ = json.Unmarshal(params, &p) // "" names no terminal
	return p.TerminalID
}

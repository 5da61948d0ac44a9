// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The groups of these tests are those of the protocol's official test kit, as far as the agent announces what they are about. Most
// send what no client should, and then see that the connection works as if nothing had been.

const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	notFound       = -32002
)

// wireCase is what is sent, and the answer: an error with a code, or none.
type wireCase struct {
	name string
	send string // %s is the session
	id   string // of the answer; "" if there is to be none
	code int
}

func runWireCases(t *testing.T, cases []wireCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client, session := initialized(t)
			client.send(strings.ReplaceAll(c.send, "%s", session))
			if c.id != "" {
				client.wantError(c.id, c.code)
			}
			client.mustWork(session)
		})
	}
}

func TestTransport(t *testing.T) {
	runWireCases(t, []wireCase{
		{name: "a line that is not JSON", send: `hello`, id: `null`, code: parseError},
		{name: "a line that breaks off", send: `{"jsonrpc":"2.0","id":100,"method":"session/pro`, id: `null`, code: parseError},
		{name: "two messages on a line", send: `{"jsonrpc":"2.0","id":100,"method":"a"} {"jsonrpc":"2.0","id":101,"method":"b"}`, id: `null`, code: parseError},
		{name: "a control character in a string", send: "{\"jsonrpc\":\"2.0\",\"id\":100,\"method\":\"a\x00b\"}", id: `null`, code: parseError},
		{name: "JSON nested deeper than anybody needs", send: strings.Repeat("[", 1<<20), id: `null`, code: parseError},
		{name: "a blank line", send: ``},
		{name: "a line of spaces", send: "  \t "},
		{name: "an empty line with a carriage return", send: "\r"},
	})
	t.Run("lines may end with CRLF", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(promptLine(`100`, session, "help") + "\r")
		c.wantStop(`100`, "end_turn")
		c.mustWork(session)
	})
	t.Run("a line may come in many pieces", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		for piece := range slices.Chunk([]byte(promptLine(`100`, session, "help")+"\n"), 7) {
			c.write(piece)
		}
		c.wantStop(`100`, "end_turn")
		c.mustWork(session)
	})
	t.Run("text that is not UTF-8 does no harm", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(strings.Replace(promptLine(`100`, session, "read here"), "here", "\xff\xfe\x80.txt", 1))
		c.wantStop(`100`, "end_turn")
		c.send(strings.Replace(promptLine(`101`, session, "read here"), "here", `\ud800.txt`, 1))
		c.wantStop(`101`, "end_turn")
		c.mustWork(session)
	})
	t.Run("the last line needs no end", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		c.write([]byte(initializeLine(1)))
		if err := c.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		c.wantResult(`1`)
		if err := c.wait(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a prompt of 32 MiB is answered", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(promptLine(`100`, session, "help "+strings.Repeat("x", 32<<20)))
		c.wantStop(`100`, "end_turn")
		c.mustWork(session)
	})
	t.Run("a prompt with a word of 2 MiB is answered", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(promptLine(`100`, session, "read "+strings.Repeat("x", 2<<20)))
		c.wantStop(`100`, "end_turn")
		c.mustWork(session)
	})
	t.Run("a message over the limit is refused by its id", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		head, tail, _ := strings.Cut(promptLine(`100`, session, "here"), "here")
		c.write([]byte(head))
		megabyte := bytes.Repeat([]byte("x"), 1<<20)
		for range 80 {
			c.write(megabyte)
		}
		c.write([]byte(tail + "\n"))
		c.wantError(`100`, invalidRequest)
		c.mustWork(session)
	})
}

func TestJSONRPC(t *testing.T) {
	runWireCases(t, []wireCase{
		{name: "a batch", send: `[{"jsonrpc":"2.0","id":100,"method":"session/new","params":{}},{"jsonrpc":"2.0","id":101,"method":"x"}]`, id: `null`, code: invalidRequest},
		{name: "an empty batch", send: `[]`, id: `null`, code: invalidRequest},
		{name: "a number", send: `42`, id: `null`, code: invalidRequest},
		{name: "a string", send: `"session/new"`, id: `null`, code: invalidRequest},
		{name: "null", send: `null`, id: `null`, code: invalidRequest},
		{name: "an empty object", send: `{}`, id: `null`, code: invalidRequest},
		{name: "no method", send: `{"jsonrpc":"2.0","id":100}`, id: `100`, code: invalidRequest},
		{name: "a method that is a number", send: `{"jsonrpc":"2.0","id":100,"method":1}`, id: `100`, code: invalidRequest},
		{name: "another version of JSON-RPC", send: `{"jsonrpc":"1.0","id":100,"method":"session/new","params":{}}`, id: `100`, code: invalidRequest},
		{name: "no version of JSON-RPC", send: `{"id":100,"method":"session/new","params":{}}`, id: `100`, code: invalidRequest},
		{name: "an id that is an object", send: `{"jsonrpc":"2.0","id":{},"method":"session/new","params":{}}`, id: `null`, code: invalidRequest},
		{name: "an unknown method", send: `{"jsonrpc":"2.0","id":100,"method":"session/unknown","params":{"sessionId":"%s"}}`, id: `100`, code: methodNotFound},
		{name: "an unknown extension method", send: `{"jsonrpc":"2.0","id":100,"method":"_unknown/method"}`, id: `100`, code: methodNotFound},
		{name: "an unknown notification", send: `{"jsonrpc":"2.0","method":"session/unknown","params":{"sessionId":"%s"}}`},
		{name: "an unknown extension notification", send: `{"jsonrpc":"2.0","method":"_unknown/notification"}`},
		{name: "an unknown protocol notification", send: `{"jsonrpc":"2.0","method":"$/unknown"}`},
		{name: "an answer to nothing", send: `{"jsonrpc":"2.0","id":100,"result":{}}`},
		{name: "an error to nothing", send: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`},
		{name: "a cancelled request that there is not", send: `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":100}}`},
		{name: "parameters that are an array", send: `{"jsonrpc":"2.0","id":100,"method":"session/new","params":[1]}`, id: `100`, code: invalidParams},
		{name: "parameters of the wrong type", send: `{"jsonrpc":"2.0","id":100,"method":"session/prompt","params":{"sessionId":7,"prompt":[]}}`, id: `100`, code: invalidParams},
		{name: "parameters that lack a member", send: `{"jsonrpc":"2.0","id":100,"method":"session/prompt","params":{"sessionId":"%s"}}`, id: `100`, code: invalidParams},
		{name: "no parameters where some are needed", send: `{"jsonrpc":"2.0","id":100,"method":"session/prompt"}`, id: `100`, code: invalidParams},
		{name: "a notification with wrong parameters", send: `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`},
	})
	for _, id := range []string{`"text"`, `"with \"quotes\" and \u00e9"`, `""`, `-7`, `0`, `9007199254740993`, `170141183460469231731687303715884105727`} {
		t.Run("the id comes back: "+id, func(t *testing.T) {
			t.Parallel()
			c, session := initialized(t)
			c.send(promptLine(id, session, "help"))
			m := c.answer()
			if got, want := canonicalNumber(m.ID), canonicalNumber(json.RawMessage(id)); got != want || m.Error != nil {
				t.Errorf("the answer is to %s, %v; want a result for %s", m.ID, m.Error, id)
			}
			c.mustWork(session)
		})
	}
	t.Run("an id that is in use is refused", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(promptLine(`100`, session, "wait 60 seconds"), `{"jsonrpc":"2.0","id":100,"method":"session/new","params":{}}`)
		c.wantError(`100`, invalidRequest)
		c.send(cancelLine(session))
		c.wantStop(`100`, "cancelled")
		c.mustWork(session)
	})
	t.Run("members that nobody knows are ignored", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","new":{"a":1},"id":100,"method":"session/prompt","params":{"future":[1],"_meta":{"traceparent":"x"},`+
			`"prompt":[{"type":"text","text":"help","future":null}],"sessionId":%q}}`, session))
		c.wantStop(`100`, "end_turn")
		c.mustWork(session)
	})
}

// canonicalNumber returns an id, strings without escapes and numbers as they are.
func canonicalNumber(id json.RawMessage) string {
	var s string
	if json.Unmarshal(id, &s) == nil {
		return "string " + s
	}
	return string(id)
}

func TestInitialize(t *testing.T) {
	t.Run("an unknown version is answered with one that the agent speaks", func(t *testing.T) {
		t.Parallel()
		for _, version := range []int{0, 1, 2, 65535} {
			c := startRaw(t, ideagent()).reading()
			c.send(initializeLine(version))
			var result struct {
				ProtocolVersion int `json:"protocolVersion"`
			}
			if err := json.Unmarshal(c.wantResult(`1`), &result); err != nil || result.ProtocolVersion != 1 {
				t.Errorf("version %d is answered with %d, %v; want 1", version, result.ProtocolVersion, err)
			}
		}
	})
	t.Run("the agent says who it is and what it can do", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		c.send(initializeLine(1))
		var result struct {
			Info struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"agentInfo"`
			Capabilities json.RawMessage `json:"agentCapabilities"`
			AuthMethods  []any           `json:"authMethods"`
		}
		raw := c.wantResult(`1`)
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		if result.Info.Name != "ideagent" || result.Info.Version == "" || result.Capabilities == nil || result.AuthMethods == nil {
			t.Errorf("initialize is answered with %s", raw)
		}
	})
	t.Run("requests before it are refused", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		c.send(`{"jsonrpc":"2.0","id":100,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, promptLine(`101`, "s", "help"), cancelLine("s"))
		c.wantError(`100`, invalidRequest)
		c.wantError(`101`, invalidRequest)
		c.send(initializeLine(1))
		c.wantResult(`1`)
		c.mustWork(c.newSession(`2`))
	})
	t.Run("requests right behind it wait for it", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		c.send(initializeLine(1), fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, scratch))
		c.wantResult(`1`)
		c.mustWork(sessionOf(c.wantResult(`2`)))
	})
	t.Run("parameters that it cannot do without", func(t *testing.T) {
		t.Parallel()
		c := startRaw(t, ideagent()).reading()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"one"}}`)
		c.wantError(`1`, invalidParams)
		c.send(initializeLine(1)) // a client that has got it wrong may try again
		c.wantResult(`1`)
		c.mustWork(c.newSession(`2`))
	})
}

func TestSession(t *testing.T) {
	runWireCases(t, []wireCase{
		{name: "a working directory that is relative", send: `{"jsonrpc":"2.0","id":100,"method":"session/new","params":{"cwd":"src","mcpServers":[]}}`, id: `100`, code: invalidParams},
		{name: "no working directory", send: `{"jsonrpc":"2.0","id":100,"method":"session/new","params":{"mcpServers":[]}}`, id: `100`, code: invalidParams},
		{name: "another directory that is relative", send: `{"jsonrpc":"2.0","id":100,"method":"session/new","params":{"cwd":"/","mcpServers":[],"additionalDirectories":["src"]}}`, id: `100`, code: invalidParams},
		{name: "a load of an unknown session", send: `{"jsonrpc":"2.0","id":100,"method":"session/load","params":{"sessionId":"unknown","cwd":"/","mcpServers":[]}}`, id: `100`, code: notFound},
		{name: "an unknown mode", send: `{"jsonrpc":"2.0","id":100,"method":"session/set_mode","params":{"sessionId":"%s","modeId":"unknown"}}`, id: `100`, code: invalidParams},
	})
	t.Run("ids are never the same", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		seen := map[string]bool{session: true}
		for i := range 100 {
			id := c.newSession(fmt.Sprint(100 + i))
			if seen[id] {
				t.Fatalf("the id %s came twice", id)
			}
			seen[id] = true
		}
	})
	t.Run("nothing is sent about a session before its answer", func(t *testing.T) {
		t.Parallel()
		c, _ := initialized(t)
		for i := range 20 {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`, 100+i))
			if m := c.next(); !m.isAnswer() {
				t.Fatalf("%s %s came before the answer", m.Method, m.Params)
			}
		}
	})
}

func TestPrompt(t *testing.T) {
	runWireCases(t, []wireCase{
		{name: "an unknown session", send: promptLine(`100`, "unknown", "help"), id: `100`, code: notFound},
		{name: "no blocks", send: `{"jsonrpc":"2.0","id":100,"method":"session/prompt","params":{"sessionId":"%s","prompt":[]}}`, id: `100`, code: invalidParams},
		{name: "an image, which was not announced", send: promptBlock(`{"type":"image","mimeType":"image/png","data":"AAAA"}`), id: `100`, code: invalidParams},
		{name: "audio, which was not announced", send: promptBlock(`{"type":"audio","mimeType":"audio/wav","data":"AAAA"}`), id: `100`, code: invalidParams},
		{name: "a block of an unknown kind", send: promptBlock(`{"type":"hologram","data":"AAAA"}`), id: `100`, code: invalidParams},
	})
	for name, block := range map[string]string{
		"text":                 `{"type":"text","text":"help"}`,
		"a link":               `{"type":"resource_link","name":"a.txt","uri":"file:///a.txt"}`,
		"an embedded resource": `{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"help"}}`,
	} {
		t.Run(name+" is understood", func(t *testing.T) {
			t.Parallel()
			c, session := initialized(t)
			c.send(strings.ReplaceAll(promptBlock(block), "%s", session))
			c.wantStop(`100`, "end_turn")
			c.mustWork(session)
		})
	}
	t.Run("of two in one write the first runs and the second is refused as busy", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		for range 100 {
			c.send(promptLine(`100`, session, "wait 60 seconds"), promptLine(`101`, session, "help"))
			busy := c.wantError(`101`, invalidRequest)
			var data struct {
				Kind string `json:"kind"`
			}
			if err := json.Unmarshal(busy.Data, &data); err != nil || data.Kind != "busy" {
				t.Fatalf("the second prompt was refused with %v", busy)
			}
			c.send(cancelLine(session))
			c.wantStop(`100`, "cancelled")
		}
		c.mustWork(session)
	})
	t.Run("the answer is behind all updates", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		for range 50 {
			c.mustWork(session)
		}
	})
}

func promptBlock(block string) string {
	return `{"jsonrpc":"2.0","id":100,"method":"session/prompt","params":{"sessionId":"%s","prompt":[` + block + `]}}`
}

func TestCancel(t *testing.T) {
	runWireCases(t, []wireCase{
		{name: "of an idle session", send: `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%s"}}`},
		{name: "of an unknown session", send: cancelLine("unknown")},
	})
	const trials = 200
	t.Run("in the same write as its prompt", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		for i := range trials {
			id := fmt.Sprint(100 + i)
			c.send(promptLine(id, session, "wait 60 seconds"), cancelLine(session))
			c.wantStop(id, "cancelled")
			c.mustBeQuiet()
		}
		c.mustWork(session)
	})
	t.Run("many prompts, each with its cancel, in the same write", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		var lines []string
		for i := range trials {
			lines = append(lines, promptLine(fmt.Sprint(100+i), session, "wait 60 seconds"), cancelLine(session))
		}
		c.send(lines...)
		c.wantAllCancelled(100, trials)
		c.mustWork(session)
	})
	t.Run("of a prompt that waits for a cancelled one to end is answered behind that one", func(t *testing.T) {
		t.Parallel()
		c, session := commandRuns(t)
		c.send(cancelLine(session))
		kill := c.awaitRequest("terminal/kill") // the first turn does not end before this is answered
		c.send(promptLine(`101`, session, "help"), cancelLine(session))
		c.reply(kill, `{}`)
		var order []string
		for len(order) < 2 {
			switch m := c.next(); {
			case m.Method == "terminal/release":
				c.reply(m.ID, `{}`)
			case m.isAnswer():
				order = append(order, string(m.ID))
			}
		}
		if order[0] != `100` {
			t.Errorf("the prompts were answered in the order %v: the second one while the first turn was going on", order)
		}
		c.mustWork(session)
	})
	t.Run("releases the terminal although the client does not answer the kill", func(t *testing.T) {
		t.Parallel()
		c, session := commandRuns(t)
		c.send(cancelLine(session))
		c.awaitRequest("terminal/kill")
		for {
			m := c.next()
			if m.Method == "terminal/release" {
				return
			}
			if string(m.ID) == `100` && m.isAnswer() {
				t.Fatal("the turn ended, and its terminal was not released")
			}
		}
	})
	t.Run("many sessions at once", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		var prompts, cancels []string
		for i := range 50 {
			s := c.newSession(fmt.Sprint(100 + i))
			prompts, cancels = append(prompts, promptLine(fmt.Sprint(200+i), s, "wait 60 seconds")), append(cancels, cancelLine(s))
		}
		c.send(append(prompts, cancels...)...)
		c.wantAllCancelled(200, len(prompts))
		c.mustWork(session)
	})
	t.Run("of the request", func(t *testing.T) {
		t.Parallel()
		c, session := initialized(t)
		c.send(promptLine(`100`, session, "wait 60 seconds"), `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":100}}`)
		if m := c.answer(); string(m.ID) != `100` || m.Error != nil && m.Error.Code != -32800 ||
			m.Error == nil && !strings.Contains(string(m.Result), `"cancelled"`) {
			t.Errorf("%s was answered with %s, %v", m.ID, m.Result, m.Error)
		}
		c.mustWork(session)
	})
}

// wantAllCancelled reads the answers to n prompts with ids from first on.
func (c *rawClient) wantAllCancelled(first, n int) {
	c.t.Helper()
	answered := map[string]bool{}
	for range n {
		m := c.answer()
		if m.Error != nil || !strings.Contains(string(m.Result), `"cancelled"`) || answered[string(m.ID)] {
			c.t.Fatalf("%s was answered with %s, %v", m.ID, m.Result, m.Error)
		}
		answered[string(m.ID)] = true
	}
	for i := range n {
		if !answered[fmt.Sprint(first+i)] {
			c.t.Errorf("%d was not answered", first+i)
		}
	}
}

// commandRuns is a client with terminals, and a session whose prompt 100 runs a command that does not end.
func commandRuns(t *testing.T) (c *rawClient, session string) {
	t.Helper()
	c = startRaw(t, ideagent()).reading()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true}}}`)
	c.wantResult(`1`)
	session = c.newSession(`2`)
	c.send(promptLine(`100`, session, "run sleep 60"))
	c.respond("session/request_permission", `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`)
	c.respond("terminal/create", `{"terminalId":"t"}`)
	c.awaitRequest("terminal/wait_for_exit")
	return c, session
}

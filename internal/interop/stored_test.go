// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The groups of these tests go on where wire_test.go ends: sessions that last, modes and options, commands, and how turns end. What the agent
// sends is held against the schema.

// keeping is a client of an agent that keeps its sessions in a directory.
func keeping(t *testing.T, dir string) *rawClient {
	t.Helper()
	return greeted(t, ideagent("-store", dir), `{}`)
}

// greeted is a client of an agent, with capabilities.
func greeted(t *testing.T, agent []string, capabilities string) *rawClient {
	t.Helper()
	c := startRaw(t, agent).reading()
	c.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + capabilities + `}}`)
	c.wantResult(`"hello"`)
	return c
}

// call sends a request and returns its answer, and the kinds of the updates before it.
func (c *rawClient) call(method, params string) (answer wireMessage, updates []string) {
	c.t.Helper()
	c.calls++
	id := fmt.Sprint(1000 + c.calls)
	knows := func(when string) { // a load may replay what was before it is answered
		if session := sessionOf(json.RawMessage(params)); method == when {
			if c.known == nil {
				c.known = map[string]bool{}
			}
			c.known[session] = true
		}
	}
	knows("session/load")
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	timeout := time.After(patience)
	for {
		m := c.nextBefore(timeout)
		if m.isAnswer() {
			if string(m.ID) != id {
				c.t.Fatalf("the answer is to %s, want one to %s", m.ID, id)
			}
			knows("session/resume")
			return m, updates
		}
		var p updateNotification
		if json.Unmarshal(m.Params, &p) == nil && m.Method == "session/update" {
			updates = append(updates, p.Update.Kind)
		}
	}
}

// must calls a method that must not fail, and decodes its result.
func (c *rawClient) must(method, params string, result any) (updates []string) {
	c.t.Helper()
	m, updates := c.call(method, params)
	if m.Error != nil {
		c.t.Fatalf("%s %s: %v", method, params, m.Error)
	}
	if result != nil {
		if err := json.Unmarshal(m.Result, result); err != nil {
			c.t.Fatal(err)
		}
	}
	return updates
}

func (c *rawClient) mustFail(code int, method, params string) {
	c.t.Helper()
	m, _ := c.call(method, params)
	if m.Error == nil || m.Error.Code != code {
		c.t.Errorf("%s %s is answered with %s, %v; want an error with code %d", method, params, m.Result, m.Error, code)
	}
}

func (c *rawClient) open(dir string) (session string) {
	c.t.Helper()
	var made struct{ SessionID string }
	c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir), &made)
	return made.SessionID
}

func (c *rawClient) prompt(session, text string) (stop string) {
	c.t.Helper()
	var answer struct{ StopReason string }
	c.must("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text), &answer)
	return answer.StopReason
}

// about are the parameters of a method about a session.
func about(session, more string) string { return fmt.Sprintf(`{"sessionId":%q%s}`, session, more) }

func reopening(session string) string {
	return about(session, fmt.Sprintf(`,"cwd":%q,"mcpServers":[]`, scratch))
}

// updatesOf returns the updates so far of a session, as JSON.
func (c *rawClient) updatesOf(session string) (all []string) {
	for _, line := range c.wire {
		var m wireMessage
		var p struct {
			SessionID string
			Update    json.RawMessage
		}
		if line.byAgent && json.Unmarshal(line.raw, &m) == nil && m.Method == "session/update" && json.Unmarshal(m.Params, &p) == nil && p.SessionID == session {
			all = append(all, string(p.Update))
		}
	}
	return all
}

func (c *rawClient) mustHaveSent(session, part string) {
	c.t.Helper()
	if all := strings.Join(c.updatesOf(session), "\n"); !strings.Contains(all, part) {
		c.t.Errorf("no update has %s:\n%s", part, all)
	}
}

func TestStoredSessions(t *testing.T) {
	// filled is an agent whose store has a session with a turn.
	filled := func(t *testing.T) (c *rawClient, session string) {
		dir := t.TempDir()
		first := keeping(t, dir)
		session = first.open(scratch)
		first.prompt(session, "help")
		if err := first.end(); err != nil {
			t.Fatal(err)
		}
		return keeping(t, dir), session
	}
	t.Run("a load replays the conversation before it is answered", func(t *testing.T) {
		t.Parallel()
		c, session := filled(t)
		updates := c.must("session/load", reopening(session), nil)
		if all := strings.Join(updates, " "); !strings.HasPrefix(all, "user_message_chunk ") || !strings.Contains(all, "agent_message_chunk") {
			t.Errorf("before the answer came %v", updates)
		}
		c.mustBeQuiet()
		c.prompt(session, "help")
	})
	t.Run("a resume replays nothing", func(t *testing.T) {
		t.Parallel()
		c, session := filled(t)
		if updates := c.must("session/resume", reopening(session), nil); len(updates) > 0 {
			t.Errorf("before the answer came %v", updates)
		}
		c.mustBeQuiet()
		c.prompt(session, "help")
	})
	t.Run("what cannot be opened again", func(t *testing.T) {
		t.Parallel()
		c, session := filled(t)
		for _, method := range []string{"session/load", "session/resume"} {
			c.mustFail(notFound, method, reopening("unknown"))
			c.mustFail(invalidParams, method, about(session, `,"cwd":"src","mcpServers":[]`))
			c.mustFail(invalidParams, method, `{"cwd":"/","mcpServers":[]}`)
		}
	})
	t.Run("programs share a session", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := keeping(t, dir)
		session := first.open(scratch)
		first.prompt(session, "help")
		second := keeping(t, dir)
		second.must("session/load", reopening(session), nil)
		second.prompt(session, "help")
	})
	t.Run("a list has the sessions of a directory, the newest first", func(t *testing.T) {
		t.Parallel()
		c, here := keeping(t, t.TempDir()), t.TempDir()
		first, second := c.open(here), c.open(here)
		c.open(scratch)
		c.prompt(first, "help")
		var page struct {
			Sessions []struct{ SessionID, Cwd, Title, UpdatedAt string }
		}
		c.must("session/list", fmt.Sprintf(`{"cwd":%q}`, here), &page)
		if len(page.Sessions) != 2 || page.Sessions[0].SessionID != first || page.Sessions[1].SessionID != second || page.Sessions[0].Cwd != here || page.Sessions[0].Title != "help" {
			t.Errorf("listed are %+v", page.Sessions)
		}
		if _, err := time.Parse(time.RFC3339, page.Sessions[0].UpdatedAt); err != nil {
			t.Error(err)
		}
		if m, _ := c.call("session/list", `{"cwd":"/nowhere"}`); !strings.Contains(string(m.Result), `"sessions":[]`) {
			t.Errorf("where there is nothing, the list is %s", m.Result)
		}
	})
	t.Run("a list has pages", func(t *testing.T) {
		t.Parallel()
		c := keeping(t, t.TempDir())
		for range 60 {
			c.open(scratch)
		}
		seen, cursor, pages := map[string]bool{}, "", 0
		for more := true; more; pages++ {
			var page struct {
				Sessions   []struct{ SessionID string }
				NextCursor *string
			}
			c.must("session/list", `{`+cursor+`}`, &page)
			for _, s := range page.Sessions {
				seen[s.SessionID] = true
			}
			if more = page.NextCursor != nil; more {
				cursor = fmt.Sprintf(`"cursor":%q`, *page.NextCursor)
			}
		}
		if len(seen) != 60 || pages < 2 {
			t.Errorf("%d sessions are listed on %d pages", len(seen), pages)
		}
		c.mustFail(invalidParams, "session/list", `{"cursor":"own"}`)
	})
	t.Run("a deleted session is gone", func(t *testing.T) {
		t.Parallel()
		c, session := filled(t)
		c.must("session/delete", about(session, ""), nil)
		c.must("session/delete", about(session, ""), nil)
		c.mustFail(notFound, "session/load", reopening(session))
		if m, _ := c.call("session/list", `{}`); !strings.Contains(string(m.Result), `"sessions":[]`) {
			t.Errorf("the list is %s", m.Result)
		}
	})
	t.Run("a closed session can be loaded, and not prompted", func(t *testing.T) {
		t.Parallel()
		c, session := filled(t)
		c.must("session/load", reopening(session), nil)
		c.must("session/close", about(session, ""), nil)
		c.mustFail(notFound, "session/prompt", about(session, `,"prompt":[{"type":"text","text":"help"}]`))
		c.mustFail(notFound, "session/close", about(session, ""))
		c.must("session/load", reopening(session), nil)
	})
	t.Run("a close cancels the turn", func(t *testing.T) {
		t.Parallel()
		c := keeping(t, t.TempDir())
		session := c.open(scratch)
		c.send(promptLine(`1`, session, "wait 60 seconds"), `{"jsonrpc":"2.0","id":2,"method":"session/close","params":`+about(session, "")+`}`)
		c.wantStop(`1`, "cancelled")
		c.wantResult(`2`)
	})
	t.Run("a session has a title after its first prompt", func(t *testing.T) {
		t.Parallel()
		c := keeping(t, t.TempDir())
		session := c.open(scratch)
		c.prompt(session, "help me")
		c.mustHaveSent(session, `"title":"help me"`)
	})
}

func TestModesAndOptions(t *testing.T) {
	opened := func(t *testing.T) (c *rawClient, session string) {
		c = keeping(t, t.TempDir())
		return c, c.open(scratch)
	}
	t.Run("an option is answered with all options", func(t *testing.T) {
		t.Parallel()
		c, session := opened(t)
		var answer struct {
			ConfigOptions []struct{ ID, Category, CurrentValue string }
		}
		c.must("session/set_config_option", about(session, `,"configId":"mode","value":"plan"`), &answer)
		if len(answer.ConfigOptions) == 0 || answer.ConfigOptions[0].CurrentValue != "plan" || answer.ConfigOptions[0].Category != "mode" {
			t.Errorf("the options are %+v", answer.ConfigOptions)
		}
		c.mustFail(invalidParams, "session/set_config_option", about(session, `,"configId":"mode","value":"unknown"`))
		c.mustFail(invalidParams, "session/set_config_option", about(session, `,"configId":"unknown","value":"plan"`))
		c.mustFail(notFound, "session/set_config_option", about("unknown", `,"configId":"mode","value":"plan"`))
	})
	t.Run("a mode that is set is the option's value", func(t *testing.T) {
		t.Parallel()
		c, session := opened(t)
		c.must("session/set_mode", about(session, `,"modeId":"code"`), nil)
		c.must("session/close", about(session, ""), nil) // without a prompt it is gone
		session = c.open(scratch)
		c.prompt(session, "help")
		c.must("session/set_mode", about(session, `,"modeId":"code"`), nil)
		c.must("session/close", about(session, ""), nil)
		var answer struct {
			Modes         struct{ CurrentModeID string }
			ConfigOptions []struct{ CurrentValue string }
		}
		c.must("session/load", reopening(session), &answer)
		if answer.Modes.CurrentModeID != "code" || answer.ConfigOptions[0].CurrentValue != "code" {
			t.Errorf("loaded are %+v", answer)
		}
		c.mustFail(notFound, "session/set_mode", about("unknown", `,"modeId":"code"`))
	})
	t.Run("what the agent changes is told", func(t *testing.T) {
		t.Parallel()
		c, session := opened(t)
		c.prompt(session, "/mode plan")
		c.mustHaveSent(session, `{"sessionUpdate":"current_mode_update","currentModeId":"plan"`)
		c.mustHaveSent(session, `"sessionUpdate":"config_option_update"`)
	})
	t.Run("commands are told after the session's answer", func(t *testing.T) {
		t.Parallel()
		c, session := opened(t) // nothing may come before: see announces
		c.prompt(session, "help")
		c.mustHaveSent(session, `"sessionUpdate":"available_commands_update"`)
	})
	t.Run("a command is carried out as a prompt", func(t *testing.T) {
		t.Parallel()
		c, session := opened(t)
		c.prompt(session, "/help")
		c.mustHaveSent(session, "`/mode mode`")
	})
}

func TestClientsMCPServers(t *testing.T) {
	t.Run("one that fails is not a failed session", func(t *testing.T) {
		t.Parallel()
		c := greeted(t, ideagent(), `{"session":{"notices":{}}}`)
		var made struct{ SessionID string }
		c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"broken","command":"/nowhere/server","args":[],"env":[]}]}`, scratch), &made)
		if stop := c.prompt(made.SessionID, "help"); stop != "end_turn" {
			t.Errorf("the turn ends with %s", stop)
		}
	})
	t.Run("one over stdio has its tools in the session", func(t *testing.T) {
		t.Parallel()
		c := greeted(t, ideagent(), `{}`)
		var made struct{ SessionID string }
		c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[{"name":"every","command":"node","args":[%q],"env":[]}]}`,
			scratch, mcpScript(t, "server-everything")), &made)
		c.send(promptLine(`1`, made.SessionID, `use every_echo {"message":"hello server"}`))
		c.respond("session/request_permission", `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`)
		c.wantStop(`1`, "end_turn")
		c.mustHaveSent(made.SessionID, "Echo: hello server")
	})
}

func TestEndsOfTurns(t *testing.T) {
	for text, want := range map[string]string{"hello": "end_turn", "cut": "max_tokens", "loop": "max_turn_requests", "filter": "refusal"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := greeted(t, self(t, "features", "hosted"), `{}`)
			session := c.open(scratch)
			if stop := c.prompt(session, text); stop != want {
				t.Errorf("the turn ends with %s", stop)
			}
			if stop := c.prompt(session, "hello"); stop != "end_turn" {
				t.Errorf("the next turn ends with %s", stop)
			}
		})
	}
	t.Run("an error is one line for people and a kind for programs", func(t *testing.T) {
		t.Parallel()
		c := greeted(t, self(t, "features", "hosted"), `{}`)
		session := c.open(scratch)
		m, _ := c.call("session/prompt", about(session, `,"prompt":[{"type":"text","text":"fail"}]`))
		var data struct{ Kind string }
		if m.Error == nil || m.Error.Code != -32603 || !strings.Contains(m.Error.Message, "the provider is on fire") || json.Unmarshal(m.Error.Data, &data) != nil || data.Kind != "model" {
			t.Errorf("the answer is %s, %v", m.Result, m.Error)
		}
		c.prompt(session, "hello")
	})
	t.Run("the context and the cost are told", func(t *testing.T) {
		t.Parallel()
		c := greeted(t, self(t, "features", "hosted"), `{}`)
		session := c.open(scratch)
		c.prompt(session, "hello")
		c.prompt(session, "hello")
		c.mustHaveSent(session, `{"sessionUpdate":"usage_update","used":15,"size":1000,"cost":{"amount":0.5,"currency":"USD"}}`)
	})
	t.Run("notices and compactions go to clients that take them", func(t *testing.T) {
		t.Parallel()
		for _, takes := range []bool{true, false} {
			capabilities := `{}`
			if takes {
				capabilities = `{"session":{"notices":{},"compaction":{}}}`
			}
			c := greeted(t, self(t, "features", "hosted"), capabilities)
			session := c.open(scratch)
			c.prompt(session, "show")
			all := strings.Join(c.updatesOf(session), "\n")
			for _, kind := range []string{`"notice"`, `"compaction_update"`, `"compaction_summary_chunk"`} {
				if strings.Contains(all, kind) != takes {
					t.Errorf("taking them is %t, and the updates are\n%s", takes, all)
				}
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every method and every update that an SDK knows goes over the wire here, to the sample agent and to the agent of featuresMain. What an SDK
// knows it is asked itself, so that a new version fails these tests until its methods are driven, or have a reason why they are not.

func TestTypeScriptSDKCoversTheProtocol(t *testing.T) {
	t.Parallel()
	var known []string
	cmd := exec.Command("node", "--input-type=module", "--eval", `
		import { methods } from "@agentclientprotocol/sdk";
		const all = (o) => (typeof o === "string" ? [o] : Object.values(o).flatMap(all));
		console.log(JSON.stringify(all(methods)));`)
	cmd.Dir = node(t)
	askSDK(t, cmd, &known)
	covers(t, typeScript, known, nil)
}

func TestPythonSDKCoversTheProtocol(t *testing.T) {
	deepTier(t)
	t.Parallel()
	var names []string
	askSDK(t, exec.Command(python(t), "-I", "-c", `
import json
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client
print(json.dumps(["agent." + n for n in dir(ClientSideConnection) if n.islower() and n[0] != "_"] + ["client." + n for n in dir(Client) if n[0] != "_"]))`), &names)
	var known []string
	reasons := map[string]string{
		"agent.close": "ends the SDK's own tasks: every test does it", "agent.on_connect": "no message", "client.on_connect": "no message",
		"client.ext_method": "the agents send no extension requests", "client.ext_notification": "the agents send no extension notifications",
	}
	for _, name := range names {
		switch method, ok := pythonMethods[name]; {
		case ok:
			known = append(known, method)
		case reasons[name] == "":
			t.Errorf("the Python SDK has %s: have a test drive it, or say why not", name)
		}
	}
	covers(t, pythonSDK, known, []string{"notice", "compaction_update", "compaction_summary_chunk"}) // it is behind: schema 1.19
}

// pythonMethods are the methods of the Python SDK, by what they are on the wire.
var pythonMethods = map[string]string{
	"agent.initialize": "initialize", "agent.authenticate": "authenticate", "agent.new_session": "session/new", "agent.load_session": "session/load",
	"agent.list_sessions": "session/list", "agent.resume_session": "session/resume", "agent.close_session": "session/close",
	"agent.fork_session": "session/fork", "agent.set_session_mode": "session/set_mode", "agent.set_config_option": "session/set_config_option",
	"agent.prompt": "session/prompt", "agent.cancel": "session/cancel", "agent.ext_method": "_interop/ask", "agent.ext_notification": "_interop/tell",

	"client.request_permission": "session/request_permission", "client.session_update": "session/update", "client.read_text_file": "fs/read_text_file",
	"client.write_text_file": "fs/write_text_file", "client.create_terminal": "terminal/create", "client.terminal_output": "terminal/output",
	"client.release_terminal": "terminal/release", "client.wait_for_terminal_exit": "terminal/wait_for_exit", "client.kill_terminal": "terminal/kill",
	"client.create_elicitation": "elicitation/create", "client.complete_elicitation": "elicitation/complete",
}

func askSDK(t *testing.T, cmd *exec.Cmd, result any) {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// covers drives all that is known, and sees that it was on the wire. Updates that the SDK is too old for are not sent.
func covers(t *testing.T, dial connect, known, old []string) {
	t.Helper()
	c := &coverage{t: t, dial: dial, known: known, methods: map[string]bool{}, updates: map[string]bool{}}
	c.sessions()
	c.work()
	c.features(old)
	c.login()
	for _, method := range known {
		if !c.methods[method] {
			t.Errorf("%s is known to the SDK and was not used", method)
		}
	}
	for _, kind := range updatesOf(t, "schema.json") {
		if !slices.Contains(old, kind) && !c.updates[kind] {
			t.Errorf("the SDK has passed on no update %s, but %v", kind, slices.Sorted(maps.Keys(c.updates)))
		}
	}
}

// updatesOf returns the kinds of updates that an official schema has.
func updatesOf(t *testing.T, file string) (kinds []string) {
	t.Helper()
	data, err := readSchemaFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Defs struct {
			SessionUpdate struct {
				OneOf []struct {
					Properties struct {
						Kind struct{ Const string } `json:"sessionUpdate"`
					}
				}
				AnyOf []struct {
					Properties struct {
						Kind struct{ Const string } `json:"sessionUpdate"`
					}
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	for _, v := range append(document.Defs.SessionUpdate.OneOf, document.Defs.SessionUpdate.AnyOf...) {
		kinds = append(kinds, v.Properties.Kind.Const)
	}
	if len(kinds) < 14 {
		t.Fatalf("the schema has the updates %v", kinds)
	}
	return kinds
}

// coverage collects what was on the wire.
type coverage struct {
	t       *testing.T
	dial    connect
	known   []string
	methods map[string]bool
	updates map[string]bool
}

func (c *coverage) knows(method string) bool { return slices.Contains(c.known, method) }

// with runs something with an agent, whose transcript is checked, and notes what has gone over the wire.
func (c *coverage) with(command []string, capabilities object, do func(e *editor)) {
	c.t.Helper()
	dir := filepath.Join(c.t.TempDir(), "transcript")
	e := openEditorOf(c.t, self(c.t, "record", append([]string{dir}, command...)...), c.dial, capabilities, answer(allowOnce))
	do(e)
	for _, line := range readTranscript(c.t, dir) {
		var m wireMessage
		if json.Unmarshal(line.raw, &m) == nil && m.Method != "" {
			c.methods[m.Method] = true
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		c.updates[u.Update.Kind] = true
	}
}

// sessions does what there is to do with sessions.
func (c *coverage) sessions() {
	r := newResumable(c.t)
	var id string
	c.with(r.command(), everything, func(e *editor) {
		e.dir = r.dir
		s := e.newSession()
		id = s.id
		s.prompt("read greeting.txt").mustEnd("end_turn")
		e.call("session/set_mode", object{"sessionId": id, "modeId": "plan"}, new(object))
		e.call("session/set_config_option", object{"sessionId": id, "configId": "mode", "value": "ask"}, new(object))
		s.prompt("/mode code").mustEnd("end_turn") // announced by the agent
		if c.knows("_interop/ask") {
			wantError(c.t, e.try("_interop/ask", object{}, new(object)), methodNotFound)
			if err := e.peer.notify("_interop/tell", object{}); err != nil {
				c.t.Error(err)
			}
		}
		e.call("session/close", object{"sessionId": id}, new(object))
	})
	c.with(r.command(), everything, func(e *editor) {
		params := object{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}}
		e.call("session/load", params, new(object))
		e.call("session/close", object{"sessionId": id}, new(object))
		e.call("session/resume", params, new(object))
		var listed struct {
			Sessions []struct{ SessionID string } `json:"sessions"`
		}
		e.call("session/list", object{"cwd": r.dir}, &listed)
		if len(listed.Sessions) != 1 || listed.Sessions[0].SessionID != id {
			c.t.Errorf("listed %+v", listed)
		}
		if c.knows("session/delete") {
			e.call("session/delete", object{"sessionId": id}, new(object))
		}
	})
}

// work has files and terminals used, and a turn cancelled while a question is open.
func (c *coverage) work() {
	c.with(ideagent("-no-store"), everything, func(e *editor) {
		s := e.newSession()
		s.prompt(`create new.txt with text, then read new.txt, then run "echo out"`).mustEnd("end_turn")
		wait := s.start("run sleep 60")
		e.await("the command runs", func() bool { return slices.Contains(e.calls, "terminal/wait_for_exit") && len(e.terminals) == 1 })
		s.cancel()
		mustBeCancelled(c.t, wait)
		if !slices.Contains(e.calls, "terminal/kill") { // or it is released at once
			s.prompt(`use run_command {"command": "sleep 60", "background": true}`).mustEnd("end_turn")
			var id string
			e.mu.Lock()
			for id = range e.terminals {
			}
			e.mu.Unlock()
			s.prompt(`use kill_terminal {"terminal_id": "` + id + `"}`).mustEnd("end_turn")
		}
		asked := make(chan struct{})
		e.user = func(*permissionRequest) string {
			<-asked
			return "cancelled"
		}
		wait = s.start("create other.txt with text")
		questions := len(e.questions)
		e.await("the user is asked", func() bool { return len(e.questions) > questions })
		s.cancel()
		mustBeCancelled(c.t, wait)
		close(asked)
	})
}

// features has forms shown and addresses opened, and every update that the agents above do not send.
func (c *coverage) features(old []string) {
	capabilities := maps.Clone(elicits)
	if !slices.Contains(old, "notice") {
		capabilities["session"] = object{"notices": object{}, "compaction": object{}}
	}
	c.with(self(c.t, "features", "unstable"), capabilities, func(e *editor) {
		if c.knows("session/fork") {
			e.schemas = loadUnstable
		}
		e.elicit = func(*elicitation) any { return object{"action": "cancel"} }
		s := e.newSession()
		s.prompt("form").mustEnd("end_turn")
		e.elicit = func(*elicitation) any { return object{"action": "accept"} }
		s.prompt("visit").mustEnd("end_turn")
		e.await("the end of the visit is told", func() bool { return len(e.visited) == 1 })
		s.prompt("every").mustEnd("end_turn")
		if c.knows("session/fork") {
			e.call("session/fork", object{"sessionId": s.id, "cwd": e.dir}, new(object))
		}
	})
}

func (c *coverage) login() {
	c.with(self(c.t, "features", "login"), object{"auth": object{"terminal": true}}, func(e *editor) {
		e.call("authenticate", object{"methodId": "key"}, new(object))
		if c.knows("logout") {
			e.call("logout", object{}, new(object))
		}
	})
}

// acpxCommands are the commands of acpx that talk to an agent, with the tests that run them, and those that do not.
var acpxCommands = map[string]string{
	"prompt": "acpxSessions, which leaves out the word", "exec": "acpxReads", "cancel": "acpxCancels", "set-mode": "TestACPXSetsMode", "set": "TestACPXSetsMode",
	"status": "acpxStatus", "sessions": "below", "config": "has to do with acpx alone", "compare": "runs exec with several agents of its own list",
	"flow": "runs programs that prompt as exec does",

	"sessions list": "acpxSessions", "sessions new": "acpxSessions", "sessions ensure": "acpxStatus", "sessions close": "acpxSessions", "sessions show": "acpxSessions",
	"sessions history": "acpxSessions", "sessions read": "reads a file of acpx", "sessions watch": "reads a file of acpx", "sessions export": "reads a file of acpx",
	"sessions import": "writes a file of acpx", "sessions prune": "removes files of acpx",
}

// Every command of acpx is run by a test, or has a reason. Names of agents that it knows are commands too.
func TestACPXCommandsAreCovered(t *testing.T) {
	deepTier(t)
	t.Parallel()
	a := newACPXFor(t, ideagent("-no-store"), t.TempDir())
	for _, of := range []string{"", "sessions"} {
		help := a.run(acpxOK, append(strings.Fields(of), "--help")...)
		_, commands, ok := strings.Cut(help, "\nCommands:\n")
		if !ok {
			t.Fatalf("no commands in:\n%s", help)
		}
		commands, _, _ = strings.Cut(commands, "\n\n")
		for line := range strings.Lines(commands) {
			if !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "   ") {
				continue // a description that goes on
			}
			name := strings.TrimSpace(of + " " + strings.Fields(line)[0])
			if acpxCommands[name] == "" && !strings.Contains(line, "Use "+name+" agent") {
				t.Errorf("acpx has the command %s: have a test run it, or say why not", name)
			}
		}
	}
	acpxStatus(t, a)
}

// acpxStatus lists the agent's sessions, and asks acpx about its own.
func acpxStatus(t *testing.T, a *acpxUser) {
	t.Helper()
	a.run(acpxOK, "sessions", "ensure")
	wantText(t, a.run(acpxOK, "--ttl", "60", "help"), "[done] end_turn")
	wantText(t, a.run(acpxOK, "status"), "running")
	a.run(acpxOK, "sessions", "close")
}

// Every method that acpx has in its code is on the wire of some test of it.
func TestACPXMethodsAreCovered(t *testing.T) {
	deepTier(t)
	t.Parallel()
	r := newResumable(t)
	a := newACPXFor(t, r.command(), r.dir)
	seen := map[string]bool{}
	run := func(args ...string) {
		a.run(acpxOK, append([]string{"--approve-all"}, args...)...)
		for _, line := range readTranscript(t, a.transcript) {
			var m wireMessage
			if json.Unmarshal(line.raw, &m) == nil && m.Method != "" {
				seen[m.Method] = true
			}
		}
	}
	run("sessions", "new")
	run("--ttl", "60", `read greeting.txt, then create new.txt with text, then run "echo out"`)
	r.kill(t)
	run("--ttl", "60", "help") // resumed
	run("--ttl", "60", "set-mode", "plan")
	run("--ttl", "60", "set", "mode", "ask")
	run("sessions", "list")
	busy := a.start("--ttl", "60", "--approve-all", "run sleep 60")
	busy.awaitOutput("sleep 60")
	run("cancel")
	busy.wait(acpxOK)
	run("sessions", "close")
	reasons := map[string]string{
		"session/load": "acpx prefers session/resume", "session/set_model": "not in the schema: agents that have no option for it", "session/status": "unstable, and behind an option of its own",
		"terminal/kill": "ideagent releases the terminal of a command that was cancelled", "authenticate": "ideagent announces no method while it needs no key",
	}
	for method := range acpxMethods(t, a) {
		if !seen[method] && reasons[method] == "" {
			t.Errorf("%s is in acpx and was not used", method)
		}
	}
}

// acpxMethods returns the names of methods that the program has as text.
func acpxMethods(t *testing.T, a *acpxUser) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(a.cli), "*.js"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		for _, name := range quotedMethods(t, file) {
			found[name] = true
		}
	}
	if !found["session/prompt"] || !found["fs/read_text_file"] {
		t.Fatalf("acpx has the methods %v", found)
	}
	return found
}

func quotedMethods(t *testing.T, file string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(data, []byte(`"`)) {
		name := string(part)
		group, rest, ok := strings.Cut(name, "/")
		if ok && slices.Contains([]string{"session", "fs", "terminal", "elicitation"}, group) && rest != "" && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz_") == "" {
			names = append(names, name)
		}
	}
	return names
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// The same scenarios run with every SDK. Each ends with the checks of openEditor.

func TestTypeScriptSDK(t *testing.T) { runScenarios(t, typeScript) }
func TestPythonSDK(t *testing.T)     { runScenarios(t, pythonSDK) }
func TestGoSDK(t *testing.T)         { runScenarios(t, goSDK) }

func runScenarios(t *testing.T, dial connect) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, connect)
	}{
		{"a file is read", readsFile},
		{"part of a file is read", readsLines},
		{"a write that the user allows changes the file and shows what changes", writesWhenAllowed},
		{"a write that the user rejects changes nothing", changesNothingWhenRejected},
		{"a question that is closed without an answer changes nothing", changesNothingWhenUnanswered},
		{"what the user always allows is asked once", asksOnceWhenAlwaysAllowed},
		{"what the user always rejects is asked once", asksOnceWhenAlwaysRejected},
		{"a command runs in the client's terminal, shown live", runsCommand},
		{"the exit code of a command that fails is told", tellsExitCode},
		{"a cancelled turn ends at once, and the next one works", cancelsTurn},
		{"cancelling ends the command that is running", cancelsCommand},
		{"cancelling ends the question that is open", cancelsQuestion},
		{"a prompt of an unknown session is refused", refusesUnknownSession},
		{"a prompt beside another of its session is refused", refusesWhenBusy},
		{"two sessions work side by side", runsTwoSessions},
		{"a session that was closed is gone", closesSession},
		{"a client that can do nothing is asked for nothing", asksNothingOfSimpleClient},
		{"text of all kinds comes back as it was", keepsText},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, dial)
		})
	}
}

// nobody is a user who must not be asked.
func nobody(t *testing.T) func(*permissionRequest) string {
	return func(q *permissionRequest) string {
		t.Errorf("the user was asked about %q", q.ToolCall.Title)
		return rejectOnce
	}
}

func readsFile(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	e.write("greeting.txt", "hello from disk\n")
	turn := e.newSession().prompt("read greeting.txt")
	turn.mustEnd("end_turn")
	turn.mustSay("hello from disk")
	call := turn.call("read")
	if call.Status != "completed" || len(call.Locations) != 1 || !strings.HasSuffix(call.Locations[0].Path, "/greeting.txt") {
		t.Errorf("the tool call ended as %+v", call)
	}
	if !slices.Contains(e.calls, "fs/read_text_file") {
		t.Errorf("the file was read without the client, which was called for %v", e.calls)
	}
}

func readsLines(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	e.write("lines.txt", "one\ntwo\nthree\nfour\n")
	turn := e.newSession().prompt("show lines 2-3 of lines.txt")
	turn.mustEnd("end_turn")
	turn.mustSay("two\nthree")
	if text := turn.text(); strings.Contains(text, "one") || strings.Contains(text, "four") {
		t.Errorf("the agent read more than it was asked to: %s", text)
	}
}

func writesWhenAllowed(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowOnce))
	e.write("colour.txt", "the sky is grey\nthe sea is grey\n")
	turn := e.newSession().prompt("replace grey with blue in colour.txt")
	turn.mustEnd("end_turn")
	if got, want := e.read("colour.txt"), "the sky is blue\nthe sea is blue\n"; got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	call := turn.call("edit")
	if call.Status != "completed" {
		t.Errorf("the tool call is %s", call.Status)
	}
	wantDiff(t, call.shown, "the sky is grey\nthe sea is grey\n", "the sky is blue\nthe sea is blue\n")
	if len(e.questions) != 1 {
		t.Fatalf("the user was asked %d times, want once", len(e.questions))
	}
	wantDiff(t, e.questions[0].ToolCall.content(), "the sky is grey\nthe sea is grey\n", "the sky is blue\nthe sea is blue\n")
}

func wantDiff(t *testing.T, shown []toolContent, old, text string) {
	t.Helper()
	if !slices.ContainsFunc(shown, func(c toolContent) bool {
		return c.Type == "diff" && c.OldText != nil && *c.OldText == old && c.NewText == text
	}) {
		t.Errorf("no diff from %q to %q was shown, but %+v", old, text, shown)
	}
}

func changesNothingWhenRejected(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(rejectOnce))
	e.write("colour.txt", "the sky is grey\n")
	turn := e.newSession().prompt("replace grey with blue in colour.txt")
	turn.mustEnd("end_turn")
	if got := e.read("colour.txt"); got != "the sky is grey\n" {
		t.Errorf("the file holds %q", got)
	}
	if call := turn.call("edit"); call.Status != "failed" {
		t.Errorf("the tool call is %s, want failed", call.Status)
	}
	if slices.Contains(e.calls, "fs/write_text_file") {
		t.Error("the agent called fs/write_text_file")
	}
	turn.mustSay("permitted")
}

func changesNothingWhenUnanswered(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer("cancelled"))
	turn := e.newSession().prompt("create new.txt with text")
	turn.mustEnd("end_turn")
	if got := e.read("new.txt"); got != "" {
		t.Errorf("the file holds %q", got)
	}
	if call := turn.call("edit"); call.Status != "failed" {
		t.Errorf("the tool call is %s, want failed", call.Status)
	}
}

func asksOnceWhenAlwaysAllowed(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowAlways))
	s := e.newSession()
	s.prompt("create notes.txt with one").mustEnd("end_turn")
	s.prompt("create notes.txt with two").mustEnd("end_turn")
	if got, want := e.read("notes.txt"), "two\n"; got != want {
		t.Errorf("the file holds %q, want %q", got, want)
	}
	if len(e.questions) != 1 {
		t.Errorf("the user was asked %d times, want once", len(e.questions))
	}
	s.prompt("create other.txt with three").mustEnd("end_turn")
	if len(e.questions) != 2 {
		t.Errorf("the user was asked %d times, want again for another file", len(e.questions))
	}
	e.newSession().prompt("create notes.txt with three").mustEnd("end_turn")
	if len(e.questions) != 3 {
		t.Errorf("the user was asked %d times, want again in another session", len(e.questions))
	}
}

func asksOnceWhenAlwaysRejected(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(rejectAlways))
	s := e.newSession()
	for range 2 {
		turn := s.prompt("create notes.txt with one")
		turn.mustEnd("end_turn")
		if call := turn.call("edit"); call.Status != "failed" {
			t.Errorf("the tool call is %s, want failed", call.Status)
		}
	}
	if len(e.questions) != 1 || e.read("notes.txt") != "" {
		t.Errorf("the user was asked %d times, want once; the file holds %q", len(e.questions), e.read("notes.txt"))
	}
}

func runsCommand(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowOnce))
	wait := e.newSession().start(`run "echo begun; until test -e go; do sleep 0.01; done; echo ended"`)
	e.await("the terminal is shown in the tool call while the command runs", func() bool {
		return len(e.terminals) == 1 && slices.ContainsFunc(e.updates, func(u updateNotification) bool {
			return slices.ContainsFunc(u.Update.content(), func(c toolContent) bool { return c.Type == "terminal" && e.terminals[c.TerminalID] != nil })
		})
	})
	e.write("go", "")
	turn := wait()
	turn.mustEnd("end_turn")
	turn.mustSay("begun\nended")
	if call := turn.call("execute"); call.Status != "completed" {
		t.Errorf("the tool call is %s", call.Status)
	}
	if len(e.terminals) != 0 {
		t.Error("the terminal was not released")
	}
}

func tellsExitCode(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowOnce))
	turn := e.newSession().prompt(`run "echo oh no; exit 3"`)
	turn.mustEnd("end_turn")
	turn.mustSay("oh no")
	turn.mustSay("3")
	if call := turn.call("execute"); call.Status != "failed" {
		t.Errorf("the tool call is %s, want failed", call.Status)
	}
}

// quickly is how soon a cancelled turn of a minute has to end, on a busy machine.
const quickly = 20 * time.Second

// mustBeCancelled waits for the end of a turn that is being cancelled.
func mustBeCancelled(t *testing.T, wait func() turn) {
	t.Helper()
	start := time.Now()
	wait().mustEnd("cancelled")
	if took := time.Since(start); took > quickly {
		t.Errorf("the turn ended %v after it was cancelled", took)
	}
}

func cancelsTurn(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	e.write("greeting.txt", "still here\n")
	s := e.newSession()
	wait := s.start("wait 60 seconds")
	e.await("the agent is at work", func() bool { return e.said(s.id, "Waiting") })
	s.cancel()
	mustBeCancelled(t, wait)
	turn := s.prompt("read greeting.txt")
	turn.mustEnd("end_turn")
	turn.mustSay("still here")
}

func cancelsCommand(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowOnce))
	s := e.newSession()
	wait := s.start("run sleep 60")
	e.await("the command runs", func() bool { return slices.Contains(e.calls, "terminal/wait_for_exit") })
	s.cancel()
	mustBeCancelled(t, wait)
	e.await("the terminal is released", func() bool { return len(e.terminals) == 0 })
	s.prompt("run echo next").mustSay("next")
}

func cancelsQuestion(t *testing.T, dial connect) {
	cancelled := make(chan struct{})
	e := openEditor(t, dial, everything, func(*permissionRequest) string {
		<-cancelled
		return "cancelled" // as the protocol has a client answer then
	})
	s := e.newSession()
	wait := s.start("create new.txt with text")
	e.await("the user is asked", func() bool { return len(e.questions) == 1 })
	s.cancel()
	close(cancelled)
	mustBeCancelled(t, wait)
	if got := e.read("new.txt"); got != "" {
		t.Errorf("the file holds %q", got)
	}
}

// wantError checks that a call was answered with an error of the code.
func wantError(t *testing.T, err error, code int) {
	t.Helper()
	if failure, ok := errors.AsType[*rpcError](err); !ok || failure.Code != code {
		t.Errorf("the answer is %v, want an error with code %d", err, code)
	}
}

func refusesUnknownSession(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	turn := conversation{e, "no-such-session"}.prompt("read greeting.txt")
	wantError(t, turn.err, -32002)
}

func refusesWhenBusy(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	s := e.newSession()
	wait := s.start("wait 60 seconds")
	e.await("the agent is at work", func() bool { return e.said(s.id, "Waiting") })
	wantError(t, s.prompt("help").err, -32600)
	s.cancel()
	mustBeCancelled(t, wait)
}

func runsTwoSessions(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	e.write("a.txt", "text of a\n")
	a, b := e.newSession(), e.newSession()
	if a.id == b.id {
		t.Fatalf("two sessions have the id %s", a.id)
	}
	slow := b.start("wait 60 seconds")
	e.await("the other session is at work", func() bool { return e.said(b.id, "Waiting") })
	turn := a.prompt("read a.txt")
	turn.mustEnd("end_turn")
	turn.mustSay("text of a")
	a.cancel() // nothing runs there
	e.await("the other session goes on", func() bool { return e.said(b.id, "Waiting 1m0s ....") })
	b.cancel()
	mustBeCancelled(t, slow)
}

func closesSession(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, nobody(t))
	s := e.newSession()
	wait := s.start("wait 60 seconds")
	e.await("the agent is at work", func() bool { return e.said(s.id, "Waiting") })
	e.call("session/close", object{"sessionId": s.id}, new(object))
	mustBeCancelled(t, wait)
	wantError(t, s.prompt("help").err, -32002)
}

func asksNothingOfSimpleClient(t *testing.T, dial connect) {
	e := openEditor(t, dial, object{}, nobody(t))
	e.write("greeting.txt", "hello from disk\n")
	s := e.newSession()
	for _, text := range []string{"help", "read greeting.txt", "create new.txt with text", "run echo hello"} {
		turn := s.prompt(text)
		turn.mustEnd("end_turn")
		if turn.text() == "" {
			t.Errorf("no answer to %q", text)
		}
	}
	if len(e.calls) > 0 || e.read("new.txt") != "" {
		t.Errorf("the client was called for %v", e.calls)
	}
}

func keepsText(t *testing.T, dial connect) {
	e := openEditor(t, dial, everything, answer(allowOnce))
	const text = "tab\there, \"quotes\", back\\slash, <html> & 漢字 😀 e\u0301 \u2028 \u007f\n\nno line end"
	e.write("strange.txt", text+" old")
	e.newSession().prompt("replace old with new in strange.txt").mustEnd("end_turn")
	if got := e.read("strange.txt"); got != text+" new" {
		t.Errorf("the file holds %q, want %q", got, text+" new")
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"slices"
	"strings"
	"testing"
)

// acpx sets a mode by the older request, and by the option that has the same meaning.
func TestACPXSetsMode(t *testing.T) {
	deepTier(t)
	t.Parallel()
	r := newResumable(t)
	a := newACPXFor(t, r.command(), r.dir)
	a.run(acpxOK, "sessions", "new")
	a.run(acpxOK, "set-mode", "code")
	a.run(acpxOK, "--ttl", "60", "--approve-all", "replace grey with blue in colour.txt")
	a.wantFile("colour.txt", "the sky is blue\n")
	for _, line := range readTranscript(t, a.transcript) {
		if strings.Contains(string(line.raw), `"session/request_permission"`) {
			t.Errorf("mode code asks: %s", line.raw)
		}
	}
	a.run(acpxOK, "set", "mode", "plan")
	wantText(t, a.run(acpxOK, "--ttl", "60", "--approve-all", "replace blue with grey in colour.txt"), "I was not given the tool")
	a.wantFile("colour.txt", "the sky is blue\n")
	a.run(1, "set-mode", "no-such-mode")
	a.run(acpxOK, "sessions", "close")
}

// acpx sets a model by the option of that category.
func TestACPXSetsModel(t *testing.T) {
	deepTier(t)
	t.Parallel()
	a := newACPXFor(t, ideagent("-no-store"), t.TempDir())
	a.run(acpxOK, "sessions", "new")
	a.run(acpxOK, "--ttl", "60", "set", "model", "offline")
	a.run(1, "--ttl", "60", "set", "model", "no-such-model")
	wantText(t, a.run(acpxOK, "--ttl", "60", "help"), "offline demo model")
	a.run(acpxOK, "sessions", "close")
}

// Of two clients of one session the second is told who has it, until the first one lets it go.
func TestSecondClientSharesTheSession(t *testing.T) {
	for name, dial := range map[string]connect{"TypeScript SDK": typeScript, "Python SDK": pythonSDK} {
		t.Run(name, func(t *testing.T) {
			if name == "Python SDK" {
				deepTier(t)
			}
			t.Parallel()
			r := newResumable(t)
			open := func() *editor {
				e := openEditorOf(t, r.command(), dial, everything, nobody(t))
				e.dir = r.dir
				return e
			}
			first, second := open(), open()
			s := first.newSession()
			s.prompt("read greeting.txt").mustEnd("end_turn")
			params := object{"sessionId": s.id, "cwd": r.dir, "mcpServers": []any{}}
			second.call("session/load", params, new(object))
			if updates, _ := second.replayed(); !slices.ContainsFunc(updates, func(u updateNotification) bool { return strings.Contains(u.Update.text(), "hello from disk") }) {
				t.Error("the session is not replayed")
			}
		})
	}
	t.Run("acpx", func(t *testing.T) {
		deepTier(t)
		t.Parallel()
		r := newResumable(t)
		e := openEditorOf(t, r.command(), typeScript, everything, nobody(t))
		e.dir = r.dir
		s := e.newSession()
		s.prompt("read greeting.txt").mustEnd("end_turn")
		a := newACPXFor(t, r.command(), r.dir)
		a.start("sessions", "new", "--resume-session", s.id).wait(0)
	})
}

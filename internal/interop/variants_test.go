// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"slices"
	"testing"
)

// seen returns the kinds of the updates that the SDK has passed on.
func (e *editor) seen() (kinds []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		kinds = append(kinds, u.Update.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// showsAll has the hosted agent show all that there is, to clients with capabilities.
func showsAll(t *testing.T, capabilities object) *editor {
	t.Helper()
	e := openEditorOf(t, self(t, "features", "hosted"), unstableTypeScript, capabilities, nobody(t))
	e.schemas = loadUnstable
	s := e.newSession()
	for _, text := range []string{"hello", "show", "ask", "/mode plan"} {
		s.prompt(text).mustEnd("end_turn")
	}
	e.call("session/close", object{"sessionId": s.id}, new(object))
	e.call("session/load", object{"sessionId": s.id, "cwd": e.dir, "mcpServers": []any{}}, new(object))
	return e
}

// A kind of update that the schema has and that Serve does not send fails the test, so that a new one is noticed.
func TestEveryStableUpdateIsSent(t *testing.T) {
	node(t)
	e := showsAll(t, object{"session": object{"notices": object{}, "compaction": object{}}})
	want := updatesOf(t, "schema.json")
	slices.Sort(want)
	if got := e.seen(); !slices.Equal(got, want) {
		t.Errorf("the agent sends the updates %v, and the schema has %v", got, want)
	}
}

func TestEveryUnstableUpdateIsSent(t *testing.T) {
	node(t)
	stable := updatesOf(t, "schema.json")
	isStable := func(kind string) bool { return slices.Contains(stable, kind) }
	e := showsAll(t, object{"plan": object{}, "subagents": object{}})
	got, want := slices.DeleteFunc(e.seen(), isStable), slices.DeleteFunc(updatesOf(t, "schema.unstable.json"), isStable)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the agent sends the unstable updates %v, and the schema has %v", got, want)
	}
}

// The sample's sessions are forked, archived and named by the real SDK.
func TestUnstableMethodsOfTypeScriptSDK(t *testing.T) {
	e := openEditor(t, unstableTypeScript, everything, nobody(t))
	s := e.newSession()
	s.prompt("help").mustEnd("end_turn")
	var fork struct {
		SessionID string `json:"sessionId"`
		Modes     struct {
			CurrentModeID string `json:"currentModeId"`
		} `json:"modes"`
	}
	e.call("session/set_mode", object{"sessionId": s.id, "modeId": "plan"}, new(object))
	e.call("session/fork", object{"sessionId": s.id, "cwd": e.dir, "mcpServers": []any{}}, &fork)
	if fork.SessionID == s.id || fork.SessionID == "" || fork.Modes.CurrentModeID != "plan" {
		t.Errorf("the fork is %+v", fork)
	}
	conversation{e, fork.SessionID}.prompt("help").mustEnd("end_turn")
	var title struct{ Title string }
	e.call("session/set_title", object{"sessionId": s.id, "title": "A title"}, &title)
	status := func(id string) string {
		var answer struct{ Status string }
		e.call("session/status", object{"sessionId": id}, &answer)
		return answer.Status
	}
	listed := func(archived string) (n int) {
		var page struct{ Sessions []object }
		e.call("session/list", object{"cwd": e.dir, "archived": archived}, &page)
		return len(page.Sessions)
	}
	if title.Title != "A title" || status(s.id) != "open" || listed("exclude") != 2 {
		t.Errorf("the title is %q, the status %s, and %d sessions are listed", title.Title, status(s.id), listed("exclude"))
	}
	e.call("session/archive", object{"sessionId": s.id}, new(object))
	if status(s.id) != "saved" || listed("exclude") != 1 || listed("only") != 1 || listed("include") != 2 {
		t.Errorf("after session/archive: %s, %d, %d, %d", status(s.id), listed("exclude"), listed("only"), listed("include"))
	}
	e.call("session/unarchive", object{"sessionId": s.id}, new(object))
	if listed("exclude") != 2 {
		t.Errorf("after session/unarchive %d sessions are listed", listed("exclude"))
	}
	wantError(t, e.try("session/status", object{"sessionId": "unknown"}, new(object)), -32002)
}

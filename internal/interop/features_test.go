// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// What the sample agent does not do is tested with another one: see featuresMain.

func TestFeaturesOfTypeScriptSDK(t *testing.T) { runFeatures(t, typeScript) }
func TestFeaturesOfPythonSDK(t *testing.T)     { runFeatures(t, pythonSDK) }

// The Python SDK has no logout.
func TestLogoutOfTypeScriptSDK(t *testing.T) {
	e := logsIn(t, typeScript)
	e.call("logout", object{}, new(object))
	wantError(t, e.try("session/new", object{"cwd": e.dir, "mcpServers": []any{}}, new(object)), -32000)
}

// The trace of a prompt is that of what the agent asks meanwhile.
func TestTraceOfTypeScriptSDK(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	e := openEditorOf(t, self(t, "features"), typeScript, elicits, nobody(t))
	var asked elicitation
	e.elicit = func(q *elicitation) any {
		asked = *q
		return object{"action": "cancel"}
	}
	s := e.newSession()
	e.call("session/prompt", object{"sessionId": s.id, "prompt": []object{{"type": "text", "text": "form"}}, "_meta": object{"traceparent": parent}}, new(object))
	if asked.Meta.Traceparent != parent {
		t.Errorf("the question belongs to the trace %q", asked.Meta.Traceparent)
	}
}

// What is not stable is read by the SDK's unstable side, and held against the unstable schema.
func TestUnstableOfTypeScriptSDK(t *testing.T) {
	e := openEditorOf(t, self(t, "features", "unstable"), unstableTypeScript, object{"subagents": object{}, "plan": object{}}, nobody(t))
	e.schemas = loadUnstable
	s := e.newSession()
	id := object{"sessionId": s.id}
	var forked struct {
		SessionID string `json:"sessionId"`
	}
	e.call("session/fork", object{"sessionId": s.id, "cwd": e.dir, "mcpServers": []any{}}, &forked)
	if forked.SessionID != s.id+"-fork" {
		t.Errorf("the fork is %q", forked.SessionID)
	}
	var title struct {
		Title string `json:"title"`
	}
	e.call("session/set_title", object{"sessionId": s.id, "title": "A title"}, &title)
	if title.Title != "A title" {
		t.Errorf("the title is %q", title.Title)
	}
	for _, method := range []string{"session/archive", "session/unarchive", "session/status"} {
		e.call(method, id, new(object))
	}
	for _, method := range []string{"auth/status", "providers/list"} {
		e.call(method, object{}, new(object))
	}
	wantError(t, e.try("providers/disable", object{"providerId": "p"}, new(object)), -32601)
	turn := s.prompt("updates")
	turn.mustEnd("end_turn")
	kinds := map[string]int{}
	for _, u := range turn.updates {
		kinds[u.Kind]++
	}
	for kind, want := range map[string]int{"plan_update": 3, "plan_removed": 1, "subagent_update": 3, "session_message": 1, "session_message_chunk": 1} {
		if kinds[kind] != want {
			t.Errorf("the SDK has passed on %d updates %s, want %d", kinds[kind], kind, want)
		}
	}
}

func runFeatures(t *testing.T, dial connect) {
	for _, s := range []struct {
		name string
		run  func(*testing.T, connect)
	}{
		{"a form is shown and its answer comes back", showsForm},
		{"an address is opened, and its end is told", opensAddress},
		{"a prompt holds links, resources and images", takesContent},
		{"a session begins after a login", func(t *testing.T, dial connect) { logsIn(t, dial) }},
		{"a client without forms is offered the choices", offersChoices},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, dial)
		})
	}
}

// elicits is what an editor can do that shows forms and opens addresses.
var elicits = object{"elicitation": object{"form": object{}, "url": object{}}}

func showsForm(t *testing.T, dial connect) {
	e := openEditorOf(t, self(t, "features"), dial, elicits, nobody(t))
	var asked elicitation
	e.elicit = func(q *elicitation) any {
		asked = *q
		return object{"action": "accept", "content": object{"city": "Bergen", "days": 3, "rain": true, "meals": []string{"night"}}}
	}
	turn := e.newSession().prompt("form")
	turn.mustEnd("end_turn")
	turn.mustSay(`accept {"city":"Bergen","days":3,"meals":["night"],"rain":true}`)
	if asked.Mode != "form" || asked.Message != "Where to?" || len(asked.RequestedSchema.Properties) != 9 || asked.ToolCallID == "" {
		t.Errorf("the editor was asked %+v", asked)
	}
}

func opensAddress(t *testing.T, dial connect) {
	e := openEditorOf(t, self(t, "features"), dial, elicits, nobody(t))
	var asked elicitation
	e.elicit = func(q *elicitation) any {
		asked = *q
		return object{"action": "accept"}
	}
	turn := e.newSession().prompt("visit")
	turn.mustEnd("end_turn")
	turn.mustSay("accept")
	if asked.Mode != "url" || asked.URL != "https://example.com/login" || asked.ElicitationID != "visit-1" {
		t.Errorf("the editor was asked %+v", asked)
	}
	e.await("the end of the visit is told", func() bool { return slices.Equal(e.visited, []string{"visit-1"}) })
}

func offersChoices(t *testing.T, dial connect) {
	e := openEditorOf(t, self(t, "features"), dial, object{}, answer(allowOnce))
	turn := e.newSession().prompt("choice")
	turn.mustEnd("end_turn")
	turn.mustSay(`accept {"colour":"red"}`)
	if len(e.questions) != 1 || len(e.questions[0].Options) != 3 {
		t.Errorf("the user was asked %+v", e.questions)
	}
}

func takesContent(t *testing.T, dial connect) {
	e := openEditorOf(t, self(t, "features"), dial, everything, nobody(t))
	e.write("my notes.txt", "first\nsecond\n")
	uri := "file://" + e.dir + "/my%20notes.txt"
	s := e.newSession()
	turn := s.startWith([]object{
		{"type": "text", "text": "show "},
		{"type": "resource_link", "name": "notes", "uri": uri + "#L2"},
		{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
		{"type": "resource", "resource": object{"uri": "file:///x/a.md", "text": "embedded"}},
	})()
	turn.mustEnd("end_turn")
	turn.mustSay("[notes](" + uri + "#L2)")
	turn.mustSay("<image/png  8>")
	turn.mustSay("Contents of file:///x/a.md:\n```\nembedded\n```")
	turn.mustSay("#L2:\n```\nsecond\n```")
	wantError(t, s.startWith([]object{{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}})().err, -32602)
	s.prompt("show again").mustSay("show again")
}

func logsIn(t *testing.T, dial connect) *editor {
	t.Helper()
	e := openEditorOf(t, self(t, "features", "login"), dial, object{"auth": object{"terminal": true}}, nobody(t))
	open := func() error { return e.try("session/new", object{"cwd": e.dir, "mcpServers": []any{}}, new(object)) }
	err := open()
	wantError(t, err, -32000)
	if failure, ok := errors.AsType[*rpcError](err); !ok || !strings.Contains(string(failure.Data), `"authMethods"`) {
		t.Errorf("the answer to session/new is %v, without the ways to log in", err)
	}
	wantError(t, e.try("authenticate", object{"methodId": "tty"}, new(object)), -32602)
	e.call("authenticate", object{"methodId": "key"}, new(object))
	e.newSession().prompt("show it").mustSay("show it")
	return e
}

// elicitation is a question of the agent.
type elicitation struct {
	Mode          string `json:"mode"`
	Message       string `json:"message"`
	ToolCallID    string `json:"toolCallId"`
	URL           string `json:"url"`
	ElicitationID string `json:"elicitationId"`
	Meta          struct {
		Traceparent string `json:"traceparent"`
	} `json:"_meta"`
	RequestedSchema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"requestedSchema"`
}

// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// messagesOf returns the messages of entities, as a client has them that was sent their events.
func messagesOf(entities iter.Seq[*view.Entity]) []message {
	var all []*message
	known := map[string]*message{}
	put := func(m message) *message {
		if known[m.ID] == nil {
			known[m.ID] = &m
			all = append(all, &m)
		}
		return known[m.ID]
	}
	results := map[string][]message{} // by the message with the calls, which they follow
	for e := range entities {
		switch {
		case e.Kind == view.Message && e.Role == view.User:
			put(message{ID: e.ID, Role: "user", Content: userContent(e)})
		case e.Kind == view.Message:
			if text := e.Text(); text != "" {
				put(message{ID: e.ID, Role: "assistant"}).Content = text
			}
			for _, a := range activities(e) {
				put(a)
			}
		case e.Kind == view.Thought:
			put(message{ID: e.ID, Role: "reasoning", Content: e.Text()})
		case e.Kind == view.ToolCall && e.Input != nil:
			m := put(message{ID: parentOf(e), Role: "assistant", Subagent: e.Parent})
			m.ToolCalls = append(m.ToolCalls, toolCall{e.ID, "function", function{e.Name, string(e.Input)}})
			if e.Status.Ended() {
				results[m.ID] = append(results[m.ID], resultOf(e))
			}
		default:
			if name := activityNames[e.Kind]; name != "" {
				put(message{ID: e.ID, Role: "activity", Activity: name, Content: activityOf(e)})
			}
		}
	}
	list := make([]message, 0, len(all))
	for _, m := range all {
		list = append(append(list, *m), results[m.ID]...)
	}
	return list
}

// parentOf returns the id of the message that has a call.
func parentOf(e *view.Entity) string {
	if step := webbridge.StepOf(e.ID); step != "" && e.Parent == "" {
		return "message:" + step
	}
	return e.ID
}

func resultOf(e *view.Entity) message {
	m := message{ID: "result:" + e.ID, Role: "tool", CallID: e.ID, Content: resultText(e), Subagent: e.Parent}
	if e.Status != view.Completed {
		m.Error = resultText(e)
	}
	return m
}

// resultText returns what a call has returned, as text.
func resultText(e *view.Entity) string {
	if len(e.Output) > 0 && json.Valid(e.Output) {
		return string(e.Output)
	}
	var all strings.Builder
	for i := range e.Content {
		c := &e.Content[i]
		switch {
		case c.Kind == view.Text && !strings.HasPrefix(c.Text, projection.AllowedByPrefix):
			all.WriteString(c.Text)
		case c.Kind != view.Text:
			if data, err := json.Marshal(c); err == nil {
				all.Write(data)
			}
		}
	}
	if all.Len() == 0 {
		return string(e.Status)
	}
	return all.String()
}

func userContent(e *view.Entity) any {
	if len(e.Content) == 1 && e.Content[0].Kind == view.Text {
		return e.Content[0].Text
	}
	all := []contentPart{}
	for i := range e.Content {
		c := &e.Content[i]
		kind, _, _ := strings.Cut(c.MIMEType, "/")
		if kind != "image" && kind != "audio" && kind != "video" {
			kind = "document"
		}
		switch {
		case c.Kind == view.Text:
			all = append(all, contentPart{Type: "text", Text: c.Text})
		case c.Data != "":
			all = append(all, contentPart{Type: kind, Source: &source{"data", c.Data, c.MIMEType}})
		case c.Kind == view.Resource:
			all = append(all, contentPart{Type: kind, Source: textSource(c.Text)})
		case c.URI != "":
			all = append(all, contentPart{Type: kind, Source: &source{"url", c.URI, c.MIMEType}})
		}
	}
	return all
}

var activityNames = map[view.Kind]string{
	view.Notice: "NOTICE", view.Command: "COMMAND", view.Compaction: "COMPACTION", view.Plan: "PLAN",
}

// activityOf returns the content of an activity.
func activityOf(e *view.Entity) map[string]any {
	switch e.Kind {
	case view.Plan:
		return map[string]any{"steps": stepsOf(e)}
	case view.Command:
		return map[string]any{"title": e.Title, "dir": e.Dir, "status": e.Status, "output": tail(e.Text()), "exit": e.Exit}
	}
	return map[string]any{"title": e.Title, "class": e.Class, "status": e.Status, "text": e.Text()}
}

// maxTail bounds the output of a command that is sent while it runs, in bytes: an activity is sent whole with each change.
const maxTail = 4 << 10

func tail(text string) string {
	if len(text) > maxTail {
		return strings.ToValidUTF8(text[len(text)-maxTail:], "")
	}
	return text
}

// activities returns what a message of the agent has beside text.
func activities(e *view.Entity) []message {
	var all []message
	n := 0
	for i := range e.Content {
		c := &e.Content[i]
		if c.Kind == view.Text {
			continue
		}
		n++
		m := message{ID: e.ID + "#" + strconv.Itoa(n), Role: "activity"}
		switch {
		case c.Data != "":
			m.Activity, m.Content = "FILE", map[string]any{"mediaType": c.MIMEType, "url": "data:" + c.MIMEType + ";base64," + c.Data}
		case c.Kind == view.Link && c.MIMEType != "":
			m.Activity, m.Content = "FILE", map[string]any{"mediaType": c.MIMEType, "url": c.URI}
		case c.Kind == view.Link:
			m.Activity, m.Content = "SOURCE", map[string]any{"url": c.URI, "title": c.Name}
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

func stepsOf(e *view.Entity) []view.Step {
	if e.Steps == nil {
		return []view.Step{}
	}
	return e.Steps
}

// stateOf returns the state of the thread.
func stateOf(s *view.Snapshot, session string) map[string]any {
	state := map[string]any{"session": map[string]any{"id": session, "title": ""}, "plan": []view.Step{}, "usage": nil}
	for path, value := range changesOf(session, s.Last(view.Session), s.Get(projection.PlanID), s.Last(view.Usage)) {
		state[path] = value
	}
	return state
}

// changesOf returns the values of the state that entities say, by name.
func changesOf(session string, entities ...*view.Entity) map[string]any {
	all := map[string]any{}
	for _, e := range entities {
		switch {
		case e == nil:
		case e.Kind == view.Session:
			all["session"] = map[string]any{"id": session, "title": e.Title}
		case e.Kind == view.Plan && e.ID == projection.PlanID:
			all["plan"] = stepsOf(e)
		case e.Kind == view.Usage:
			all["usage"] = e.Usage
		}
	}
	return all
}

// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// aguiMessagesOf returns the messages of entities, as a client has them that was sent their events.
func aguiMessagesOf(entities iter.Seq[*view.Entity]) []aguiMessage {
	var all []*aguiMessage
	known := map[string]*aguiMessage{}
	put := func(m aguiMessage) *aguiMessage {
		if known[m.ID] == nil {
			known[m.ID] = &m
			all = append(all, &m)
		}
		return known[m.ID]
	}
	results := map[string][]aguiMessage{} // by the message with the calls, which they follow
	for e := range entities {
		switch {
		case e.Kind == view.Message && e.Role == view.User:
			put(aguiMessage{ID: e.ID, Role: "user", Content: aguiUserContent(e)})
		case e.Kind == view.Message:
			if text := e.Text(); text != "" {
				put(aguiMessage{ID: e.ID, Role: "assistant"}).Content = text
			}
			for _, a := range aguiActivities(e) {
				put(a)
			}
		case e.Kind == view.Thought:
			put(aguiMessage{ID: e.ID, Role: "reasoning", Content: e.Text()})
		case e.Kind == view.ToolCall && e.Input != nil:
			m := put(aguiMessage{ID: aguiParentOf(e), Role: "assistant", Subagent: e.Parent})
			m.ToolCalls = append(m.ToolCalls, aguiToolCall{e.ID, "function", aguiFunction{e.Name, string(e.Input)}})
			if e.Status.Ended() {
				results[m.ID] = append(results[m.ID], aguiResultOf(e))
			}
		default:
			if name := aguiActivityName(e.Kind); name != "" {
				put(aguiMessage{ID: e.ID, Role: "activity", Activity: name, Content: aguiActivityOf(e)})
			}
		}
	}
	list := make([]aguiMessage, 0, len(all))
	for _, m := range all {
		list = append(append(list, *m), results[m.ID]...)
	}
	return list
}

// aguiParentOf returns the id of the message that has a call.
func aguiParentOf(e *view.Entity) string {
	if step := stepOf(e.ID); step != "" && e.Parent == "" {
		return "message:" + step
	}
	return e.ID
}

func aguiResultOf(e *view.Entity) aguiMessage {
	m := aguiMessage{ID: "result:" + e.ID, Role: "tool", CallID: e.ID, Content: aguiResultText(e), Subagent: e.Parent}
	if e.Status != view.Completed {
		m.Error = aguiResultText(e)
	}
	return m
}

// aguiResultText returns what a call has returned, as text.
func aguiResultText(e *view.Entity) string {
	if len(e.Output) > 0 && json.Valid(e.Output) {
		return string(e.Output)
	}
	var all strings.Builder
	for i := range e.Content {
		c := &e.Content[i]
		switch {
		case c.Kind == view.Text && !strings.HasPrefix(c.Text, view.AllowedBy):
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

func aguiUserContent(e *view.Entity) any {
	if len(e.Content) == 1 && e.Content[0].Kind == view.Text {
		return e.Content[0].Text
	}
	all := []aguiContentPart{}
	for i := range e.Content {
		c := &e.Content[i]
		kind, _, _ := strings.Cut(c.MIMEType, "/")
		if kind != "image" && kind != "audio" && kind != "video" {
			kind = "document"
		}
		switch {
		case c.Kind == view.Text:
			all = append(all, aguiContentPart{Type: "text", Text: c.Text})
		case c.Data != "":
			all = append(all, aguiContentPart{Type: kind, Source: &aguiSource{"data", c.Data, c.MIMEType}})
		case c.Kind == view.Resource:
			all = append(all, aguiContentPart{Type: kind, Source: aguiTextSource(c.Text)})
		case c.URI != "":
			all = append(all, aguiContentPart{Type: kind, Source: &aguiSource{"url", c.URI, c.MIMEType}})
		}
	}
	return all
}

// aguiActivityName returns the name of the activity for entities of a kind, or "" if they have other
// events or none.
func aguiActivityName(k view.Kind) string {
	switch k {
	case view.Message, view.Thought, view.ToolCall, view.SubAgent, view.Question, view.Session,
		view.Usage, view.Options, view.Commands:
		return ""
	}
	return strings.ToUpper(string(k))
}

// aguiActivityOf returns the content of an activity. Of a kind without a case of its own it has the
// fields that most kinds use.
func aguiActivityOf(e *view.Entity) map[string]any {
	switch e.Kind {
	case view.Plan:
		return map[string]any{"steps": aguiStepsOf(e)}
	case view.Command:
		return map[string]any{"title": e.Title, "dir": e.Dir, "status": e.Status, "output": tail(e.Text()), "exit": e.Exit}
	}
	content := map[string]any{
		"title": e.Title, "class": e.Class, "status": e.Status, "text": e.Text(),
	}
	if e.Name != "" {
		content["name"] = e.Name
	}
	if e.Choices != nil {
		content["choices"] = e.Choices
	}
	if e.Value != "" {
		content["value"] = e.Value
	}
	if e.Steps != nil {
		content["steps"] = e.Steps
	}
	if uiValid(e.Input) != nil {
		content["input"] = e.Input
	}
	return content
}

// aguiActivities returns what a message of the agent has beside text, and why it is not whole.
func aguiActivities(e *view.Entity) (all []aguiMessage) {
	n := 0
	for i := range e.Content {
		if c := &e.Content[i]; c.Kind != view.Text {
			n++
			if m := aguiBeside(e.ID, c, n); m != nil {
				all = append(all, *m)
			}
		}
	}
	if e.Status.Ending() != "" {
		all = append(all, aguiEnded(e.ID, e.Status))
	}
	return all
}

// aguiBeside returns the content number n of a message that is not text, nil if it is not shown.
func aguiBeside(id string, c *view.Content, n int) *aguiMessage {
	m := &aguiMessage{ID: id + "#" + strconv.Itoa(n), Role: "activity", Activity: "FILE"}
	switch {
	case c.Data != "":
		m.Content = map[string]any{"mediaType": c.MIMEType, "url": "data:" + c.MIMEType + ";base64," + c.Data}
	case c.Kind == view.Link && c.MIMEType != "" && c.URI != "":
		m.Content = map[string]any{"mediaType": c.MIMEType, "url": c.URI}
	case c.Kind == view.Link && c.URI != "":
		m.Activity, m.Content = "SOURCE", map[string]any{"url": c.URI, "title": c.Name}
	default:
		return nil
	}
	return m
}

func aguiEnded(id string, status view.Status) aguiMessage {
	return aguiMessage{ID: id + "#ended", Role: "activity", Activity: "ENDED", Content: map[string]any{"status": status, "text": status.Ending()}}
}

func aguiStepsOf(e *view.Entity) []view.Step {
	if e.Steps == nil {
		return []view.Step{}
	}
	return e.Steps
}

// aguiStateOf returns the state of the thread.
func aguiStateOf(session string, entities []*view.Entity) map[string]any {
	state := map[string]any{"session": map[string]any{"id": session, "title": ""}, "plan": []view.Step{}, "usage": nil}
	for _, e := range entities {
		maps.Copy(state, aguiValuesOf(session, e))
	}
	return state
}

// aguiValuesOf returns the values of the state that an entity says, by name.
func aguiValuesOf(session string, e *view.Entity) map[string]any {
	switch {
	case e == nil:
	case e.Kind == view.Session:
		return map[string]any{"session": map[string]any{"id": session, "title": e.Title}}
	case e.Kind == view.Plan && e.ID == transcript.PlanID:
		return map[string]any{"plan": aguiStepsOf(e)}
	case e.Kind == view.Usage:
		return map[string]any{"usage": e.Usage}
	}
	return nil
}

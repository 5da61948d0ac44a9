// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// Turn is a turn.
type Turn = turn

// Use opens a session, as the protocols do.
func (h *Handler) Use(ctx context.Context, id string) (s *openSession, done func(), err error) {
	return h.use(ctx, id)
}

// Named returns the session of a name, as the protocols do.
func (h *Handler) Named(r *http.Request, name string, create bool) (session.Info, error) {
	return h.named(r, name, create)
}

// UIFold is a client of the UI message stream: a message of the assistant.
type UIFold struct {
	message uiMessage
	table   *uiTable
}

// NewUIFold returns a client that has been shown nothing.
func NewUIFold(f *view.Fold) *UIFold { return NewUIAnswer(f, "") }

// NewUIAnswer is like NewUIFold, for the answer to a prompt.
func NewUIAnswer(f *view.Fold, prompt string) *UIFold {
	u := &UIFold{message: uiMessage{Role: "assistant", Parts: []*uiPart{}}}
	u.table = newUITable(prompt, f, u.message.add)
	return u
}

// LoadedUIAnswer is a client that has loaded what a session shows: its last message.
func LoadedUIAnswer(f *view.Fold) *UIFold {
	all := uiMessages(f.Snapshot(), "s")
	return &UIFold{message: *all[len(all)-1], table: newUITable("", f, nil)}
}

// Show shows what is new.
func (u *UIFold) Show(c *view.Cursor) { u.table.show(taken(c, nil)) }

// Parts ends the message, and returns its parts as JSON. Pieces of a text are one.
func (u *UIFold) Parts() (all []string) {
	u.table.leave()
	texts := map[string]*uiPart{}
	for _, p := range u.message.Parts {
		if p.Type == "step-start" {
			continue
		}
		if p.Text != nil && p.Provider != nil {
			p.ID = "" // of a piece
			if before := texts[p.Provider.Ponte.Entity]; before != nil {
				*before.Text += *p.Text
				continue
			}
			texts[p.Provider.Ponte.Entity] = p
		}
	}
	for _, p := range u.message.Parts {
		if p.Type == "step-start" || p.Text != nil && texts[p.Provider.Ponte.Entity] != p {
			continue
		}
		data, _ := json.Marshal(p)
		all = append(all, string(data))
	}
	return all
}

// AGUIFold is a client of AG-UI: its messages by id.
type AGUIFold struct {
	messages map[string]*aguiMessage
	table    *aguiTable
}

// NewAGUIFold returns a client that has been shown nothing.
func NewAGUIFold() *AGUIFold {
	a := &AGUIFold{messages: map[string]*aguiMessage{}}
	a.table = newAGUITable("", "s", a.take)
	return a
}

// Show shows what is new.
func (a *AGUIFold) Show(c *view.Cursor) { a.table.show(c) }

func (a *AGUIFold) message(id, role string) *aguiMessage {
	if a.messages[id] == nil {
		a.messages[id] = &aguiMessage{ID: id, Role: role}
	}
	return a.messages[id]
}

func (a *AGUIFold) take(e *aguiEvent) {
	switch e.Type {
	case "MESSAGES_SNAPSHOT":
		clear(a.messages)
		for _, m := range *e.Messages {
			a.messages[m.ID] = &m
		}
	case "TEXT_MESSAGE_START", "REASONING_MESSAGE_START":
		a.message(e.MessageID, e.Role)
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		m := a.messages[e.MessageID]
		before, _ := m.Content.(string)
		m.Content = before + e.Text
	case "TOOL_CALL_START":
		id := e.ParentMessageID
		if id == "" {
			id = e.CallID
		}
		m := a.message(id, "assistant")
		m.Subagent = e.Subagent
		m.ToolCalls = append(m.ToolCalls, aguiToolCall{e.CallID, "function", aguiFunction{Name: e.Call}})
	case "TOOL_CALL_ARGS":
		for _, m := range a.messages {
			for i := range m.ToolCalls {
				if m.ToolCalls[i].ID == e.CallID {
					m.ToolCalls[i].Function.Arguments = e.Delta.(string)
				}
			}
		}
	case "TOOL_CALL_RESULT":
		a.messages[e.MessageID] = &aguiMessage{ID: e.MessageID, Role: "tool", CallID: e.CallID, Content: e.Content, Subagent: e.Subagent}
	case "ACTIVITY_SNAPSHOT":
		a.messages[e.MessageID] = &aguiMessage{ID: e.MessageID, Role: "activity", Activity: e.Activity, Content: e.Content}
	}
}

// Messages returns the messages as JSON.
func (a *AGUIFold) Messages() (all []string) {
	for _, m := range a.messages {
		m.Error = "" // events have none
		data, _ := json.Marshal(m)
		all = append(all, string(data))
	}
	return all
}

// Tables returns what shows a session in the words of each protocol, to a client that has been shown nothing. The answer
// is what is before the first prompt.
func (h *Handler) Tables(w http.ResponseWriter) map[string]func(*view.Cursor) (more bool) {
	ui, run, out := &uiStream{out: h.stream(w)}, &aguiRun{out: h.stream(w)}, h.stream(w)
	ui.uiTable, run.r = newUITable("", nil, ui.write), newAGUITable("", "s", run.write)
	var news []view.Delta
	return map[string]func(*view.Cursor) bool{
		"UI message stream": ui.news, "AG-UI": run.r.show,
		"JSON API": func(c *view.Cursor) bool {
			news = taken(c, news[:0])
			out.update(news, false, "", "")
			return true
		},
	}
}

// Shown is the answer to a prompt, as a client of a protocol is shown it.
type Shown struct {
	Show     func(*view.Cursor) (more bool)
	Answered func(*view.Entity) // notes that this request has answered a question
	End      func(*host.Outcome)
}

// Answers returns the answer to a prompt in the words of each protocol for browsers. claimed are the parts of it that a client of the
// UI message stream has already, as JSON.
func (h *Handler) Answers(w func(protocol string) http.ResponseWriter, prompt, claimed string) map[string]Shown {
	ui := &uiStream{out: h.stream(w("UI message stream"))}
	ui.uiTable = newUITable(prompt, nil, ui.write)
	var parts []uiClaimed
	_ = json.Unmarshal([]byte(claimed), &parts)
	ui.claim(parts)
	run := &aguiRun{in: &aguiInput{ThreadID: "thread", RunID: "run"}, out: h.stream(w("AG-UI"))}
	run.r = newAGUITable(prompt, "s", run.write)
	ui.answered, run.r.answered = map[*view.Entity]bool{}, map[*view.Entity]bool{}
	return map[string]Shown{
		"UI message stream": {ui.news, func(q *view.Entity) { ui.answered[q] = true }, ui.end},
		"AG-UI":             {run.r.show, func(q *view.Entity) { run.r.answered[q] = true }, run.end},
	}
}

// LoadedUI returns the messages of a session that a client of the UI message stream loads, as JSON.
func LoadedUI(f *view.Fold) (all []string) {
	for _, m := range uiMessages(f.Snapshot(), "s") {
		data, _ := json.Marshal(m)
		all = append(all, string(data))
	}
	return all
}

// Routes returns the routes of the API.
func (h *Handler) Routes() []string {
	var all []string
	for route := range h.routes() {
		all = append(all, strings.ReplaceAll(route, "...}", "}"))
	}
	return all
}

// Open returns how many streams are open, and how many sessions and users are in memory.
func (h *Handler) Open() (streams, sessions, users int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams, len(h.live), len(h.accounts)
}

// Remembered returns of how many sessions it is remembered whose they are.
func (h *Handler) Remembered() int {
	h.list.mu.Lock()
	defer h.list.mu.Unlock()
	return len(h.list.owners)
}

// Update writes an update as the stream of a session does, and returns the position of the client.
func (h *Handler) Update(w http.ResponseWriter, news []view.Delta, reset bool, from, to string) string {
	return h.stream(w).update(news, reset, from, to)
}

// TargetOf returns the prompt that the last message of a request means, for a client of the UI message stream.
func TargetOf(body string, s *view.Snapshot) (string, error) {
	r, err := uiParse([]byte(body))
	if err != nil {
		return "", err
	}
	return r.target(s)
}

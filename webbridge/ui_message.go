// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// uiMessage is a UI message. What clients send is decoded into it as well.
type uiMessage struct {
	ID       string       `json:"id"`
	Role     string       `json:"role"`
	Metadata *uiMetadata  `json:"metadata,omitempty"`
	Parts    []*uiPart    `json:"parts"`
	User     []uiUserPart `json:"-"` // the parts of a message of the user
}

// MarshalJSON implements [json.Marshaler].
func (m *uiMessage) MarshalJSON() ([]byte, error) {
	type plain uiMessage
	if m.Role != "user" {
		return json.Marshal((*plain)(m))
	}
	return json.Marshal(struct {
		*plain
		Parts []uiUserPart `json:"parts"`
	}{(*plain)(m), m.User})
}

// uiPart is a part of an answer. Type determines which fields are used.
type uiPart struct {
	Type     string      `json:"type"`
	ID       string      `json:"id,omitempty"`
	Text     *string     `json:"text,omitempty"`
	State    string      `json:"state,omitempty"`
	Provider *uiProvider `json:"providerMetadata,omitempty"`

	CallID    string          `json:"toolCallId,omitempty"`
	Title     string          `json:"title,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Output    any             `json:"output,omitempty"`
	ErrorText string          `json:"errorText,omitempty"`
	Executed  bool            `json:"providerExecuted,omitempty"`
	Approval  *uiApproval     `json:"approval,omitempty"`

	SourceID  string       `json:"sourceId,omitempty"`
	URL       string       `json:"url,omitempty"`
	MediaType string       `json:"mediaType,omitempty"`
	Filename  string       `json:"filename,omitempty"`
	Data      any          `json:"data,omitempty"`
	Parts     []uiUserPart `json:"parts,omitempty"`
}

type uiApproval struct {
	ID         string      `json:"id"`
	Descriptor *UIApproval `json:"descriptor,omitempty"`
	Approved   *bool       `json:"approved,omitempty"`
	Reason     string      `json:"reason,omitempty"`
}

// uiMessages returns what a session shows as UI messages: those that a client has that has followed all of it.
func uiMessages(s *view.Snapshot, session string) []*uiMessage {
	all := []*uiMessage{}
	var ofAll []*view.Entity // what belongs to no answer in particular comes first in the last one
	exchanges, fold := exchangesOf(s), s.Fold()
	for i, x := range exchanges {
		prompt := ""
		if x.Prompt != nil {
			prompt = x.Prompt.ID
			all = append(all, &uiMessage{ID: prompt, Role: "user", User: uiUserParts(x.Prompt)})
		}
		m := &uiMessage{ID: uiAnswerID(prompt), Role: "assistant", Metadata: &uiMetadata{session}, Parts: []*uiPart{}}
		if i == len(exchanges)-1 {
			x.Answer = slices.Concat(ofAll, x.Answer)
		}
		r := newUITable(prompt, fold, m.add)
		r.in = true
		r.show(wholes(x.Answer))
		r.leave()
		if len(m.Parts) > 0 {
			all = append(all, m)
		}
		for _, e := range x.Answer {
			if ofSession(e.Kind) {
				ofAll = append(ofAll, e)
			}
		}
	}
	return all
}

// wholes returns what tells a client of entities that it does not know.
func wholes(entities []*view.Entity) []view.Delta {
	all := make([]view.Delta, len(entities))
	for i, e := range entities {
		all[i] = view.Delta{Op: view.Upsert, ID: e.ID, Kind: e.Kind, Role: e.Role, Parent: e.Parent, Entity: e}
	}
	return all
}

// add does what a client does with a chunk.
func (m *uiMessage) add(c *uiChunk) {
	switch c.Type {
	case "start-step":
		m.Parts = append(m.Parts, &uiPart{Type: "step-start"})
	case "text-start":
		m.Parts = append(m.Parts, &uiPart{Type: "text", ID: c.ID, Text: new(string), State: "streaming", Provider: c.Provider})
	case "reasoning-start":
		m.Parts = append(m.Parts, &uiPart{Type: "reasoning", ID: c.ID, Text: new(string), State: "streaming", Provider: c.Provider})
	case "text-delta", "reasoning-delta":
		*m.find(c.ID).Text += c.Delta
	case "text-end":
		p := m.find(c.ID)
		p.State, p.ID = "done", ""
	case "reasoning-end":
		m.find(c.ID).State = "done"
	case "file", "source-url", "source-document":
		m.Parts = append(m.Parts, &uiPart{Type: c.Type, SourceID: c.SourceID, URL: c.URL, MediaType: c.MediaType, Title: c.Title, Provider: c.Provider})
	case "steering-message":
		m.Parts = append(m.Parts, &uiPart{Type: c.Type, ID: c.ID, Parts: c.Parts})
	case "tool-input-available":
		p := m.call(c.CallID)
		if p == nil {
			p = &uiPart{Type: "tool-" + c.Tool, CallID: c.CallID}
			m.Parts = append(m.Parts, p)
		}
		p.State, p.Title, p.Input, p.Executed = "input-available", c.Title, c.Input, c.Executed
	case "tool-approval-request":
		p := m.call(c.CallID)
		p.State, p.Approval = "approval-requested", &uiApproval{ID: c.ApprovalID, Descriptor: c.Descriptor}
	case "tool-approval-response":
		for _, p := range m.Parts {
			if p.Approval != nil && p.Approval.ID == c.ApprovalID {
				p.State, p.Approval.Approved = "approval-responded", c.Approved
			}
		}
	case "tool-output-available":
		p := m.call(c.CallID)
		p.State, p.Output = "output-available", c.Output
	case "tool-output-error":
		p := m.call(c.CallID)
		p.State, p.ErrorText = "output-error", c.ErrorText
		if p.Approval != nil && (p.Approval.Approved == nil || !*p.Approval.Approved) {
			p.Approval = nil // a part with an error has none that was not granted
		}
	case "tool-output-denied":
		m.call(c.CallID).State = "output-denied"
	default:
		if strings.HasPrefix(c.Type, "data-") && !c.Transient {
			m.data(c)
		}
	}
}

func (m *uiMessage) data(c *uiChunk) {
	for _, p := range m.Parts {
		if p.Type == c.Type && p.ID == c.ID {
			p.Data = c.Data
			return
		}
	}
	m.Parts = append(m.Parts, &uiPart{Type: c.Type, ID: c.ID, Data: c.Data})
}

// find returns the text or reasoning that is being written.
func (m *uiMessage) find(id string) *uiPart {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if p := m.Parts[i]; p.ID == id && p.Text != nil {
			return p
		}
	}
	return &uiPart{Text: new(string)}
}

func (m *uiMessage) call(id string) *uiPart {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if p := m.Parts[i]; p.CallID == id {
			return p
		}
	}
	return nil
}

// uiAnswerPrefix is the prefix of the ids of answers. The id of the prompt follows.
const uiAnswerPrefix = "answer:"

func uiAnswerID(prompt string) string {
	return uiAnswerPrefix + strings.TrimPrefix(prompt, transcript.PromptID(""))
}

// uiPromptOf returns the id of the prompt that an answer belongs to.
func uiPromptOf(answer string) (prompt string, ok bool) {
	run, ok := strings.CutPrefix(answer, uiAnswerPrefix)
	if run == "" {
		return "", ok
	}
	return transcript.PromptID("") + run, ok
}

// SPDX-License-Identifier: Apache-2.0

// Package events writes a conversation as JSON, one event on each line, for programs.
package events

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
)

// Event is a line of the output. Its Type determines the fields that are used.
type Event struct {
	// Type is "change", "question", "note", "error", "turn" or "exit".
	Type string `json:"type"`
	// Change is a change of the view. An append has Text and no Entity.
	Change *view.Change `json:"change,omitempty"`
	// Title, Preview and Options describe a question. Answer is the chosen option, empty for none,
	// and Text gives the reason.
	Title   string                 `json:"title,omitempty"`
	Preview string                 `json:"preview,omitempty"`
	Options []acp.PermissionOption `json:"options,omitempty"`
	Answer  *string                `json:"answer,omitempty"`
	// Text is the text of a note or an error.
	Text string `json:"text,omitempty"`
	// StopReason is why the agent ended a turn. It is empty if the turn failed; Text says why.
	StopReason string `json:"stop_reason,omitempty"`
	// Code is the exit code, if it is not 0.
	Code int `json:"code,omitempty"`
}

// Writer writes events. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	out *json.Encoder
}

// New returns a Writer.
func New(out io.Writer) *Writer { return &Writer{out: json.NewEncoder(out)} }

func (w *Writer) write(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(e) // a reader that is gone is noticed elsewhere
}

// Update writes an event for each change.
func (w *Writer) Update(u *view.Update) {
	for _, c := range u.Changes {
		if c.Op == view.Append {
			c.Entity = nil
		}
		w.write(Event{Type: "change", Change: &c})
	}
}

// Note writes a remark of the client.
func (w *Writer) Note(text string) { w.write(Event{Type: "note", Text: text}) }

// Fail writes an error. The conversation continues.
func (w *Writer) Fail(text string) { w.write(Event{Type: "error", Text: text}) }

// Asked writes a question and its answer.
func (w *Writer) Asked(r *acpclient.PermissionRequest, answer, why string) {
	w.write(Event{
		Type: "question", Title: r.Approval.Title, Preview: approval.Text(&r.Approval), Options: r.Options, Answer: &answer, Text: why,
	})
}

// EndTurn does nothing: the end of a turn is written by Ended.
func (w *Writer) EndTurn() {}

// Ended writes how a turn ended.
func (w *Writer) Ended(reason, err string) {
	w.write(Event{Type: "turn", StopReason: reason, Text: err})
}

// Failed writes the exit code.
func (w *Writer) Failed(code int, why string) { w.write(Event{Type: "exit", Code: code, Text: why}) }

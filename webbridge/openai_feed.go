// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// openaiChange is something that the answer gets.
type openaiChange struct {
	item string // which text, or which call; texts of a response are one
	text string
	call *openaiCall
	data *view.Content // an image
}

// openaiCall is a call of the agent, when it begins and when it has ended.
type openaiCall struct {
	tool, args     string
	ended, failed  bool
	output, reason string
}

// openaiFeed takes what a run shows, without ever waiting, until the answer is written. Texts that follow each other become one.
type openaiFeed struct {
	mu      sync.Mutex
	changes []openaiChange
	usage   toolset.Usage
	value   string // the output, as JSON
	delta   view.Delta
	wake    chan struct{}
}

func openaiNewFeed() *openaiFeed { return &openaiFeed{wake: make(chan struct{}, 1)} }

func (f *openaiFeed) add(c openaiChange) {
	f.mu.Lock()
	if last := len(f.changes) - 1; last >= 0 && c.text != "" && f.changes[last].text != "" && f.changes[last].item == c.item {
		f.changes[last].text += c.text
	} else {
		f.changes = append(f.changes, c)
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns what has come since it was called last, and the usage.
func (f *openaiFeed) take() ([]openaiChange, toolset.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.changes
	f.changes = nil
	return all, f.usage
}

// openaiOutputs begins the ids of outputs that are not text.
var openaiOutputs = strings.TrimSuffix(transcript.OutputID("", 0), "/0")

// openaiResponses begins the ids of texts of the model.
var openaiResponses = strings.TrimSuffix(transcript.MessageID("", 0), "/0")

// show takes the texts of the agent.
func (f *openaiFeed) show(c *view.Cursor) {
	for c.Take(&f.delta) {
		d := &f.delta
		switch {
		case d.Kind != view.Message || d.Role != view.Assistant:
		case d.Op == view.Upsert && strings.HasPrefix(d.ID, openaiOutputs):
			f.add(openaiChange{item: "output", text: f.value})
		case d.Op == view.Upsert && d.Known == nil && strings.HasPrefix(d.ID, openaiResponses):
			f.said(d.ID, "", d.Entity.Content)
		case d.Op == view.Append:
			f.said(d.ID, d.Text, d.Content)
		}
	}
}

// said takes what the agent has said more.
func (f *openaiFeed) said(id, text string, more []view.Content) {
	if text != "" {
		f.add(openaiChange{item: id, text: text})
	}
	for i := range more {
		switch c := &more[i]; {
		case c.Kind == view.Text && c.Text != "":
			f.add(openaiChange{item: id, text: c.Text})
		case c.Kind == view.Image && c.Data != "":
			f.add(openaiChange{item: id, data: c})
		}
	}
}

// observe takes the calls of the agent, its output if that is not text, and the usage.
func (f *openaiFeed) observe(e *agent.Event) {
	switch e.Kind {
	case agent.EventToolCall:
		if !e.Output {
			args := e.Args
			if e.Repaired != nil {
				args = e.Repaired
			}
			f.add(openaiChange{item: e.CallID, call: &openaiCall{tool: e.Tool, args: string(args)}})
		}
	case agent.EventToolResult:
		if e.Output {
			return
		}
		c := &openaiCall{ended: true}
		switch r := e.Result; {
		case r == nil:
			c.failed, c.reason = true, "The call ended the run."
		case r.Kind == model.PartRetry || r.Outcome != model.OutcomeSuccess:
			c.failed, c.reason = true, r.Text
		default:
			c.output = r.Text
		}
		f.add(openaiChange{item: e.CallID, call: c})
	case agent.EventOutput:
		data, err := json.Marshal(e.Value)
		if err != nil {
			data = []byte("null")
		}
		f.value = string(data)
	case agent.EventUsage:
		if e.Usage != nil {
			f.mu.Lock()
			f.usage = *e.Usage
			f.mu.Unlock()
		}
	}
}

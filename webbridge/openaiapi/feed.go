// SPDX-License-Identifier: Apache-2.0

package openaiapi

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/projection"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// change is something that the answer gets.
type change struct {
	item string // which text, or which call; texts of a response are one
	text string
	call *call
	data *view.Content // an image
}

// call is a call of the agent, when it begins and when it has ended.
type call struct {
	tool, args     string
	ended, failed  bool
	output, reason string
}

// feed takes what a run shows, without ever waiting, until the answer is written. Texts that follow each other become one.
type feed struct {
	mu      sync.Mutex
	changes []change
	usage   toolset.Usage
	output  bool // what is shown next is the output, which is not text
	wake    chan struct{}
}

func newFeed() *feed { return &feed{wake: make(chan struct{}, 1)} }

func (f *feed) add(c change) {
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
func (f *feed) take() ([]change, toolset.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.changes
	f.changes = nil
	return all, f.usage
}

// outputs is what the ids of outputs that are not text begin with.
var outputs = strings.TrimSuffix(projection.OutputID("", 0), "/0")

// show takes the texts of the agent.
func (f *feed) show(s *projection.Shown) {
	switch {
	case s.Kind != view.Message || s.Role != view.Assistant:
	case s.Op == view.Append:
		if s.Text != "" {
			f.add(change{item: s.ID, text: s.Text})
		}
		for i := range s.Content {
			if s.Content[i].Kind == view.Image && s.Content[i].Data != "" {
				f.add(change{item: s.ID, data: &s.Content[i]})
			}
		}
	case s.Op == view.Upsert && strings.HasPrefix(s.ID, outputs):
		f.output = true
	}
}

// observe takes the calls of the agent, its output if that is not text, and the usage.
func (f *feed) observe(e *agent.Event) {
	switch e.Kind {
	case agent.EventToolCall:
		if !e.Output {
			args := e.Args
			if e.Repaired != nil {
				args = e.Repaired
			}
			f.add(change{item: e.CallID, call: &call{tool: e.Tool, args: string(args)}})
		}
	case agent.EventToolResult:
		if e.Output {
			return
		}
		c := &call{ended: true}
		switch r := e.Result; {
		case r == nil:
			c.failed, c.reason = true, "The call ended the run."
		case r.Kind == model.PartRetry || r.Outcome != model.OutcomeSuccess:
			c.failed, c.reason = true, r.Text
		default:
			c.output = r.Text
		}
		f.add(change{item: e.CallID, call: c})
	case agent.EventOutput:
		if f.output {
			data, err := json.Marshal(e.Value)
			if err != nil {
				data = []byte("null")
			}
			f.add(change{item: "output", text: string(data)})
		}
	case agent.EventUsage:
		if e.Usage != nil {
			f.mu.Lock()
			f.usage = *e.Usage
			f.mu.Unlock()
		}
	}
}

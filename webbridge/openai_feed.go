// SPDX-License-Identifier: Apache-2.0

package webbridge

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
	output  bool // what is shown next is the output, which is not text
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

// openaiOutputs is what the ids of outputs that are not text begin with.
var openaiOutputs = strings.TrimSuffix(projection.OutputID("", 0), "/0")

// show takes the texts of the agent.
func (f *openaiFeed) show(s *projection.Shown) {
	switch {
	case s.Kind != view.Message || s.Role != view.Assistant:
	case s.Op == view.Append:
		if s.Text != "" {
			f.add(openaiChange{item: s.ID, text: s.Text})
		}
		for i := range s.Content {
			if s.Content[i].Kind == view.Image && s.Content[i].Data != "" {
				f.add(openaiChange{item: s.ID, data: &s.Content[i]})
			}
		}
	case s.Op == view.Upsert && strings.HasPrefix(s.ID, openaiOutputs):
		f.output = true
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
		if f.output {
			data, err := json.Marshal(e.Value)
			if err != nil {
				data = []byte("null")
			}
			f.add(openaiChange{item: "output", text: string(data)})
		}
	case agent.EventUsage:
		if e.Usage != nil {
			f.mu.Lock()
			f.usage = *e.Usage
			f.mu.Unlock()
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"reflect"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/schema"
)

// handOverTurn is a run of an agent that another one has handed over to.
type handOverTurn struct {
	agent string
	// base is the history that the run began with, all what it ended with, fresh what the run added.
	base, all, fresh []*model.Message
	// prompt is the user's text instead of answers, if any: the outer history does not have it yet.
	prompt []model.Part
}

// told returns what the user was told, and said, as the outer history has it: without calls,
// results, and what only the provider understands. It includes the text of a waiting agent that
// this one has handed over to. When that agent continues, the history of this one gets all of it,
// and told leaves out what it has returned before.
func (t *handOverTurn) told() []*model.Message {
	var told []*model.Message
	prompt, known := t.prompt, toldByWaiting(t.base)
	for _, m := range append(t.fresh[:len(t.fresh):len(t.fresh)], toldByWaiting(t.all)...) {
		if len(known) > 0 && m.HandOver != nil && m.Kind == known[0].Kind {
			if m, known = afterParts(m, known[0].Parts), known[1:]; len(m.Parts) == 0 {
				continue
			}
		}
		if m.Kind == model.KindRequest {
			here := prompt != nil && reflect.DeepEqual(m.Parts, prompt)
			further := m.HandOver != nil && !m.HandOver.Ended && len(m.Parts) > 0 // to an agent that this one had handed over to
			if here || further {
				told = append(told, &model.Message{Kind: model.KindRequest, Parts: m.Parts, HandOver: &model.HandOver{Agent: t.agent}})
			}
			if here {
				prompt = nil
			}
			continue
		}
		var parts []model.Part
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case model.PartText, model.PartMedia, model.PartCitation:
				parts = append(parts, model.Part{Kind: p.Kind, Text: p.Text, Data: p.Data, MediaType: p.MediaType, URL: p.URL, Name: p.Name})
			}
		}
		if parts != nil {
			told = t.tell(told, parts, m)
		}
	}
	return told
}

// toldByWaiting returns what was told by the agent that the last message of a history says is waiting.
func toldByWaiting(history []*model.Message) (told []*model.Message) {
	if n := len(history); n > 0 {
		for _, s := range history[n-1].SuspendedCalls {
			told = append(told, s.Told...)
		}
	}
	return told
}

// afterParts returns a message without the parts that it begins with.
func afterParts(m *model.Message, parts []model.Part) *model.Message {
	if len(m.Parts) < len(parts) || !reflect.DeepEqual(m.Parts[:len(parts)], parts) {
		return m
	}
	m = m.Clone()
	m.Parts = m.Parts[len(parts):]
	return m
}

// tell adds parts to what was told. They are from a response, or nil if they are the output.
func (t *handOverTurn) tell(told []*model.Message, parts []model.Part, from *model.Message) []*model.Message {
	if n := len(told); n == 0 || told[n-1].Kind == model.KindRequest {
		told = append(told, &model.Message{Kind: model.KindResponse, HandOver: &model.HandOver{Agent: t.agent}})
	}
	last := told[len(told)-1]
	last.Parts = append(last.Parts, parts...)
	if from != nil {
		last.Provider, last.Model, last.Finish = from.Provider, from.Model, from.Finish
		if last.HandOver.Agent = t.agent; from.HandOver != nil {
			last.HandOver.Agent = from.HandOver.Agent
		}
	}
	return told
}

// silent returns the output as text if no response has shown it to the user, because it was a call.
func (t *handOverTurn) silent(output any) (text string, silent bool) {
	for i := len(t.fresh) - 1; i >= 0; i-- {
		if t.fresh[i].Kind == model.KindResponse {
			silent = t.fresh[i].HasToolCalls()
			break
		}
	}
	if !silent {
		return "", false
	}
	if v := reflect.ValueOf(output); v.Kind() == reflect.String && v.Len() > 0 {
		return v.String(), true
	}
	data, err := schema.Marshal(output)
	if err != nil {
		return fmt.Sprint(output), true
	}
	return string(data), true
}

// handedOver returns the event of the agent that a run was handed over to, instead of the event
// that carries it.
func handedOver(e *Event) (inner Event, ok bool) {
	nested, ok := e.Value.(Nested)
	for ok && nested.HandOver {
		if nested.Event.Kind != EventCustom {
			return nested.Event, true
		}
		nested, ok = nested.Event.Value.(Nested)
	}
	return Event{}, false
}

// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// item is an item of a response under construction.
type item struct {
	kind   string
	index  int
	wireID string
	// done reports that no more events belong to the item.
	done bool

	text      growing // for messages
	phase     string
	citations []json.RawMessage

	thoughts  []*thought // for reasoning
	encrypted string

	name, callID string // for function calls
	extra        []byte // sent back with the call, as an object
	args         []byte
	announced    bool // name, id and part are fixed, because the sink may know them
	part         int

	image  []byte
	format string

	raw []byte // for items with no other representation
}

// thought is a summary of reasoning, or a piece of the reasoning itself.
type thought struct {
	growing
	index int
	raw   bool
}

// thought returns the thought at an index, summaries first.
func (it *item) thought(index int, raw bool) (*thought, error) {
	at := len(it.thoughts)
	for i := at - 1; i >= 0; i-- {
		t := it.thoughts[i]
		if t.raw == raw && t.index == index {
			return t, nil
		}
		if t.raw && !raw || t.raw == raw && t.index > index {
			at = i
		}
	}
	if len(it.thoughts) == maxItems {
		return nil, errTooManyItems
	}
	t := &thought{index: index, raw: raw}
	it.thoughts = append(it.thoughts, nil)
	copy(it.thoughts[at+1:], it.thoughts[at:])
	it.thoughts[at] = t
	return t, nil
}

// begin sets what is known of an item at its start.
func (it *item) begin(w *outputItem) {
	it.phase = cmp.Or(string(w.Phase), it.phase)
	if extra := namespaced(w); extra != nil {
		it.extra = extra
	}
	if !it.announced {
		it.name, it.callID = cmp.Or(string(w.Name), it.name), cmp.Or(string(w.CallID), it.callID)
	}
}

// appendParts appends the parts that represent the item in a message.
//
// For reasoning, there is a thinking part for each summary. All have the item's id, and the first
// has the encrypted content as its signature, so the item can be restored from them. If the
// reasoning itself is readable, an opaque part holds the whole item, and the thinking parts are
// only for people.
func (it *item) appendParts(parts []model.Part, provider string) []model.Part {
	switch it.kind {
	case "message":
		if it.text.began {
			p := model.Text(string(it.text.content))
			if it.phase != "" {
				p.Provider, p.Signature = provider, []byte(it.phase)
			}
			parts = append(parts, p)
			for _, raw := range it.citations {
				parts = append(parts, citation(provider, raw))
			}
		}
	case "reasoning":
		first := len(parts)
		for _, t := range it.thoughts {
			parts = appendPart(parts, model.PartThinking, t.content, nil, provider, it.wireID)
		}
		if it.raw != nil {
			if data := withoutStatus(it.raw); data != nil {
				parts = appendPart(parts, model.PartOpaque, nil, data, provider, it.wireID)
			}
			break
		}
		if it.encrypted != "" {
			if len(parts) == first {
				parts = appendPart(parts, model.PartThinking, nil, nil, provider, it.wireID)
			}
			parts[first].Signature = []byte(it.encrypted)
		}
	case "function_call":
		if it.announced {
			p := model.Part{Kind: model.PartToolCall, CallID: it.callID, Tool: it.name, Args: it.args}
			if it.extra != nil {
				p.Signature, p.Provider = it.extra, provider
			}
			parts = append(parts, p)
		}
	default:
		switch {
		case it.image != nil:
			p := model.Media("image/"+it.format, it.image)
			p.Provider, p.ID = provider, it.wireID
			parts = append(parts, p)
		case it.raw != nil:
			if data := compacted(it.raw); data != nil {
				parts = appendPart(parts, model.PartOpaque, nil, data, provider, it.wireID)
			}
		}
	}
	return parts
}

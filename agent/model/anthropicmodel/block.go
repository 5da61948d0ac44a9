// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// block is a block of content under construction.
type block struct {
	index int
	kind  string
	// raw is the block as it started.
	raw json.RawMessage
	// content is the text, the thinking or the fragments of the input.
	content   []byte
	signature []byte
	citations []json.RawMessage
	// grown holds, for a block of unknown type, what its members have been extended by.
	grown map[string][]byte

	// callID, tool and extra belong to a call. extra is what the provider wants back with it, as an
	// object.
	callID, tool string
	extra        []byte
	// part is the index of the part in deltas. told is how much of the content the sink has been
	// told.
	part  int
	began bool
	told  int
}

// wireBlock has the members of all supported blocks.
type wireBlock struct {
	Text      string            `json:"text"`
	Citations []json.RawMessage `json:"citations"`
	Thinking  string            `json:"thinking"`
	Signature string            `json:"signature"`
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Input     json.RawMessage   `json:"input"`
}

// wireDelta has the members of all supported deltas.
type wireDelta struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	Signature   string          `json:"signature"`
	PartialJSON string          `json:"partial_json"`
	Citation    json.RawMessage `json:"citation"`
}

// start starts a block.
func (a *assembly) start(index int, raw json.RawMessage) error {
	if a.repeated && slices.ContainsFunc(a.blocks, func(b *block) bool { return b.index == index }) {
		return errSecondMessage
	}
	var w wireBlock
	b := &block{index: index, raw: raw}
	if !isObject(raw) {
		return errors.New("a content block is not a valid object")
	}
	if err := json.Unmarshal(raw, &struct {
		Type *string `json:"type"`
	}{&b.kind}); err != nil {
		return fmt.Errorf("a content block has no valid type: %w", err)
	}
	a.blocks = append(a.blocks, b)
	if err := a.reserve(len(raw)); err != nil {
		return err
	}
	if b.isOpaque() {
		return nil
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("a content block is invalid: %w", err)
	}
	switch b.kind {
	case "text":
		b.citations = w.Citations
		return a.grow(b, model.PartText, w.Text)
	case "thinking":
		b.signature = []byte(w.Signature)
		return a.grow(b, model.PartThinking, w.Thinking)
	case "tool_use":
		if w.Name == "" {
			return errors.New("a tool call has no name")
		}
		b.callID, b.tool, b.extra = a.ids.Unique(w.ID), w.Name, extraOf(raw)
		return a.grow(b, model.PartToolCall, "")
	}
	return nil
}

// citation makes a part from a citation of any kind, of a place in a document or of a search
// result.
func citation(provider string, raw json.RawMessage) model.Part {
	var w struct {
		URL      string `json:"url"`
		Source   string `json:"source"`
		Title    string `json:"title"`
		Document string `json:"document_title"`
		Text     string `json:"cited_text"`
	}
	_ = json.Unmarshal(raw, &w) // a member of a wrong type does not affect the others
	return model.Part{
		Kind: model.PartCitation, Provider: provider, URL: cmp.Or(w.URL, w.Source), Name: cmp.Or(w.Title, w.Document), Text: w.Text, Data: raw,
	}
}

// extraOf returns the additional members of a call as an object, or nil.
func extraOf(raw []byte) []byte {
	extra := []byte("{}")
	for name, value := range members(raw) {
		switch name {
		case "type", "id", "name", "input":
			continue
		}
		extra = withMember(extra, name, value)
	}
	if len(extra) == 2 {
		return nil
	}
	return extra
}

// delta extends a block. If the start of the block was never sent, it starts here if possible.
func (a *assembly) delta(index int, d *wireDelta, raw json.RawMessage) error {
	var b *block
	for i := len(a.blocks) - 1; i >= 0 && b == nil; i-- {
		if a.blocks[i].index == index {
			b = a.blocks[i]
		}
	}
	if b == nil {
		kind, ok := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}[d.Type]
		if !ok {
			return fmt.Errorf("the stream adds %q to block %d, which was not started", d.Type, index)
		}
		b = &block{index: index, kind: kind}
		a.blocks = append(a.blocks, b)
	}
	switch {
	case d.Type == "text_delta" && b.kind == "text":
		return a.grow(b, model.PartText, d.Text)
	case d.Type == "citations_delta" && b.kind == "text":
		b.citations = append(b.citations, d.Citation)
		return a.reserve(len(d.Citation))
	case d.Type == "thinking_delta" && b.kind == "thinking":
		return a.grow(b, model.PartThinking, d.Thinking)
	case d.Type == "signature_delta" && b.kind == "thinking":
		b.signature = append(b.signature, d.Signature...)
		return a.reserve(len(d.Signature))
	case d.Type == "input_json_delta" && b.kind == "tool_use":
		return a.grow(b, model.PartToolCall, d.PartialJSON)
	case d.Type == "input_json_delta" && b.isOpaque():
		b.content = append(b.content, d.PartialJSON...)
		return a.reserve(len(d.PartialJSON))
	case b.isOpaque():
		return a.growOpaque(b, raw)
	case slices.Contains(knownDeltas, d.Type):
		return fmt.Errorf("the stream adds %q to block %d, which is of type %q", d.Type, index, b.kind)
	}
	return nil // a kind of delta newer than this package
}

// knownDeltas belong to certain types of blocks only.
var knownDeltas = []string{"text_delta", "citations_delta", "thinking_delta", "signature_delta", "input_json_delta"}

func (b *block) isOpaque() bool {
	return b.kind != "text" && b.kind != "thinking" && b.kind != "tool_use"
}

// growOpaque adds a delta of unknown type to a block of unknown type: each text is appended to the
// member of the same name.
func (a *assembly) growOpaque(b *block, delta json.RawMessage) error {
	for name, value := range members(delta) {
		var text string
		if name == "type" || json.Unmarshal(value, &text) != nil || text == "" {
			continue
		}
		if b.grown == nil {
			b.grown = map[string][]byte{}
		}
		b.grown[name] = append(b.grown[name], text...)
	}
	return a.reserve(len(delta))
}

// grow adds to a block and tells the sink.
func (a *assembly) grow(b *block, kind model.PartKind, text string) error {
	if text == "" && (b.began || kind != model.PartToolCall) {
		return nil
	}
	if err := a.reserve(len(text)); err != nil {
		return err
	}
	b.content = append(b.content, text...)
	return a.tell(b, kind, text)
}

func (a *assembly) tell(b *block, kind model.PartKind, text string) error {
	d := model.Delta{Kind: kind, Text: text}
	if !b.began {
		b.began, b.part = true, a.nextPart
		a.nextPart++
		d.CallID, d.Tool = b.callID, b.tool
	}
	d.Part = b.part
	b.told += len(text)
	return a.emit(d)
}

// stopped tells the sink about a complete block that deltas cannot express: signed or redacted
// thinking, which the API wants back with the calls that follow it, and calls with more than
// arguments. A call of a server tool is useless without its result.
func (a *assembly) stopped(index int) error {
	at := slices.IndexFunc(a.blocks, func(b *block) bool { return b.index == index })
	if at < 0 || a.sink == nil {
		return nil
	}
	b := a.blocks[at]
	switch {
	case b.kind == "thinking" && len(b.signature) > 0, b.kind == "redacted_thinking", b.kind == "tool_use" && b.extra != nil:
	default:
		return nil
	}
	if err := a.tellRest(b); err != nil {
		return err
	}
	whole := b.appendParts(nil, a.provider)[0]
	d := model.Delta{Whole: &whole}
	if b.began {
		d.Part, d.Kind = b.part, whole.Kind
	}
	return a.emit(d)
}

// tellRest tells the sink about arguments that were sent at the start of a call.
func (a *assembly) tellRest(b *block) error {
	if b.kind != "tool_use" || b.told > 0 {
		return nil
	}
	return a.tell(b, model.PartToolCall, string(b.arguments()))
}

// arguments returns the input of a call: the joined pieces, or else the input at the start of the
// call.
func (b *block) arguments() []byte {
	if len(b.content) > 0 {
		return b.content
	}
	var w struct {
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(b.raw, &w) // it was valid when the block started
	if input := bytes.TrimSpace(w.Input); len(input) > 0 && string(input) != "null" {
		return w.Input
	}
	return []byte("{}")
}

// appendParts appends the parts that represent the block in a message.
func (b *block) appendParts(parts []model.Part, provider string) []model.Part {
	switch b.kind {
	case "text":
		if len(b.content) == 0 {
			return parts
		}
		parts = append(parts, model.Text(string(b.content)))
		for _, raw := range b.citations {
			parts = append(parts, citation(provider, raw))
		}
		return parts
	case "thinking":
		if len(b.content) == 0 && len(b.signature) == 0 {
			return parts
		}
		return append(parts, model.Part{
			Kind: model.PartThinking, Text: string(b.content), Provider: provider, Signature: slices.Clip(b.signature),
		})
	case "tool_use":
		p := model.Part{Kind: model.PartToolCall, CallID: b.callID, Tool: b.tool, Args: b.arguments()}
		if b.extra != nil {
			p.Provider, p.Signature = provider, b.extra
		}
		return append(parts, p)
	}
	return append(parts, model.Part{Kind: model.PartOpaque, Provider: provider, Data: b.opaque()})
}

// opaque returns the block in its final form.
func (b *block) opaque() []byte {
	raw := bytes.Clone(b.raw)
	if json.Valid(b.content) {
		raw = withMember(raw, "input", b.content)
	}
	for _, name := range slices.Sorted(maps.Keys(b.grown)) {
		var before string
		for n, value := range members(raw) {
			if n == name {
				_ = json.Unmarshal(value, &before)
			}
		}
		text, err := json.Marshal(cmp.Or(before, "") + string(b.grown[name]))
		if err == nil {
			raw = withMember(raw, name, text)
		}
	}
	return raw
}

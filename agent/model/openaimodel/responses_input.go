// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/base64"
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// appendInput appends the conversation as an array of items. The parts of a response become items
// in the same order: reasoning precedes the calls that follow from it. Only reasoning is sent with
// its id, because the two belong together. If all items had ids, the endpoint would look for stored
// items, but was told not to store them. The text of a message is sent as a string: vLLM does not
// accept a list of "output_text" without an id. llama.cpp does not accept a message without "type".
func (m *Responses) appendInput(dst []byte, messages []*model.Message) ([]byte, error) {
	e := itemEncoder{m: m, dst: append(dst, '['), ids: adapter.WireIDs{Rule: responseCallIDs, Provider: m.info.Provider, Messages: messages}}
	for turn := range adapter.Turns(adapter.Without(messages, func(msg *model.Message) bool { return e.said(msg) >= 0 })) {
		if turn[0].Kind == model.KindResponse {
			e.ids.Turn()
			e.responses(turn)
		} else if err := eachOfRequests(turn, &e.run, &e); err != nil {
			return nil, err
		}
	}
	return append(e.dst, ']'), nil
}

// responseCallIDs is the rule for call ids: "string too long. Expected a string with maximum length
// 64".
var responseCallIDs = adapter.IDRule{Max: 64}

type itemEncoder struct {
	m   *Responses
	dst []byte
	sep string
	ids adapter.WireIDs
	// writing reports that a message of the model is being written. phase is its phase.
	writing bool
	phase   string
	run     []*model.Part
}

// said returns the index of the last part of a response that may stand at its end, or -1. Reasoning
// may not: "Item of type 'reasoning' was provided without its required following item".
func (e *itemEncoder) said(msg *model.Message) int {
	for i := len(msg.Parts) - 1; i >= 0; i-- {
		p := &msg.Parts[i]
		if adapter.Says(p) || p.Kind == model.PartOpaque && e.isOwn(p) && isItem(p.Data) && !isReasoning(p.Data) {
			return i
		}
	}
	return -1
}

// isReasoning reports whether an item is reasoning.
func isReasoning(item []byte) bool {
	d := parseDetail(item)
	return d != nil && d.value("type") == `"reasoning"`
}

// put appends s. Not inlined, it keeps programs smaller.
//
//go:noinline
func (e *itemEncoder) put(s string) { e.dst = append(e.dst, s...) }

// item starts an item.
func (e *itemEncoder) item(begin string) {
	e.put(e.sep)
	e.sep = ","
	e.put(begin)
}

func (e *itemEncoder) answer(p *model.Part) {
	e.item(`{"type":"function_call_output","call_id":`)
	e.dst = adapter.AppendJSONString(e.dst, e.ids.Result(p.CallID))
	e.put(`,"output":"`)
	e.dst = appendText(e.dst, p)
	e.put(`"}`)
}

func (e *itemEncoder) system(text string) {
	e.item(`{"type":"message","role":"`)
	e.put(e.m.profile.SystemRole)
	e.put(`","content":`)
	e.dst = append(adapter.AppendJSONString(e.dst, text), '}')
}

func (e *itemEncoder) user(parts []*model.Part, hasMedia bool) error {
	e.item(`{"type":"message","role":"user","content":`)
	dst, err := appendContent(e.dst, parts, hasMedia, "input_text", e.m)
	e.dst = append(dst, '}')
	return err
}

func (m *Responses) appendMedia(dst []byte, p *model.Part) ([]byte, error) {
	if err := m.checkMedia(p); err != nil {
		return nil, err
	}
	mediaType, kind := adapter.MediaType(p)
	if kind == "image" {
		dst = append(dst, `{"type":"input_image","detail":"auto","image_url":`...)
		return append(appendDataURL(dst, mediaType, p), '}'), nil
	}
	if len(p.Data) == 0 {
		dst = append(dst, `{"type":"input_file","file_url":`...)
		return append(adapter.AppendJSONString(dst, p.URL), '}'), nil
	}
	dst = append(dst, `{"type":"input_file","filename":`...)
	dst = adapter.AppendJSONString(dst, cmp.Or(p.Name, "document.pdf"))
	dst = append(dst, `,"file_data":`...)
	return append(appendDataURL(dst, mediaType, p), '}'), nil
}

// responses writes adjacent responses, without reasoning at their ends.
func (e *itemEncoder) responses(messages []*model.Message) {
	for _, msg := range messages {
		said := e.said(msg)
		for i := 0; i <= said; i++ {
			switch p := &msg.Parts[i]; p.Kind {
			case model.PartText:
				if p.Text != "" {
					e.text(p.Text, e.phaseOf(p))
				}
			case model.PartMedia:
				if e.isOwn(p) && p.ID != "" && len(p.Data) > 0 {
					e.image(p)
				} else { // no item can hold what another provider made
					e.text(adapter.MediaNote(p), "")
				}
			case model.PartThinking:
				if e.isOwn(p) && len(p.Signature) > 0 {
					n := i + 1
					for n < len(msg.Parts) && continues(p, &msg.Parts[n]) {
						n++
					}
					e.endText()
					e.reasoning(msg.Parts[i:n])
					i = n - 1
				}
			case model.PartOpaque:
				if e.isOwn(p) && isItem(p.Data) {
					e.endText()
					e.item("")
					e.dst = append(e.dst, p.Data...)
				}
			case model.PartToolCall:
				e.endText()
				e.item(`{"type":"function_call","call_id":`)
				e.dst = adapter.AppendJSONString(e.dst, e.ids.Call(p.CallID, msg.Provider))
				e.put(`,"name":`)
				e.dst = adapter.AppendJSONString(e.dst, adapter.ToolName(p.Tool))
				e.put(`,"arguments":"`)
				e.dst = adapter.AppendJSONChars(e.dst, adapter.Arguments(p.Args))
				e.dst = append(e.dst, '"')
				if extra := inside(p.Signature, namespacePrefix, callerPrefix); extra != nil && e.isOwn(p) {
					e.dst = append(append(e.dst, ','), extra...)
				}
				e.dst = append(e.dst, '}')
			}
		}
	}
	e.endText()
}

// text writes text of the model. Adjacent texts of one phase become one message.
func (e *itemEncoder) text(text, phase string) {
	if e.writing && phase != e.phase {
		e.endText()
	}
	if !e.writing {
		e.writing, e.phase = true, phase
		e.item(`{"type":"message","role":"assistant"`)
		if phase != "" {
			e.put(`,"phase":`)
			e.dst = adapter.AppendJSONString(e.dst, phase)
		}
		e.put(`,"content":"`)
	}
	e.dst = adapter.AppendJSONChars(e.dst, text)
}

// image writes an image that the model has generated, as the complete item, because nothing is
// stored at the endpoint.
func (e *itemEncoder) image(p *model.Part) {
	e.endText()
	e.item(`{"type":"image_generation_call","status":"completed","id":`)
	e.dst = adapter.AppendJSONString(e.dst, p.ID)
	e.put(`,"result":"`)
	e.dst = append(base64.StdEncoding.AppendEncode(e.dst, p.Data), `"}`...)
}

func (e *itemEncoder) endText() {
	if e.writing {
		e.put(`"}`)
		e.writing = false
	}
}

// reasoning writes the parts of one reasoning item. The first part has the encrypted content, all
// have summaries.
func (e *itemEncoder) reasoning(parts []model.Part) {
	e.item(`{"type":"reasoning"`)
	if parts[0].ID != "" {
		e.put(`,"id":`)
		e.dst = adapter.AppendJSONString(e.dst, parts[0].ID)
	}
	e.put(`,"summary":[`)
	sep := ""
	for i := range parts {
		if parts[i].Text != "" {
			e.dst = append(e.dst, sep...)
			e.put(`{"type":"summary_text","text":`)
			e.dst = append(adapter.AppendJSONString(e.dst, parts[i].Text), '}')
			sep = ","
		}
	}
	e.put(`],"encrypted_content":`)
	e.dst = append(adapter.AppendJSONString(e.dst, parts[0].Signature), '}')
}

// continues reports whether next is another summary of the reasoning item that starts with first.
func continues(first, next *model.Part) bool {
	return next.Kind == model.PartThinking && next.Provider == first.Provider && next.ID == first.ID && first.ID != "" && len(next.Signature) == 0
}

func (e *itemEncoder) isOwn(p *model.Part) bool { return p.Provider == e.m.info.Provider }

// phaseOf returns the phase that the provider assigned to its own text, and wants back.
func (e *itemEncoder) phaseOf(p *model.Part) string {
	if e.isOwn(p) {
		return string(p.Signature)
	}
	return ""
}

// isItem reports whether data is an item. Opaque parts of Chat Completions are arrays or objects
// without a type.
func isItem(data []byte) bool {
	return isObject(data) && inside(data, `{"executed_tools":`, extraPrefix) == nil
}

// isObject reports whether data is a JSON object.
func isObject(data []byte) bool {
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// SPDX-License-Identifier: Apache-2.0

package openaiapi

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// responses serves POST /v1/responses. See https://platform.openai.com/docs/api-reference/responses.
func (p *protocol) responses(w http.ResponseWriter, r *http.Request) error {
	all, err := p.decode(w, r)
	if err != nil {
		return err
	}
	in, settings, err := p.readResponse(all)
	if err != nil {
		return err
	}
	metadata := object{}
	if err := take(all, "metadata", &metadata, "an object"); err != nil {
		return err
	}
	return p.run(w, r, in, settings, func(id string, begin func() *webbridge.Stream) writer {
		return &itemWriter{w: w, in: in, id: id, created: time.Now().Unix(), begin: begin, metadata: metadata, calls: map[string]int{}}
	})
}

// itemWriter writes a response: a list of items, of which each stream event names one by its index.
type itemWriter struct {
	w        http.ResponseWriter
	in       *input
	id       string
	created  int64
	begin    func() *webbridge.Stream
	began    bool
	metadata object

	sequence int
	output   []object
	calls    map[string]int // the indexes of calls that have not ended
	open     bool           // the last item is a text that is being written
	item     string         // which text
	text     strings.Builder
}

// response is the whole response, as far as it is there.
func (w *itemWriter) response(status string, u *toolset.Usage) object {
	output := w.output
	if output == nil {
		output = []object{}
	}
	o := object{
		"id": "resp_" + w.id, "object": "response", "created_at": w.created, "status": status, "model": w.in.model, "output": output,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": w.metadata, "parallel_tool_calls": true, "temperature": nil, "top_p": nil,
		"tool_choice": "auto", "tools": []object{}, "max_output_tokens": nil, "previous_response_id": nil, "reasoning": object{"effort": nil, "summary": nil},
		"store": false, "background": false, "text": object{"format": object{"type": "text"}}, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if w.in.maxTokens > 0 {
		o["max_output_tokens"] = w.in.maxTokens
	}
	if u != nil {
		o["usage"] = itemUsage(u)
	}
	if len(w.in.warnings) > 0 {
		o["warnings"] = w.in.warnings
	}
	return o
}

func itemUsage(u *toolset.Usage) object {
	o := object{
		"input_tokens": u.InputTokens, "input_tokens_details": object{"cached_tokens": u.CacheReadTokens},
		"output_tokens": u.OutputTokens, "output_tokens_details": object{"reasoning_tokens": u.ReasoningTokens}, "total_tokens": u.TotalTokens(),
	}
	if u.Cost > 0 {
		o["cost"] = u.Cost
	}
	return o
}

func (w *itemWriter) stream() *webbridge.Stream {
	out := w.begin()
	if out != nil && !w.began {
		w.began = true
		w.send("response.created", object{"response": w.response("in_progress", nil)})
		w.send("response.in_progress", object{"response": w.response("in_progress", nil)})
	}
	return out
}

// send writes an event, if the answer is a stream.
func (w *itemWriter) send(kind string, o object) {
	out := w.stream()
	if out == nil {
		return
	}
	o["type"], o["sequence_number"] = kind, w.sequence
	w.sequence++
	send(out, kind, o)
}

func (w *itemWriter) change(c *change) bool {
	w.stream() // it begins with a response that has no items
	switch {
	case c.call != nil && c.call.ended:
		w.callEnded(c)
	case c.call != nil:
		w.closeText("completed")
		item := object{
			"type": "mcp_call", "id": fmt.Sprintf("mcp_%s_%d", w.id, len(w.output)), "server_label": "agent", "name": c.call.tool, "arguments": c.call.args,
			"output": nil, "error": nil, "approval_request_id": nil, "status": "in_progress",
		}
		w.calls[c.item] = w.add(item)
		w.send("response.mcp_call.in_progress", w.at(w.calls[c.item]))
		done := w.at(w.calls[c.item])
		done["arguments"] = c.call.args
		w.send("response.mcp_call_arguments.done", done)
	case c.data != nil:
		w.closeText("completed")
		i := w.add(object{"type": "image_generation_call", "id": fmt.Sprintf("ig_%s_%d", w.id, len(w.output)), "status": "completed", "result": c.data.Data})
		w.send("response.output_item.done", object{"output_index": i, "item": w.output[i]})
	default:
		w.say(c)
	}
	return true
}

// at names an item.
func (w *itemWriter) at(i int) object { return object{"output_index": i, "item_id": w.output[i]["id"]} }

// add adds an item, and returns its index. What is sent later of the item is another object.
func (w *itemWriter) add(item object) int {
	w.output = append(w.output, item)
	w.send("response.output_item.added", object{"output_index": len(w.output) - 1, "item": item})
	return len(w.output) - 1
}

func (w *itemWriter) callEnded(c *change) {
	i, ok := w.calls[c.item]
	if !ok {
		return
	}
	delete(w.calls, c.item)
	item, kind := w.output[i], "completed"
	item["output"] = c.call.output
	if c.call.failed {
		kind, item["output"], item["error"] = "failed", nil, c.call.reason
	}
	item["status"] = kind
	w.send("response.mcp_call."+kind, w.at(i))
	w.send("response.output_item.done", object{"output_index": i, "item": item})
}

// textPart is the only part of a message.
func textPart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

// say appends to a text, which is the last item.
func (w *itemWriter) say(c *change) {
	if w.open && w.item != c.item {
		w.closeText("completed")
	}
	if !w.open {
		w.open, w.item = true, c.item
		w.text.Reset()
		i := w.add(object{"type": "message", "id": fmt.Sprintf("msg_%s_%d", w.id, len(w.output)), "role": "assistant", "status": "in_progress", "content": []object{}})
		o := w.at(i)
		o["content_index"], o["part"] = 0, textPart("")
		w.send("response.content_part.added", o)
	}
	w.text.WriteString(c.text)
	if w.in.stream {
		o := w.at(len(w.output) - 1)
		o["content_index"], o["delta"], o["logprobs"] = 0, c.text, []object{}
		w.send("response.output_text.delta", o)
	}
}

// closeText ends the text that is being written. Other items follow it only after that.
func (w *itemWriter) closeText(status string) {
	if !w.open {
		return
	}
	w.open = false
	i, text := len(w.output)-1, w.text.String()
	item := w.output[i]
	item["status"], item["content"] = status, []object{textPart(text)}
	o := w.at(i)
	o["content_index"], o["text"], o["logprobs"] = 0, text, []object{}
	w.send("response.output_text.done", o)
	o = w.at(i)
	o["content_index"], o["part"] = 0, textPart(text)
	w.send("response.content_part.done", o)
	w.send("response.output_item.done", object{"output_index": i, "item": item})
}

func (w *itemWriter) finish(reason string, u *toolset.Usage) {
	status, details := "completed", any(nil)
	switch reason {
	case "length":
		status, details = "incomplete", object{"reason": "max_output_tokens"}
	case "content_filter":
		status, details = "incomplete", object{"reason": reason}
	}
	w.stream()
	w.closeText(status)
	o := w.response(status, u)
	if o["incomplete_details"] = details; status == "completed" {
		o["completed_at"] = time.Now().Unix()
	}
	if w.stream() != nil {
		w.send("response."+status, object{"response": o})
		return
	}
	writeJSON(w.w, http.StatusOK, o)
}

func (w *itemWriter) fail(e *apiError) {
	w.closeText("incomplete")
	o := w.response("failed", nil)
	o["error"] = object{"code": "server_error", "message": e.message}
	w.send("response.failed", object{"response": o})
}

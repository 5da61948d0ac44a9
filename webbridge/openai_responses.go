// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// responses serves POST /v1/responses. See https://platform.openai.com/docs/api-reference/responses.
func (p *openaiProtocol) responses(w http.ResponseWriter, r *http.Request) error {
	all, err := p.decode(w, r)
	if err != nil {
		return err
	}
	in, settings, err := p.readResponse(all)
	if err != nil {
		return err
	}
	metadata := openaiObject{}
	if err := openaiTake(all, "metadata", &metadata, "an object"); err != nil {
		return err
	}
	return p.run(w, r, in, settings, func(id string, begin func() *eventStream) openaiWriter {
		return &openaiItemWriter{w: w, in: in, id: id, created: time.Now().Unix(), begin: begin, metadata: metadata, calls: map[string]int{}}
	})
}

// openaiItemWriter writes a response: a list of items, of which each stream event names one by its index.
type openaiItemWriter struct {
	w        http.ResponseWriter
	in       *openaiInput
	id       string
	created  int64
	begin    func() *eventStream
	began    bool
	metadata openaiObject

	sequence int
	output   []openaiObject
	calls    map[string]int // the indexes of calls that have not ended
	open     bool           // the last item is a text that is being written
	item     string         // which text
	text     strings.Builder
}

// response is the whole response, or the part that exists so far.
func (w *openaiItemWriter) response(status string, u *toolset.Usage) openaiObject {
	output := w.output
	if output == nil {
		output = []openaiObject{}
	}
	o := openaiObject{
		"id": "resp_" + w.id, "object": "response", "created_at": w.created, "status": status, "model": w.in.model, "output": output,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": w.metadata, "parallel_tool_calls": true, "temperature": nil, "top_p": nil,
		"tool_choice": "auto", "tools": []openaiObject{}, "max_output_tokens": nil, "previous_response_id": nil, "reasoning": openaiObject{"effort": nil, "summary": nil},
		"store": false, "background": false, "text": openaiObject{"format": openaiObject{"type": "text"}}, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if w.in.maxTokens > 0 {
		o["max_output_tokens"] = w.in.maxTokens
	}
	if u != nil {
		o["usage"] = openaiItemUsage(u)
	}
	if len(w.in.warnings) > 0 {
		o["warnings"] = w.in.warnings
	}
	return o
}

func openaiItemUsage(u *toolset.Usage) openaiObject {
	o := openaiObject{
		"input_tokens": u.InputTokens, "input_tokens_details": openaiObject{"cached_tokens": u.CacheReadTokens},
		"output_tokens": u.OutputTokens, "output_tokens_details": openaiObject{"reasoning_tokens": u.ReasoningTokens}, "total_tokens": u.TotalTokens(),
	}
	if u.Cost > 0 {
		o["cost"] = u.Cost
	}
	return o
}

func (w *openaiItemWriter) stream() *eventStream {
	out := w.begin()
	if out != nil && !w.began {
		w.began = true
		w.send("response.created", openaiObject{"response": w.response("in_progress", nil)})
		w.send("response.in_progress", openaiObject{"response": w.response("in_progress", nil)})
	}
	return out
}

// send writes an event, if the answer is a stream.
func (w *openaiItemWriter) send(kind string, o openaiObject) {
	out := w.stream()
	if out == nil {
		return
	}
	o["type"], o["sequence_number"] = kind, w.sequence
	w.sequence++
	openaiSend(out, kind, o)
}

func (w *openaiItemWriter) change(c *openaiChange) bool {
	w.stream() // it begins with a response that has no items
	switch {
	case c.call != nil && c.call.ended:
		w.callEnded(c)
	case c.call != nil:
		w.closeText("completed")
		item := openaiObject{
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
		i := w.add(openaiObject{"type": "image_generation_call", "id": fmt.Sprintf("ig_%s_%d", w.id, len(w.output)), "status": "completed", "result": c.data.Data})
		w.send("response.output_item.done", openaiObject{"output_index": i, "item": w.output[i]})
	default:
		w.say(c)
	}
	return true
}

// at names an item.
func (w *openaiItemWriter) at(i int) openaiObject {
	return openaiObject{"output_index": i, "item_id": w.output[i]["id"]}
}

// add adds an item, and returns its index. Later events of the item use another object.
func (w *openaiItemWriter) add(item openaiObject) int {
	w.output = append(w.output, item)
	w.send("response.output_item.added", openaiObject{"output_index": len(w.output) - 1, "item": item})
	return len(w.output) - 1
}

func (w *openaiItemWriter) callEnded(c *openaiChange) {
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
	w.send("response.output_item.done", openaiObject{"output_index": i, "item": item})
}

// openaiTextPart is the only part of a message.
func openaiTextPart(text string) openaiObject {
	return openaiObject{"type": "output_text", "text": text, "annotations": []openaiObject{}, "logprobs": []openaiObject{}}
}

// say appends to a text, which is the last item.
func (w *openaiItemWriter) say(c *openaiChange) {
	if w.open && w.item != c.item {
		w.closeText("completed")
	}
	if !w.open {
		w.open, w.item = true, c.item
		w.text.Reset()
		i := w.add(openaiObject{"type": "message", "id": fmt.Sprintf("msg_%s_%d", w.id, len(w.output)), "role": "assistant", "status": "in_progress", "content": []openaiObject{}})
		o := w.at(i)
		o["content_index"], o["part"] = 0, openaiTextPart("")
		w.send("response.content_part.added", o)
	}
	w.text.WriteString(c.text)
	if w.in.stream {
		o := w.at(len(w.output) - 1)
		o["content_index"], o["delta"], o["logprobs"] = 0, c.text, []openaiObject{}
		w.send("response.output_text.delta", o)
	}
}

// closeText ends the text that is being written. Other items follow it only after that.
func (w *openaiItemWriter) closeText(status string) {
	if !w.open {
		return
	}
	w.open = false
	i, text := len(w.output)-1, w.text.String()
	item := w.output[i]
	item["status"], item["content"] = status, []openaiObject{openaiTextPart(text)}
	o := w.at(i)
	o["content_index"], o["text"], o["logprobs"] = 0, text, []openaiObject{}
	w.send("response.output_text.done", o)
	o = w.at(i)
	o["content_index"], o["part"] = 0, openaiTextPart(text)
	w.send("response.content_part.done", o)
	w.send("response.output_item.done", openaiObject{"output_index": i, "item": item})
}

// close ends the text that is being written and the calls that have no end.
func (w *openaiItemWriter) close(status string) {
	w.closeText(status)
	for i, item := range w.output {
		if item["status"] == "in_progress" {
			item["status"] = "incomplete"
			w.send("response.output_item.done", openaiObject{"output_index": i, "item": item})
		}
	}
}

func (w *openaiItemWriter) finish(reason string, u *toolset.Usage) {
	status, details := "completed", any(nil)
	switch reason {
	case "length":
		status, details = "incomplete", openaiObject{"reason": "max_output_tokens"}
	case "content_filter":
		status, details = "incomplete", openaiObject{"reason": reason}
	}
	w.stream()
	w.close(status)
	o := w.response(status, u)
	if o["incomplete_details"] = details; status == "completed" {
		o["completed_at"] = time.Now().Unix()
	}
	if w.stream() != nil {
		w.send("response."+status, openaiObject{"response": o})
		return
	}
	openaiWriteJSON(w.w, http.StatusOK, o)
}

func (w *openaiItemWriter) fail(e *openaiAPIError) {
	w.close("incomplete")
	o := w.response("failed", nil)
	o["error"] = openaiObject{"code": "server_error", "message": e.message}
	w.send("response.failed", openaiObject{"response": o})
}

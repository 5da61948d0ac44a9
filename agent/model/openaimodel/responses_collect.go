// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
)

// itemCollector builds one message from the events of a stream or from an unstreamed response. The
// message contains what the events say. The complete items, which are repeated at their end and at
// the end of the response, only add what events left out.
type itemCollector struct {
	deltas
	provider string
	items    []*item
	ids      adapter.CallIDs

	id, modelName string
	usage         model.Usage
	refused       bool
	// status tells how the response ended.
	status string
}

// maxItems limits the number of items in a response, and of pieces in an item.
const maxItems = 4096

var errTooManyItems = exceeds("the response has more than %d items", maxItems)

// event processes an event of a stream. Its type is in the data. Servers need not repeat it as the
// event's name.
func (c *itemCollector) event(name string, data []byte) error {
	if string(data) == "[DONE]" { // sent by servers based on Chat Completions, not by OpenAI
		return nil
	}
	var ev itemEvent
	if err := lenient(data, &ev); err != nil {
		return err
	}
	if ev.Type == "" || name == "error" {
		ev.Type = text(name)
	}
	switch ev.Type {
	case "response.output_text.delta":
		return c.growText(&ev, false)
	case "response.refusal.delta":
		return c.growText(&ev, true)
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		return c.growThinking(&ev, ev.SummaryIndex, false)
	case "response.reasoning_text.delta", "response.reasoning.delta":
		return c.growThinking(&ev, ev.ContentIndex, true)
	case "response.output_text.annotation.added":
		return c.annotate(&ev)
	case "response.function_call_arguments.delta":
		return c.growArguments(&ev)
	case "response.output_item.added", "response.output_item.done":
		return c.wholeItem(&ev)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		if err := c.response(ev.Response, strings.TrimPrefix(string(ev.Type), "response.")); err != nil {
			return err
		}
		return io.EOF
	case "response.created", "response.in_progress", "response.queued":
		if ev.Response != nil {
			c.named(ev.Response)
		}
	case "error":
		return &reportedError{data}
	default: // an error of a server that has its own types, or none; or an event that is newer than this package
		if strings.HasPrefix(string(ev.Type), "response.") {
			return nil
		}
		if message, _, _, _ := parseErrorBody(data); message != "" {
			return &reportedError{data}
		}
		return errKeepAlive
	}
	return nil
}

// object processes an unstreamed response.
func (c *itemCollector) object(data []byte) error {
	var r responseObject
	if err := lenient(data, &r); err != nil {
		return err
	}
	if len(r.Output) == 0 && r.ID == "" && len(r.Error) == 0 {
		if _, _, _, ok := parseErrorBody(data); ok {
			return &reportedError{data}
		}
	}
	return c.response(&r, "completed")
}

func (c *itemCollector) named(r *responseObject) {
	c.id = cmp.Or(string(r.ID), c.id)
	c.modelName = cmp.Or(string(r.Model), c.modelName)
}

// response processes the complete response at the end. Status is used if it has none.
func (c *itemCollector) response(r *responseObject, status string) error {
	if r == nil {
		r = &responseObject{}
	}
	c.named(r)
	if r.Status != "" {
		status = string(r.Status)
	}
	switch {
	case len(r.Error) > 0:
		return &reportedError{r.Error}
	case status == "failed", status == "cancelled":
		return &reportedError{[]byte(`{"type":"` + status + `","message":"the endpoint reports that the response was ` + status + `, but not why"}`)}
	}
	next := 0
	for _, raw := range r.Output {
		var w outputItem
		if err := lenient(raw, &w); err != nil {
			return err
		}
		i := slices.IndexFunc(c.items[next:], func(i *item) bool { return i.kind == string(w.Type) })
		if i < 0 {
			i = 0
			if err := c.insert(next, &item{kind: string(w.Type)}); err != nil {
				return err
			}
		}
		next += i + 1
		if err := c.complete(c.items[next-1], &w, raw); err != nil {
			return err
		}
	}
	c.status = status
	if reason := string(r.Incomplete.Reason); status == "incomplete" || reason != "" {
		c.status = cmp.Or(reason, status)
		if status == "incomplete" && adapter.OpenAIFinish(c.status, false, false) == model.FinishOther {
			c.status = status // for whatever reason
		}
	}
	if r.Usage != nil {
		c.usage = r.Usage.usage()
		usage := c.usage
		return c.emit(model.Delta{Usage: &usage})
	}
	return nil
}

// finished reports false, because the event that completes a response is the last one.
func (c *itemCollector) finished() bool { return false }

// itemOf returns the item that an event belongs to, which is the last one at the event's index:
// some servers count wrongly, but none interleaves two items.
func (c *itemCollector) itemOf(ev *itemEvent, kind string) (*item, error) {
	for i := len(c.items) - 1; i >= 0; i-- {
		switch it := c.items[i]; {
		case it.kind != kind || it.done:
		case ev.OutputIndex != nil && it.index == *ev.OutputIndex,
			ev.OutputIndex == nil && (ev.ItemID == "" || it.wireID == "" || it.wireID == string(ev.ItemID)):
			return it, nil
		}
	}
	it := &item{kind: kind, wireID: string(ev.ItemID)}
	at := len(c.items)
	if at > 0 {
		it.index = c.items[at-1].index + 1
	}
	if ev.OutputIndex != nil {
		it.index = *ev.OutputIndex
		for at > 0 && c.items[at-1].index > it.index {
			at--
		}
	}
	return it, c.insert(at, it)
}

func (c *itemCollector) insert(at int, it *item) error {
	if len(c.items) == maxItems {
		return errTooManyItems
	}
	c.items = append(c.items, nil) // slices.Insert would be compiled for this type alone
	copy(c.items[at+1:], c.items[at:])
	c.items[at] = it
	return nil
}

func (c *itemCollector) growText(ev *itemEvent, refusal bool) error {
	it, err := c.itemOf(ev, "message")
	if err != nil || ev.Delta == "" {
		return err
	}
	c.refused = c.refused || refusal
	return c.grow(&it.text, model.PartText, string(ev.Delta))
}

func (c *itemCollector) annotate(ev *itemEvent) error {
	it, err := c.itemOf(ev, "message")
	if err != nil || len(ev.Annotation) == 0 {
		return err
	}
	it.citations = append(it.citations, ev.Annotation)
	return c.reserve(len(ev.Annotation))
}

func (c *itemCollector) growThinking(ev *itemEvent, index int, raw bool) error {
	it, err := c.itemOf(ev, "reasoning")
	if err != nil || ev.Delta == "" {
		return err
	}
	thought, err := it.thought(index, raw)
	if err != nil {
		return err
	}
	return c.grow(&thought.growing, model.PartThinking, string(ev.Delta))
}

func (c *itemCollector) growArguments(ev *itemEvent) error {
	it, err := c.itemOf(ev, "function_call")
	if err != nil || ev.Delta == "" {
		return err
	}
	return c.arguments(it, string(ev.Delta))
}

// arguments appends to the arguments of a call. The sink is told about a call when its name is
// known.
func (c *itemCollector) arguments(it *item, more string) error {
	if err := c.reserve(len(more)); err != nil {
		return err
	}
	it.args = append(it.args, more...)
	switch {
	case it.announced && more != "":
		return c.emit(model.Delta{Part: it.part, Kind: model.PartToolCall, Text: more})
	case !it.announced && it.name != "":
		return c.announce(it)
	}
	return nil
}

func (c *itemCollector) announce(it *item) error {
	it.announced = true
	it.part = c.newPart()
	it.callID = c.ids.Unique(it.callID)
	return c.emit(model.Delta{Part: it.part, Kind: model.PartToolCall, CallID: it.callID, Tool: it.name, Text: string(it.args)})
}

// wholeItem processes an item at its start or end.
func (c *itemCollector) wholeItem(ev *itemEvent) error {
	var w outputItem
	if err := lenient(ev.Item, &w); err != nil {
		return err
	}
	if w.Type == "" {
		return nil
	}
	if w.Name != "" && w.ID != "" && slices.ContainsFunc(c.items, func(it *item) bool { // once more
		return it.done && it.wireID == string(w.ID) && it.name == string(w.Name) && string(it.args) == string(w.Arguments)
	}) {
		return nil
	}
	ev.ItemID = w.ID
	it, err := c.itemOf(ev, string(w.Type))
	if err != nil {
		return err
	}
	it.wireID = cmp.Or(it.wireID, string(w.ID))
	if ev.Type == "response.output_item.added" {
		it.begin(&w)
		if it.kind == "function_call" {
			return c.arguments(it, "")
		}
		return nil
	}
	it.done = true
	return c.complete(it, &w, ev.Item)
}

// complete adds to an item what is known only at its end.
func (c *itemCollector) complete(it *item, w *outputItem, raw []byte) error {
	it.begin(w)
	it.wireID = cmp.Or(string(w.ID), it.wireID)
	switch it.kind {
	case "message":
		var whole strings.Builder
		var citations []json.RawMessage
		for i := range w.Content {
			citations = append(citations, w.Content[i].Annotations...)
			whole.WriteString(string(w.Content[i].Text))
			whole.WriteString(string(w.Content[i].Refusal))
			c.refused = c.refused || w.Content[i].Refusal != ""
		}
		if len(citations) > 0 { // complete, including earlier ones
			it.citations = citations
			if err := c.reserve(len(raw)); err != nil {
				return err
			}
		}
		return c.grow(&it.text, model.PartText, beyond(it.text.content, whole.String()))
	case "reasoning":
		for i := range w.Summary {
			if err := c.completeThought(it, i, false, string(w.Summary[i].Text)); err != nil {
				return err
			}
		}
		for i := range w.Content {
			it.raw = raw
			if err := c.completeThought(it, i, true, string(w.Content[i].Text)); err != nil {
				return err
			}
		}
		it.encrypted = cmp.Or(string(w.EncryptedContent), it.encrypted)
		return nil
	case "function_call":
		if it.name == "" && len(w.Arguments) == 0 && len(it.args) == 0 {
			return nil // not a call without name and arguments
		}
		if err := c.arguments(it, beyond(it.args, string(w.Arguments))); err != nil || it.announced {
			return err
		}
		return c.announce(it)
	case "image_generation_call":
		if w.Result != "" {
			if err := c.reserve(len(w.Result)); err != nil {
				return err
			}
			if data, err := base64.StdEncoding.DecodeString(string(w.Result)); err == nil {
				it.image, it.format = data, cmp.Or(string(w.OutputFormat), "png")
				return nil
			}
		}
	}
	it.raw = raw
	return c.reserve(len(raw))
}

func (c *itemCollector) completeThought(it *item, index int, raw bool, whole string) error {
	if whole == "" {
		return nil
	}
	thought, err := it.thought(index, raw)
	if err != nil {
		return err
	}
	return c.grow(&thought.growing, model.PartThinking, beyond(thought.content, whole))
}

// beyond returns the rest of whole after seen, or "" if it does not start with seen.
func beyond(seen []byte, whole string) string {
	if len(seen) > len(whole) || whole[:len(seen)] != string(seen) {
		return ""
	}
	return whole[len(seen):]
}

// result returns the complete message.
func (c *itemCollector) result() (*model.Message, error) {
	msg := &model.Message{Kind: model.KindResponse, Provider: c.provider, Model: c.modelName, ResponseID: c.id, Usage: c.usage}
	hasCalls := false
	for _, it := range c.items {
		if it.kind == "function_call" && !it.announced && len(it.args) > 0 {
			if err := c.announce(it); err != nil {
				return nil, err
			}
		}
		hasCalls = hasCalls || it.announced
		msg.Parts = it.appendParts(msg.Parts, c.provider)
	}
	switch c.status {
	case "completed", "done":
		c.status = "stop"
		if len(c.items) == 0 {
			return nil, errs.Errorf("%w (output is empty)", errNoResponse)
		}
	case "queued", "in_progress":
		return nil, errs.Errorf("%w: its status is %s, and background requests are not supported", errNoResponse, c.status)
	}
	msg.Finish = adapter.OpenAIFinish(c.status, hasCalls, c.refused)
	return msg, nil
}

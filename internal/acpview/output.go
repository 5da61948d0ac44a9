// SPDX-License-Identifier: Apache-2.0

package acpview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/markdown"
)

// Output is the output of a command as a text of its call shows it. While the command runs the text
// only grows, apart from when its beginning is dropped.
type Output struct {
	// Before is how many bytes came before Text and are not shown.
	Before int64
	Text   string
}

// Grows returns the text of an output to which more will be added: a code block without an end.
// fence must be longer than any row of backticks in the output.
func (o *Output) Grows(fence string) string {
	before := ""
	if o.Before > 0 {
		before = fmt.Sprintf("[%d bytes before]\n", o.Before)
	}
	return fence + "text\n" + before + o.Text
}

// Closed ends the code block of a text that [Output.Grows] has returned.
func Closed(text string) string {
	fence, _, _ := strings.Cut(text, "text\n")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + fence
}

// outputOf returns the output that a text shows, with or without the end of its code block.
func outputOf(text string) (o Output, closed, ok bool) {
	fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	rest, ok := strings.CutPrefix(text[len(fence):], "text\n")
	if !ok || len(fence) < 3 {
		return o, false, false
	}
	if inner, ended := strings.CutSuffix(rest, fence); ended && (inner == "" || strings.HasSuffix(inner, "\n")) {
		rest, closed = inner, true
	}
	if strings.HasPrefix(rest, "[") {
		if line, more, found := strings.Cut(rest, "\n"); found {
			var before int64 // a command may write something like it, such as [1/7]
			_, _ = fmt.Sscanf(line, "[%d", &before)
			if line == fmt.Sprintf("[%d bytes before]", before) {
				o.Before, rest = before, more
			}
		}
	}
	o.Text = rest
	return o, closed, true
}

// end is the position of the end of the output.
func (o *Output) end() int64 { return o.Before + int64(len(o.Text)) }

// since returns what the output has after a position.
func (o *Output) since(pos int64) string {
	return o.Text[min(max(pos-o.Before, 0), int64(len(o.Text))):]
}

// last returns the text of an output of which at most n bytes are shown.
func (o *Output) last(n int64) string {
	short := Output{Before: o.Before, Text: o.Text}
	if drop := int64(len(o.Text)) - n; drop > 0 {
		for drop < int64(len(o.Text)) && o.Text[drop]&0xc0 == 0x80 {
			drop++
		}
		short.Before, short.Text = o.Before+drop, o.Text[drop:]
	}
	return Closed(short.Grows(markdown.Fence(short.Text, 3)))
}

// running holds what a client has been shown of the output of a call.
type running struct {
	terminal bool  // the client has a terminal for it
	pos      int64 // what the terminal has
	sent     int64 // of the call's content, in bytes
	behind   bool  // the content has grown since
}

const (
	// atOnce is how much of an output may be sent in any case while a command runs, to a client that cannot append to it.
	// Beyond that it is a fourth of the output: what is shown anew is sent again, and the end has all of it.
	atOnce = 1 << 10
	// atMost is how much of the end of an output is shown at once, and atLeast the shortest end that is shown.
	atMost, atLeast = 16 << 10, 256
)

// command returns the output of a command that a call shows, and its place in the content. It is -1 if there is none.
func command(e *view.Entity) (at int, o Output, closed bool) {
	if e.Class == string(acp.ToolKindExecute) {
		for i := range e.Content {
			if c := &e.Content[i]; c.Kind == view.Text {
				if o, closed, ok := outputOf(c.Text); ok {
					return i, o, closed
				}
			}
		}
	}
	return -1, o, false
}

// ended returns content of a call. The output of a command that was cut off ends with the call.
func ended(e *view.Entity, c *view.Content) *view.Content {
	if c.Kind != view.Text || !e.Status.Ended() || e.Class != string(acp.ToolKindExecute) {
		return c
	}
	if _, closed, ok := outputOf(c.Text); !ok || closed {
		return c
	}
	whole := *c
	whole.Text = Closed(c.Text)
	return &whole
}

// hasTerminal reports whether a client has, or gets, a terminal of the agent's for a call that has not ended.
func (v *table) hasTerminal(e *view.Entity) bool {
	return v.options.Terminal != "" && e.Class == string(acp.ToolKindExecute) && !e.Status.Ended()
}

// opened adds to the announcement of a call that it may have a terminal. The output is shown afterwards.
func (v *table) opened(c *acp.ToolCall, e *view.Entity) {
	v.forgetOutput(e.ID)
	if !v.hasTerminal(e) {
		return
	}
	v.outputOf(e.ID)
	c.Meta = withMeta(c.Meta, "terminal_info", map[string]string{"terminal_id": string(c.ToolCallID)})
	if at, _, _ := command(e); at >= 0 {
		c.Content = append(c.Content[:at:at], c.Content[at+1:]...)
	}
}

// outputOf returns what the client has of the output of a call.
func (v *table) outputOf(id string) *running {
	if v.outputs == nil {
		v.outputs = map[string]*running{}
	}
	if v.outputs[id] == nil {
		v.outputs[id] = new(running)
	}
	return v.outputs[id]
}

func (v *table) forgetOutput(id string) { delete(v.outputs, id) }

// withOutput completes an update of a call with what is new of its output. Nothing else of the content is in u, unless it
// has changed. The function that it returns is to be called when the client has the update.
func (v *table) withOutput(u *acp.ToolCallUpdate, e *view.Entity) (sent func()) {
	ended := e.Status.Ended()
	if ended {
		defer v.forgetOutput(e.ID)
	}
	at, o, closed := command(e)
	r := v.outputs[e.ID]
	switch {
	case at < 0 && r != nil && r.behind:
		u.Content = empty(callContents(e))
	case at < 0, closed && !ended && r == nil:
	case r != nil && v.options.Terminal != "":
		return v.inTerminal(u, e, r, at, &o)
	case !ended:
		return v.inContent(u, e, v.outputOf(e.ID), at, &o)
	case r != nil && r.behind:
		u.Content = empty(callContents(e))
	}
	if r != nil && u.Content != nil {
		r.behind = false
	}
	return func() {}
}

// inTerminal shows an output in a terminal of the client, which it appends to.
func (v *table) inTerminal(u *acp.ToolCallUpdate, e *view.Entity, r *running, at int, o *Output) (sent func()) {
	id := string(u.ToolCallID)
	if u.Content = nil; !r.terminal {
		u.Content = callContents(e)
		u.Content[at] = acp.ToolCallContent{Terminal: &acp.Terminal{TerminalID: acp.TerminalID(id)}}
	}
	if data := o.since(r.pos); data != "" {
		u.Meta = withMeta(u.Meta, v.options.Terminal, map[string]string{"terminal_id": id, "data": data})
	}
	if e.Status.Ended() {
		var end struct {
			ExitCode *int    `json:"exitCode"`
			Signal   *string `json:"signal"`
		}
		_ = json.Unmarshal(e.Output, &end) // it says how it ended, or nothing
		u.Meta = withMeta(u.Meta, "terminal_exit", map[string]any{"terminal_id": id, "exit_code": end.ExitCode, "signal": end.Signal})
	}
	return func() { r.terminal, r.pos = true, o.end() }
}

// inContent shows an output to a client that cannot append to it: its end, now and then.
func (v *table) inContent(u *acp.ToolCallUpdate, e *view.Entity, r *running, at int, o *Output) (sent func()) {
	room := min(atOnce+o.end()/4-r.sent, atMost)
	if u.Content = nil; room < min(atLeast, int64(len(o.Text))) {
		r.behind = true
		return func() {}
	}
	u.Content = callContents(e)
	text := o.last(room)
	u.Content[at] = acp.ToolCallContent{Content: &acp.Content{Content: acp.TextBlock(text)}}
	return func() { r.sent, r.behind = r.sent+int64(len(text)), true }
}

// withMeta returns metadata with one more value.
func withMeta(all map[string]json.RawMessage, key string, value any) map[string]json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil { // of strings and numbers
		return all
	}
	merged := map[string]json.RawMessage{key: bytes.TrimSpace(data)}
	for k, v := range all {
		merged[k] = v
	}
	return merged
}

// SPDX-License-Identifier: Apache-2.0

package openaiapi

import (
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// chat serves POST /v1/chat/completions. See https://platform.openai.com/docs/api-reference/chat.
func (p *protocol) chat(w http.ResponseWriter, r *http.Request) error {
	all, err := p.decode(w, r)
	if err != nil {
		return err
	}
	in, settings, err := p.readChat(all)
	if err != nil {
		return err
	}
	return p.run(w, r, in, settings, func(id string, begin func() *webbridge.Stream) writer {
		return &chatWriter{w: w, in: in, id: "chatcmpl-" + id, created: time.Now().Unix(), begin: begin, stop: stopper{stops: in.stop}}
	})
}

type chatWriter struct {
	w       http.ResponseWriter
	in      *input
	id      string
	created int64
	begin   func() *webbridge.Stream
	began   bool
	item    string // whose text came last
	text    strings.Builder
	stop    stopper
}

type object = map[string]any

func (c *chatWriter) stream() *webbridge.Stream {
	out := c.begin()
	if out != nil && !c.began {
		c.began = true
		first := c.chunk(object{"role": "assistant", "content": ""}, nil)
		if len(c.in.warnings) > 0 {
			first["warnings"] = c.in.warnings
		}
		send(out, "", first)
	}
	return out
}

// chunk is a piece of a stream.
func (c *chatWriter) chunk(delta object, finish any) object {
	o := object{
		"id": c.id, "object": "chat.completion.chunk", "created": c.created, "model": c.in.model,
		"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	}
	if c.in.usage {
		o["usage"] = nil
	}
	return o
}

func (c *chatWriter) change(ch *change) bool {
	if ch.data != nil {
		c.in.warn("images in answers are left out")
	}
	if ch.text == "" {
		return true
	}
	text := ch.text
	if c.item != "" && c.item != ch.item {
		text = "\n\n" + text
	}
	c.item = ch.item
	text, more := c.stop.pass(text)
	c.write(text)
	return more
}

func (c *chatWriter) write(text string) {
	if text == "" {
		return
	}
	if out := c.stream(); out != nil {
		send(out, "", c.chunk(object{"content": text}, nil))
		return
	}
	c.text.WriteString(text)
}

func (c *chatWriter) finish(reason string, u *toolset.Usage) {
	c.write(c.stop.rest())
	if out := c.stream(); out != nil {
		send(out, "", c.chunk(object{}, reason))
		if c.in.usage {
			last := c.chunk(object{}, nil)
			last["choices"], last["usage"] = []object{}, chatUsage(u)
			send(out, "", last)
		}
		out.Write(func(b []byte) []byte { return append(b, "data: [DONE]\n\n"...) })
		return
	}
	o := object{
		"id": c.id, "object": "chat.completion", "created": c.created, "model": c.in.model, "usage": chatUsage(u),
		"choices": []object{{
			"index": 0, "message": object{"role": "assistant", "content": c.text.String(), "refusal": nil}, "logprobs": nil, "finish_reason": reason,
		}},
	}
	if len(c.in.warnings) > 0 {
		o["warnings"] = c.in.warnings
	}
	writeJSON(c.w, http.StatusOK, o)
}

func (c *chatWriter) fail(e *apiError) { send(c.stream(), "", object{"error": e.body()}) }

func chatUsage(u *toolset.Usage) object {
	o := object{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.TotalTokens(),
		"prompt_tokens_details": object{"cached_tokens": u.CacheReadTokens}, "completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
	}
	if u.Cost > 0 {
		o["cost"] = u.Cost
	}
	return o
}

// send writes an event. A name is written as well.
func send(out *webbridge.Stream, name string, v any) {
	out.Write(func(b []byte) []byte {
		if name != "" {
			b = append(append(append(b, "event: "...), name...), '\n')
		}
		return append(append(append(b, "data: "...), jsonOf(v)...), "\n\n"...)
	})
}

// stopper ends a text before the first of some texts. It holds back what may be the beginning of one.
type stopper struct {
	stops []string
	held  string
}

// pass returns what can be written. It reports false if the text ends there.
func (s *stopper) pass(text string) (string, bool) {
	if len(s.stops) == 0 {
		return text, true
	}
	text = s.held + text
	s.held = ""
	end := -1
	for _, stop := range s.stops {
		if i := strings.Index(text, stop); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if end >= 0 {
		return text[:end], false
	}
	keep := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(text)); n > keep; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				keep = n
			}
		}
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep], true
}

// rest returns what was held back.
func (s *stopper) rest() string {
	held := s.held
	s.held = ""
	return held
}

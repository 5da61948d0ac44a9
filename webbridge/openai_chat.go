// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/plainjson"
	"github.com/ponte-go/ponte/toolset"
)

// chat serves POST /v1/chat/completions. See https://platform.openai.com/docs/api-reference/chat.
func (p *openaiProtocol) chat(w http.ResponseWriter, r *http.Request) error {
	all, err := p.decode(w, r)
	if err != nil {
		return err
	}
	in, settings, err := p.readChat(all)
	if err != nil {
		return err
	}
	return p.run(w, r, in, settings, func(id string, begin func() *eventStream) openaiWriter {
		return &openaiChatWriter{w: w, in: in, id: "chatcmpl-" + id, created: time.Now().Unix(), begin: begin, stop: openaiStopper{stops: in.stop}}
	})
}

type openaiChatWriter struct {
	w       http.ResponseWriter
	in      *openaiInput
	id      string
	created int64
	begin   func() *eventStream
	began   bool
	item    string // whose text came last
	text    strings.Builder
	stop    openaiStopper
	// head and tail are what stands around the text in a chunk.
	head, tail []byte
}

type openaiObject = map[string]any

func (c *openaiChatWriter) stream() *eventStream {
	out := c.begin()
	if out != nil && !c.began {
		c.began = true
		first := c.chunk(openaiObject{"role": "assistant", "content": ""}, nil)
		if len(c.in.warnings) > 0 {
			first["warnings"] = c.in.warnings
		}
		openaiSend(out, "", first)
	}
	return out
}

// chunk is a piece of a stream.
func (c *openaiChatWriter) chunk(delta openaiObject, finish any) openaiObject {
	o := openaiObject{
		"id": c.id, "object": "chat.completion.chunk", "created": c.created, "model": c.in.model,
		"choices": []openaiObject{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	}
	if c.in.usage {
		o["usage"] = nil
	}
	return o
}

func (c *openaiChatWriter) change(ch *openaiChange) bool {
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

func (c *openaiChatWriter) write(text string) {
	if text == "" {
		return
	}
	out := c.stream()
	if out == nil {
		c.text.WriteString(text)
		return
	}
	if c.head == nil { // what all chunks with text have in common
		c.head, c.tail, _ = bytes.Cut(openaiJsonOf(c.chunk(openaiObject{"content": ""}, nil)), []byte(`""`))
	}
	out.Write(func(b []byte) []byte {
		b = append(append(b, "data: "...), c.head...)
		return append(append(plainjson.AppendString(b, text), c.tail...), "\n\n"...)
	})
}

func (c *openaiChatWriter) finish(reason string, u *toolset.Usage) {
	c.write(c.stop.rest())
	if out := c.stream(); out != nil {
		openaiSend(out, "", c.chunk(openaiObject{}, reason))
		if c.in.usage {
			last := c.chunk(openaiObject{}, nil)
			last["choices"], last["usage"] = []openaiObject{}, openaiChatUsage(u)
			openaiSend(out, "", last)
		}
		out.Write(func(b []byte) []byte { return append(b, "data: [DONE]\n\n"...) })
		return
	}
	o := openaiObject{
		"id": c.id, "object": "chat.completion", "created": c.created, "model": c.in.model, "usage": openaiChatUsage(u),
		"choices": []openaiObject{{
			"index": 0, "message": openaiObject{"role": "assistant", "content": c.text.String(), "refusal": nil}, "logprobs": nil, "finish_reason": reason,
		}},
	}
	if len(c.in.warnings) > 0 {
		o["warnings"] = c.in.warnings
	}
	openaiWriteJSON(c.w, http.StatusOK, o)
}

func (c *openaiChatWriter) fail(e *openaiAPIError) {
	openaiSend(c.stream(), "", openaiObject{"error": e.body()})
}

func openaiChatUsage(u *toolset.Usage) openaiObject {
	o := openaiObject{
		"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.TotalTokens(),
		"prompt_tokens_details": openaiObject{"cached_tokens": u.CacheReadTokens}, "completion_tokens_details": openaiObject{"reasoning_tokens": u.ReasoningTokens},
	}
	if u.Cost > 0 {
		o["cost"] = u.Cost
	}
	return o
}

// openaiSend writes an event. A name is written as well.
func openaiSend(out *eventStream, name string, v any) {
	out.Write(func(b []byte) []byte {
		if name != "" {
			b = append(append(append(b, "event: "...), name...), '\n')
		}
		return append(append(append(b, "data: "...), openaiJsonOf(v)...), "\n\n"...)
	})
}

// openaiStopper ends a text before the first of some texts. It holds back what may be the beginning of one.
type openaiStopper struct {
	stops []string
	held  string
}

// pass returns what can be written. It reports false if the text ends there.
func (s *openaiStopper) pass(text string) (string, bool) {
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
		for n := min(len(stop), len(text)); n > keep; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				keep = n
			}
		}
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep], true
}

// rest returns what was held back.
func (s *openaiStopper) rest() string {
	held := s.held
	s.held = ""
	return held
}

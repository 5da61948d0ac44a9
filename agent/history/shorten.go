// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// shortened returns the history with the answers to tool calls in messages[from:to] cut to limit
// bytes; the history itself if there is nothing to cut.
func shortened(messages []*model.Message, from, to, limit int) []*model.Message {
	out := messages
	for i := from; i < to; i++ {
		short := shortenedMessage(messages[i], limit)
		if short == nil {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i] = short
	}
	return out
}

// shortenedMessage returns nil if there is nothing to cut. Messages of a pending frontier are not
// cut.
func shortenedMessage(m *model.Message, limit int) *model.Message {
	if m.Kind != model.KindRequest || m.Pending {
		return nil
	}
	var short *model.Message
	cut := count(m, MetaShortened)
	for i := range m.Parts {
		p := &m.Parts[i]
		if !isAnswer(p) || len(p.Text) <= limit {
			continue
		}
		if short == nil {
			short = m.Clone()
		}
		short.Parts[i].Text = shorten(p.Text, limit)
		cut += int64(len(p.Text) - len(short.Parts[i].Text))
	}
	if short == nil {
		return nil
	}
	return marked(short, MetaShortened, strconv.FormatInt(cut, 10))
}

// longest returns the length of the longest answer to a tool call.
func longest(messages []*model.Message) int {
	n := 0
	for _, m := range messages {
		for i := range m.Parts {
			if isAnswer(&m.Parts[i]) && !m.Pending {
				n = max(n, len(m.Parts[i].Text))
			}
		}
	}
	return n
}

// shorten cuts text to at most limit bytes, of which its beginning gets two thirds and its end the
// rest, and says in between how much is missing. The limit must leave room for that.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	room := limit - len(omission(len(text)))
	begin := room * 2 / 3
	end := len(text) - (room - begin)
	for begin > 0 && !utf8.RuneStart(text[begin]) {
		begin--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return text[:begin] + omission(end-begin) + text[end:]
}

func omission(bytes int) string { return fmt.Sprintf("\n[... %d bytes left out ...]\n", bytes) }

// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/agent/model"
)

// minTranscriptText is to how many bytes a single text of a transcript may be shortened.
const minTranscriptText = 256

// transcript writes messages down as text for a model to read, in about limit bytes: long texts are
// shortened first.
func transcript(messages []*model.Message, limit int) string {
	each := max(minTranscriptText, limit)
	for {
		var b strings.Builder
		for _, m := range messages {
			for i := range m.Parts {
				writePart(&b, m, &m.Parts[i], each)
			}
		}
		if b.Len() <= limit || each == minTranscriptText {
			return b.String()
		}
		each = max(minTranscriptText, each/2)
	}
}

func writePart(b *strings.Builder, m *model.Message, p *model.Part, limit int) {
	who, text := "", p.Text
	switch p.Kind {
	case model.PartUser:
		who = "user"
	case model.PartSystem:
		who = "system"
	case model.PartText:
		who = "assistant"
	case model.PartToolReturn:
		if cleared, ok := m.Metadata[MetaClearedText+p.CallID]; ok {
			text = cleared
		}
		who = "result of " + p.Tool
		if p.Outcome != model.OutcomeSuccess {
			who += " (" + string(p.Outcome) + ")"
		}
	case model.PartRetry:
		who = "correction asked for"
		if p.Tool != "" {
			who = "correction of " + p.Tool + " asked for"
		}
	case model.PartToolCall:
		fmt.Fprintf(b, "[assistant calls %s]\n%s\n\n", p.Tool, shorten(string(p.Args), limit))
		return
	case model.PartMedia:
		who = "user"
		if m.Kind == model.KindResponse {
			who = "assistant"
		}
		fmt.Fprintf(b, "[%s shows media: %s]\n\n", who, strings.Join(strings.Fields(p.MediaType+" "+p.Name), " "))
		return
	default: // thinking and opaque parts are the provider's own
		return
	}
	fmt.Fprintf(b, "[%s]\n%s\n\n", who, shorten(text, limit))
}

// pieces splits a transcript into pieces of at most n bytes: between two entries if it can,
// otherwise between lines or words.
func pieces(text string, n int) []string {
	var all []string
	for len(text) > n {
		end := n
		for _, between := range []string{"\n\n[", "\n", " "} {
			if i := strings.LastIndex(text[n/2:n], between); i >= 0 {
				end = n/2 + i
				break
			}
		}
		for end > max(n/2, 1) && !utf8.RuneStart(text[end]) {
			end--
		}
		all, text = append(all, text[:end]+"\n"), text[end:]
	}
	return append(all, text)
}

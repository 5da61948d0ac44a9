// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/examples/ideagent/internal/term/text"
)

// Said returns the text of a message, with a word for each piece of content that is no text.
func Said(e *view.Entity) string {
	if !slices.ContainsFunc(e.Content, func(c view.Content) bool { return c.Kind != view.Text }) {
		return e.Text()
	}
	var b strings.Builder
	for i := range e.Content {
		switch c := &e.Content[i]; c.Kind {
		case view.Text:
			b.WriteString(c.Text)
		case view.Link:
			if name, at := text.OneLine(c.Name), text.OneLine(c.URI); len(c.Cites) > 0 || strings.HasPrefix(at, "https://") { // a source, as it came
				b.WriteString("\n[" + name + "] <" + at + ">")
			} else {
				b.WriteString("[" + name + "]")
			}
		case view.Image, view.Audio, view.Resource:
			b.WriteString("[" + string(c.Kind) + "]")
		default:
			b.WriteString("[content of an unknown kind]")
		}
	}
	return b.String()
}

// Usage describes how full the context is, and what the conversation has cost.
func Usage(t *view.Tokens) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "context: %d", t.Used)
	if t.Size > 0 {
		fmt.Fprintf(&b, " of %d tokens (%.0f %%)", t.Size, float64(t.Used)/float64(t.Size)*100)
	} else {
		b.WriteString(" tokens")
	}
	if t.Currency != "" {
		fmt.Fprintf(&b, ", cost: %.4f %s", t.Cost, text.OneLine(t.Currency))
	}
	return b.String()
}

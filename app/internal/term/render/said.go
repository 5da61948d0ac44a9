// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// Said returns the text of a message, with a word for each piece of content that is not text.
// Sources are a list, with the first passage that each is cited for. An answer that is not whole
// ends with why. Later additions to the message appear at its end.
func Said(e *view.Entity) string {
	said := content(e)
	end := e.Status.Ending()
	if end == "" {
		return said
	}
	if said != "" {
		said += "\n\n"
	}
	return said + "*" + end + "*"
}

// content returns what a message says.
func content(e *view.Entity) string {
	if !slices.ContainsFunc(e.Content, func(c view.Content) bool { return c.Kind != view.Text }) {
		return e.Text()
	}
	var b strings.Builder
	listed := false // the last piece is a source
	for i := range e.Content {
		source := isSource(&e.Content[i])
		if source != listed && b.Len() > 0 {
			b.WriteString("\n\n")
		}
		listed = source
		switch c := &e.Content[i]; c.Kind {
		case view.Text:
			b.WriteString(c.Text)
		case view.Link:
			name := "[" + text.OneLine(c.Name) + "]"
			if !source {
				b.WriteString(name)
				continue
			}
			if i > 0 && isSource(&e.Content[i-1]) {
				b.WriteString("\n")
			}
			b.WriteString("- " + name + " <" + text.OneLine(c.URI) + ">" + cited(e, c))
		case view.Image, view.Audio, view.Resource:
			b.WriteString("[" + string(c.Kind) + "]")
		default:
			b.WriteString("[content of an unknown kind]")
		}
	}
	return b.String()
}

// isSource reports whether a piece of content is a source, as opposed to a file that is mentioned.
func isSource(c *view.Content) bool {
	return c.Kind == view.Link && (len(c.Cites) > 0 || strings.HasPrefix(c.URI, "https://"))
}

// maxCited is how much is shown of a passage, in characters.
const maxCited = 60

// cited describes the passage that a source is cited for. Agents may name places that do not exist.
func cited(e *view.Entity, c *view.Content) string {
	said, first, n := e.Text(), "", 0
	for _, at := range c.Cites {
		if at.Start < 0 || at.Start >= at.End || at.End > len(said) {
			continue
		}
		if n++; n == 1 {
			first = strings.TrimSpace(text.OneLine(strings.ToValidUTF8(said[at.Start:at.End], "")))
		}
	}
	if first == "" {
		return ""
	}
	if passage := []rune(first); len(passage) > maxCited {
		first = string(passage[:maxCited-1]) + "…"
	}
	first = " for “" + first + "”"
	if n > 1 {
		first += fmt.Sprintf(" and %d more", n-1)
	}
	return first
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

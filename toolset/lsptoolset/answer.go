// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
)

type rawJSON = json.RawMessage

const (
	// pageLines is how many lines a page of an answer has.
	pageLines = 100
	// maxAnswer bounds the text of an answer in bytes.
	maxAnswer = 32 << 10
	maxLine   = 200
)

// page returns a part of an answer, beginning at a line, with the offset of the next part.
func page(lines []string, offset int, what string) string {
	if offset > 0 && offset >= len(lines) {
		return fmt.Sprintf("[There are %d %s.]", len(lines), what)
	}
	var b strings.Builder
	shown := 0
	for _, line := range lines[offset:] {
		if shown == pageLines || b.Len()+len(line) > maxAnswer && shown > 0 {
			break
		}
		b.WriteString(line + "\n")
		shown++
	}
	if end := offset + shown; end < len(lines) {
		fmt.Fprintf(&b, "[%d to %d of %d %s. For more, call again with offset %d.]",
			offset+1, end, len(lines), what, end)
	} else if offset > 0 {
		fmt.Fprintf(&b, "[%d to %d of %d %s.]", offset+1, end, len(lines), what)
	}
	return strings.TrimRight(b.String(), "\n")
}

// sortPlaces sorts places by path and position, those in the project first, each once.
func sortPlaces(all []place) []place {
	slices.SortFunc(all, func(a, b place) int {
		order := 0
		if a.inside != b.inside {
			order = 1
			if a.inside {
				order = -1
			}
		}
		return cmp.Or(
			order,
			cmp.Compare(a.path, b.path),
			cmp.Compare(a.span.Start.Line, b.span.Start.Line),
			cmp.Compare(a.span.Start.Character, b.span.Start.Character),
		)
	})
	return slices.CompactFunc(
		all,
		func(a, b place) bool { return a.path == b.path && a.span == b.span },
	)
}

// lines writes places as path:line: text, each line once. note, if not nil, adds to one.
func (c *call) lines(ctx context.Context, t *texts, all []place, note func(i int) string) []string {
	var lines []string
	for i := range all {
		p := &all[i]
		line := c.name(p)
		if text := t.of(ctx, p); text != nil {
			line += ": " + shown(text.Line(int(p.span.Start.Line)), maxLine)
		}
		if note != nil {
			line += note(i)
		}
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return lines
}

// hover returns what the server says about a place: a signature and documentation.
func (l *link) hover(ctx context.Context, d *document, offset int) (string, error) {
	if !provides(l.can.HoverProvider) {
		return "", nil
	}
	var h *struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := l.call(ctx, "textDocument/hover", l.position(d, offset), &h); err != nil || h == nil {
		return "", err
	}
	text, _ := clean.Cut(strings.TrimSpace(clean.Text(hoverText(h.Contents))), 4000)
	return text, nil
}

// hoverText reads the contents of a hover in all forms that the protocol had.
func hoverText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var marked lsp.MarkupContent
	if json.Unmarshal(raw, &marked) == nil {
		return marked.Value
	}
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) != nil {
		return ""
	}
	var parts []string
	for _, one := range several[:min(len(several), 20)] {
		if len(one) > 0 && one[0] != '[' {
			parts = append(parts, hoverText(one))
		}
	}
	return strings.Join(parts, "\n")
}

// body returns the lines of a range with their numbers.
func body(t *lsp.Text, r lsp.Range) string {
	const most = 200
	var b strings.Builder
	first, last := int(r.Start.Line), min(int(r.End.Line), t.Lines()-1)
	for i := first; i <= last; i++ {
		if i-first == most {
			fmt.Fprintf(&b, "[%d more lines]", last-i+1)
			break
		}
		line, cut := clean.Cut(clean.Text(t.Line(i)), 1000)
		if cut {
			line += "…"
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	return strings.TrimRight(b.String(), "\n")
}

// incomplete returns the end of an answer from a server that is still loading the project.
func (c *call) incomplete(l *link) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy() {
		return "\n[" + l.guest.server.Name + " is still loading the project: this may be incomplete.]"
	}
	return ""
}

func text(format string, args ...any) (toolset.Result, error) {
	return toolset.Result{Text: fmt.Sprintf(format, args...)}, nil
}

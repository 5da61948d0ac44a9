// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/text"
	"github.com/ponte-go/ponte/internal/show"
)

// visible reports whether an entity is part of the transcript. Other entities, such as the usage,
// are shown elsewhere.
func visible(e *view.Entity) bool {
	switch e.Kind {
	case view.Usage, view.Options, view.Commands, view.Session, view.Waiting:
		return false
	case view.Question:
		return e.Status.Ended()
	}
	return true
}

// together reports whether entities of a kind stand below each other without blank lines.
func together(k view.Kind) bool {
	switch k {
	case view.Message, view.Thought:
		return false
	}
	return true
}

// These limits apply to folded text.
const (
	foldedDiff   = 24
	foldedOutput = 6
	failedLines  = 5
)

// build makes the blocks of an item.
func (d *Document) build(it *item) {
	e := it.entity
	switch {
	case e.Kind == view.Message && e.Role != view.User:
		d.buildPieces(it, Said(e), func(i int, piece string) func(*Document) []text.Line {
			gap := it.pieces.Gap(i)
			return func(d *Document) []text.Line {
				lines := d.markdown(text.Clean(piece), d.width)
				if gap && len(lines) > 0 {
					lines = append([]text.Line{nil}, lines...)
				}
				return lines
			}
		})
	case e.Kind == view.Message:
		it.pieces.Code = true
		prompt, rest := text.Of("› ", text.Style{Bold: true, Color: text.Cyan}), text.Of("  ", text.Style{})
		d.buildPieces(it, Said(e), func(i int, piece string) func(*Document) []text.Line {
			mark := rest
			if i == 0 {
				mark = prompt
			}
			return func(d *Document) []text.Line {
				return text.Indent(Wrapped(text.Clean(piece), text.Style{Bold: true}, d.width-2), mark, rest)
			}
		})
	case e.Kind == view.Thought && d.expanded:
		d.buildPieces(it, Said(e), func(_ int, piece string) func(*Document) []text.Line {
			return func(d *Document) []text.Line { return Wrapped(text.Clean(piece), Dim, d.width) }
		})
	case e.Kind == view.Command && d.expanded:
		it.pieces = Pieces{Code: true}
		it.pieces.Set(e.Text())
		all := []*block{{draw: func(d *Document) []text.Line { return d.commandLine(e) }}}
		for _, piece := range append(it.pieces.Whole(), it.pieces.Last()) {
			all = append(all, &block{draw: func(d *Document) []text.Line { return outputLines(piece, d.width) }})
		}
		it.set(0, append(all, &block{draw: func(*Document) []text.Line { return exitLine(e) }}))
	default:
		it.set(0, []*block{{draw: func(d *Document) []text.Line { return d.entity(e) }}})
	}
}

// buildPieces keeps the blocks of pieces that do not change any more.
func (d *Document) buildPieces(it *item, all string, draw func(i int, piece string) func(*Document) []text.Line) {
	before := len(it.pieces.Whole())
	it.pieces.Set(all)
	whole := it.pieces.Whole()
	stay := min(before, it.stay)
	if len(whole) < before { // the text is another one
		stay = 0
	}
	var rest []*block
	for i, piece := range whole[stay:] {
		rest = append(rest, &block{draw: draw(stay+i, piece)})
	}
	if last := it.pieces.Last(); last != "" {
		rest = append(rest, &block{draw: draw(len(whole), last)})
	}
	it.set(stay, rest)
	it.stay = len(whole)
}

func (d *Document) entity(e *view.Entity) []text.Line {
	switch e.Kind {
	case view.Thought:
		return d.foldedThought(e)
	case view.ToolCall:
		return d.toolCall(e)
	case view.Command:
		return append(append(d.commandLine(e), tail(e.Text(), d.width)...), exitLine(e)...)
	case view.Plan:
		return d.plan(e.Steps)
	case view.Notice:
		style := text.Style{Color: text.Yellow}
		if e.Class == "error" {
			style.Color = text.Red
		}
		lines := text.Wrap(text.Of("! "+text.OneLine(e.Title), style), d.width)
		if more := text.Clean(e.Text()); more != "" {
			lines = append(lines, indented(Wrapped(more, text.Style{}, d.width-2))...)
		}
		return lines
	case view.Question:
		return d.answered(e)
	case view.Compaction:
		return []text.Line{text.Of("The agent has summarised the conversation so far.", Dim)}
	}
	return text.Wrap(text.Of(show.Received(e.Title), text.Style{}), d.width)
}

// Wrapped wraps a text of several lines between words.
func Wrapped(s string, style text.Style, width int) (lines []text.Line) {
	for l := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		lines = append(lines, text.Wrap(text.Of(l, style), width)...)
	}
	return lines
}

// Whole returns a text of several lines without leaving anything out.
func Whole(s string, style text.Style, width int) (lines []text.Line) {
	for l := range strings.SplitSeq(s, "\n") {
		lines = append(lines, text.Break(text.Of(l, style), width)...)
	}
	return lines
}

var twoSpaces = text.Of("  ", text.Style{})

func indented(lines []text.Line) []text.Line { return text.Indent(lines, twoSpaces, twoSpaces) }

func (d *Document) foldedThought(e *view.Entity) []text.Line {
	all := strings.TrimSpace(Said(e))
	if all == "" {
		return nil
	}
	last := all[strings.LastIndexByte(all, '\n')+1:]
	return []text.Line{text.Cut(text.Of(
		"✻ "+text.OneLine(last[max(0, len(last)-4<<10):]),
		text.Style{Color: text.Gray, Italic: true},
	), d.width)}
}

// Mark returns the sign for a status.
func Mark(s view.Status) text.Line {
	switch s {
	case view.Running:
		return text.Of("◌ ", text.Style{Color: text.Cyan})
	case view.Completed:
		return text.Of("✓ ", text.Style{Color: text.Green})
	case view.Failed, view.Cancelled:
		return text.Of("✗ ", text.Style{Color: text.Red})
	}
	return text.Of("○ ", Dim)
}

func (d *Document) toolCall(e *view.Entity) []text.Line {
	lines := text.Indent(
		text.Break(text.Of(show.Received(e.Title), text.Style{}), d.width-2), Mark(e.Status),
		twoSpaces,
	)
	for i := range e.Content {
		c := &e.Content[i]
		if c.Diff == nil {
			continue
		}
		diff := Diff(d.Relative(c.Diff.Path), c.Diff, d.width-4)
		lines = append(lines, indented(indented(d.fold(diff, foldedDiff)))...)
	}
	said := strings.Trim(text.Clean(Said(&view.Entity{Content: withoutDiffs(e.Content)})), "\n")
	switch {
	case said == "":
	case d.expanded:
		lines = append(lines, indented(Whole(said, Dim, d.width-2))...)
	case e.Status == view.Failed:
		more := Wrapped(said, text.Style{Color: text.Red}, d.width-2)
		lines = append(lines, indented(d.fold(more, failedLines))...)
	}
	if d.expanded && len(e.Input) > 0 {
		lines = append(lines, indented(Whole(show.Text(string(e.Input)), Dim, d.width-2))...)
	}
	return lines
}

func withoutDiffs(all []view.Content) (rest []view.Content) {
	for _, c := range all {
		if c.Kind != view.Diff && c.Kind != view.Output {
			rest = append(rest, c)
		}
	}
	return rest
}

// fold shortens long lines of passing interest, and adds a note.
func (d *Document) fold(lines []text.Line, most int) []text.Line {
	if d.expanded || len(lines) <= most+1 {
		return lines
	}
	return append(lines[:most:most], text.Of(fmt.Sprintf("… %d more lines (Ctrl-O)", len(lines)-most), Dim))
}

func (d *Document) commandLine(e *view.Entity) []text.Line {
	line := show.Received(e.Title)
	if e.Dir != "" && e.Dir != d.dir {
		line += "  (in " + show.Line(d.Relative(e.Dir)) + ")"
	}
	return text.Indent(text.Break(text.Of(line, Bold), d.width-2), text.Of("$ ", Bold), twoSpaces)
}

var bar = text.Of("│ ", Dim)

func outputLines(s string, width int) (lines []text.Line) {
	if s == "" {
		return nil
	}
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		lines = append(lines, text.Indent(text.Break(text.Of(text.Output(l), text.Style{}), width-2), bar, bar)...)
	}
	return lines
}

// tail returns the last lines of an output, each of them on one line. A single one above is shown.
func tail(s string, width int) (lines []text.Line) {
	s = strings.TrimSuffix(s, "\n")
	if s == "" {
		return nil
	}
	end := len(s)
	for end >= 0 && (len(lines) < foldedOutput || !strings.Contains(s[:end], "\n")) {
		start := strings.LastIndexByte(s[:end], '\n') + 1
		l := text.Of(text.Output(s[max(start, end-16<<10):end]), text.Style{})
		lines = append([]text.Line{text.Cut(append(bar[:1:1], l...), width)}, lines...)
		end = start - 1
	}
	if end >= 0 {
		above := fmt.Sprintf("… %d lines above (Ctrl-O)", strings.Count(s[:end], "\n")+1)
		lines = append([]text.Line{append(bar[:1:1], text.Of(above, Dim)...)}, lines...)
	}
	return lines
}

func exitLine(e *view.Entity) []text.Line {
	end := ""
	switch {
	case !e.Status.Ended():
		return nil
	case e.Exit == nil:
		end = "ended by the agent"
	case e.Exit.Signal != "":
		end = "ended by " + show.Line(e.Exit.Signal)
	default:
		end = fmt.Sprintf("exit code %d", e.Exit.Code)
	}
	style := Dim
	if e.Status == view.Failed {
		style = text.Style{Color: text.Red}
	}
	return []text.Line{append(text.Of("└ ", Dim), text.Of(end, style)...)}
}

func (d *Document) plan(steps []view.Step) (lines []text.Line) {
	for _, s := range steps {
		mark, style := "☐ ", text.Style{}
		switch s.Status {
		case view.Running:
			mark, style = "▸ ", Bold
		case view.Completed:
			mark, style = "☑ ", Dim
		}
		lines = append(lines, text.Indent(text.Wrap(
			text.Of(text.OneLine(s.Text), style), d.width-2,
		), text.Of(mark, style), twoSpaces)...)
	}
	return lines
}

// answered shows how a question was answered.
func (d *Document) answered(e *view.Entity) []text.Line {
	answer, style := "withdrawn", Dim
	switch e.Value { // of a form or an address, which have no such choices
	case "accept":
		answer, style = "answered", text.Style{Color: text.Green}
	case "decline":
		answer, style = "declined", text.Style{Color: text.Red}
	}
	for _, c := range e.Choices {
		if c.ID == e.Value && e.Value != "" {
			answer, style = c.Title, text.Style{Color: text.Green}
			if !strings.HasPrefix(c.Class, "allow") {
				style.Color = text.Red
			}
		}
	}
	return indented(text.Wrap(append(text.Of("↳ ", Dim), text.Of(show.Received(answer), style)...), d.width-2))
}

// Relative returns a path as the user thinks of it.
func (d *Document) Relative(path string) string {
	if local, err := filepath.Rel(d.dir, path); err == nil && filepath.IsLocal(local) {
		return local
	}
	return path
}

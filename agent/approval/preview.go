// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/linediff"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset"
)

// Text writes all of an approval as plain text for a person: its title, its reason, and its previews, each as [PreviewText] does.
func Text(a *toolset.Approval) string {
	var parts []string
	for _, line := range []string{a.Title, a.Reason} {
		if line != "" {
			parts = append(parts, show.Text(line))
		}
	}
	for i := range a.Preview {
		parts = append(parts, PreviewText(&a.Preview[i]))
	}
	return strings.Join(parts, "\n\n")
}

// PreviewText writes a preview as plain text for a person. Nothing is left out. Invisible characters, control characters, and
// characters that change the direction of text are written as in ⟨U+202E⟩. A line break in a command is written as ⟨LF⟩, followed by
// a line break. The command, its directory and its environment are indented below labels, so they cannot imitate a label.
//
// A file is a unified diff with three lines around each change. In files, line breaks and tabs are
// kept.
func PreviewText(p *toolset.Preview) string {
	switch {
	case p.Diff != nil:
		return diffText(p.Diff)
	case p.Command != nil:
		return commandText(p.Command)
	}
	return show.Text(p.Text)
}

// commandText shows what the shell gets, or the arguments quoted for one.
func commandText(c *toolset.CommandLine) string {
	label, line := "Run in a shell", c.Line
	if line == "" {
		label, line = "Run", show.Command(c.Args)
	}
	switch c.Sandbox {
	case "":
	case model.SandboxNetwork:
		label += ", with the network"
	default:
		label += ", outside of the sandbox"
	}
	text := label + ":\n" + show.Lines("  ", line)
	if c.Dir != "" {
		text += "\nDirectory:\n" + show.Lines("  ", c.Dir)
	}
	if len(c.Env) > 0 {
		text += "\nEnvironment:"
		for _, v := range c.Env {
			name, value, _ := strings.Cut(v, "=")
			text += "\n" + show.Lines("  ", name+"="+show.Word(value))
		}
	}
	return text
}

// aroundChanges is how many unchanged lines a diff shows before and after each change.
const aroundChanges = 3

func diffText(d *toolset.Diff) string {
	path, before, after := show.Line(d.Path), "", ""
	if d.Old != nil {
		before = *d.Old
	}
	if d.New != nil {
		after = *d.New
	}
	var b strings.Builder
	switch {
	case d.New == nil:
		fmt.Fprintf(&b, "Delete %s", path)
	case d.Old == nil:
		fmt.Fprintf(&b, "Create %s", path)
	default:
		fmt.Fprintf(&b, "Change %s", path)
	}
	for _, h := range linediff.Hunks(before, after, aroundChanges) {
		fmt.Fprintf(&b, "\n@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			fmt.Fprintf(&b, "\n%c%s", l.Op, show.Text(l.Text))
			if l.NoNewline {
				b.WriteString("\n\\ No newline at end of file")
			}
		}
	}
	return b.String()
}

// Hidden returns the lines with invisible characters that a preview adds to a file, written as in [PreviewText]. A surface that draws
// diffs itself shows them next to the diff.
func Hidden(p *toolset.Preview) string {
	if p.Diff == nil || p.Diff.New == nil {
		return ""
	}
	before := ""
	if p.Diff.Old != nil {
		before = *p.Diff.Old
	}
	var lines []string
	for _, h := range linediff.Hunks(before, *p.Diff.New, 0) {
		number := h.NewStart
		for _, l := range h.Lines {
			if l.Op == linediff.Delete {
				continue
			}
			text := strings.TrimSuffix(l.Text, "\r") // the end of a line on Windows
			if shown := show.Text(text); shown != text {
				lines = append(lines, fmt.Sprintf("line %d: %s", number, shown))
			}
			number++
		}
	}
	return strings.Join(lines, "\n")
}

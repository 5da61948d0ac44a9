// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Color is one of the 16 colours of terminals, whose shades are the user's: 1 to 8 are the dark
// ones, 9 to 16 the bright ones. 0 is the colour of ordinary text.
type Color uint8

// The colours that are used.
const (
	Red     Color = 2
	Green   Color = 3
	Yellow  Color = 4
	Blue    Color = 5
	Magenta Color = 6
	Cyan    Color = 7
	Gray    Color = 9
)

// Style is the look of text. Characters or the text itself repeat all that colors express.
type Style struct {
	Color                                                    Color
	Bold, Dim, Italic, Underline, Strikethrough, Highlighted bool
}

// SGR returns the control sequence that switches from plain text to the style, empty for plain
// text.
func (s Style) SGR(color bool) string {
	if s == (Style{}) {
		return ""
	}
	var codes []string
	for _, on := range []struct {
		is   bool
		code string
	}{{s.Bold, "1"}, {s.Dim, "2"}, {s.Italic, "3"}, {s.Underline, "4"}, {s.Highlighted, "7"}, {
		s.Strikethrough, "9",
	}} {
		if on.is {
			codes = append(codes, on.code)
		}
	}
	if c := int(s.Color); color && c > 8 {
		codes = append(codes, strconv.Itoa(90+c-9))
	} else if color && c > 0 {
		codes = append(codes, strconv.Itoa(30+c-1))
	}
	if codes == nil {
		return ""
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// Span is text of one style. It has no line breaks, tabs or control characters.
type Span struct {
	Text  string
	Style Style
}

// Line is a line of spans.
type Line []Span

var oneLine = strings.NewReplacer("\t", "    ", "\n", "⟨LF⟩")

// Of returns a line of one span. Tabs become spaces, and line breaks are written out.
func Of(s string, style Style) Line {
	if s == "" {
		return nil
	}
	if strings.ContainsAny(s, "\t\n") {
		s = oneLine.Replace(s)
	}
	return Line{{s, style}}
}

// Plain returns the text of a line.
func (l Line) Plain() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width returns how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Width returns how many columns a text takes: two for wide characters and most emoji, none for
// combining characters.
func Width(s string) int { return displaywidth.String(s) }

// ANSI returns the line for a terminal.
func (l Line) ANSI(color bool) string {
	var b strings.Builder
	for _, s := range l {
		if sgr := s.Style.SGR(color); sgr != "" {
			b.WriteString(sgr + s.Text + "\x1b[0m")
		} else {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

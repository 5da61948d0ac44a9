// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Edit is one replacement in a text.
type Edit struct {
	// OldText is the text to replace. It must occur once, unless ReplaceAll is set.
	OldText string `json:"old_text" jsonschema_description:"The text to replace, exactly as in the file, with its indentation. It must occur once: include enough of the lines around it."`
	// NewText takes its place.
	NewText string `json:"new_text" jsonschema_description:"The text to put in its place; empty to delete it."`
	// ReplaceAll replaces every occurrence.
	ReplaceAll bool `json:"replace_all,omitempty" jsonschema_description:"Replace every occurrence of old_text."`
}

// EditError says why edits cannot be applied. Its message is for the model.
type EditError struct {
	// Index is the edit's, counted from 0.
	Index int
	// Message describes the problem, with the relevant lines.
	Message string
}

func (e *EditError) Error() string { return e.Message }

// ApplyEdits returns data with the edits made, one after the other: each is applied to what the
// ones before it have left. If one cannot be applied, none is, and the error is an [*EditError].
//
// Line endings are "\n" to the caller. A "\n" in OldText also matches "\r\n", and each line of
// NewText gets the ending of the line whose place it takes, or that of the line before it.
// Everything that an edit does not change stays as it is: line endings, a byte order mark, a last
// line without an ending.
func ApplyEdits(data []byte, edits []Edit) ([]byte, error) {
	for i, e := range edits {
		t := newFoldedText(data)
		old, replacement := foldLines(e.OldText), foldLines(e.NewText)
		fail := func(format string, args ...any) ([]byte, error) {
			message := fmt.Sprintf(format, args...)
			if len(edits) > 1 {
				message = fmt.Sprintf("Edit %d of %d: %s", i+1, len(edits), message)
			}
			return nil, &EditError{Index: i, Message: message}
		}
		if old == "" {
			return fail(
				"old_text is empty. Give the text to replace, or use %s to write the whole file.",
				ToolWriteFile,
			)
		}
		if old == replacement {
			return fail("old_text and new_text are the same.")
		}
		found := t.find(old, 2)
		switch {
		case len(found) == 0:
			return fail("%s", t.explainMissing(old))
		case len(found) > 1 && !e.ReplaceAll:
			all := t.find(old, 0)
			return fail("old_text occurs %d times, at lines %s. Include more of the lines around it, or set replace_all.", len(all), t.lineList(all))
		case e.ReplaceAll:
			found = t.find(old, 0)
		}
		data = t.replace(found, old, replacement)
	}
	return data, nil
}

// foldLines makes all line endings "\n".
func foldLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// foldedText is a text with its line endings made "\n", and the way back.
type foldedText struct {
	raw    []byte
	folded []byte
	// removed are the positions in folded of the "\n" that was "\r\n", ascending.
	removed []int
}

func newFoldedText(raw []byte) *foldedText {
	t := &foldedText{raw: raw, folded: raw}
	if !bytes.Contains(raw, []byte("\r\n")) {
		return t
	}
	t.folded = make([]byte, 0, len(raw))
	for rest := raw; ; {
		i := bytes.Index(rest, []byte("\r\n"))
		if i < 0 {
			t.folded = append(t.folded, rest...)
			return t
		}
		t.folded = append(t.folded, rest[:i]...)
		t.removed = append(t.removed, len(t.folded))
		t.folded = append(t.folded, '\n')
		rest = rest[i+2:]
	}
}

// rawIndex returns the position in raw of a position in folded. That of a "\n" which was "\r\n"
// is before the "\r".
func (t *foldedText) rawIndex(i int) int {
	n, _ := slices.BinarySearch(t.removed, i)
	return i + n
}

// find returns the positions of old in folded, without overlaps; at most limit of them if that is
// positive.
func (t *foldedText) find(old string, limit int) []int {
	var found []int
	for at := 0; limit <= 0 || len(found) < limit; {
		i := bytes.Index(t.folded[at:], []byte(old))
		if i < 0 {
			break
		}
		found = append(found, at+i)
		at += i + len(old)
	}
	return found
}

// replace returns raw with old replaced at the positions found.
func (t *foldedText) replace(found []int, old, replacement string) []byte {
	// Equal lines at both ends are not touched, which keeps their line endings.
	head := 0
	for head < len(old) && head < len(replacement) && old[head] == replacement[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(replacement)-head && old[len(old)-1-tail] == replacement[len(replacement)-1-tail] {
		tail++
	}
	oldMiddle, newMiddle := old[head:len(old)-tail], replacement[head:len(replacement)-tail]
	out := make([]byte, 0, len(t.raw)+len(found)*(len(newMiddle)-len(oldMiddle)+8))
	done := 0 // in raw
	// crlf reports how the line before the present position ends. In the first line it is that
	// line's own ending which counts.
	crlf := len(t.removed) > 0 && t.isCRLF(bytes.IndexByte(t.folded, '\n'))
	seen := 0 // in folded
	for _, at := range found {
		from, to := at+head, at+head+len(oldMiddle)
		if i := bytes.LastIndexByte(t.folded[seen:from], '\n'); i >= 0 && len(t.removed) > 0 {
			crlf = t.isCRLF(seen + i)
		}
		seen = from
		out = append(out, t.raw[done:t.rawIndex(from)]...)
		out = t.appendLines(out, newMiddle, from, to, crlf)
		done = t.rawIndex(to)
	}
	return append(out, t.raw[done:]...)
}

// appendLines appends text, which takes the place of folded[from:to], with the endings of the
// lines whose place its lines take. crlf is the ending of lines beyond those.
func (t *foldedText) appendLines(out []byte, text string, from, to int, crlf bool) []byte {
	if len(t.removed) == 0 {
		return append(out, text...)
	}
	next := from // where to look for the ending of the next line
	for {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return append(out, text...)
		}
		out = append(out, text[:i]...)
		text = text[i+1:]
		if n := bytes.IndexByte(t.folded[next:to], '\n'); n >= 0 {
			crlf = t.isCRLF(next + n)
			next += n + 1
		}
		if crlf {
			out = append(out, '\r')
		}
		out = append(out, '\n')
	}
}

// isCRLF reports whether the "\n" at a position in folded was "\r\n".
func (t *foldedText) isCRLF(at int) bool {
	_, ok := slices.BinarySearch(t.removed, at)
	return ok
}

// lineList names the lines of positions, the first few.
func (t *foldedText) lineList(at []int) string {
	const most = 10
	var b strings.Builder
	line, done := 1, 0
	for i, p := range at {
		if i == most {
			b.WriteString(", …")
			break
		}
		line += bytes.Count(t.folded[done:p], []byte{'\n'})
		done = p
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	return b.String()
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (s *script) replace(st step) bool {
	content, ok := s.whole(st.path)
	if !ok {
		return false
	}
	times := strings.Count(content, st.text)
	switch {
	case times == 0:
		s.say("I changed nothing: there is no %s in %s.%s\n\n", quote(st.text), code(st.path), nearest(content, st.text))
		return false
	case st.text == st.with:
		s.say("I changed nothing: the two texts are the same.\n\n")
		return true
	case st.once:
		times = 1
	}
	changed := strings.Replace(content, st.text, st.with, times)
	if _, ok := s.call(toolWrite, "change "+code(st.path), writeArgs{st.path, changed}); !ok {
		return false
	}
	s.say("Replaced %s with %s in %s: %s, on %s.\n\n", quote(st.text), quote(st.with), code(st.path),
		count(times, "occurrence"), linesOf(content, st.text, times))
	return true
}

func (s *script) create(st step) bool {
	if _, ok := s.call(toolWrite, "write "+code(st.path), writeArgs{st.path, st.text}); !ok {
		return false
	}
	s.say("Wrote %s: %s.\n\n", code(st.path), count(strings.Count(st.text, "\n"), "line"))
	return true
}

func (s *script) append(st step) bool {
	content, ok := s.whole(st.path)
	if !ok {
		return false
	}
	if _, ok := s.call(toolWrite, "change "+code(st.path), writeArgs{st.path, endLine(content) + st.text}); !ok {
		return false
	}
	s.say("Appended %s to %s.\n\n", count(strings.Count(st.text, "\n"), "line"), code(st.path))
	return true
}

// maxChanged is the size in bytes of the largest file that is changed. It must be well below what read_file shows at a
// time, for what is written is what was shown.
const maxChanged = 128 << 10

// whole reads a file that is to be changed.
func (s *script) whole(path string) (string, bool) {
	content, ok := s.call(toolRead, "read "+code(path), readArgs{Path: path})
	if ok && (len(content) > maxChanged || cutShort.MatchString(content)) {
		s.say("I changed nothing: %s is too large for me to change.\n\n", code(path))
		return "", false
	}
	return content, ok
}

// cutShort is how read_file says that there is more than it shows.
var cutShort = regexp.MustCompile(`\n\[Cut here: [^\n]*\]\n?$`)

// linesOf says on which lines of content the first occurrences of text begin.
func linesOf(content, text string, times int) string {
	const most = 8
	var lines []int
	line, rest := 1, content
	for range times {
		i := strings.Index(rest, text)
		if i < 0 {
			break
		}
		line += strings.Count(rest[:i], "\n")
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		line += strings.Count(text, "\n")
		rest = rest[i+len(text):]
	}
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	more := ""
	if len(lines) > most {
		lines, more = lines[:most], " and more"
	}
	var b strings.Builder
	for i, n := range lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return "lines " + b.String() + more
}

// nearest points at the line of content that looks most like what was not found, if one does.
func nearest(content, text string) string {
	wanted := pairs(text)
	if len(wanted) == 0 {
		return ""
	}
	best, at, line := 0.0, 0, ""
	for i, l := range strings.SplitN(content, "\n", 5001) {
		if len(l) > 1000 || i == 5000 {
			continue
		}
		have, shared := pairs(l), 0
		for p := range wanted {
			if have[p] {
				shared++
			}
		}
		// How much of the wanted text is in the line; among equals the shorter line.
		score := float64(shared)/float64(len(wanted)) - float64(len(l))/1e6
		if score > best {
			best, at, line = score, i+1, l
		}
	}
	if best < 0.6 {
		return ""
	}
	return fmt.Sprintf(" The nearest is line %d: %s", at, quote(strings.TrimSpace(line)))
}

// pairs returns the pairs of neighbouring characters of a text, whatever its case and spacing.
func pairs(text string) map[string]bool {
	r := []rune(strings.ToLower(strings.Join(strings.Fields(text), "")))
	if len(r) == 1 {
		return map[string]bool{string(r): true}
	}
	set := make(map[string]bool, len(r))
	for i := 1; i < len(r); i++ {
		set[string(r[i-1:i+1])] = true
	}
	return set
}

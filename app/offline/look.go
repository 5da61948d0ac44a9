// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"strings"
)

// The tools that the model knows, with the arguments that it gives them.
const (
	toolRead   = "read_file"
	toolWrite  = "write_file"
	toolEdit   = "edit_file"
	toolUndo   = "undo_changes"
	toolRun    = "run_command"
	toolList   = "list_files"
	toolSearch = "search_files"
)

type readArgs struct {
	Path  string `json:"path"`
	Line  int    `json:"line,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

type listArgs struct {
	Path    string `json:"path,omitempty"`
	Pattern string `json:"pattern,omitempty"`
}

type searchArgs struct {
	Pattern string `json:"pattern"`
	Literal bool   `json:"literal"`
	Path    string `json:"path,omitempty"`
}

func (s *script) read(st step) bool {
	content, ok := s.call(toolRead, "read "+code(st.path), readArgs{st.path, st.line, st.limit})
	if !ok {
		return false
	}
	if content == "" {
		s.say("%s is empty.\n\n", code(st.path))
		return true
	}
	shown, left := head(content, 40)
	where := ""
	if first := max(st.line, 1); st.line > 0 || st.limit > 0 {
		where = fmt.Sprintf(", from line %d", first)
	}
	s.say("%s%s:\n\n%s", code(st.path), where, block(language(st.path), shown))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
	return true
}

func (s *script) list(st step) bool {
	found, ok := s.call(toolList, "list the files in "+place(st.path), listArgs{st.path, st.pattern})
	if !ok {
		return false
	}
	shown, left := head(found, 40)
	s.say("Files in %s:\n\n%s", place(st.path), block("", shown))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
	return true
}

func (s *script) search(st step) bool {
	found, ok := s.call(toolSearch, "search "+place(st.path), searchArgs{st.text, true, st.path})
	if !ok {
		return false
	}
	shown, left := head(found, 20)
	s.say("Searching %s in %s gave:\n\n%s", quote(st.text), place(st.path), block("", shown))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
	return true
}

// head returns the first lines of a text, and how many there are beyond.
func head(text string, most int) (first string, left int) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > most {
		lines, left = lines[:most], len(lines)-most
	}
	return clip(lines), left
}

// tail returns the last lines of a text, and how many there are before.
func tail(text string, most int) (last string, left int) {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	if len(lines) > most {
		left = len(lines) - most
		lines = lines[left:]
	}
	return clip(lines), left
}

// clip joins lines, cut to a readable width.
func clip(lines []string) string {
	const widest = 240
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(l) > widest {
			if r := []rune(l); len(r) > widest {
				l = string(r[:widest]) + "…"
			}
		}
		b.WriteString(l)
	}
	return b.String()
}

// block returns a fenced block of Markdown.
func block(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence + "\n\n"
}

func language(path string) string {
	path, _, _ = strings.Cut(path, "#")
	i := strings.LastIndexByte(path, '.')
	if i < 0 || strings.ContainsAny(path[i:], "/\\`? ") {
		return ""
	}
	return path[i+1:]
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

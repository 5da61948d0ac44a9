// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type editArgs struct {
	Path  string `json:"path"`
	Edits []edit `json:"edits"`
}

type edit struct {
	OldText    string `json:"old_text"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

func (s *script) replace(st step) bool {
	if st.text == st.with {
		s.say("I changed nothing in %s: the two texts are the same.\n\n", code(st.path))
		return true
	}
	e := edit{st.text, st.with, true}
	if st.once {
		content, ok := s.whole(st.path)
		if !ok {
			return false
		}
		if e, ok = first(content, st.text, st.with); !ok {
			s.say("I changed nothing: there is no %s in %s.\n\n", quote(st.text), code(st.path))
			return false
		}
	}
	if !s.edit(st.path, e) {
		return false
	}
	which := quote(st.text)
	if st.once {
		which = "the first " + which
	}
	s.say("Replaced %s with %s in %s", which, quote(st.with), code(st.path))
	s.showEdit()
	return true
}

// first returns an edit of the first occurrence of text: with as much of what follows it as makes
// it unique, which may be all.
func first(content, text, with string) (edit, bool) {
	at := strings.Index(content, text)
	if at < 0 {
		return edit{}, false
	}
	begin := strings.LastIndexByte(content[:at], '\n') + 1
	for end := at + len(text); ; {
		if i := strings.IndexByte(content[end:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(content)
		}
		old := content[begin:end]
		if end == len(content) || !strings.Contains(content[begin+1:], old) {
			return edit{OldText: old, NewText: content[begin:at] + with + content[at+len(text):end]}, true
		}
	}
}

// edit changes a file, and keeps what the tool says of it.
func (s *script) edit(path string, e edit) bool {
	result, ok := s.call(toolEdit, "change "+code(path), editArgs{path, []edit{e}})
	s.edited = result
	return ok
}

// showEdit ends a sentence about an edit with the lines as they are now.
func (s *script) showEdit() {
	_, shown, ok := strings.Cut(s.edited, " are now:\n")
	if !ok {
		s.say(".\n\n")
		return
	}
	lines, left := head(shown, 20)
	s.say(":\n\n%s", block("", lines))
	if left > 0 {
		s.say("… and %s more.\n\n", count(left, "line"))
	}
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
	if content == "" {
		_, ok = s.call(toolWrite, "write "+code(st.path), writeArgs{st.path, st.text})
	} else {
		ok = s.edit(st.path, last(content, st.text))
	}
	if ok {
		s.say("Appended %s to %s.\n\n", count(strings.Count(st.text, "\n"), "line"), code(st.path))
	}
	return ok
}

// last returns an edit that appends a text: of as many lines at the end as are unique, which may be
// all.
func last(content, text string) edit {
	begin := len(content)
	for {
		begin = strings.LastIndexByte(content[:begin-1], '\n') + 1
		if old := content[begin:]; begin == 0 || strings.Index(content, old) == begin {
			return edit{OldText: old, NewText: endLine(old) + text}
		}
	}
}

// maxChanged is the size in bytes of the largest file that is read to be changed. It must be well
// below what read_file shows at a time.
const maxChanged = 128 << 10

// whole reads a file that is to be changed.
func (s *script) whole(path string) (string, bool) {
	content, ok := s.call(toolRead, "read "+code(path), readArgs{Path: path})
	if ok && (len(content) > maxChanged || cutShort().MatchString(content)) {
		s.say("I changed nothing: %s is too large for me to change.\n\n", code(path))
		return "", false
	}
	return content, ok
}

// cutShort matches the note of read_file that the file continues.
var cutShort = lazy.Regexp(`\n\[Cut here: [^\n]*\]\n?$`)

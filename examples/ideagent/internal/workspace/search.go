// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/toolset"
)

// SearchArgs are the arguments of search_text.
type SearchArgs struct {
	Text       string `json:"text" jsonschema:"description=What to look for\\, literally; one line at most" validate:"required"`
	Path       string `json:"path,omitempty" jsonschema:"description=File or directory; relative to the working directory. Default: the working directory"`
	Pattern    string `json:"pattern,omitempty" jsonschema:"description=Searches only files that match this glob\\, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"description=Upper and lower case count as the same"`
}

func (in SearchArgs) title() string { return fmt.Sprintf("Search %q%s", cut(in.Text), within(in.Path)) }

// Search returns the lines that have the text in them, as file:line: text.
func Search(ctx context.Context, dir string, in SearchArgs) (string, error) {
	switch {
	case in.Text == "":
		return "", toolset.Retry("text is empty")
	case strings.ContainsAny(in.Text, "\r\n"):
		return "", toolset.Retry("text must not contain line breaks; search for one of its lines")
	}
	if err := checkPattern(in.Pattern); err != nil {
		return "", err
	}
	root, name, err := open(dir, in.Path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	s := search{in: in, text: []byte(in.Text)}
	if in.IgnoreCase {
		s.text = bytes.ToLower(s.text)
	}
	note, err := walk(ctx, root, name, func(at string, entry fs.DirEntry) error {
		if entry.IsDir() || in.Pattern != "" && !matches(in.Pattern, at) {
			return nil
		}
		return s.file(root, at)
	})
	if err != nil {
		return "", err
	}
	return s.result() + note, nil
}

// search is a search in progress.
type search struct {
	in                             SearchArgs
	text                           []byte
	out                            strings.Builder
	files, found                   int
	full                           bool
	tooLarge, notText, notReadable int
}

func (s *search) file(root *os.Root, name string) error {
	data, err := s.load(root, name)
	if err != nil || data == nil {
		return err
	}
	s.files++
	if !s.in.IgnoreCase && !bytes.Contains(data, s.text) {
		return nil
	}
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		in := line
		if s.in.IgnoreCase {
			in = bytes.ToLower(line)
		}
		if !bytes.Contains(in, s.text) {
			continue
		}
		if s.found == maxMatches {
			s.full = true
			return errEnough
		}
		s.found++
		fmt.Fprintf(&s.out, "%s:%d: %s\n", name, number, cut(string(bytes.TrimSpace(line))))
	}
	return nil
}

// load returns the text of a file, or nil if it has none that could be searched.
func (s *search) load(root *os.Root, name string) ([]byte, error) {
	// Only regular files are opened: a named pipe would never answer.
	info, err := root.Stat(name)
	switch {
	case err != nil:
		s.notReadable++
		return nil, nil
	case !info.Mode().IsRegular():
		return nil, nil
	case info.Size() > maxFileSize:
		s.tooLarge++
		return nil, nil
	}
	f, err := root.Open(name)
	if err != nil {
		s.notReadable++
		return nil, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize))
	if err != nil {
		s.notReadable++
		return nil, nil
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 || !utf8.Valid(data) {
		s.notText++
		return nil, nil
	}
	return data, nil
}

func (s *search) result() string {
	if s.found == 0 {
		fmt.Fprintf(&s.out, "(not found; files searched: %d)\n", s.files)
	}
	if s.full {
		fmt.Fprintf(&s.out, "(stopped at %d matches; give a file, a directory or a pattern)\n", maxMatches)
	}
	for _, left := range []struct {
		n   int
		why string
	}{
		{s.tooLarge, fmt.Sprintf("they are larger than %d MiB", maxFileSize>>20)},
		{s.notText, "they are no text"},
		{s.notReadable, "they cannot be read"},
	} {
		if left.n > 0 {
			fmt.Fprintf(&s.out, "(files left out because %s: %d)\n", left.why, left.n)
		}
	}
	return s.out.String()
}

// cut shortens a line.
func cut(line string) string {
	if len(line) <= maxLine {
		return line
	}
	if r := []rune(line); len(r) > maxLine {
		return string(r[:maxLine]) + "…"
	}
	return line
}

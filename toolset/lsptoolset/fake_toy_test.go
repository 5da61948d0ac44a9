// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/ponte-go/ponte/internal/lsp"
)

// files are all files of the project, as they are open or on disk.
func (f *fake) files() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(f.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".toy") {
			data, _ := os.ReadFile(path)
			all[lsp.URI(path)] = string(data)
			if f.mode == "reads files without marks" {
				all[lsp.URI(path)] = strings.TrimPrefix(string(data), "\ufeff")
			}
		}
		return nil
	})
	for uri, text := range f.docs {
		all[uri] = text
	}
	return all
}

type definition struct {
	name    string
	r, line lsp.Range
}

var defined = regexp.MustCompile(`^def (\S+)`)

func definitions(text string) (all []definition) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if m := defined.FindStringSubmatch(line); m != nil {
			at := func(n int) lsp.Position { return lsp.Position{Line: uint32(i), Character: uint32(n)} }
			all = append(
				all,
				definition{
					m[1],
					lsp.Range{Start: at(4), End: at(4 + units(m[1]))},
					lsp.Range{Start: at(0), End: at(units(line))},
				},
			)
		}
	}
	return all
}

func units(text string) int { return len(utf16.Encode([]rune(text))) }

func occurrences(text, name string) []lsp.Range { return occurrencesIn(text, name, lsp.UTF16) }

func occurrencesIn(text, name string, e lsp.Encoding) (all []lsp.Range) {
	if name == "" {
		return nil
	}
	for i, line := range strings.Split(text, "\n") {
		for from := 0; ; {
			at := strings.Index(line[from:], name)
			if at < 0 {
				break
			}
			at += from
			from = at + len(name)
			start, width := units(line[:at]), units(name)
			if e == lsp.UTF8 {
				start, width = at, len(name)
			}
			if at > 0 && line[at-1] != ' ' ||
				from < len(line) && line[from] != ' ' && line[from] != '\r' {
				continue
			}
			all = append(all, lsp.Range{
				Start: lsp.Position{
					Line:      uint32(i),
					Character: uint32(start),
				}, End: lsp.Position{Line: uint32(i), Character: uint32(start + width)},
			})
		}
	}
	return all
}

func lineOf(text string, r lsp.Range) string { return strings.Split(text, "\n")[r.Start.Line] }

func wordAt(text string, p lsp.Position, utf8 bool) string {
	lines := strings.Split(text, "\n")
	if int(p.Line) >= len(lines) {
		return ""
	}
	line, left := lines[p.Line], int(p.Character)
	at := len(line)
	for i, r := range line {
		if left <= 0 {
			at = i
			break
		}
		if left--; utf8 {
			left -= len(string(r)) - 1
		} else if r > 0xffff {
			left--
		}
	}
	word := strings.TrimRight(line[at:], "\r")
	word, _, _ = strings.Cut(word, " ")
	return word
}

func insertAtTop(uri, text string) lsp.ApplyWorkspaceEditParams {
	return lsp.ApplyWorkspaceEditParams{
		Edit: lsp.WorkspaceEdit{Changes: map[string][]lsp.TextEdit{uri: {{NewText: text}}}},
	}
}

// callLater asks the client for an edit before the answer to its own request is sent: messages are
// written in order.
func callLater(c *lsp.Conn, edit lsp.ApplyWorkspaceEditParams) error {
	go func() { _ = callNow(c, edit) }()
	time.Sleep(50 * time.Millisecond)
	return nil
}

func callNow(c *lsp.Conn, edit lsp.ApplyWorkspaceEditParams) error {
	return c.Call(contextForever, "workspace/applyEdit", edit, nil)
}

var contextForever = context.Background()

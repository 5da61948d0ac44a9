// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

var update = flag.Bool("update", false, "write the transcripts in testdata")

// transcribed are the files in testdata, and the tools that the model is offered there.
//
// A line of a transcript begins with what it is: "> " a request that begins a conversation, ">> " one that goes on with
// it, "| " the next line of a request, "~ " what the model thinks, "! " a tool that it calls, "= " what it says.
var transcribed = map[string][]string{
	"files.txt":   append(everyTool[:len(everyTool):len(everyTool)], "quiet", "loud"),
	"code.txt":    {"read_file", "search_files", "find_definition", "find_references", "rename_symbol", "get_diagnostics", "run_command", "list_files"},
	"reading.txt": {"read_file"},
}

// workplace returns what the tools of the transcripts work on.
func workplace() *files {
	numbered := func(n int) (s string) {
		for i := range n {
			s += fmt.Sprintf("line %d\n", i+1)
		}
		return s
	}
	full := strings.Repeat("line\n", 26_213) + "last!!\n" // 128 KiB
	wide := strings.Repeat("é", 240)
	ok, how := "\n[exit code 0]", func(s string) string { return s + "\n[exit code 0]" }
	return &files{
		content: map[string]string{
			"a.txt": "one\ntwo\ntwo\n", "b.txt": "x x x", "c.txt": "c\n", "empty.txt": "", "crlf.txt": "one\r\ntwo\r\n", "a.go": "package a\n",
			"40.txt": numbered(40), "41.txt": numbered(41), "42.txt": numbered(42), "21.txt": numbered(21) + "21 ends\n", "unique.txt": "a\nb\nb\n", "same.txt": "b\nb",
			"bc.txt": "ab\nb\nab\nc\n", "full.txt": full, "huge.txt": full + "\n", "fences.md": "```go\nx\n````\n",
			"wide.txt": wide + "\n" + wide + "é\n" + strings.Repeat("w", 240) + "\n" + strings.Repeat("w", 241) + "\n",
			"cut.txt":  "foo\n\n[Cut here: these are the lines 1 to 1 of 9. To read on, call read_file with line 2.]\n",
			"near.txt": "foo [Cut here: no note]\n", "Makefile": "all:\n", "my file.txt": "mine\n", "it": "it\n", "src/x": "x\n",
		},
		list:   "docs/\ngo.mod\nmain.go\n",
		denied: map[string]bool{"kill_terminal": true},
		results: map[string]string{
			"none": how("[no output]"), "plain": "hello", "empty": "", "ok": "[exit code 0]", "blank": how("\n\n  indented\n\n"), "fail": "FAIL\n[exit code 1]",
			"20": how(strings.TrimSpace(numbered(20))), "21": how(strings.TrimSpace(numbered(21))), "22": how(strings.TrimSpace(numbered(22))), "open": "a\n[open", "closed": "a\nclosed]",
			"fences": "```\n```` x" + ok, "many": numbered(20), "more": numbered(21), "most": numbered(22), "quiet": "\n\n", "loud": numbered(42) + "\n\n", "louder": numbered(40) + "\n",
			"docs": numbered(40), "internal": numbered(41), "wide": strings.Repeat("w", 241), "undo_changes": "Restored a.txt.\nTo redo, call undo_changes with checkpoint 7.\nRead it again.", "list_changes": "\n  a.txt\n",
		},
		failures: map[string]string{
			"missing.txt": "no such\n\n   file", "could.txt": "Could not open could.txt", "nothing.txt": "Nothing was changed.", "300.txt": strings.Repeat("é", 300), "301.txt": strings.Repeat("é", 301), "broken": "no such program",
		},
	}
}

// retranscribe returns a transcript with all that is not a request made anew.
func retranscribe(t *testing.T, tools []string, transcript string) string {
	t.Helper()
	var b strings.Builder
	var f *files
	var history []*model.Message
	lines := strings.Split(transcript, "\n")
	for i := 0; i < len(lines); i++ {
		request, next := strings.CutPrefix(lines[i], ">> ")
		first := false
		if !next {
			request, first = strings.CutPrefix(lines[i], "> ")
		}
		if !next && !first {
			continue
		}
		if first {
			f, history = workplace(), nil
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
		}
		b.WriteString(lines[i] + "\n")
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| ") {
			i++
			request += "\n" + lines[i][2:]
			b.WriteString(lines[i] + "\n")
		}
		begin := len(history)
		history = converse(t, f, tools, history, request)
		for _, m := range history[begin+1:] {
			if m.Kind == model.KindResponse {
				transcribe(&b, m)
			}
		}
	}
	return b.String()
}

func transcribe(b *strings.Builder, m *model.Message) {
	for _, p := range m.Parts {
		mark, text := "=", p.Text
		switch p.Kind {
		case model.PartToolCall:
			mark, text = "!", p.Tool+" "+string(p.Args)
		case model.PartThinking:
			mark = "~"
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r", `\r`), "\n") {
			b.WriteString(strings.TrimSuffix(mark+" "+line, " ") + "\n")
		}
	}
}

// What people see and what tools are asked to do, for each way to say something.
func TestTranscripts(t *testing.T) {
	for name, tools := range transcribed {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				data, err := os.ReadFile("testdata/" + name)
				require.NoError(t, err)
				want := strings.ReplaceAll(string(data), "\r\n", "\n")
				got := retranscribe(t, tools, want)
				if *update {
					require.NoError(t, os.WriteFile("testdata/"+name, []byte(got), 0o644))
					return
				}
				require.Equal(t, want, got, "go test -update writes it anew")
			})
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// hooked is a workspace in which something happens right before a change.
type hooked struct {
	*recorder
	meanwhile func()
}

func (h *hooked) ApplyChange(ctx context.Context, path string, c workspace.Change) (*workspace.Document, error) {
	if do := h.meanwhile; do != nil {
		h.meanwhile = nil
		do()
	}
	return h.recorder.ApplyChange(ctx, path, c)
}

// What happens to a file while a change of it is approved is seen: the change is shown again, made
// if the file says the same as before, or refused. Recorded is what is asked, asked for, and told.
func TestFilesThatChangeMeanwhileAreRecorded(t *testing.T) {
	var b strings.Builder
	for _, call := range []string{`write_file {"path":"a.txt","content":"new\n"}`, `edit_file {"path":"a.txt","edits":[{"old_text":"two","new_text":"2"}]}`, `write_file {"path":"fresh.txt","content":"new\n"}`, `edit_file {"path":"link","edits":[{"old_text":"two","new_text":"2"}]}`} {
		for _, text := range []string{"one\ntwo\nthree\n", "two\n", "new\n", "one\n2\nthree\n", "nothing\n", "", "\x00", "removed", "directory", "linked"} {
			w := &hooked{recorder: newRecorder(t)}
			tool, raw, _ := strings.Cut(call, " ")
			var in args
			require.NoError(t, json.Unmarshal([]byte(raw), &in))
			file := "/project/a.txt"
			if in["path"] == "fresh.txt" {
				file = "/project/fresh.txt"
			}
			w.meanwhile = func() {
				switch text {
				case "removed":
					_ = w.Disk().Remove(file)
				case "directory":
					_ = w.Disk().Remove(file)
					require.NoError(t, w.Disk().Mkdir(file))
				case "linked":
					_ = w.Disk().Remove(file)
					require.NoError(t, w.Disk().Symlink("b/c.go", file))
				default:
					require.NoError(t, w.Disk().WriteFile(file, []byte(text), 0o644))
				}
			}
			r := newRig(t, w)
			told := r.calls(toolCall{tool, in})[0]
			fmt.Fprintf(&b, "# %s meanwhile %q\n", call, text)
			for _, req := range r.asked {
				fmt.Fprintf(&b, "? %s\n", asked(t, req.Approval))
			}
			fmt.Fprintf(&b, "= %s%s\n| %s\n", told.Kind, shownMeta(told), strings.ReplaceAll(strings.TrimSpace(told.Text), "\n", "\n| "))
			w.mu.Lock()
			fmt.Fprintf(&b, "  %s\n", strings.Join(w.calls, "\n  "))
			w.mu.Unlock()
			data, err := w.Disk().ReadFile(file)
			fmt.Fprintf(&b, "> %q %v\n\n", data, err)
		}
	}
	golden(t, "meanwhile.txt", b.String())
}

// What becomes of edits is recorded, and what is said of those whose text is not there.
func TestEditsOfManyTextsAreRecorded(t *testing.T) {
	long := ""
	for i := range 30 {
		long += fmt.Sprintf("\tline %d of the file\n", i+1)
	}
	texts := []string{"", "a", "a\n", "a\r\nb\r\nc\r\n", "a\nb\r\nc\n", "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n", long, strings.ReplaceAll(long, "\n", "\r\n"), "aaaa\naa\n", strings.Repeat("x", 600) + "\n" + strings.Repeat("wide ", 60) + "\n"}
	edits := []workspace.Edit{
		{OldText: "a", NewText: "b"}, {OldText: "a", NewText: "", ReplaceAll: true}, {OldText: "aa", NewText: "a", ReplaceAll: true}, {OldText: "a\nb", NewText: "a\nx\ny\nb"}, {OldText: "b\r\nc\r\n", NewText: "c\n"}, {OldText: "\n", NewText: "\n\n", ReplaceAll: true}, {OldText: "a\n", NewText: ""}, {OldText: "return 1", NewText: "return 3"}, {OldText: "return", NewText: "yield"}, {OldText: "    return 2\n}\n", NewText: "x"}, {OldText: "func a() {\nreturn 1\n}", NewText: "x"}, {OldText: "func c() {\n\treturn 2\n}", NewText: "x"}, {OldText: "funk b()", NewText: "x"}, {OldText: "fun", NewText: "x"}, {OldText: "zz", NewText: "x"}, {OldText: "completely other words", NewText: "x"},
		{OldText: "\tline 3 of the file\n\tline 4 of the file\n", NewText: "\tline 3\n"}, {OldText: "line 3 of the file\nline 4 of the file\nline 5 of the file", NewText: ""}, {OldText: "line 7 of that file", NewText: ""}, {OldText: "line", NewText: "row"}, {OldText: "line", NewText: "row", ReplaceAll: true}, {OldText: strings.ReplaceAll(long, "\t", " "), NewText: "x"}, {OldText: strings.Join(strings.SplitAfter(long, "\n")[:8], "") + "!", NewText: "x"}, {OldText: "line 29 of the file\nline 30 of the file\nline 31 of the file", NewText: "x"}, {OldText: "line 0 of the file\n\n\tline 1 of the file\n", NewText: "x"}, {OldText: strings.Repeat("x", 500) + "y", NewText: "z"}, {OldText: strings.Repeat("wide  ", 60), NewText: "z"}, {OldText: "  \n", NewText: "z"}, {OldText: "", NewText: "z"}, {OldText: "a", NewText: "a"}, {OldText: "a\r\n", NewText: "a\n"},
	}
	var b strings.Builder
	for i, text := range texts {
		for _, set := range [][]workspace.Edit{nil, {{OldText: "b", NewText: "BB\n"}}} {
			for j, e := range edits {
				got, err := workspace.ApplyEdits([]byte(text), append(slices.Clone(set), e))
				fmt.Fprintf(&b, "# text %d, edit %d after %d\n", i, j, len(set))
				if err != nil {
					fmt.Fprintf(&b, "! %s\n", strings.ReplaceAll(err.Error(), "\n", "\n! "))
					continue
				}
				if len(got) < 400 {
					fmt.Fprintf(&b, "%q\n", got)
				}
				fmt.Fprintf(&b, "| %s\n", strings.ReplaceAll(workspace.ChangedLines([]byte(text), got), "\n", "\n| "))
			}
		}
	}
	golden(t, "edits.txt", shortened(b.String()))
}

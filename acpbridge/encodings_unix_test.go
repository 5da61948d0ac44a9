// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// inUTF16 encodes text, with a byte order mark.
func inUTF16(text string, big bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		if big {
			b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
		} else {
			b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
		}
	}
	return b.String()
}

// An edit of the first or the last line of a file changes the bytes of that line alone, in every encoding, with and without a newline at the end,
// in every kind of editor. Otherwise it is refused, and nothing changes.
func TestEditsAtTheEndsOfAFileKeepItsBytes(t *testing.T) {
	t.Parallel()
	latin, sjis := "d\xe9j\xe0 vu, caf\xe9 cr\xe8me, \xe9t\xe9\n", "\x82\xb1\x82\xea\x82\xcd\x93\xfa\x96{\x8c\xea\x82\xcc\x83e\x83L\x83X\x83g\x82\xc5\x82\xb7\x81B\n"
	plain := func(s string) string { return s }
	n := 0
	for name, enc := range map[string]struct {
		middle string
		encode func(string) string
	}{
		"UTF-8": {"größe\n", plain}, "CRLF": {"middle\n", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		"BOM": {"middle\n", func(s string) string { return "\ufeff" + s }}, "Latin-1": {latin, plain}, "Shift_JIS": {sjis, plain},
		"UTF-16LE":       {"größe 日本\n", func(s string) string { return inUTF16(s, false) }},
		"UTF-16BE":       {"größe 日本\n", func(s string) string { return inUTF16(s, true) }},
		"UTF-16LE, CRLF": {"größe\n", func(s string) string { return inUTF16(strings.ReplaceAll(s, "\n", "\r\n"), false) }},
		"CR in a line":   {"a\rb\n", plain}, "NEL and LS": {"a\u0085b\u2028c\n", plain},
	} {
		for _, end := range []string{"", "\n"} {
			text := "first line\n" + enc.middle + "last line" + end
			for old, replacement := range map[string]string{"first": "erste", "last line": "x\ny", "\nlast line": ""} {
				n++
				for i := range editortest.Editors() {
					if (n+i)%3 != 0 { // a third of the editors for each, another one each time
						continue
					}
					e := editortest.Editors()[i]
					e.Disk = workspacetest.OSDisk{}
					dir, err := filepath.EvalSymlinks(t.TempDir())
					require.NoError(t, err)
					before, want := enc.encode(text), enc.encode(strings.Replace(text, old, replacement, 1))
					require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte(before), 0o644))
					client := &fakeEditor{acptest.New(acptest.Options{}), e}
					d := client.Deps(dir)
					d.Client = client
					r := runTools(t.Context(), t, client.Client, d, []model.Part{call("1", "edit_file", editArgs("a", old, replacement))}, allowed()...).answer(t)
					after, err := os.ReadFile(filepath.Join(dir, "a"))
					require.NoError(t, err)
					where := name + ", " + e.Name + ", " + old + ": " + r.Text
					switch {
					case r.Outcome != model.OutcomeSuccess:
						require.Contains(t, r.Text, "the editor cannot show this file", where)
						require.Equal(t, before, string(after), where)
					case strings.Contains(r.Text, "has not saved it"):
						require.Equal(t, before, string(after), where)
					case strings.Contains(r.Text, "reformatted"):
						require.NotNil(t, e.Save, where)
					default:
						require.Equal(t, want, string(after), where)
					}
					client.Close()
				}
			}
		}
	}
}

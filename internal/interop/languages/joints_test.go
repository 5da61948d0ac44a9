// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// write writes files of a project.
func (b *bench) write(files map[string]string) {
	for name, text := range files {
		path := filepath.Join(b.dir, name)
		require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
	}
}

func (b *bench) file(name string) string {
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	require.NoError(b, err)
	return string(data)
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// Names of generic types, methods of one name, emoji in front of a symbol, CRLF, a byte order mark,
// and the rename of a package, with undo.
func TestGoplsJoints(t *testing.T) {
	languages(t)
	tools := gopls(t)
	b := newBench(t, t.TempDir(), tools)
	b.write(map[string]string{
		"go.mod":  "module example.com/p\n\ngo 1.26\n",
		"list.go": "package p\n\n// List is generic.\ntype List[T any] struct{ items []T }\n\n// Push adds.\nfunc (l *List[T]) Push(v T) { l.items = append(l.items, v) }\n\ntype Map[K comparable, V any] map[K]V\n\nfunc (m Map[K, V]) Push(k K, v V) { m[k] = v }\n\nfunc Apply[T, U any](all []T, f func(T) U) (res []U) {\n\tfor _, v := range all {\n\t\tres = append(res, f(v))\n\t}\n\treturn res\n}\n",
		"use.go":  "package p\n\nfunc use() {\n\tvar l List[int]\n\tl.Push(1) /* 😀𝒳 */; l.Push(2)\n\tvar m Map[string, int]\n\tm.Push(\"😀\", 2)\n\t_ = Apply(l.items, func(i int) string { return \"\" })\n}\n",
		"crlf.go": crlf("package p\n\nimport \"strings\"\n\n// Old is long.\nfunc Old(x int)   int {\n\tl := List[int]{}\n\tl.Push(x)\n\treturn len(strings.Fields(\"\"))\n}\n"),
		"bom.go":  "\ufeffpackage p; func Marked() { (&List[int]{}).Push(3) }\n",
		"q/q.go":  "package q\n\nfunc F() int { return 1 }\n",
		"r/r.go":  "package r\n\nimport \"example.com/p/q\"\n\nvar X = q.F()\n",
	})
	say := func(tool, args string) string {
		text := b.call(tool, args)
		t.Logf("%s %s\n%s", tool, args, text)
		return text
	}
	for _, name := range []string{"List.Push", "List[T].Push", "(*List[T]).Push", "p.List.Push", "list.go List.Push", "use.go:5 Push"} {
		require.Contains(t, say("find_definition", fmt.Sprintf(`{"symbol":%q}`, name)), "list.go:7: ", name)
	}
	require.Contains(t, say("find_definition", `{"symbol":"Map[K, V].Push"}`), "list.go:11: ")
	require.Contains(t, say("find_references", `{"symbol":"Map.Push"}`), "use.go:7: ")
	require.Contains(t, say("find_references", `{"symbol":"Apply[T, U]"}`), "use.go:8: ")
	before := snapshot(t, b.dir)
	say("rename_symbol", `{"symbol":"List.Push","new_name":"Add"}`)
	require.Contains(t, b.file("use.go"), "l.Add(1) /* 😀𝒳 */; l.Add(2)")
	require.Contains(t, b.file("use.go"), "m.Push(\"😀\", 2)")
	require.Equal(t, strings.Replace(before["bom.go"], "Push", "Add", 1), b.file("bom.go"))
	require.Equal(t, strings.Replace(before["crlf.go"], "Push", "Add", 1), b.file("crlf.go"))
	b.write(map[string]string{"crlf.go": strings.Replace(b.file("crlf.go"), `"strings"`, `"os"`, 1)})
	say("code_actions", `{"path":"crlf.go"}`)
	say("code_actions", `{"path":"crlf.go","apply":"Organize Imports"}`)
	say("code_actions", `{"path":"crlf.go","apply":"Format the file"}`)
	say("edit_symbol", `{"path":"crlf.go","symbol":"Old","where":"after","text":"func New() {\n}\n"}`)
	text := b.file("crlf.go")
	require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "%q", text)
	require.Contains(t, text, "func Old(x int) int {\r\n")
	require.Contains(t, text, "\"strings\"")
	require.NotContains(t, text, "\"os\"")
	say("rename_symbol", `{"symbol":"q/q.go:1 q","new_name":"quick"}`) // a package, with its directory
	require.Equal(t, "package quick\n\nfunc F() int { return 1 }\n", b.file("quick/q.go"))
	require.Contains(t, b.file("r/r.go"), "var X = quick.F()")
	require.NotContains(t, say("get_diagnostics", `{}`), "error")
	_, err := b.recorder.Undo(t.Context(), checkpoint.Span{})
	require.NoError(t, err)
	b.write(map[string]string{"crlf.go": before["crlf.go"]}) // which others have changed, too
	require.Empty(t, difference(before, snapshot(t, b.dir)))
	say("rename_symbol", `{"symbol":"use.go:4 l","new_name":"ℓ𝒳"}`)
	require.Contains(t, b.file("use.go"), "\tℓ𝒳.Push(1) /* 😀𝒳 */; ℓ𝒳.Push(2)\n")
	say("rename_symbol", `{"symbol":"use.go:5 ℓ𝒳","new_name":"l"}`)
	require.Empty(t, difference(before, snapshot(t, b.dir)))
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
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

// Accessors, overloads, shorthand properties, CRLF, and a file with a byte order mark that the
// server has not open.
func TestTypeScriptJoints(t *testing.T) {
	languages(t)
	b := newBench(t, t.TempDir(), newNode(t), filepath.Join(npm(t, typescriptPin), "node_modules", ".bin"))
	b.write(map[string]string{
		"tsconfig.json": `{"compilerOptions":{"strict":true,"module":"esnext","target":"es2022"}}`,
		"box.ts":        crlf("export class Box<T> {\n  constructor(private inner: T) {}\n  get value(): T { return this.inner; }\n  set value(v: T) { this.inner = v; }\n  static of<T>(x: T): Box<T> { return new Box(x); }\n}\n\nexport function area(side: number): number;\nexport function area(a: number, b: number): number;\nexport function area(a: number, b?: number): number { return a * (b ?? a); }\n"),
		"use.ts":        "import { Box, area } from './box';\n\nconst b = Box.of('😀𝒳'); b.value = 'x';\nconst value = area(2) /* 😀 */ + area(2, 3);\nexport const all = { value, area };\n",
		"bom.ts":        "\ufeffimport { area } from './box'; export const y = area(1);\n",
	})
	say := func(tool, args string) string {
		text := b.call(tool, args)
		t.Logf("%s %s\n%s", tool, args, text)
		return text
	}
	say("find_symbols", `{"path":"box.ts"}`)
	require.Contains(t, say("find_definition", `{"symbol":"Box.value","path":"box.ts","line":3}`), "box.ts:3: ")
	require.Contains(t, say("find_references", `{"symbol":"Box.value","path":"box.ts"}`), "use.ts:3: ")
	require.Contains(t, say("find_definition", `{"symbol":"Box<T>.of"}`), "box.ts:5: ")
	require.Contains(t, say("find_references", `{"symbol":"area","path":"box.ts"}`), "bom.ts:1: ")
	before := snapshot(t, b.dir)
	say("rename_symbol", `{"symbol":"area","path":"box.ts","new_name":"size"}`)
	require.Equal(t, strings.ReplaceAll(before["box.ts"], "area", "size"), b.file("box.ts"))
	require.Contains(t, b.file("use.ts"), "size(2) /* 😀 */ + size(2, 3);\nexport const all = { value, area: size };")
	require.Equal(t, strings.ReplaceAll(before["bom.ts"], "area", "size"), b.file("bom.ts"))
	say("rename_symbol", `{"symbol":"Box.value","path":"box.ts","new_name":"content"}`)
	require.Contains(t, b.file("use.ts"), "b.content = 'x';")
	require.Contains(t, b.file("box.ts"), "  get content(): T { return this.inner; }\r\n  set content(v: T)")
	require.Equal(t, "No problems.", say("get_diagnostics", `{}`))
	say("code_actions", `{"path":"box.ts","apply":"Format the file"}`)
	require.Equal(t, strings.Count(b.file("box.ts"), "\n"), strings.Count(b.file("box.ts"), "\r\n"))
	_, err := b.recorder.Undo(t.Context(), checkpoint.Span{})
	require.NoError(t, err)
	require.Empty(t, difference(before, snapshot(t, b.dir)))
}

// The result of an edit has what is new, whichever the server is, and nothing is left open after an
// edit that changes no problems: some servers publish nothing then.
func TestEditsTellWithEveryServer(t *testing.T) {
	languages(t)
	for name, c := range map[string]struct {
		path  func(t *testing.T) []string
		file  string
		texts [3]string // without problems, and with one
		wrong string
	}{
		"gopls": {func(t *testing.T) []string { return []string{gopls(t)} }, "p.go", [3]string{"package p\n\nvar X = 1\n", "package p\n\nvar X = 2\n", "package p\n\nvar X int = \"\"\n"}, "p.go:3: error: "},
		"typescript": {func(t *testing.T) []string {
			return []string{newNode(t), filepath.Join(npm(t, typescriptPin), "node_modules", ".bin")}
		}, "p.ts", [3]string{"export const x: number = 1;\n", "export const x: number = 2;\n", "export const x: number = '';\n"}, "p.ts:1: error: "},
		"pyright": {func(t *testing.T) []string {
			return []string{filepath.Join(npm(t, pyrightPin), "node_modules", ".bin")}
		}, "p.py", [3]string{"x: int = 1\n", "x: int = 2\n", "x: int = ''\n"}, "p.py:1: error: "},
		"clangd": {func(*testing.T) []string { return nil }, "p.c", [3]string{"int x = 1;\n", "int x = 2;\n", "int x = y;\n"}, "p.c:1: error: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := newBench(t, dir, c.path(t)...)
			b.write(map[string]string{c.file: c.texts[0], "go.mod": "module example.com/p\n\ngo 1.26\n", "tsconfig.json": "{}"})
			hook := lsptoolset.Capability(b.servers, func(s *workspace.Session) *workspace.Session { return s }, lsptoolset.Options{Trust: true, Budget: 20 * time.Second})
			edits := workspace.Tools(func(s *workspace.Session) *workspace.Session { return s })
			require.Equal(t, "No problems.", b.call("get_diagnostics", fmt.Sprintf(`{"path":%q}`, c.file)))
			for round, i := range []int{1, 0, 1, 2, 2, 0, 1} {
				began := time.Now()
				args, err := json.Marshal(map[string]string{"path": c.file, "content": c.texts[i] + strings.Repeat("\n", round)})
				require.NoError(t, err)
				text := b.hooked(hook.Hooks[0].Call, edits, "write_file", string(args))
				t.Log(time.Since(began), text)
				require.NotContains(t, text, "still checking")
				require.Equal(t, round == 3, strings.Contains(text, c.wrong), "round %d: %s", round, text)
				require.Less(t, time.Since(began), 15*time.Second)
			}
		})
	}
}

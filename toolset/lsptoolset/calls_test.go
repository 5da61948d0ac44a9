// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "write the calls in testdata")

// where is a range on a line.
func where(line, from, to int) string {
	return fmt.Sprintf(`{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}`, line, from, line, to)
}

// placeIn is a location.
func placeIn(name string, line, from int) string {
	uri := name
	if !strings.Contains(name, ":") {
		uri = "ROOT/" + name
	}
	return fmt.Sprintf(`{"uri":%q,"range":%s}`, uri, where(line, from, from+3))
}

// symbolIn is a symbol of a document, over a number of lines.
func symbolIn(name string, kind, line, lines, from int, more string) string {
	return fmt.Sprintf(`{"name":%q,"kind":%d,"range":{"start":{"line":%d,"character":0},"end":{"line":%d,"character":9}},"selectionRange":%s%s}`,
		name, kind, line, line+lines-1, where(line, from, from+3), more)
}

// found is a symbol of the project.
func found(name, file string, line, from int) string {
	return fmt.Sprintf(`{"name":%q,"kind":12,"location":%s}`, name, placeIn(file, line, from))
}

func result(items ...string) string { return `"result":[` + strings.Join(items, ",") + "]" }

const failure = `"error":{"code":1,"message":"because"}`

// TestCalls compares what surfaces are shown, what the server hears, what is asked, and what models
// are told, call by call.
func TestCalls(t *testing.T) {
	long := func(c string, n int) string { return strings.Repeat(c, n) }
	var got string
	bubble(t, func(t *testing.T) {
		d := newDesk(t, "gopls", Options{Budget: -1}, map[string]string{
			"a.toy":     "def run\n  use run\n// about it\ndef one\n  body\n\n",
			"sub/b.toy": "def two\n  run\n" + long("w", 200) + "\n" + long("w", 201) + "\n" + long("x", 301) + "\n",
			"c.txt":     "x\n",
		})
		outline := result(symbolIn("run", 12, 0, 2, 4, `,"detail":"`+long("d", 121)+`"`), symbolIn("one", 12, 3, 2, 4, ""))
		const symbols, search, define = "documentSymbol", "workspace/symbol", "textDocument/definition"

		d.call("find_symbols", `{}`)
		d.call("find_symbols", `{"path":"."}`)
		d.call("find_symbols", `{"path":"a.toy"}`, symbols, outline)
		d.call("find_symbols", `{"path":"a.toy","query":"ONE"}`, symbols, outline)
		d.call("find_symbols", `{"path":"a.toy","query":"none"}`, symbols, outline)
		d.call("find_symbols", `{"path":"a.toy"}`, symbols, failure)
		d.call("find_symbols", `{"path":"c.txt"}`)
		d.call("find_symbols", `{"query":"p.run"}`, search, result(found("p.run", "a.toy", 0, 4), found("p.runs", "sub/b.toy", 1, 2)))
		d.call("find_symbols", `{"query":"run","path":"sub"}`, search, result(found("p.run", "a.toy", 0, 4), found("p.run", "sub/b.toy", 1, 2)))
		d.call("find_symbols", `{"query":"none","path":"sub"}`, search, result())
		d.call("find_symbols", `{"query":"run"}`, search, failure)

		d.call("find_definition", `{"symbol":"run"}`, search, result(found("p.run", "a.toy", 0, 4)), symbols, outline, define, result(placeIn("sub/b.toy", 0, 4)))
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2}`, define, result(placeIn("a.toy", 0, 4)))
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2,"body":true}`, define, result(placeIn("a.toy", 0, 4)), symbols, outline)
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2,"kind":"implementations"}`, "implementation", result(placeIn("a.toy", 0, 4), placeIn("sub/b.toy", 2, 0), placeIn("sub/b.toy", 3, 0)))
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2,"kind":"type"}`)
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2,"kind":"type"}`, "typeDefinition", failure)
		d.call("find_definition", `{"symbol":"`+long("s", 200)+`","path":"sub/b.toy","line":2}`)
		d.call("find_definition", `{"symbol":"`+long("s", 201)+`","path":"sub/b.toy","line":2}`)
		d.call("find_definition", `{"symbol":"one","path":"sub/b.toy","line":5}`)
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":7}`)
		d.call("find_definition", `{"symbol":"`+long("(", 201)+`"}`)
		d.call("find_definition", `{"symbol":"run","path":"c.txt"}`)
		var many []string
		for i := range 22 {
			many = append(many, placeIn("a.toy", i, 0))
		}
		d.call("find_definition", `{"symbol":"run","path":"sub/b.toy","line":2}`, define, result(many...))

		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1}`, "textDocument/references", result(placeIn("sub/b.toy", 1, 2), placeIn("a.toy", 1, 6), placeIn("file:///etc/x.toy", 2, 0)))
		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"references"}`)
		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1}`, "textDocument/references", failure)
		d.call("find_references", `{"symbol":"`+long("r", 201)+`","path":"a.toy"}`, symbols, outline)
		item := func(name string) string {
			return fmt.Sprintf(`{"name":%q,"kind":12,"uri":"ROOT/a.toy","range":%s,"selectionRange":%s}`, name, where(1, 0, 9), where(1, 6, 9))
		}
		prepared := result(item("run"))
		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"callers"}`, "prepareCallHierarchy", prepared,
			"incomingCalls", result(`{"from":`+item(long("f", 197))+`,"fromRanges":[`+where(1, 6, 9)+`]}`, `{"from":`+item(long("f", 198))+`,"fromRanges":[`+where(0, 0, 3)+`,`+where(3, 0, 3)+`]}`))
		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"callees"}`, "prepareCallHierarchy", prepared, "outgoingCalls", result(`{"to":`+item("one")+`}`))
		d.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"callees"}`, "prepareCallHierarchy", prepared)

		rename := func(edits string) []string {
			return []string{"textDocument/rename", `"result":{"changes":{` + edits + `}}`}
		}
		edit := func(file string, line, from int, text string) string {
			return fmt.Sprintf(`"ROOT/%s":[{"range":%s,"newText":%q}]`, file, where(line, from, from+3), text)
		}
		d.call("rename_symbol", `{"symbol":"run","path":"a.toy","line":1,"new_name":"walk"}`, rename(edit("a.toy", 1, 6, "walk")+","+edit("sub/b.toy", 1, 2, "walk"))...)
		d.call("rename_symbol", `{"symbol":"run","path":"a.toy","line":1,"new_name":"go"}`, rename(edit("a.toy", 0, 4, "go"))...)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"`+long("n", 201)+`"}`, rename("")...)
		d.call("rename_symbol", `{"symbol":"`+long("n", 201)+`","path":"a.toy","line":1,"new_name":"x"}`)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"x"}`, "textDocument/rename", `"error":{"code":1,"message":"`+long("m", 501)+`"}`)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"x"}`, rename(fmt.Sprintf(`"file:///%s":[{"newText":"x"}]`, long("o", 501)))...)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"x"}`, "textDocument/rename", `"result":{"documentChanges":[{"kind":"`+long("k", 51)+`"}]}`)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"x"}`, "textDocument/rename", `"result":{"documentChanges":[{"kind":"create","uri":"ROOT/new.toy","annotationId":"n"},{"textDocument":{"uri":"ROOT/new.toy"},"edits":[{"range":`+where(0, 0, 0)+`,"newText":"new\n"}]}],"changeAnnotations":{"n":{"label":"New"}}}`)
		d.call("rename_symbol", `{"symbol":"go","path":"a.toy","line":1,"new_name":"x"}`, "textDocument/rename", `"result":{"documentChanges":[{"kind":"rename","oldUri":"ROOT/new.toy","newUri":"ROOT/newer.toy"},{"kind":"delete","uri":"ROOT/sub/b.toy"}]}`)

		outline = result(symbolIn("go", 12, 0, 2, 4, ""), symbolIn("one", 12, 3, 2, 4, ""), symbolIn("x.one", 12, 4, 1, 2, ""))
		d.call("edit_symbol", `{"path":"a.toy","symbol":"one","where":"after","text":"def three"}`, symbols, outline)
		d.call("edit_symbol", `{"path":"a.toy","symbol":"one","where":"replace","line":5,"text":"five"}`, symbols, outline)
		d.call("edit_symbol", `{"path":"a.toy","symbol":"none","where":"replace","text":""}`, symbols, outline)
		d.call("edit_symbol", `{"path":"a.toy","symbol":"`+long("(", 201)+`","where":"replace","text":""}`, symbols, outline)
		d.call("edit_symbol", `{"path":"c.txt","symbol":"none","where":"replace","text":""}`)

		action := func(title, kind, more string) string {
			return fmt.Sprintf(`{"title":%q,"kind":%q%s}`, title, kind, more)
		}
		const actions = "textDocument/codeAction"
		changes := `,"edit":{"changes":{` + edit("a.toy", 0, 4, "run") + `}}`
		d.l.problems["/project/a.toy"] = &published{version: 1000}
		listed := result(action(long("t", 301), long("k", 101), `,"isPreferred":true`), action(long("t", 301), long("k", 101), `,"isPreferred":true`), action("Twin", "", ""), action("Off", "", `,"disabled":{"reason":"x"}`), action(" ", "", ""), action("Change "+long("c", 200), "quickfix", changes))
		d.call("code_actions", `{"path":"a.toy"}`, actions, listed)
		d.call("code_actions", `{"path":"a.toy","apply":"`+long("a", 201)+`"}`, actions, listed)
		d.call("code_actions", `{"path":"a.toy","apply":" quickfix "}`, actions, listed)
		d.call("code_actions", `{"path":"a.toy","apply":"Change"}`, actions, result())
		d.call("code_actions", `{"path":"a.toy","line":99}`)
		d.call("code_actions", `{"path":"a.toy","line":1}`, actions, failure)
		d.call("code_actions", `{"path":"a.toy","line":1,"apply":"x"}`, actions, failure)
		d.call("code_actions", `{"path":"a.toy","apply":"Twin [x]"}`, actions, listed)
		twin := result(action(long("t", 300), "", ""), action(long("u", 301), "", ""))
		d.call("code_actions", `{"path":"a.toy","apply":"`+long("T", 300)+`"}`, actions, twin)
		d.call("code_actions", `{"path":"a.toy","apply":"`+long("U", 297)+`…"}`, actions, twin)
		d.call("code_actions", `{"path":"a.toy","apply":"`+long("t", 300)+` [x]"}`, actions, twin)
		command := func(name string) string {
			return result(action("Do", "refactor", `,"command":{"title":"`+long("t", 301)+`","command":"`+name+`","arguments":[1]}`))
		}
		d.call("code_actions", `{"path":"a.toy","apply":"do"}`, actions, command("edit"))
		d.call("code_actions", `{"path":"a.toy","apply":"do"}`, actions, command(long("c", 201)))
		d.call("code_actions", `{"path":"a.toy","apply":"do"}`, actions, command("edit"), "executeCommand", failure)
		d.call("code_actions", `{"path":"a.toy","apply":"plain"}`, actions, result(`{"title":"Plain","command":"edit"}`))
		d.l.capture = &capture{}
		d.call("code_actions", `{"path":"a.toy","apply":"do"}`, actions, command("edit"))
		require.NotNil(t, d.l.capture, "that of the other command")
		d.l.capture = nil

		d.call("get_diagnostics", `{"path":"a.toy"}`)
		d.call("get_diagnostics", `{"path":"."}`)
		d.call("get_diagnostics", `{}`)
		d.call("get_diagnostics", `{"path":"none.toy"}`)
		got = d.told.String()
	})
	golden(t, "calls.txt", got)
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update writes it")
}

// TestSearches compares how symbols of the project are found: what servers are asked for, one after
// another, and how long calls wait for those that do not know the project yet.
func TestSearches(t *testing.T) {
	var got string
	const symbols, search = "documentSymbol", "workspace/symbol"
	in := func(name string) string { return symbols + ` {"textDocument":{"uri":"ROOT/` + name + `"}}` }
	for _, server := range []string{"gopls", "typescript-language-server", "fake"} {
		bubble(t, func(t *testing.T) {
			files := map[string]string{}
			for i := range 12 {
				files[fmt.Sprintf("f%02d.toy", i)] = "def T\n  run\n  run\n"
			}
			d := newDesk(t, server, Options{Budget: -1}, files)
			fmt.Fprintf(&d.told, "\n## %s\n", server)
			query := func(name string) string { return search + ` {"query":"` + name + `"}` }
			member := result(symbolIn("T", 5, 0, 2, 4, `,"children":[`+symbolIn("run", 6, 1, 1, 2, "")+"]"))
			var containers []string
			for i := range 12 {
				containers = append(containers, found("T", fmt.Sprintf("f%02d.toy", i), 0, 4), found("T", fmt.Sprintf("f%02d.toy", i), 0, 4))
			}
			d.call("find_definition", `{"symbol":"T.run"}`, query("run"), result(), query("T.run"), result(), query("T"), result(found("T", "f00.toy", 0, 4), found("Other", "f01.toy", 0, 4)), symbols, member)
			d.call("find_definition", `{"symbol":"none"}`)
			d.call("find_definition", `{"symbol":"x.none"}`)
			time.Sleep(time.Hour)
			d.call("find_definition", `{"symbol":"none"}`)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(containers...), in("f03.toy"), member)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(containers...), in("f03.toy"), member, in("f05.toy"), member)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(containers...), in("f10.toy"), member)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), failure)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(found("T", "f00.toy", 0, 4)), symbols, failure)
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(found("T", "gone.toy", 0, 4)))
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(found("T", "f00.toy", 0, 4)), symbols,
				result(symbolIn("T", 5, 0, 2, 4, `,"children":[`+symbolIn("run", 6, 1, 1, 2, "")+","+symbolIn("run", 6, 2, 1, 2, "")+"]")))
			d.call("find_definition", `{"symbol":"x.T.run"}`, query("x.T"), result(found("T", "f00.toy", 0, 4)), query("T"), result(found("T", "f00.toy", 0, 4)), symbols, member)
			d.session.GuardReads(func(path string) (toolset.Verdict, string) {
				return map[bool]toolset.Verdict{true: toolset.VerdictDeny}[path == "/project/f00.toy"], "secret"
			})
			d.call("find_definition", `{"symbol":"T.run"}`, query("T"), result(found("T", "f00.toy", 0, 4), found("T", "f01.toy", 0, 4)), symbols, member)

			// The outline has more than what was found, and its places are those of the present text.
			whole := result(symbolIn("T", 5, 0, 2, 4, ""), symbolIn("T", 12, 1, 1, 2, ""))
			d.call("find_definition", `{"symbol":"T","body":true}`, search, result(found("T", "f01.toy", 2, 2)), symbols, whole)
			d.call("find_definition", `{"symbol":"p.T","body":true}`, search, result(found("p.T", "f01.toy", 0, 4)), symbols, result(symbolIn("x", 5, 0, 1, 4, ""), symbolIn("p.T", 5, 0, 2, 4, "")))
			d.call("find_definition", `{"symbol":"T"}`, search, result(found("T", "gone.toy", 2, 2)))
			d.call("find_definition", `{"symbol":"T"}`, search, result(found("T", "f01.toy", 0, 4)), symbols, failure)
			d.call("find_definition", `{"symbol":"T","path":"."}`, search, result(found("U", "f01.toy", 0, 4)))
			var many []string
			for i := range 99 {
				many = append(many, fmt.Sprintf(`{"name":"T","kind":6,"containerName":"C%02d","location":%s}`, i%3, placeIn("f02.toy", i, 0)))
			}
			d.call("find_references", `{"symbol":"T"}`, search, result(append(many, found("T", "f01.toy", 0, 4))[1:]...), symbols, member)
			d.call("find_references", `{"symbol":"T"}`, search, result(append(many, found("T", "f01.toy", 0, 4))...), symbols, member)
			got += d.told.String()
		})
	}
	golden(t, "searches.txt", got)
}

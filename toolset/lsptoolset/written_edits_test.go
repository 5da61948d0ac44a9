// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The server's own actions are listed once, with kinds, and one is chosen by its title or kind.
func TestCodeActionsAreListedAndChosen(t *testing.T) {
	edit := func(text string) string {
		return `"edit":{"changes":{"ROOT/a.toy":[{"range":` + span(0, 0, 0, 0) + `,"newText":"` + text + `\n"}]}}`
	}
	actions := `"textDocument/codeAction":[` + strings.Join([]string{
		`{"title":"Fix it","kind":"quickfix",` + edit("fixed") + `}`,
		`{"title":"Fix it","kind":"quickfix",` + edit("again") + `}`,
		`{"title":"Fix it","kind":"source",` + edit("other") + `}`,
		`{"title":"Best","isPreferred":true,` + edit("best") + `}`,
		`{"title":"Off","disabled":{"reason":"no"}}`,
		`{"title":" "}`,
		`{"title":"Later","kind":"refactor","data":1}`,
		`{"title":"Nothing","kind":"none"}`,
		`{"title":"Commanded","command":{"title":"x","command":"fake.apply"}}`,
		`{"title":"Plain","command":"fake.apply"}`,
		`{"title":"` + strings.Repeat("t", 301) + `","kind":"` + strings.Repeat("k", 101) + `"}`,
	}, ",") + "]"
	b := newWritten(t, asGopls, trusted, "{}", files{"a.toy": "x\n"})
	resolving := pairs(`"publishes":[]`, `"capabilities":{"codeActionProvider":{"resolveProvider":true},"documentFormattingProvider":true}`, actions,
		`"codeAction/resolve":{"title":"Later",`+edit("resolved")+`}`,
		`"edits":[{"edit":{"changes":{"ROOT/a.toy":[{"newText":"commanded\n"}]}}}]`)
	b.write("answers.json", resolving)
	long, kind := strings.Repeat("t", 297)+"…", strings.Repeat("k", 97)+"…"
	require.Equal(t, "Fix it [quickfix]\nFix it [source]\nBest (preferred)\nLater [refactor]\nNothing [none]\nCommanded\nPlain\n"+
		long+" ["+kind+"]\nFormat the file [source.format]", b.call("code_actions", `{"path":"a.toy"}`).Text)
	for _, c := range []struct{ apply, first, title string }{
		{"Fix it", "fixed", "Fix it"},
		{" Fix it ", "fixed", "Fix it"},
		{"fix IT", "fixed", "Fix it"},
		{"source", "other", "Fix it"},
		{"Best [anything]", "best", "Best"},
		{"Later", "resolved", "Later"},
		{"Commanded", "commanded", "Commanded"},
		{"Plain", "commanded", "Plain"},
		{"Nothing", "", "Nothing"},
		{long, "", long[:197] + "…"},
	} {
		b.write("a.toy", "x\n")
		text := b.call("code_actions", `{"path":"a.toy","apply":"`+c.apply+`"}`).Text
		if c.first == "" {
			require.Equal(t, c.title+" in a.toy: this changes nothing.", text, c.apply)
			require.Equal(t, "x\n", b.read("a.toy"), c.apply)
			continue
		}
		require.Equal(t, c.title+" in a.toy: done.\na.toy: +1 -0 lines\nLines 1 to 2 are now:\n     1\t"+c.first+"\n     2\tx", text, c.apply)
		require.Equal(t, c.first+"\nx\n", b.read("a.toy"), c.apply)
	}
	require.Equal(t, "There is no action \"Worst\" here. The actions are:\n  Fix it\n  Fix it\n  Best\n  Later\n  Nothing\n  Commanded\n  Plain\n  "+
		long+"\n  Format the file", b.call("code_actions", `{"path":"a.toy","apply":"Worst"}`).Text)
	many := func(n int) string {
		return pairs(`"publishes":[]`, `"textDocument/codeAction":`+listed(n, func(i int) string { return fmt.Sprintf(`{"title":"Action %d"}`, i) }))
	}
	b.write("answers.json", many(99))
	require.Equal(t, 100, strings.Count(b.call("code_actions", `{"path":"a.toy"}`).Text, "\n")+1)
	b.write("answers.json", many(102))
	text := b.call("code_actions", `{"path":"a.toy"}`).Text
	require.True(t, strings.HasSuffix(text, "\nAction 99\n[3 more: give lines.]"), text)
	b.write("answers.json", many(1001))
	require.NotContains(t, b.call("code_actions", `{"path":"a.toy","apply":"Action 999"}`).Text, "There is no action")
	text = b.call("code_actions", `{"path":"a.toy","apply":"Action 1000"}`).Text
	require.True(t, strings.HasPrefix(text, "There is no action \"Action 1000\" here. The actions are:\n  Action 0\n"), text)
	require.True(t, strings.HasSuffix(text, "\n  Action 29"), text)
	for answer, want := range map[string]string{
		`[1]`:                 "the answer to textDocument/codeAction is malformed: json: cannot unmarshal number into Go value of type lsp.CodeAction",
		`{"fails":"because"}`: "The language server answered with an error: because",
	} {
		b.write("answers.json", pairs(`"publishes":[]`, `"textDocument/codeAction":`+answer))
		require.Equal(t, want, b.call("code_actions", `{"path":"a.toy"}`).Text)
	}
	b.write("answers.json", pairs(`"publishes":[]`, `"capabilities":{"codeActionProvider":{"resolveProvider":true}}`, `"textDocument/codeAction":[{"title":"Later","data":1}]`, `"codeAction/resolve":{"fails":"because"}`))
	require.Equal(t, "The language server answered with an error: because", b.call("code_actions", `{"path":"a.toy","apply":"Later"}`).Text)
}

// Without an ability of the server, its actions are not listed, and what needs it is said.
func TestAbilitiesOfServers(t *testing.T) {
	for _, can := range []string{`{}`, `{"hoverProvider":false,"definitionProvider":false,"referencesProvider":null,"documentSymbolProvider":false,` +
		`"workspaceSymbolProvider":false,"renameProvider":false,"documentFormattingProvider":false,"codeActionProvider":false,"callHierarchyProvider":false,"implementationProvider":false}`} {
		b := newWritten(t, nil, trusted, pairs(`"capabilities":`+can), files{"a.toy": "run\n"})
		const unable = "The language server fake cannot do this."
		for _, c := range [][3]string{
			{"code_actions", `{"path":"a.toy"}`, "There are no code actions here."},
			{"code_actions", `{"path":"a.toy","apply":"x"}`, "There are no code actions here."},
			{"rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`, "The language server fake cannot rename."},
			{"find_references", `{"symbol":"run","path":"a.toy"}`, unable},
			{"find_references", `{"symbol":"run","path":"a.toy","kind":"callers"}`, unable},
			{"find_references", `{"symbol":"run","path":"a.toy","kind":"callees"}`, unable},
			{"find_definition", `{"symbol":"run","path":"a.toy"}`, unable},
			{"find_definition", `{"symbol":"run","path":"a.toy","kind":"implementations"}`, unable},
			{"find_definition", `{"symbol":"run","path":"a.toy","kind":"type"}`, unable},
			{"find_symbols", `{"path":"a.toy"}`, "a.toy has no such symbols."},
			{"edit_symbol", `{"path":"a.toy","symbol":"run","where":"before","text":"x"}`, "run is not defined in a.toy."},
		} {
			require.Equal(t, c[2], b.call(c[0], c[1]).Text, c)
		}
		require.Len(t, b.heard("textDocument", "workspace/symbol", "callHierarchy"), 1, "it is told of the document alone")
	}
}

// Actions are asked for on the lines that are meant, fixes where their problems are.
func TestCodeActionsAreOfLines(t *testing.T) {
	b := newWritten(t, asGopls, trusted, pairs(`"publishes":[]`), files{"a.toy": "one\n \ttwo\n\nfour"})
	for _, c := range []struct{ args, from, to string }{
		{"", "0:0", "3:4"},
		{`,"line":1`, "0:0", "0:3"},
		{`,"line":2`, "1:2", "1:5"},
		{`,"line":3`, "2:0", "2:0"},
		{`,"line":4`, "3:0", "3:4"},
		{`,"line":2,"end_line":2`, "1:0", "1:5"},
		{`,"line":1,"end_line":3`, "0:0", "2:0"},
		{`,"line":2,"end_line":1`, "1:0", "1:5"},
		{`,"line":2,"end_line":99`, "1:0", "3:4"},
	} {
		b.call("code_actions", `{"path":"a.toy"`+c.args+`}`)
		var asked struct {
			Range struct{ Start, End struct{ Line, Character int } }
		}
		heard := b.heard("textDocument/codeAction")
		require.Len(t, heard, 1)
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(heard[0], "textDocument/codeAction ")), &asked))
		r := asked.Range
		require.Equal(t, c.from+" "+c.to, fmt.Sprintf("%d:%d %d:%d", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character), c.args)
	}
	b.call("code_actions", `{"path":"a.toy:2"}`)
	require.Contains(t, b.heard("textDocument/codeAction")[0], `"range":`+span(1, 2, 1, 5))
	require.Equal(t, "a.toy has 4 lines.", b.call("code_actions", `{"path":"a.toy","line":5}`).Text)
	require.Equal(t, ". is a directory.", b.call("code_actions", `{"path":"."}`).Text)
	problems := func(n int) string {
		return listed(n, func(i int) string { return fmt.Sprintf(`{"range":%s,"message":"m%d"}`, span(1, i, 1, i+1), i) })
	}
	for n, want := range map[int]int{0: 1, 1: 2, 20: 21, 21: 21} {
		b.write("answers.json", pairs(`"publishes":`+problems(n)))
		b.write("a.toy", fmt.Sprintf("one\n%d\nthree\n", n))
		b.call("code_actions", `{"path":"a.toy"}`)
		heard := b.heard("textDocument/codeAction")
		require.Len(t, heard, want, "fixes of twenty problems are asked for")
		require.Equal(t, want-1, strings.Count(strings.Join(heard, "\n"), `"only":["quickfix"]`))
		require.Equal(t, n, strings.Count(heard[len(heard)-1], `"message":"m`), "the last request has all problems")
		for line, count := range map[int]int{1: 0, 2: n, 3: 0} {
			b.call("code_actions", fmt.Sprintf(`{"path":"a.toy","line":%d}`, line))
			heard = b.heard("textDocument/codeAction")
			require.Equal(t, count, strings.Count(heard[len(heard)-1], `"message":"m`), "line %d", line)
		}
	}
}

// Formatting keeps the indentation that a file has.
func TestFormattingKeepsIndentation(t *testing.T) {
	b := newWritten(t, asGopls, trusted, pairs(`"publishes":[]`), nil)
	for i, c := range []struct{ text, want string }{
		{"a\n", `"tabSize":4,"insertSpaces":true`},
		{"a\n\tb\n", `"tabSize":4,"insertSpaces":false`},
		{"\tb\n", `"tabSize":4,"insertSpaces":true`},
		{"a\n  b\n    c\n", `"tabSize":2,"insertSpaces":true`},
		{"a\n    b\n  c\n", `"tabSize":4,"insertSpaces":true`},
		{"a\n        b\n", `"tabSize":8,"insertSpaces":true`},
		{"a\n   b\n      c\n  d\n", `"tabSize":2,"insertSpaces":true`},
		{strings.Repeat("a\n", 999) + "  b\n", `"tabSize":2,"insertSpaces":true`},
		{strings.Repeat("a\n", 1000) + "  b\n", `"tabSize":4,"insertSpaces":true`},
	} {
		name := fmt.Sprintf("f%d.toy", i)
		b.write(name, c.text)
		require.Equal(t, "Format the file in "+name+": this changes nothing.", b.call("code_actions", `{"path":"`+name+`","apply":"Format the file"}`).Text)
		require.Equal(t, `textDocument/formatting {"textDocument":{"uri":"ROOT/`+name+`"},"options":{`+c.want+`,"insertFinalNewline":true}}`,
			b.heard("textDocument/formatting")[0])
	}
	b.write("answers.json", pairs(`"publishes":[]`, `"textDocument/formatting":{"fails":"because"}`))
	require.Equal(t, "The language server answered with an error: because", b.call("code_actions", `{"path":"f0.toy","apply":"Format the file"}`).Text)
}

// An edit of a symbol is of its lines, with the comment above it, or of its text if more is on them.
func TestEditsOfSymbolsAreOfTheirLines(t *testing.T) {
	b := newWritten(t, asGopls, trusted, "{}", nil)
	for i, c := range []struct{ text, span, where, insert, want string }{
		{"a\nx b y\nc\n", span(1, 2, 1, 3), "replace", "n", "a\nx n y\nc\n"},
		{"a\nx b y\nc\n", span(1, 2, 1, 3), "replace", "", "a\nx  y\nc\n"},
		{"a\nx b;\nc\n", span(1, 2, 1, 3), "replace", "n", "a\nx n\nc\n"},
		{"a\n  b,\nc\n", span(1, 2, 1, 3), "replace", "n", "a\nn\nc\n"},
		{"a\n  b y\nc\n", span(1, 2, 1, 3), "replace", "n", "a\nn y\nc\n"},
		{"a\n  b\nc\n", span(1, 2, 1, 3), "replace", "n\n", "a\nn\nc\n"},
		{"a\n  b\nc\n", span(1, 2, 1, 3), "replace", "", "a\nc\n"},
		{"a\nb", span(1, 0, 1, 1), "replace", "n", "a\nn"},
		{"a\nb\n\nc\n", span(1, 0, 1, 1), "after", "n", "a\nb\n\nn\n\nc\n"},
		{"a\nx b y\nc\n", span(1, 2, 1, 3), "after", "n", "a\nx b\n\nn y\nc\n"},
		{"a\nb", span(1, 0, 1, 1), "after", "n", "a\nb\n\nn\n"},
		{"a\n// one\n/* two\n * three */\n@four\nb\n", span(5, 0, 5, 1), "before", "n", "a\nn\n\n// one\n/* two\n * three */\n@four\nb\n"},
		{"// one\nb\n", span(1, 0, 1, 1), "before", "n", "n\n\n// one\nb\n"},
		{"// one\nb\n", span(1, 0, 1, 1), "replace", " \n// new\nn", " \n// new\nn\n"},
		{"// one\nb\n", span(1, 0, 1, 1), "replace", "n\n// inside", "// one\nn\n// inside\n"},
		{"// one\nx b\n", span(1, 2, 1, 3), "replace", "// new\nn", "// one\nx // new\nn\n"},
		{"// one\r\nb\r\n", span(1, 0, 1, 1), "before", "n\nm", "n\r\nm\r\n\r\n// one\r\nb\r\n"},
		{"a\r\nb\r\n", span(1, 0, 1, 1), "replace", "n\r\nm\nk", "a\r\nn\r\nm\r\nk\r\n"},
		{"a\n\nb\n", span(2, 0, 2, 1), "before", "n", "a\n\nn\n\nb\n"},
		{"a\nb\nc\nd\n", span(1, 0, 2, 1), "replace", "n", "a\nn\nd\n"},
		{"a\nb\n", span(1, 0, 2, 0), "replace", "n", "a\nn\n"},
	} {
		name := fmt.Sprintf("f%d.toy", i)
		b.write(name, c.text)
		b.write("answers.json", pairs(`"textDocument/documentSymbol":[{"name":"b","kind":12,"range":`+c.span+`,"selectionRange":`+c.span+`}]`))
		text := b.call("edit_symbol", fmt.Sprintf(`{"path":%q,"symbol":"b","where":%q,"text":%q}`, name, c.where, c.insert)).Text
		title := map[string]string{"replace": "Replace b", "before": "Insert before b", "after": "Insert after b"}[c.where]
		require.True(t, strings.HasPrefix(text, title+": done.\n"+name+": "), text)
		require.Equal(t, c.want, b.read(name), "%+v", c)
	}
	b.write("a.toy", "b\nb\n")
	symbols := func(spans ...string) string {
		var all []string
		for _, s := range spans {
			all = append(all, `{"name":"b","kind":12,"range":`+s+`,"selectionRange":`+s+`}`)
		}
		return pairs(`"textDocument/documentSymbol":[` + strings.Join(all, ",") + "]")
	}
	const refused = "The language server gopls has placed b outside of its file."
	for _, c := range []struct{ answers, args, want string }{
		{symbols(span(9, 0, 9, 1)), "", refused},
		{symbols(span(0, 0, 9, 1)), "", refused},
		{symbols(span(0, 0, 0, 1), span(1, 0, 1, 1)), "", "b may be several symbols. Give more of the name, or the path and line of one:\n  b (function) a.toy:1\n  b (function) a.toy:2"},
		{symbols(span(0, 0, 0, 1)), `,"line":2`, "b is not defined in a.toy. Similar names: b"},
		{symbols(), "", "b is not defined in a.toy."},
		{pairs(`"textDocument/documentSymbol":{"fails":"because"}`), "", "The language server answered with an error: because"},
		{symbols(span(0, 0, 0, 1), span(1, 0, 1, 1)), `,"line":2`, "Replace b: done.\na.toy: +0 -1 lines\nLines 1 to 1 are now:\n     1\tb"},
	} {
		b.write("answers.json", c.answers)
		require.Equal(t, c.want, b.call("edit_symbol", `{"path":"a.toy","symbol":"b","where":"replace","text":""`+c.args+`}`).Text, "%+v", c)
	}
	require.Equal(t, ". is a directory.", b.call("edit_symbol", `{"path":".","symbol":"b","where":"replace","text":""}`).Text)
	_, err := b.try("edit_symbol", `{"path":"a.toy","symbol":"()","where":"replace","text":""}`)
	require.ErrorContains(t, err, `symbol: "()" is not the name of a symbol`)
}

// Edits of renames are steps, whose annotations are shown. One that is not understood is refused.
func TestEditsAreSteps(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "run\n", "b.toy": "run\n", "binary.toy": "a\x00b\xff\n", "empty.toy": ""})
	step := func(file, edits, more string) string {
		return `{"textDocument":{"uri":"ROOT/` + file + `","version":null},"edits":[` + edits + `]` + more + `}`
	}
	edit := func(text, more string) string {
		return `{"range":` + span(0, 0, 0, 3) + `,"newText":"` + text + `"` + more + `}`
	}
	const refused = "Nothing was changed: "
	for _, c := range []struct{ answer, want string }{
		{"null", "Rename run to walk: this changes nothing."},
		{"{}", "Rename run to walk: this changes nothing."},
		{`{"documentChanges":[1]}`, refused + "the edit is malformed: json: cannot unmarshal number into Go value of type struct"},
		{`{"documentChanges":[{"kind":"copy"}]}`, refused + `the edit has a step of the unknown kind "copy".`},
		{`{"documentChanges":[` + step("a.toy", edit("x", `,"snippet":{}`), "") + `]}`, refused + "the edit has a snippet, which was not offered."},
		{`{"documentChanges":[` + step("binary.toy", edit("x", ""), "") + `]}`, refused + "binary.toy is not text."},
		{`{"documentChanges":[` + step("none.toy", edit("x", ""), "") + `]}`, refused + "none.toy: not found."},
		{`{"changes":{"ROOT/a.toy":[{"range":` + span(7, 0, 7, 1) + `}]}}`, refused + "the edit does not fit a.toy: a position is outside of the text: line 8 of 2."},
		{`{"changes":{"ROOT/a.toy":[` + edit("run", "") + `]}}`, "Rename run to walk: this changes nothing."},
		{`{"changes":{"untitled:1":[` + edit("x", "") + `]}}`, refused + `the language server wants to change a file that is "untitled:1" is not the URI of a file.`},
		{`{"fails":"because"}`, "The language server answered with an error: because"},
		{`1`, "the answer to textDocument/rename is malformed: json: cannot unmarshal number into Go value of type lsp.WorkspaceEdit"},
	} {
		b.write("answers.json", pairs(`"textDocument/rename":`+c.answer))
		text := b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`).Text
		require.True(t, strings.HasPrefix(text, c.want), "%s: %s", c.answer, text)
	}
	require.Empty(t, b.asks())
	b.heard()
	long, longer := strings.Repeat("l", 201), strings.Repeat("d", 501)
	b.write("answers.json", pairs(`"textDocument/rename":{"documentChanges":[`+strings.Join([]string{
		step("b.toy", edit("one", `,"annotationId":"two"`)+`,{"range":`+span(0, 3, 0, 3)+`,"newText":"!","annotationId":"long"}`, `,"annotationId":"one"`),
		step("a.toy", edit("two", `,"annotationId":"one"`), `,"annotationId":"none"`),
		step("a.toy", `{"range":`+span(0, 0, 0, 3)+`,"newText":"three"}`, ""),
		step("empty.toy", `{"range":`+span(0, 0, 0, 0)+`,"newText":"four"}`, ""),
	}, ",")+`],"changeAnnotations":{"one":{"label":"One"},"two":{"label":"Two","description":"more","needsConfirmation":true},"three":{"label":"unused"},`+
		`"long":{"label":"`+long+`","description":"`+longer+`"}}}`))
	require.Equal(t, "Rename run to walk: done.\na.toy: +1 -1 lines\nb.toy: +1 -1 lines\nempty.toy: +1 -0 lines",
		b.call("rename_symbol", `{"symbol":"run","path":"a.toy","new_name":"walk"}`).Text)
	require.Equal(t, "three\n", b.read("a.toy"), "each step is of the text after those before it")
	require.Equal(t, "one!\n", b.read("b.toy"))
	require.Equal(t, "four", b.read("empty.toy"))
	require.Equal(t, `textDocument/rename {"newName":"walk","textDocument":{"uri":"ROOT/a.toy"},"position":{"line":0,"character":0}}`, b.heard("textDocument/rename")[0])
	require.Len(t, b.asked, 1)
	var texts []string
	for _, p := range b.asked[0].Preview {
		if p.Diff == nil {
			texts = append(texts, p.Text)
		}
	}
	require.Equal(t, []string{"One", "Two: more (the language server asks for confirmation)", long[:197] + "…: " + longer[:497] + "…"}, texts)
}

// Of many files that an edit changes, fifty are named.
func TestEditsOfManyFilesAreCounted(t *testing.T) {
	for _, n := range []int{50, 53} {
		all, changes := files{}, []string{}
		for i := range n {
			name := fmt.Sprintf("f%02d.toy", i)
			all[name] = "run\n"
			changes = append(changes, fmt.Sprintf(`"ROOT/%s":[{"range":%s,"newText":"walk"}]`, name, span(0, 0, 0, 3)))
		}
		b := newWritten(t, asGopls, trusted, pairs(`"textDocument/rename":{"changes":{`+strings.Join(changes, ",")+"}}"), all)
		want := "Rename run to walk: done."
		for i := range 50 {
			want += fmt.Sprintf("\nf%02d.toy: +1 -1 lines", i)
		}
		if n > 50 {
			want += fmt.Sprintf("\n[%d more files]", n-50)
		}
		require.Equal(t, want, b.call("rename_symbol", `{"symbol":"run","path":"f00.toy","new_name":"walk"}`).Text)
		require.Equal(t, fmt.Sprintf("Rename run to walk (%d files)", n), b.asked[0].Title)
		require.Equal(t, fmt.Sprintf("changes to these %d files by rename_symbol", n), b.asked[0].ScopeTitle)
		require.Equal(t, b.asked[0].Basis, b.asked[0].Scope)
		require.Len(t, b.asked[0].Parts, n)
	}
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
)

// span is a range in the protocol's form.
func span(line, character, endLine, endCharacter int) string {
	return fmt.Sprintf(`{"start":{"line":%d,"character":%d},"end":{"line":%d,"character":%d}}`, line, character, endLine, endCharacter)
}

// location is a place in a file of the project.
func location(file string, line, character int) string {
	return fmt.Sprintf(`{"uri":"ROOT/%s","range":%s}`, file, span(line, character, line, character+3))
}

// pairs makes an object of members.
func pairs(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

// listed makes n elements, each from its number.
func listed(n int, element func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// asGopls makes the server one that says when it has finished with a change.
func asGopls(c *lsptoolset.Config) { c.Servers[0].Name = "gopls" }

var trusted = lsptoolset.Options{Trust: true, Budget: -1}

// Definitions, implementations and types are places: one, several, links, or none.
func TestPlacesHaveManyForms(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{
		"a.toy": "def run\n  use run\n\n" + strings.Repeat("w", 200) + "\n" + strings.Repeat("v", 201) + "\n", "b.toy": "def run\n",
	})
	link := `{"targetUri":"ROOT/b.toy","targetRange":` + span(0, 0, 5, 0) + `,"targetSelectionRange":` + span(0, 4, 0, 7) + `}`
	const none = "The language server knows no definition of run."
	for _, c := range []struct{ answer, want string }{
		{location("a.toy", 0, 4), "a.toy:1: def run"},
		{"[" + location("b.toy", 0, 4) + "," + location("a.toy", 1, 6) + "," + location("a.toy", 0, 4) + "]", "a.toy:1: def run\na.toy:2: use run\nb.toy:1: def run"},
		{"[" + location("b.toy", 0, 4) + "," + location("b.toy", 0, 4) + "]", "b.toy:1: def run"},
		{link, "b.toy:1: def run"},
		{"[" + link + "," + location("a.toy", 0, 4) + "]", "a.toy:1: def run\nb.toy:1: def run"},
		{location("a.toy", 2, 0), "a.toy:3: "},
		{location("a.toy", 3, 0), "a.toy:4: " + strings.Repeat("w", 200)},
		{location("a.toy", 4, 0), "a.toy:5: " + strings.Repeat("v", 197) + "…"},
		{location("a.toy", 99, 0), "a.toy:100: "},
		{location("gone.toy", 6, 0), "gone.toy:7"},
		{`{"uri":"file:///etc/hosts","range":` + span(3, 0, 3, 1) + `}`, "/etc/hosts:4"},
		{"[" + `{"uri":"file:///etc/hosts","range":` + span(3, 0, 3, 1) + "}," + location("b.toy", 0, 4) + "]", "b.toy:1: def run\n/etc/hosts:4"},
		{`{"uri":"untitled:1","range":` + span(3, 0, 3, 1) + `}`, none},
		{"[]", none},
		{"null", none},
		{" null ", none},
		{"12", "the answer with locations is malformed: json: cannot unmarshal number into Go value of type []struct { lsp.Location; lsp.LocationLink }"},
		{`{"fails":"because"}`, "The language server answered with an error: because"},
	} {
		for _, kind := range []struct{ name, method, what string }{
			{"definition", "definition", "definition"}, {"implementations", "implementation", "implementation"}, {"type", "typeDefinition", "type definition"},
		} {
			b.write("answers.json", pairs(`"textDocument/`+kind.method+`":`+c.answer))
			want := strings.Replace(c.want, "no definition", "no "+kind.what, 1)
			got := b.call("find_definition", `{"symbol":"run","path":"a.toy","line":2,"kind":"`+kind.name+`"}`).Text
			require.Equal(t, want, got, c.answer)
		}
	}
	b.heard()
	b.write("answers.json", "{}")
	b.call("find_definition", `{"symbol":"run","path":"a.toy","line":2}`)
	require.Equal(t, []string{`textDocument/definition {"textDocument":{"uri":"ROOT/a.toy"},"position":{"line":1,"character":6}}`}, b.heard("textDocument"))
	many := listed(101, func(i int) string { return location("b.toy", i, 0) })
	b.write("answers.json", pairs(`"textDocument/typeDefinition":`+many))
	text := b.call("find_definition", `{"symbol":"run","path":"a.toy","line":2,"kind":"type","offset":100}`).Text
	require.Equal(t, "b.toy:101: \n[101 to 101 of 101 type definitions.]", text)
}

// A name that a file has several times is one symbol if all of its places lead to one definition.
func TestSeveralPlacesOfAName(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "run\nrun\nrun\n", "many.toy": strings.Repeat("run\n", 12)})
	answer := func(file string, line int, definition string) string {
		return fmt.Sprintf(`"textDocument/definition %s %d:0":%s`, file, line, definition)
	}
	one, two, moved := location("a.toy", 0, 0), location("a.toy", 1, 0), location("a.toy", 0, 2)
	for _, c := range []struct {
		answers []string
		want    string
	}{
		{nil, "run is mentioned in a.toy, but is not a symbol there."},
		{[]string{answer("a.toy", 2, one)}, "a.toy:1: run"},
		{[]string{answer("a.toy", 0, one), answer("a.toy", 1, one), answer("a.toy", 2, one)}, "a.toy:1: run"},
		{[]string{answer("a.toy", 1, one), answer("a.toy", 2, two)}, "run is several symbols in a.toy. Give the line of one:\nline 2: defined at a.toy:1\nline 3: defined at a.toy:2"},
		{[]string{answer("a.toy", 0, one), answer("a.toy", 1, one), answer("a.toy", 2, two)}, "run is several symbols in a.toy. Give the line of one:\nline 1: defined at a.toy:1\nline 3: defined at a.toy:2"},
		{[]string{answer("a.toy", 0, one), answer("a.toy", 1, moved)}, "run is several symbols in a.toy. Give the line of one:\nline 1: defined at a.toy:1\nline 2: defined at a.toy:1"},
		{[]string{answer("a.toy", 0, one), answer("a.toy", 1, `{"fails":"because"}`)}, "The language server answered with an error: because"},
	} {
		b.write("answers.json", pairs(c.answers...))
		require.Equal(t, c.want, b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text, c.answers)
	}
	b.heard()
	b.write("answers.json", pairs(answer("many.toy", 7, one), answer("many.toy", 8, two)))
	require.Equal(t, "a.toy:1: run", b.call("find_definition", `{"symbol":"run","path":"many.toy"}`).Text)
	require.Len(t, b.heard("textDocument/definition"), 8+1, "the first eight are compared")
}

// Outlines come nested or flat. A symbol whose name is no word keeps it.
func TestOutlinesHaveManyForms(t *testing.T) {
	nested := func(name string, kind, first, last int, more string) string {
		return fmt.Sprintf(`{"name":%q,"kind":%d,"range":%s,"selectionRange":%s%s}`, name, kind, span(first, 0, last, 0), span(first, 0, first, 1), more)
	}
	flat := func(name, container string, kind, first, last int) string {
		return fmt.Sprintf(`{"name":%q,"containerName":%q,"kind":%d,"location":{"uri":"ROOT/a.toy","range":%s}}`, name, container, kind, span(first, 0, last, 0))
	}
	var kinds, lines []string
	for i, kind := range strings.Split("symbol,file,module,namespace,package,class,method,property,field,constructor,enum,interface,function,variable,constant,"+
		"string,number,boolean,array,object,key,null,enum member,struct,event,operator,type parameter,symbol", ",") {
		kinds = append(kinds, nested(fmt.Sprint("s", i), i, i, i, ""))
		lines = append(lines, fmt.Sprintf("%d %s s%d", i+1, kind, i))
	}
	long := strings.Repeat("d", 121)
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "x\n"})
	const none, malformed = "a.toy has no such symbols.", "the answer to textDocument/documentSymbol is malformed: "
	for _, c := range []struct{ answer, query, want string }{
		{"null", "", none},
		{"[]", "", none},
		{"[" + strings.Join(kinds, ",") + "]", "", "a.toy:\n" + strings.Join(lines, "\n")},
		{"[" + flat("run", "", 12, 1, 3) + "," + flat("get", "Map<K>", 6, 2, 2) + "," + flat("walk", "a.B", 6, 4, 4) + "]", "", "a.toy:\n2-4 function run\n3 method Map.get\n5 method a.B.walk"},
		{"[" + nested("Map", 5, 0, 9, `,"children":[`+nested("get", 6, 1, 2, `,"detail":"func()"`)+","+nested("set", 6, 3, 3, "")+"]") + "]", "", "a.toy:\n1-10 class Map\n  2-3 method Map.get func()\n  4 method Map.set"},
		{"[" + nested("Map", 5, 0, 9, `,"children":[`+nested("get", 6, 1, 2, "")+"]") + "]", "MAP.g", "a.toy:\n  2-3 method Map.get"},
		{"[" + nested("Map", 5, 0, 9, "") + "]", "list", none},
		{"[" + nested("paths", 19, 0, 9, `,"children":[`+nested("*", 20, 1, 1, "")+"]") + "," + nested("()", 12, 9, 9, "") + "]", "", "a.toy:\n1-10 object paths\n  2 key paths.*\n10 function ()"},
		{"[" + nested("a", 12, 0, 0, `,"detail":"`+long[:120]+`"`) + "]", "", "a.toy:\n1 function a " + long[:120]},
		{"[" + nested("a", 12, 0, 0, `,"detail":"`+long+`"`) + "]", "", "a.toy:\n1 function a " + long[:117] + "…"},
		{"[" + nested(strings.Repeat("n", 301), 12, 0, 0, "") + "]", "", "a.toy:\n1 function " + strings.Repeat("n", 297) + "…"},
		{`[{"name":1}]`, "", malformed + "json: cannot unmarshal number into Go struct field .SymbolInformation.name of type string"},
		{`[{"name":"a","range":1}]`, "", malformed + "json: cannot unmarshal number into Go struct field DocumentSymbol.range of type lsp.Range"},
		{`{"fails":"because"}`, "", "The language server answered with an error: because"},
	} {
		b.write("answers.json", pairs(`"textDocument/documentSymbol":`+c.answer))
		require.Equal(t, c.want, b.call("find_symbols", fmt.Sprintf(`{"path":"a.toy","query":%q}`, c.query)).Text, c.answer)
	}
	all := listed(101, func(i int) string { return nested(fmt.Sprint("s", i), 12, i, i, "") })
	b.write("answers.json", pairs(`"textDocument/documentSymbol":`+all))
	require.Equal(t, "a.toy:\n101 function s100\n[101 to 101 of 101 symbols.]", b.call("find_symbols", `{"path":"a.toy","offset":100}`).Text)
	// Names that are no words do no harm to those that are asked for.
	b.write("answers.json", pairs(`"textDocument/documentSymbol":[`+nested("paths", 19, 0, 0, `,"children":[`+nested("*", 20, 0, 0, "")+"]")+","+nested("*", 12, 9, 9, "")+"]"))
	require.Equal(t, "none is not in a.toy.", b.call("find_definition", `{"symbol":"none","path":"a.toy"}`).Text)
	b.write("a.toy", "paths\n")
	require.Equal(t, "a.toy:1: paths", b.call("find_definition", `{"symbol":"paths","path":"a.toy"}`).Text)
}

// Symbols of the project are those that servers place in it, with what contains them.
func TestSymbolsOfTheProject(t *testing.T) {
	symbol := func(name, container, file string, line int) string {
		return fmt.Sprintf(`{"name":%q,"containerName":%q,"kind":12,"location":%s}`, name, container, location(file, line, 0))
	}
	list := func(all ...string) string { return "[" + strings.Join(all, ",") + "]" }
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "x\n", "sub/b.toy": "x\n"})
	for _, c := range []struct{ answer, query, path, want string }{
		{list(symbol("run", "", "a.toy", 0)), "run", "", "run (function) a.toy:1"},
		{list(symbol("run", "A", "a.toy", 0)), "run", "", "A.run (function) a.toy:1"},
		{list(symbol("A.run", "A", "a.toy", 0)), "run", "", "A.run (function) a.toy:1"},
		{list(symbol("A.run", "x.A", "a.toy", 0)), "run", "", "x.A.A.run (function) a.toy:1"},
		{list(symbol("p.run", "example.com/p", "a.toy", 0)), "run", "", "p.run (function) a.toy:1"},
		{list(symbol("overrun", "", "a.toy", 5), symbol("running", "", "a.toy", 4), symbol("Run", "", "a.toy", 3), symbol("run", "", "sub/b.toy", 2), symbol("run", "", "a.toy", 1)), "run", "",
			"run (function) a.toy:2\nrun (function) sub/b.toy:3\nRun (function) a.toy:4\nrunning (function) a.toy:5\noverrun (function) a.toy:6"},
		{list(symbol("run", "", "a.toy", 1), symbol("run", "", "a.toy", 1)), "run", "", "run (function) a.toy:2"},
		{list(symbol("run", "", "a.toy", 1), symbol("run", "", "sub/b.toy", 1)), "run", "sub", "run (function) sub/b.toy:2"},
		{list(symbol("run", "", "a.toy", 1), symbol("walk", "", "a.toy", 1)), "run", "", "run (function) a.toy:2"},
		{list(symbol("get", "B", "a.toy", 1), symbol("get", "A", "a.toy", 2), symbol("getter", "A", "a.toy", 3)), "a.get", "", "A.get (function) a.toy:3\nA.getter (function) a.toy:4"},
		{list(`{"name":"run","kind":12,"location":{"uri":"file:///etc/a.toy","range":`+span(0, 0, 0, 1)+`}}`, symbol("run2", "", "a.toy", 1)), "run", "", "run2 (function) a.toy:2"},
		{list(`{"name":"run","kind":12,"location":{"uri":"ROOT/a.toy"}}`, symbol("run2", "", "a.toy", 1)), "run", "", "run2 (function) a.toy:2"},
		{list(symbol("*", "", "a.toy", 0), symbol("run2", "", "a.toy", 1)), "run", "", "run2 (function) a.toy:2"},
		{`[1]`, "run", "", "the answer to workspace/symbol is malformed: json: cannot unmarshal number into Go value of type struct { lsp.SymbolInformation; Location struct { URI string \"json:\\\"uri\\\"\"; Range *lsp.Range \"json:\\\"range\\\"\" } \"json:\\\"location\\\"\" }"},
		{`{"fails":"because"}`, "run", "", "The language server answered with an error: because"},
	} {
		b.write("answers.json", pairs(`"workspace/symbol":`+c.answer))
		require.Equal(t, c.want, b.call("find_symbols", fmt.Sprintf(`{"query":%q,"path":%q}`, c.query, c.path)).Text, c.answer)
	}
	b.heard()
	b.call("find_symbols", `{"query":"a.b/get"}`)
	require.Equal(t, []string{`workspace/symbol {"query":"get"}`}, b.heard("workspace/symbol"), "servers are asked for the last element")
	all := listed(101, func(i int) string { return symbol(fmt.Sprintf("run%03d", i), "", "a.toy", 0) })
	b.write("answers.json", pairs(`"workspace/symbol":`+all))
	text := b.call("find_symbols", `{"query":"run","offset":100}`).Text
	require.Equal(t, "run100 (function) a.toy:1\n[101 to 101 of 101 symbols.]", text)
}

// The symbols that a name may mean are listed, twenty at most.
func TestAmbiguousNamesAreListed(t *testing.T) {
	symbols := func(n int) string {
		return pairs(`"workspace/symbol":` + listed(n, func(i int) string {
			return fmt.Sprintf(`{"name":"run","containerName":"T%02d","kind":6,"location":%s}`, i, location("a.toy", i, 0))
		}))
	}
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "x\n"})
	for _, n := range []int{2, 20, 21} {
		want := "run may be several symbols. Give more of the name, or the path and line of one:"
		for i := range min(n, 20) {
			want += fmt.Sprintf("\n  T%02d.run (method) a.toy:%d", i, i+1)
		}
		if n > 20 {
			want += fmt.Sprintf("\n  [%d more]", n-20)
		}
		b.write("answers.json", symbols(n))
		require.Equal(t, want, b.call("find_definition", `{"symbol":"run"}`).Text)
	}
	b.write("answers.json", pairs(`"workspace/symbol":[`+
		fmt.Sprintf(`{"name":"runs","kind":6,"location":%s},{"name":"walk","kind":6,"location":%s}`, location("a.toy", 0, 0), location("a.toy", 0, 0))+"]"))
	require.Equal(t, "There is no symbol run in ⟨dir⟩. Similar names: runs",
		strings.Replace(b.call("find_definition", `{"symbol":"run","path":"."}`).Text, " in .", " in ⟨dir⟩", 1))
}

// Others of a name are named after the answer, five at most.
func TestOthersOfANameAreCounted(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "def run\nrun\n"})
	for n, want := range map[int]string{
		0: "",
		1: "\n[This is run (function) a.toy:1. Others of this name: T0.run (method) a.toy:2]",
		5: "\n[This is run (function) a.toy:1. Others of this name: T0.run (method) a.toy:2, T1.run (method) a.toy:3, T2.run (method) a.toy:4, T3.run (method) a.toy:5, T4.run (method) a.toy:6]",
		7: "\n[This is run (function) a.toy:1. Others of this name: T0.run (method) a.toy:2, T1.run (method) a.toy:3, T2.run (method) a.toy:4, T3.run (method) a.toy:5, T4.run (method) a.toy:6, 2 more]",
	} {
		all := []string{fmt.Sprintf(`{"name":"run","kind":12,"range":%s,"selectionRange":%s}`, span(0, 0, 0, 7), span(0, 4, 0, 7))}
		for i := range n {
			all = append(all, fmt.Sprintf(`{"name":"T%d.run","kind":6,"range":%s,"selectionRange":%s}`, i, span(i+1, 0, i+1, 7), span(i+1, 0, i+1, 3)))
		}
		b.write("answers.json", pairs(`"textDocument/documentSymbol":[`+strings.Join(all, ",")+"]"))
		require.Equal(t, "a.toy:1: def run"+want, b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text)
		require.Equal(t, "Nothing refers to run."+want, b.call("find_references", `{"symbol":"run","path":"a.toy"}`).Text)
	}
}

// Callers are where a function is called, callees what it calls, each place once, with its name.
func TestCallersAndCallees(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "def run\n  run walk\n", "b.toy": "  run\n"})
	item := func(name, file string, line int) string {
		return fmt.Sprintf(`{"name":%q,"kind":12,"uri":"ROOT/%s","range":%s,"selectionRange":%s}`, name, file, span(line, 0, line, 9), span(line, 4, line, 7))
	}
	prepared := `"textDocument/prepareCallHierarchy":[` + item("run", "a.toy", 0) + "]"
	call := func(from string, ranges ...string) string {
		return `{"from":` + from + `,"fromRanges":[` + strings.Join(ranges, ",") + "]}"
	}
	outside := `{"name":"exit","kind":12,"uri":"file:///lib/os.toy","range":` + span(6, 0, 6, 1) + `,"selectionRange":` + span(6, 0, 6, 1) + "}"
	for _, c := range []struct{ kind, answers, want string }{
		{"callers", prepared, "run has no callers in this project."},
		{"callees", prepared, "run has no callees in this project."},
		{"callers", `"textDocument/prepareCallHierarchy":[]`, "run is not a function."},
		{"callees", `"textDocument/prepareCallHierarchy":{"fails":"because"}`, "The language server answered with an error: because"},
		{"callers", prepared + `,"callHierarchy/incomingCalls":[` + call(item("main", "b.toy", 0), span(0, 2, 0, 5), span(0, 2, 0, 5)) + "," + call(item("run", "a.toy", 0), span(1, 2, 1, 5)) + "]",
			"a.toy:2: run walk [in run]\nb.toy:1: run [in main]"},
		{"callees", prepared + `,"callHierarchy/outgoingCalls":[{"to":` + outside + `},{"to":` + item("walk", "b.toy", 0) + `}]`,
			"b.toy:1: run [walk]\n/lib/os.toy:7 [exit]"},
		{"callers", prepared + `,"callHierarchy/incomingCalls":{"fails":"because"}`, "The language server answered with an error: because"},
		{"callees", prepared + `,"callHierarchy/outgoingCalls":{"fails":"because"}`, "The language server answered with an error: because"},
		{"callees", prepared + `,"callHierarchy/outgoingCalls":[{"to":{"name":"x","uri":"untitled:1"}}]`, "run has no callees in this project."},
	} {
		b.write("answers.json", "{"+c.answers+"}")
		require.Equal(t, c.want, b.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"`+c.kind+`"}`).Text, c.answers)
	}
	b.heard()
	b.write("answers.json", "{"+prepared+"}")
	b.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"callees"}`)
	heard := b.heard("callHierarchy")
	require.Len(t, heard, 1)
	require.True(t, strings.HasPrefix(heard[0], `callHierarchy/outgoingCalls {"item":{`), heard[0])
	many := listed(101, func(i int) string { return `{"to":` + item(fmt.Sprint("f", i), "b.toy", i) + "}" })
	b.write("answers.json", "{"+prepared+`,"callHierarchy/outgoingCalls":`+many+"}")
	text := b.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"kind":"callees","offset":100}`).Text
	require.Equal(t, "b.toy:101:  [f100]\n[101 to 101 of 101 callees.]", text)
}

// References are asked for without declarations.
func TestReferencesAreWithoutDeclarations(t *testing.T) {
	b := newWritten(t, nil, trusted, pairs(`"textDocument/references":[`+location("b.toy", 0, 0)+","+location("a.toy", 1, 0)+"]"), files{"a.toy": "def run\nrun\n", "b.toy": "run\n"})
	require.Equal(t, "a.toy:2: run\nb.toy:1: run", b.call("find_references", `{"symbol":"run","path":"a.toy","line":1}`).Text)
	require.Equal(t, []string{
		`textDocument/references {"textDocument":{"uri":"ROOT/a.toy"},"position":{"line":0,"character":4},"context":{"includeDeclaration":false}}`,
	}, b.heard("textDocument/references"))
	many := listed(101, func(i int) string { return location("b.toy", i, 0) })
	b.write("answers.json", pairs(`"textDocument/references":`+many))
	text := b.call("find_references", `{"symbol":"run","path":"a.toy","line":1,"offset":100}`).Text
	require.Equal(t, "b.toy:101: \n[101 to 101 of 101 references.]", text)
	b.write("answers.json", pairs(`"textDocument/references":{"fails":"because"}`))
	require.Equal(t, "The language server answered with an error: because", b.call("find_references", `{"symbol":"run","path":"a.toy","line":1}`).Text)
}

// Declarations of one symbol, such as overloads, are one: each of them is among the references of
// the last.
func TestOverloadsAreOneSymbol(t *testing.T) {
	b := newWritten(t, nil, trusted, "{}", files{"a.toy": "def run\ndef run\nrun\n"})
	outline := func(n int) string {
		return `"textDocument/documentSymbol":` + listed(n, func(i int) string {
			return fmt.Sprintf(`{"name":"run","kind":12,"range":%s,"selectionRange":%s}`, span(i, 0, i, 7), span(i, 4, i, 7))
		})
	}
	for _, c := range []struct{ references, want string }{
		{"[" + location("a.toy", 0, 4) + "," + location("a.toy", 1, 4) + "]", "a.toy:1: def run\na.toy:2: def run"},
		{"[" + location("a.toy", 1, 4) + "]", "run may be several symbols. Give more of the name, or the path and line of one:\n  run (function) a.toy:1\n  run (function) a.toy:2"},
		{"[" + location("b.toy", 0, 4) + "," + location("a.toy", 1, 4) + "]", "run may be several symbols. Give more of the name, or the path and line of one:\n  run (function) a.toy:1\n  run (function) a.toy:2"},
		{`{"fails":"because"}`, "The language server answered with an error: because"},
	} {
		b.write("answers.json", pairs(outline(2), `"textDocument/references":`+c.references, `"textDocument/definition":[`+location("a.toy", 0, 4)+","+location("a.toy", 1, 4)+"]"))
		b.heard()
		require.Equal(t, c.want, b.call("find_definition", `{"symbol":"run","path":"a.toy"}`).Text, c.references)
		require.Equal(t, []string{
			`textDocument/references {"textDocument":{"uri":"ROOT/a.toy"},"position":{"line":1,"character":4},"context":{"includeDeclaration":true}}`,
		}, b.heard("textDocument/references"))
	}
	b.write("a.toy", strings.Repeat("def run\n", 51))
	b.write("answers.json", pairs(outline(50)))
	b.heard()
	b.call("find_definition", `{"symbol":"run","path":"a.toy"}`)
	require.Len(t, b.heard("textDocument/references"), 1)
	b.write("answers.json", pairs(outline(51)))
	b.heard()
	b.call("find_definition", `{"symbol":"run","path":"a.toy"}`)
	require.Empty(t, b.heard("textDocument/references"), "fifty declarations may be one symbol")
}

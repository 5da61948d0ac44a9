// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/lsptoolset"
)

// TestProblemsAreShownOnALine has diagnostics with all members that matter, and without.
func TestProblemsAreShownOnALine(t *testing.T) {
	at := func(line int) string {
		return fmt.Sprintf(`"range":{"start":{"line":%d},"end":{"line":%d}}`, line, line)
	}
	var problems, want []string
	for i, c := range []struct{ json, want string }{
		{`"severity":1,"message":"m"`, "error: m"},
		{`"severity":1,"message":"m","source":"s"`, "error: m [s]"},
		{`"severity":1,"message":"m","code":"E1"`, "error: m [E1]"},
		{`"severity":1,"message":"m","source":"s","code":"E1"`, "error: m [s E1]"},
		{`"severity":1,"message":"m","source":"s","code":12`, "error: m [s 12]"},
		{`"severity":1,"message":"m","source":"s","code":null`, "error: m [s]"},
		{`"severity":1,"message":"m","source":"s","code":""`, "error: m [s]"},
		{`"severity":1,"message":"m","source":"s","code":{"value":1}`, "error: m [s]"},
		{`"severity":1,"message":"m","code":"` + strings.Repeat("c", 99) + `"`, "error: m [" + strings.Repeat("c", 99) + "]"},
		{`"severity":1,"message":"m","code":"` + strings.Repeat("c", 100) + `"`, "error: m"},
		{`"severity":1,"message":"` + strings.Repeat("m", 1000) + `"`, "error: " + strings.Repeat("m", 1000)},
		{`"severity":1,"message":"` + strings.Repeat("m", 1001) + `"`, "error: " + strings.Repeat("m", 997) + "…"},
		{`"message":"none"`, "error: none"},
		{`"severity":5,"message":"beyond"`, "error: beyond"},
		{`"severity":2,"message":"m"`, "warning: m"},
		{`"severity":3,"message":"m"`, "info: m"},
	} {
		problems = append(problems, "problem {"+at(i)+","+c.json+"}")
		want = append(want, fmt.Sprintf("a.toy:%d: %s", i+1, c.want))
	}
	problems = append(problems, "problem {"+at(20)+`,"severity":4,"message":"a hint"}`)
	b := newBench(t, fakeConfig(t, "plays the text"), lsptoolset.Options{Trust: true}, files{"a.toy": strings.Join(problems, "\n") + "\n"})
	got := strings.Split(b.call("get_diagnostics", `{"path":"a.toy"}`).Text, "\n")
	require.Equal(t, want, got[:min(len(got), len(want))])
	require.NotContains(t, strings.Join(got, "\n"), "a hint")
}

// TestOutlinesHaveRangesAndDetails has symbols in symbols, of one line and of more.
func TestOutlinesHaveRangesAndDetails(t *testing.T) {
	symbol := func(name string, kind, first, last int, more string) string {
		return fmt.Sprintf(`{"name":%q,"kind":%d,"range":{"start":{"line":%d},"end":{"line":%d}},"selectionRange":{"start":{"line":%d},"end":{"line":%d}}%s}`,
			name, kind, first, last, first, first, more)
	}
	field := symbol("Field", 8, 1, 1, `,"detail":"int"`)
	inner := symbol("Inner", 23, 1, 2, `,"children":[`+field+`]`)
	text := "symbol " + symbol("Outer", 23, 0, 3, `,"detail":"struct{...}","children":[`+inner+`]`) + "\n" +
		"symbol " + symbol("odd", 99, 4, 4, "") + "\n" + strings.Repeat("x\n", 10)
	b := newBench(t, fakeConfig(t, "plays the text"), lsptoolset.Options{Trust: true}, files{"a.toy": text})
	require.Equal(t, "a.toy:\n1-4 struct Outer struct{...}\n  2-3 struct Outer.Inner\n    2 field Outer.Inner.Field int\n5 symbol odd",
		b.call("find_symbols", `{"path":"a.toy"}`).Text)
	require.Equal(t, "a.toy:\n    2 field Outer.Inner.Field int", b.call("find_symbols", `{"path":"a.toy","query":"Field"}`).Text)
	deep := symbol("x60", 23, 0, 0, "")
	for i := 59; i >= 0; i-- {
		deep = symbol(fmt.Sprint("x", i), 23, 0, 0, `,"children":[`+deep+`]`)
	}
	b.write("a.toy", "symbol "+deep+"\n")
	lines := strings.Split(b.call("find_symbols", `{"path":"a.toy"}`).Text, "\n")
	require.Len(t, lines, 52, "no symbol is deeper than fifty levels below another")
}

// TestHoversHaveManyForms has the forms that the protocol has had. The text follows a definition.
func TestHoversHaveManyForms(t *testing.T) {
	var texts []string
	for i := range 21 {
		texts = append(texts, fmt.Sprintf(`"%d"`, i))
	}
	var first []string
	for i := range 20 {
		first = append(first, fmt.Sprint(i))
	}
	all := files{}
	forms := []struct{ hover, want string }{
		{`"plain"`, "plain"},
		{`{"kind":"markdown","value":"marked"}`, "marked"},
		{`["one",{"language":"toy","value":"two"}]`, "one\ntwo"},
		{`["one",["nested"],"two"]`, "one\ntwo"},
		{`[` + strings.Join(texts, ",") + `]`, strings.Join(first, "\n")},
		{`12`, ""},
		{`"  spaces\n"`, "spaces"},
		{`"` + strings.Repeat("h", 4000) + `"`, strings.Repeat("h", 4000)},
		{`"` + strings.Repeat("h", 4001) + `"`, strings.Repeat("h", 4000)},
	}
	for i, f := range forms {
		all[fmt.Sprintf("f%d.toy", i)] = fmt.Sprintf("def name%d\nhover %s\n", i, f.hover)
	}
	all["none.toy"] = "def nothing\n"
	b := newBench(t, fakeConfig(t, "plays the text"), lsptoolset.Options{Trust: true}, all)
	for i, f := range forms {
		want := fmt.Sprintf("f%d.toy:1: def name%d", i, i)
		if f.want != "" {
			want += "\n\n" + f.want
		}
		require.Equal(t, want, b.call("find_definition", fmt.Sprintf(`{"symbol":"name%d","path":"f%d.toy","line":1}`, i, i)).Text, f.hover)
	}
	require.Equal(t, "none.toy:1: def nothing", b.call("find_definition", `{"symbol":"nothing","path":"none.toy","line":1}`).Text)
}

// TestBodiesAreNumberedAndCut has lines and bodies at their bounds.
func TestBodiesAreNumberedAndCut(t *testing.T) {
	symbol := func(name string, last int) string {
		return fmt.Sprintf(`symbol {"name":%q,"kind":12,"range":{"start":{"line":0},"end":{"line":%d}},"selectionRange":{"start":{"line":0,"character":4},"end":{"line":0,"character":9}}}`, name, last)
	}
	lines := func(n int) string { return strings.Repeat("x\n", n) }
	b := newBench(t, fakeConfig(t, "plays the text"), lsptoolset.Options{Trust: true}, files{
		"whole.toy": "def mainA\n" + lines(199) + symbol("mainA", 199) + "\n",
		"long.toy":  "def mainB\n" + lines(202) + symbol("mainB", 202) + "\n",
		"wide.toy":  "def mainC\n" + strings.Repeat("w", 1000) + "\n" + strings.Repeat("v", 1001) + "\n" + symbol("mainC", 2) + "\n",
	})
	body := func(file, name string) []string {
		return strings.Split(b.call("find_definition", `{"symbol":"`+name+`","path":"`+file+`","line":1,"body":true}`).Text, "\n")[1:]
	}
	whole := body("whole.toy", "mainA")
	require.Len(t, whole, 200)
	require.Equal(t, "     1\tdef mainA", whole[0])
	require.Equal(t, "   200\tx", whole[199])
	long := body("long.toy", "mainB")
	require.Len(t, long, 201)
	require.Equal(t, "[3 more lines]", long[200])
	wide := body("wide.toy", "mainC")
	require.Equal(t, "     2\t"+strings.Repeat("w", 1000), wide[1])
	require.Equal(t, "     3\t"+strings.Repeat("v", 1000)+"…", wide[2])
}

// TestFilesThatCannotBeUsedAreNamed has a reason for each.
func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, files{"dir.toy/a.toy": "def a\n", "binary.toy": "a\x00b\xff\n"})
	for path, want := range map[string]string{
		"none.toy":   "Could not read none.toy: not found.",
		"binary.toy": "Could not read binary.toy: it is not text.",
		"../a.toy":   "Could not read ../a.toy: the path lies outside of the working directory. Use a path inside " + b.dir + ".",
	} {
		require.Equal(t, want, b.call("find_definition", `{"symbol":"a","path":"`+path+`","line":1}`).Text)
		require.Equal(t, want, b.call("find_symbols", `{"path":"`+path+`"}`).Text)
	}
	require.Equal(t, "Could not read dir.toy: it is a directory.", b.call("find_definition", `{"symbol":"a","path":"dir.toy","line":1}`).Text)
}

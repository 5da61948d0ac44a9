// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A value is changed where its path leads, and nothing else is.
func TestOneValueOfADocumentIsChanged(t *testing.T) {
	const document = `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`
	for path, want := range map[string][3]string{ // what is there, what is left without it, and with another value
		"":             {document, `{}`, `"new"`},
		"h":            {`5.50`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4}}`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":"new"}`},
		"a":            {`[1,{"b":"x","c.d":2},[3]]`, `{"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":"new","e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[0]":         {`1`, `{"a":[{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":["new",{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[1]":         {`{"b":"x","c.d":2}`, `{"a":[1,[3]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,"new",[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[1].b":       {`"x"`, `{"a":[1,{"c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"new","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[1].c.d":     {`2`, `{"a":[1,{"b":"x"},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":"new"},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[1][c.d]":    {`2`, `{"a":[1,{"b":"x"},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":"new"},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[2]":         {`[3]`, `{"a":[1,{"b":"x","c.d":2}],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":2},"new"],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[2][0]":      {`3`, `{"a":[1,{"b":"x","c.d":2},[]],"e":{"f":null,"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":2},["new"]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"e.f":          {`null`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":"new","g[0]":4},"h":5.50}`},
		"e[f]":         {`null`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"g[0]":4},"h":5.50}`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":"new","g[0]":4},"h":5.50}`},
		"e.g[0]":       {`4`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null},"h":5.50}`, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":"new"},"h":5.50}`},
		"e.new":        {"nowhere", document, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4,"new":"new"},"h":5.50}`},
		"n":            {"nowhere", document, `{"a":[1,{"b":"x","c.d":2},[3]],"e":{"f":null,"g[0]":4},"h":5.50,"n":"new"}`},
		"a[3]":         {"nowhere", "nowhere", "nowhere"},
		"a[-1]":        {"nowhere", "nowhere", "nowhere"},
		"a[x]":         {"nowhere", "nowhere", "nowhere"},
		"a[0].b":       {"nowhere", "nowhere", "nowhere"},
		"h.x":          {"nowhere", "nowhere", "nowhere"},
		"e.f.x":        {"nowhere", "nowhere", "nowhere"},
		"n.x":          {"nowhere", "nowhere", "nowhere"},
		"n[0]":         {"nowhere", "nowhere", "nowhere"},
		"ab":           {"nowhere", document, strings.Replace(document, `"e":`, `"ab":"new","e":`, 1)},
		"a[1].b.c":     {"nowhere", "nowhere", "nowhere"},
		"a[2][0].x":    {"nowhere", "nowhere", "nowhere"},
		"a[1].c.d.e":   {"nowhere", "nowhere", "nowhere"},
		"e.g[0][0]":    {"nowhere", "nowhere", "nowhere"},
		"a[1].new":     {"nowhere", document, `{"a":[1,{"b":"x","c.d":2,"new":"new"},[3]],"e":{"f":null,"g[0]":4},"h":5.50}`},
		"a[2][1]":      {"nowhere", "nowhere", "nowhere"},
		"a[1].b[0]":    {"nowhere", "nowhere", "nowhere"},
		"a[0]extra":    {"nowhere", "nowhere", "nowhere"},
		"a[1].c.extra": {"nowhere", "nowhere", "nowhere"},
	} {
		require.Equal(t, want[0], modeltest.Got(document, path), "%q", path)
		require.Equal(t, want[1], modeltest.Left(document, path), "%q", path)
		require.Equal(t, want[2], modeltest.Set(document, path, `"new"`), "%q", path)
	}
}

// An entry of a map gets another key if no other entry has it.
func TestEntriesOfMapsAreRenamed(t *testing.T) {
	const document = `{"m":{"a":1,"b":[2]},"n":[{"c":3}],"s":"x"}`
	for _, c := range []struct {
		path string
		key  any
		want string
	}{
		{"m[a]", "z", `{"m":{"b":[2],"z":1},"n":[{"c":3}],"s":"x"}`}, {"m[b]", "z", `{"m":{"a":1,"z":[2]},"n":[{"c":3}],"s":"x"}`}, {"m[a]", json.Number("7"), `{"m":{"7":1,"b":[2]},"n":[{"c":3}],"s":"x"}`},
		{"n[0][c]", "d", `{"m":{"a":1,"b":[2]},"n":[{"d":3}],"s":"x"}`}, {"m[a]", "b", "nowhere"}, {"m[a]", "a", "nowhere"}, {"m[a]", true, "nowhere"}, {"m[a]", 7, "nowhere"}, {"m.a", "z", "nowhere"}, {"m", "z", "nowhere"}, {"", "z", "nowhere"},
		{"s[a]", "z", "nowhere"}, {"n[0]", "z", "nowhere"}, {"none[a]", "z", "nowhere"}, {"[m]", "z", `{"n":[{"c":3}],"s":"x","z":{"a":1,"b":[2]}}`},
	} {
		require.Equal(t, c.want, modeltest.Renamed(document, c.path, c.key), "%s %v", c.path, c.key)
	}
}

// The other field of a comparison is beside the value, and that of another rule is what it names.
func TestTheOtherFieldOfARuleIsFound(t *testing.T) {
	for _, c := range [][3]string{
		{"a.b", "gtfield=c", "a.c"}, {"b", "gtfield=c", "c"}, {"a[0].b", "eqfield=c.d", "a[0].c.d"}, {"a.b", "required_if=c", "c"}, {"a", "required_with=.c", "c"}, {"a", "min=3", "3"}, {"a", "email", ""}, {"a.b", "fieldcontains=c", "a.c"}, {"a[0]", "nefield=c", "c"},
	} {
		require.Equal(t, c[2], modeltest.Compared(c[0], c[1]), c)
	}
}

// What is tried for a rule is its parameter and what is near it, other values of the schema, those of the document, samples and a
// few numbers, in this order.
func TestCandidatesAreInOrder(t *testing.T) {
	said := openWording(t)
	const text = `{"type":"object","properties":{"a":{"type":"integer","minimum":3,"maximum":9},"b":{"type":"string","enum":["p","q"]},"c":{"type":"array","items":{"type":"number"}},"d":{"type":"boolean"}},"required":["a","b"]}`
	for i, c := range []struct{ document, path, rule string }{
		{`{"a":5,"b":"p"}`, "a", "ne=5"}, {`{"a":5,"b":"p"}`, "b", "oneof=x y"}, {`{"a":5,"b":"","c":[1.5,-2]}`, "b", "datetime=2006-01-02"}, {`{"a":1,"b":"2026-01-02T15:04:05Z","d":true}`, "b", "gtfield=a"},
		{`{"a":1,"b":"90m"}`, "none", "min=1.5"}, {`{"b":null}`, "c[0]", "email"}, {`{"a":9007199254740993,"b":"é"}`, "", "max=true"}, {`[1e400,"x",{"y":["z"]}]`, "[0]", "len="},
	} {
		all := modeltest.Candidates(text, c.document, c.path, c.rule)
		got := strings.Join(all, " ")
		if i > 0 {
			got = strings.ReplaceAll(got, modeltest.Samples(), "(samples)")
		}
		said.same(t, c.document+" at "+c.path+" "+c.rule, got)
	}
}

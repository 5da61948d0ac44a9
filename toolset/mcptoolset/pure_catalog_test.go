// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Names are safe for every provider. What is changed too much gets a hash of what it was.
func TestNamesOfTools(t *testing.T) {
	long := strings.Repeat("x", 62)
	for _, c := range []struct{ prefix, name, want string }{
		{"s_", "search", "s_search"}, {"", "search", "search"}, {"s_", "a.b c/ä-1_", "s_a_b_c__-1_"}, {"", "1a", "_1a"}, {"", "9a", "_9a"}, {"", "-a", "_-a"}, {"", "_a", "_a"}, {"", "", ""},
		{"", "aZ09-_", "aZ09-_"}, {"1s_", "a", "_1s_a"}, {"s_", long, "s_" + long}, {"s_", long + "y", hashed("s_"+long, long+"y")},
		{"", strings.Repeat("ä", 64), strings.Repeat("_", 64)}, {"", strings.Repeat("ä", 65), hashed(strings.Repeat("_", 65), strings.Repeat("ä", 65))},
		{"", strings.Repeat("😀", 64), strings.Repeat("_", 64)}, {"", strings.Repeat("😀", 65), hashed(strings.Repeat("_", 64), strings.Repeat("😀", 65))},
		{"", strings.Repeat("界", 85) + "x", hashed(strings.Repeat("_", 86), strings.Repeat("界", 85)+"x")},
	} {
		require.Equal(t, c.want, safeName(c.prefix, c.name), "%q %q", c.prefix, c.name)
		require.LessOrEqual(t, len(safeName(c.prefix, c.name)), 64)
	}
	require.Equal(t, "abc_ba7816bf", hashed("abc", "abc"))
	require.Equal(t, strings.Repeat("x", 55)+"_ba7816bf", hashed(strings.Repeat("x", 56), "abc"))
	require.Equal(t, strings.Repeat("x", 55)+"_ba7816bf", hashed(strings.Repeat("x", 55), "abc"))
	require.Equal(t, "s", ServerName("s"))
	require.Equal(t, "a_Z09-_", ServerName("a.Z09-ä"))
	require.Equal(t, strings.Repeat("n", 32), ServerName(strings.Repeat("n", 33)))
	c := catalog{byName: map[string]*Definition{}}
	for _, name := range []string{"a b", "a_b", "a.b", "c"} {
		d := &Definition{Name: name}
		c.tools, c.byName[name] = append(c.tools, d), d
	}
	c.tools = append(c.tools, &Definition{Name: hashed("s_a_b", "a b")[2:]})
	c.byName[c.tools[4].Name] = c.tools[4]
	c.name("s_")
	var offered, problems []string
	for _, d := range c.tools {
		offered = append(offered, d.offered)
	}
	for _, p := range c.problems {
		problems = append(problems, p.String())
	}
	space, dot := hashed("s_a_b", "a b"), hashed("s_a_b", "a.b")
	require.Equal(t, []string{space, "s_a_b", dot, "s_c"}, offered)
	require.Equal(t, []string{
		fmt.Sprintf(`tool "a b": its name would be "s_a_b", which another tool has: it is offered as %q`, space),
		fmt.Sprintf(`tool "a.b": its name would be "s_a_b", which another tool has: it is offered as %q`, dot),
		fmt.Sprintf("tool %q: another tool is offered as %q already", space[2:], space),
	}, problems)
	require.Len(t, c.byName, 4)
}

// A tool can be offered if its schema is of an object, and within its limits.
func TestSchemasOfArguments(t *testing.T) {
	limits := Limits{Schema: 40, SchemaDepth: 3}
	for schema, want := range map[string]string{
		`{}`: `{"type":"object"}`, `{"type":"object"}`: `{"type":"object"}`, `{"title":"<a>"}`: `{"title":"<a>","type":"object"}`, `{"properties":{}}`: `{"properties":{},"type":"object"}`,
		`null`: "its schema is not a JSON object", `[]`: "its schema is not a JSON object", `true`: "its schema is not a JSON object",
		`{"type":"string"}`: "its schema does not describe an object", `{"type":null}`: "its schema does not describe an object", `{"type":["object"]}`: "its schema does not describe an object",
		`{"properties":[]}`: "the properties of its schema are not a JSON object", `{"properties":null}`: "the properties of its schema are not a JSON object",
		`{"a":[[1]]}`: `{"a":[[1]],"type":"object"}`, `{"a":[[[1]]]}`: "its schema is nested deeper than 3", `{"a":{"b":{}}}`: `{"a":{"b":{}},"type":"object"}`, `{"a":{"b":{"c":{}}}}`: "its schema is nested deeper than 3",
		`{"type":"object","a":"12345678901234"}`: `{"a":"12345678901234","type":"object"}`, `{"type":"object","a":"123456789012345678"}`: "its schema has 42 bytes, more than 40",
		`{"type":"object","a":"12345678901234567"}`: "its schema has 41 bytes, more than 40", `{"type":"object","a":"1234567890123456"}`: `{"a":"1234567890123456","type":"object"}`,
		`{"type":"object","a":"123456789012345"}`: `{"a":"123456789012345","type":"object"}`,
	} {
		var decoded any
		require.NoError(t, json.Unmarshal([]byte(schema), &decoded))
		got, err := objectSchema(decoded, &limits)
		if err != nil {
			require.EqualError(t, err, want, schema)
			continue
		}
		require.Equal(t, want, string(got), schema)
	}
	_, err := boundedSchema(map[string]any{"a": func() {}}, &limits)
	require.EqualError(t, err, "its schema is not valid JSON")
	for value, want := range map[string]int{`1`: 0, `{}`: 1, `[]`: 1, `[1]`: 1, `[[],1]`: 2, `{"a":1,"b":{"c":[]}}`: 3, `[[[[[]]]]]`: 4} {
		var decoded any
		require.NoError(t, json.Unmarshal([]byte(value), &decoded))
		require.Equal(t, want, depth(decoded, 4), value)
	}
}

// Two lists are equal if they offer the same; problems are counted only. Of problems, a hundred are
// kept.
func TestCatalogsAreCompared(t *testing.T) {
	list := func(change func(*catalog)) *catalog {
		c := &catalog{tools: []*Definition{{Digest: "1", offered: "a"}, {Digest: "2", offered: "b"}}, instructions: "i", problems: []Problem{{}}}
		change(c)
		return c
	}
	same := list(func(*catalog) {})
	require.False(t, same.equal(nil))
	for i, c := range []struct {
		change func(*catalog)
		equal  bool
	}{
		{func(*catalog) {}, true},
		{func(c *catalog) { c.until = time.Now() }, true},
		{func(c *catalog) { c.problems = []Problem{{Tool: "x"}} }, true},
		{func(c *catalog) { c.problems = nil }, false},
		{func(c *catalog) { c.tools = c.tools[:1] }, false},
		{func(c *catalog) { c.tools[1].Digest = "3" }, false},
		{func(c *catalog) { c.tools[0].offered = "c" }, false},
		{func(c *catalog) { c.instructions = "" }, false},
		{func(c *catalog) { c.resources = true }, false},
		{func(c *catalog) { c.prompts = true }, false},
	} {
		require.Equal(t, c.equal, same.equal(list(c.change)), i)
	}
	var c catalog
	for range 101 {
		c.problem(strings.Repeat("t", 201), errors.New("x"))
	}
	require.Len(t, c.problems, 100)
	require.Equal(t, strings.Repeat("t", 200)+"…", c.problems[0].Tool)
	s := &Server{known: same, yielded: map[string]Problem{"x": {}}}
	again := list(func(c *catalog) { c.until = time.Unix(1, 0) })
	s.adopt(again)
	require.True(t, &s.known.tools[0] == &same.tools[0], "the tools are the same, in the same memory")
	require.Equal(t, time.Unix(1, 0), s.known.until)
	require.Len(t, s.yielded, 1)
	s.adopt(list(func(c *catalog) { c.until = time.Unix(1, 0) }))
	require.True(t, &s.known.tools[0] == &same.tools[0])
	other := list(func(c *catalog) { c.prompts = true })
	s.adopt(other)
	require.Same(t, other, s.known)
	require.Nil(t, s.yielded)
}

// Tools are added with what the server says of them, the first of a name only.
func TestDefinitionsOfTools(t *testing.T) {
	yes, no := true, false
	limits := Limits{Description: 3, Schema: 1000, SchemaDepth: 3}
	for i, c := range []struct {
		tool mcp.Tool
		want Definition
	}{
		{mcp.Tool{Name: "t", Title: "T", Description: "abc"}, Definition{Title: "T", Description: "abc", Destructive: true, OpenWorld: true}},
		{mcp.Tool{Name: "t", Description: "abcd"}, Definition{Description: "abc\n[The rest is left out: 3 of 4 bytes are shown.]", Destructive: true, OpenWorld: true}},
		{mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{}}, Definition{Destructive: true, OpenWorld: true}},
		{mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{Title: "A", ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}}, Definition{Title: "A", ReadOnly: true, Idempotent: true}},
		{mcp.Tool{Name: "t", Title: "T", Annotations: &mcp.ToolAnnotations{Title: "A", DestructiveHint: &yes, OpenWorldHint: &yes}}, Definition{Title: "T", Destructive: true, OpenWorld: true}},
	} {
		cat := catalog{byName: map[string]*Definition{}}
		c.tool.InputSchema = map[string]any{}
		cat.add("s", &c.tool, &limits)
		require.Empty(t, cat.problems, i)
		got := *cat.byName["t"]
		require.Len(t, got.Digest, 32)
		got.Digest = ""
		c.want.Server, c.want.Name, c.want.Schema = "s", "t", json.RawMessage(`{"type":"object"}`)
		require.Equal(t, c.want, got, i)
	}
	cat := catalog{byName: map[string]*Definition{}}
	object := map[string]any{"type": "object"}
	for _, tool := range []mcp.Tool{
		{Name: "", InputSchema: object}, {Name: "a", InputSchema: object}, {Name: "a", InputSchema: object}, {Name: "b", InputSchema: 1}, {Name: "b", InputSchema: object},
		{Name: "c", InputSchema: object, OutputSchema: object}, {Name: "d", InputSchema: object, OutputSchema: map[string]any{"a": map[string]any{"b": map[string]any{"c": map[string]any{}}}}},
	} {
		cat.add("s", &tool, &limits)
	}
	var problems []string
	for _, p := range cat.problems {
		problems = append(problems, p.String())
	}
	require.Equal(t, []string{`tool "": it has no name`, `tool "a": the server lists it twice: the first one is used`, `tool "b": its schema is not a JSON object`}, problems)
	require.Len(t, cat.tools, 4)
	require.Nil(t, cat.byName["a"].Output)
	require.JSONEq(t, `{"type":"object"}`, string(cat.byName["c"].Output))
	require.NotNil(t, cat.byName["c"].check)
	require.Nil(t, cat.byName["d"].Output, "a bad output schema does no harm")
	require.Nil(t, cat.byName["d"].check)
	digests := map[string]bool{}
	for _, d := range []Definition{{}, {Server: "s"}, {Title: "t"}, {Schema: json.RawMessage("1")}, {Output: json.RawMessage("1")}, {ReadOnly: true}, {Destructive: true}, {Idempotent: true}, {OpenWorld: true}} {
		digests[digest(&mcp.Tool{}, &d)] = true
	}
	digests[digest(&mcp.Tool{Name: "n"}, &Definition{})] = true
	digests[digest(&mcp.Tool{Description: "n"}, &Definition{})] = true
	require.Len(t, digests, 11, "everything that somebody depends on changes the digest")
}

// Forms of results are checked if that takes bounded work.
func TestOutputSchemasAreChecked(t *testing.T) {
	properties := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"p%d":{}`, i))
		}
		return `{"properties":{` + strings.Join(all, ",") + `}}`
	}
	chain := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
		}
		return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(all, ",") + fmt.Sprintf(`,"d%d":{"type":"object"}}}`, n)
	}
	for schema, checked := range map[string]bool{
		`{"type":"object"}`: true, properties(998): true, properties(999): false, `{`: false, `{"type":12}`: false, `{"type":"object","required":"a"}`: false,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`: true, `{"$ref":"#/$defs/b","$defs":{"a":{}}}`: false, `{"$ref":"#"}`: false, `{"$ref":"http://x/"}`: false, `{"$ref":"#/$defs/a/b","$defs":{"a":1}}`: false,
		`{"$defs":{"a":{"$ref":"#/$defs/a"}}}`: false, `{"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{"$ref":"#/$defs/a"}}}}`: false, `{"$ref":"#/$defs/a~0","$defs":{"a~0":{}}}`: false, `{"$ref":"#/$defs/a%20","$defs":{"a%20":{}}}`: false,
		`{"$id":"x"}`: false, `{"ID":"x"}`: false, `{"$anchor":"x"}`: false, `{"$dynamicRef":"x"}`: false, `{"allOf":[{"$id":"x"}]}`: false, `{"properties":{"$id":{"type":"string"},"$ref":{}}}`: true,
		chain(20): true, chain(60): false,
	} {
		require.Equal(t, checked, newOutputCheck(json.RawMessage(schema)) != nil, "%.60s", schema)
	}
	c := newOutputCheck(json.RawMessage(`{"type":"object","required":["a"]}`))
	require.Equal(t, 4, c.nodes)
	require.NoError(t, c.check(map[string]any{"a": 1}, 7))
	err := c.check(map[string]any{}, 2)
	require.ErrorIs(t, err, errForm)
	require.ErrorContains(t, err, "it does not have the form that the server declares: ")
	require.Error(t, c.check(map[string]any{}, 1<<23))
	require.NoError(t, c.check(map[string]any{}, 1<<23+1), "larger ones are not checked")
	require.NoError(t, (*outputCheck)(nil).check(1, 1))
}

// Attempts to connect come later each time, up to 30 seconds.
func TestDelaysBetweenAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &Server{}
		because := errors.New("because")
		for i, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000} {
			s.failed(because)
			require.Equal(t, want*time.Millisecond, time.Until(s.retryAt), i)
			require.Equal(t, because, s.err)
		}
	})
}

// Lists are made again 20 times at once, and then every half second; a quiet while begins anew.
func TestListingsArePaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := &link{ctx: ctx}
		took := func() time.Duration {
			began := time.Now()
			require.True(t, l.pace())
			return time.Since(began)
		}
		for i := range 20 {
			require.Zero(t, took(), i)
		}
		for range 3 {
			require.Equal(t, 500*time.Millisecond, took())
		}
		time.Sleep(time.Second)
		require.Zero(t, took())
		require.Equal(t, 500*time.Millisecond, took())
		time.Sleep(10*time.Second + 500*time.Millisecond)
		require.Zero(t, took())
		require.Equal(t, 500*time.Millisecond, took(), "it has not been quiet long enough")
		time.Sleep(10*time.Second + 501*time.Millisecond)
		for range 20 {
			require.Zero(t, took())
		}
		cancel()
		require.False(t, l.pace())
	})
	now := time.Now()
	l := &link{}
	require.False(t, l.outdated(&catalog{}))
	require.False(t, l.outdated(&catalog{until: now.Add(time.Hour)}))
	require.True(t, l.outdated(&catalog{until: now.Add(-time.Hour)}))
	l.stale.Store(true)
	require.True(t, l.outdated(&catalog{}))
}

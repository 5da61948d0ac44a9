// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var defaults = Limits{}.withDefaults()

func TestLimitsHaveDefaults(t *testing.T) {
	require.Equal(t, Limits{
		Message: 16 << 20, Tools: 2000, Description: 8 << 10, Schema: 64 << 10, SchemaDepth: 64, Result: 100_000, Media: 8 << 20, Questions: 20,
	}, defaults)
	given := Limits{Message: 1, Tools: 2, Description: 3, Schema: 4, SchemaDepth: 5, Result: 6, Media: 7, Questions: 8}
	require.Equal(t, given, given.withDefaults())
	for want, l := range map[string]Limits{
		"": given, "Message": {Message: -1, Tools: -1}, "Tools": {Tools: -1}, "Description": {Description: -1}, "Schema": {Schema: -1}, "SchemaDepth": {SchemaDepth: -1},
		"Result": {Result: -1}, "Media": {Media: -1}, "Questions": {Questions: -1},
	} {
		require.Equal(t, want, l.negative())
	}
}

// A question about a call shows what is called, what the server says, and what it claims.
func TestQuestionsAboutCalls(t *testing.T) {
	d := Definition{Server: "s", Name: "to\nol", Digest: "d1", Destructive: true, OpenWorld: true}
	a := approvalOf(&d, json.RawMessage(`{"a":1}`))
	require.Equal(t, `Call to\nol of the MCP server s`, a.Title)
	require.Equal(t, `mcp:s/to\nol#d1`, a.Scope)
	require.Equal(t, "mcp:s", a.Source)
	require.Equal(t, `to\nol of the MCP server s, as it is defined now`, a.ScopeTitle)
	require.Equal(t, []toolset.Effect{{Kind: model.EffectServer, Server: "s"}}, a.Effects)
	require.Equal(t, "d1", a.Basis)
	require.Equal(t, []toolset.Preview{{Text: "MCP server: s\nTool: to\\nol\nArguments:\n  {\n    \"a\": 1\n  }"}}, a.Preview)
	for i, c := range []struct {
		change func(*Definition)
		want   string
	}{
		{func(d *Definition) {}, ""},
		{func(d *Definition) { d.Description = "One\ntwo" }, "\n\nThe server describes the tool as:\n  One\n  two"},
		{func(d *Definition) { d.Description = strings.Repeat("x", 1000) }, "\n\nThe server describes the tool as:\n  " + strings.Repeat("x", 1000)},
		{func(d *Definition) { d.Description = strings.Repeat("x", 1001) }, "\n\nThe server describes the tool as:\n  " + strings.Repeat("x", 1000) + "…"},
		{func(d *Definition) { d.ReadOnly = true }, "\nThe server claims (not verified): it only reads"},
		{func(d *Definition) { d.ReadOnly, d.Destructive = true, false }, "\nThe server claims (not verified): it only reads"},
		{func(d *Definition) { d.Destructive = false }, "\nThe server claims (not verified): it destroys nothing"},
		{func(d *Definition) { d.Idempotent = true }, "\nThe server claims (not verified): repeating it changes nothing more"},
		{func(d *Definition) { d.OpenWorld = false }, "\nThe server claims (not verified): it stays within its own system"},
		{func(d *Definition) { d.Destructive, d.Idempotent, d.OpenWorld = false, true, false }, "\nThe server claims (not verified): it destroys nothing; repeating it changes nothing more; it stays within its own system"},
	} {
		d := Definition{Server: "s", Name: "t", Destructive: true, OpenWorld: true}
		c.change(&d)
		require.Equal(t, "MCP server: s\nTool: t\nArguments:\n  {}"+c.want, approvalOf(&d, json.RawMessage(`{}`)).Preview[0].Text, i)
	}
	long := Definition{Server: "s", Name: strings.Repeat("n", 201)}
	require.Contains(t, approvalOf(&long, nil).Preview[0].Text, "Tool: "+strings.Repeat("n", 200)+"…\n")
	require.Equal(t, "Call "+strings.Repeat("n", 100)+"… of the MCP server s", approvalOf(&long, nil).Title)
}

// Arguments are shown as JSON with line breaks, and with escapes for what people cannot see.
func TestArgumentsAreShown(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                         `  {}`,
		`{"a":[1,{"b":null}]}`:       "  {\n    \"a\": [\n      1,\n      {\n        \"b\": null\n      }\n    ]\n  }",
		"{\"a\":\"\u202eb\"}":        "  {\n    \"a\": \"\\u202eb\"\n  }",
		"{\"a\":\"⟨x\"}":             "  {\n    \"a\": \"\\u27e8x\"\n  }",
		"{\"a\":\"\U000e0041x\"}":    "  {\n    \"a\": \"\\udb40\\udc41x\"\n  }",
		"{\"a\":\"😀ä b\\n\\u0001\"}": "  {\n    \"a\": \"😀ä b\\n\\u0001\"\n  }",
		"not\njson":                  `  not\njson`,
		"":                           "  ",
	} {
		require.Equal(t, want, shownJSON(json.RawMessage(args)), args)
	}
}

// What a server says is shown with escapes, on one line or on its own, up to a length.
func TestTextOfServersIsShown(t *testing.T) {
	for _, c := range []struct {
		text       string
		limit      int
		one, lines string
	}{
		{"plain ä", 100, "plain ä", "plain ä"},
		{"a\nb", 100, `a\nb`, "a\nb"},
		{"a\tb\x1b\u202e\U000e0041\xff⟨", 100, `a\u0009b\u001b\u202e\U000e0041\xff\u27e8`, `a\u0009b\u001b\u202e\U000e0041\xff\u27e8`},
		{"abc", 3, "abc", "abc"}, {"abcd", 3, "abc…", "abc…"}, {"aä", 2, "a…", "a…"}, {"ää", 3, "ä…", "ä…"}, {"ä", 1, "…", "…"},
		{"a\nbc", 3, `a\nb…`, "a\nb…"}, {"", 0, "", ""},
	} {
		require.Equal(t, c.one, visible(c.text, c.limit), "%q", c.text)
		require.Equal(t, c.lines, visibleText(c.text, c.limit), "%q", c.text)
	}
	require.Equal(t, "abc", shortened("abc", 3))
	require.Equal(t, "ab\n[The rest is left out: 2 of 3 bytes are shown.]", shortened("abc", 2))
	require.Equal(t, "a\n[The rest is left out: 1 of 3 bytes are shown.]", shortened("aä", 2))
	require.Equal(t, " (x/y)", labelled("", "x/y"))
	require.Equal(t, " n (application/octet-stream)", labelled("n", "?"))
	require.Equal(t, "", labelled("", "")+after(""))
	require.Equal(t, " a", after("a"))
}

// Types of media are in lower case and without parameters. What is none is data.
func TestTypesOfMedia(t *testing.T) {
	for mime, want := range map[string]string{
		"image/PNG": "image/png", "text/plain; charset=x": "text/plain", " text/plain ;x": "text/plain", "application/vnd.a+json": "application/vnd.a+json", "audio/x-1": "audio/x-1",
		"": "application/octet-stream", "image": "application/octet-stream", "image/": "application/octet-stream", "/png": "application/octet-stream", "a/b/c": "application/octet-stream", "im age/png": "application/octet-stream",
		"a/" + strings.Repeat("b", 198): "a/" + strings.Repeat("b", 198), "a/" + strings.Repeat("b", 300): "a/" + strings.Repeat("b", 198),
	} {
		require.Equal(t, want, mediaType(mime), mime)
	}
	require.True(t, takes(nil, "image/png"))
	for media, want := range map[string]bool{"image": true, "image/png": true, "image/gif": false, "audio": false, "": false} {
		require.Equal(t, want, takes(&model.Info{Media: []string{media}}, "image/png"), media)
	}
}

// Names are safe for every provider. What is changed too much gets a hash of what it was.
func TestNamesOfTools(t *testing.T) {
	long := strings.Repeat("x", 62)
	for _, c := range []struct{ prefix, name, want string }{
		{"s_", "search", "s_search"}, {"", "search", "search"}, {"s_", "a.b c/ä-1_", "s_a_b_c__-1_"}, {"", "1a", "_1a"}, {"", "9a", "_9a"}, {"", "-a", "_-a"}, {"", "_a", "_a"}, {"", "", ""},
		{"", "aZ09-_", "aZ09-_"}, {"1s_", "a", "_1s_a"}, {"s_", long, "s_" + long}, {"s_", long + "y", hashed("s_"+long, long+"y")},
		{"", strings.Repeat("ä", 64), strings.Repeat("_", 64)}, {"", strings.Repeat("ä", 65), hashed(strings.Repeat("_", 65), strings.Repeat("ä", 65))},
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
		`{"type":"object","a":"12345678901234"}`: `{"a":"12345678901234","type":"object"}`, `{"type":"object","a":"123456789012345678"}`: "its schema has 43 bytes, more than 40",
		`{"type":"object","a":"12345678901234567"}`: "its schema has 42 bytes, more than 40", `{"type":"object","a":"1234567890123456"}`: "its schema has 41 bytes, more than 40",
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

// Arguments of a command are words, which quotes hold together; the last one takes the rest.
func TestWordsOfCommands(t *testing.T) {
	for text, want := range map[string]string{
		"": "|", "a": "a|", " a b c": "a| b c", `"a b" c`: "a b| c", `'a "b' c`: `a "b| c`, `"a b`: `"a| b`, `""c`: "|c", "a\tb": "a|\tb", `a"b c"`: `a"b| c"`, `'`: "'|",
	} {
		word, rest := firstWord(text)
		require.Equal(t, want, word+"|"+rest, text)
	}
	for text, want := range map[string]string{"": "", `"`: `"`, `""`: "", `"a b"`: "a b", `'a'`: "a", `"a'`: `"a'`, `a"`: `a"`, "a": "a"} {
		require.Equal(t, want, unquoted(text), text)
	}
	require.Equal(t, "a [b] "+strings.Repeat("c", 50)+"…", hint([]*mcp.PromptArgument{
		{Name: "a", Required: true}, nil, {Name: "b"}, {Name: strings.Repeat("c", 51), Required: true},
	}))
	require.Empty(t, hint(nil))
}

// Arguments of a call are a JSON object.
func TestArgumentsAreAnObject(t *testing.T) {
	for raw, want := range map[string]string{
		"": "{}", "{}": "{}", " \t\r\n{\"a\":1} ": " \t\r\n{\"a\":1} ", "[]": "the arguments must be a JSON object", "null": "the arguments must be a JSON object", `"{"`: "the arguments must be a JSON object",
		"{": "the arguments are not valid JSON", "{} {}": "the arguments are not valid JSON", " ": "the arguments are not valid JSON",
	} {
		args, err := decodeObject([]byte(raw))
		if err != nil {
			require.EqualError(t, err, "retry: "+want, raw)
			continue
		}
		require.Equal(t, want, string(args.(json.RawMessage)), raw)
	}
	require.Equal(t, "{}", string(object(nil)))
	require.Equal(t, "[]", string(object([]byte("[]"))))
	require.Equal(t, "T (s)", (&Definition{Server: "s", Name: "n", Title: "T"}).title())
	require.Equal(t, strings.Repeat("n", 100)+"… (s)", (&Definition{Server: "s", Name: strings.Repeat("n", 101)}).title())
}

// A text of a result that repeats its structured content is given once.
func TestTextsThatRepeatContent(t *testing.T) {
	for _, c := range []struct {
		content string
		texts   []string
		want    bool
	}{
		{`{"a":1}`, nil, false}, {`{"a":1}`, []string{`{ "a" : 1 }`}, true}, {`{"a":1}`, []string{"x", `{"a":1}`}, true}, {`{"a":1}`, []string{`{"a":2}`}, false}, {`{"a":1}`, []string{`{"a":1.0}`}, false}, {`{"a":1}`, []string{`{"a":1} x`}, false},
		{`{"result":"text"}`, []string{" text\n"}, true}, {`{"result":"text"}`, []string{`"text"`}, true}, {`{"result":"text"}`, []string{"other"}, false}, {`{"result":"text","b":1}`, []string{"text"}, false}, {`{"other":"text"}`, []string{"text"}, false},
		{`{"result":[1,"b"]}`, []string{"1", "b"}, true}, {`{"result":[1,"b"]}`, []string{"1"}, false}, {`{"result":[1,"b"]}`, []string{"1", "c"}, false}, {`{"result":[1,"b"]}`, []string{"b", "1"}, false}, {`{"result":[]}`, nil, false}, {`{"result":[]}`, []string{"[]"}, true}, {`{"result":12}`, []string{"12"}, true},
		{`{`, []string{"{"}, false},
	} {
		w := contentWriter{texts: c.texts}
		require.Equal(t, c.want, w.repeats([]byte(c.content)), "%+v", c)
	}
	for text, want := range map[string]any{"1": int64(1), "-9223372036854775808": int64(-9223372036854775808), "1.5": 1.5, "9223372036854775808": 9223372036854775808.0, `[1,{"a":2}]`: []any{int64(1), map[string]any{"a": int64(2)}}, `"x"`: "x", "null": nil} {
		v, ok := decoded([]byte(text))
		require.True(t, ok)
		require.Equal(t, want, exact(v), text)
	}
	for _, text := range []string{"", "{", "1 2", "1,"} {
		_, ok := decoded([]byte(text))
		require.False(t, ok, text)
	}
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

// Lines that are no messages are left out, up to bounds since the last message.
func TestLinesThatAreNoMessages(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0"}`: true, `{"jsonrpc":""}`: true, `{"jsonrpc":null}`: false, `{}`: false, `{"jsonrpc":2}`: false, `{`: false, `[{"jsonrpc":"2.0"}]`: true, `[]`: false, `[{}]`: false, `[1]`: false, `"jsonrpc"`: false, ``: false, `hello`: false,
	} {
		require.Equal(t, want, isMessage([]byte(text)), text)
	}
	for text, want := range map[string]bool{`{"`: true, `{ "a`: true, `[{"a`: true, "[ \n {\"": true, `{`: false, `{a`: false, `[`: false, `["a`: false, `x{"`: false, ``: false} {
		require.Equal(t, want, beginsMessage([]byte(text)), text)
	}
	var s skipped
	message := []byte(`{"jsonrpc":"2.0"}` + "\n")
	filter := func(line string) error {
		got, err := s.filter([]byte(line))
		require.Empty(t, got)
		return err
	}
	require.Empty(t, s.note())
	require.NoError(t, filter("\n"))
	require.Empty(t, s.note(), "empty lines say nothing")
	for _, line := range []string{"one\n", " two \n", strings.Repeat("x", 201) + "\n"} {
		require.NoError(t, filter(line))
	}
	shown := `its standard output had lines that are not messages: "one" "two" "` + strings.Repeat("x", 200) + `…"`
	require.Equal(t, shown, s.note())
	require.NoError(t, filter("four\n"))
	require.Equal(t, shown+" and 1 more lines", s.note())
	for _, text := range []string{string(message), "\ufeff" + string(message)} {
		got, err := s.filter([]byte(text))
		require.NoError(t, err)
		require.Equal(t, message, got)
	}
	for range 10_000 {
		require.NoError(t, filter("\n"))
	}
	require.ErrorIs(t, filter("\n"), errNoMessages)
	_, err := s.filter(message)
	require.NoError(t, err)
	require.NoError(t, filter(strings.Repeat("x", 1<<20)))
	require.ErrorIs(t, filter("x"), errNoMessages)
	long := []byte(`{"a":"` + strings.Repeat("x", 64<<10-6))
	got, err := s.filter(long)
	require.Empty(t, got, "64 KiB are looked at as a whole")
	require.Error(t, err)
	got, err = s.filter(append(long, 'x'))
	require.NoError(t, err)
	require.NotEmpty(t, got, "a longer line that begins as a message does is one")
	require.NoError(t, filter("x"), "after a message the bounds begin anew")
}

// Long lines are passed on in parts or dropped as a whole, by how they begin.
func TestLongLinesAreReadInParts(t *testing.T) {
	long := strings.Repeat("x", 9000)
	for _, c := range []struct{ in, want string }{
		{"a\nbc\n", "a\nbc\n"}, {"a", "a"}, {"", ""}, {"-a\nb\n", "b\n"}, {long + "\ny\n", long + "\ny\n"}, {"-" + long + "\ny\n", "y\n"}, {long + long, long + long}, {"-" + long + long, ""},
	} {
		longest := 0
		r := newLineReader(strings.NewReader(c.in), 4096, func(line []byte) ([]byte, error) {
			if longest = max(longest, len(line)); strings.HasPrefix(string(line), "-") {
				return nil, nil
			}
			return line, nil
		})
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, c.want, string(got), "%.20s", c.in)
		require.LessOrEqual(t, longest, 8192, "of a long line only so much is looked at")
	}
	wrong := errors.New("wrong")
	r := newLineReader(strings.NewReader("a\nb\n"), 10, func(line []byte) ([]byte, error) {
		if string(line) == "b\n" {
			return []byte("last"), wrong
		}
		return line, nil
	})
	got, err := io.ReadAll(r)
	require.ErrorIs(t, err, wrong)
	require.Equal(t, "a\nlast", string(got))
}

// Standard error is passed on line by line, without what is secret.
func TestStandardErrorIsPassedOnInLines(t *testing.T) {
	var b strings.Builder
	s := &stderrLines{to: &b, secrets: []string{"secret", "short"}}
	for _, c := range []struct{ add, want string }{
		{"a", ""}, {"b\n", "ab\n"}, {"c\r\nd\n", "c\nd\n"}, {"\n\n", ""}, {"my secret, my short\n", "my …, my short\n"}, {"\x1b[31m\n", "⟨ESC⟩[31m\n"},
		{strings.Repeat("x", 8<<10), ""}, {"\n", strings.Repeat("x", 8<<10) + "\n"}, {strings.Repeat("y", 8<<10+1) + "\n", strings.Repeat("y", 8<<10) + "\ny\n"},
	} {
		b.Reset()
		s.add([]byte(c.add))
		require.Equal(t, c.want, b.String(), "%.20q", c.add)
	}
	b.Reset()
	s.add([]byte("end"))
	s.flush()
	s.flush()
	require.Equal(t, "end\n", b.String())
	require.Equal(t, "12345 …", withoutSecrets("12345 123456", []string{"12345", "123456"}), "what is short is no secret")
	for text, want := range map[string]string{
		" a\nb \n": "a\nb", strings.Repeat("x", 400): strings.Repeat("x", 400), strings.Repeat("x", 401): strings.Repeat("x", 400), "first\n" + strings.Repeat("x", 396) + "\nzzz": "zzz", "first line\nsecond\n" + strings.Repeat("x", 390): "second\n" + strings.Repeat("x", 390),
		strings.Repeat("ä", 201): strings.Repeat("ä", 200), "x" + strings.Repeat("ä", 200): strings.Repeat("ä", 200),
	} {
		require.Equal(t, want, lastLines(text), "%.20q", text)
	}
}

// Requests of servers have null where the SDK must not get it: it is left out.
func TestNullsAreLeftOut(t *testing.T) {
	for _, c := range []struct{ method, params, want string }{
		{"x", `null`, `{}`}, {"x", " null ", `{}`}, {"x", `{"messages":[null]}`, `{"messages":[null]}`}, {"x", ``, ``},
		{sampling, `{"messages":[null,{"a":1},null]}`, `{"messages":[{"a":1}]}`}, {sampling, `{"messages":[{}],"b":null}`, `{"b":null,"messages":[{}]}`}, {sampling, `{"messages":1,"b":null}`, `{"messages":1,"b":null}`}, {sampling, `[null]`, `[null]`}, {sampling, `{"messages":[{}]}`, `{"messages":[{}]}`},
	} {
		require.Equal(t, c.want, string(sound(c.method, json.RawMessage(c.params))), "%+v", c)
	}
	for result, want := range map[string]string{
		`{}`: `{}`, `{"a":null}`: `{"a":null}`, `{"inputRequests":null}`: `{"inputRequests":null}`, `{"inputRequests":{"a":null}}`: `{"inputRequests":{}}`, `{"inputRequests":{"a":{"method":"x","params":null}}}`: `{"inputRequests":{"a":{"method":"x","params":{}}}}`,
		`{"inputRequests":{"a":{"method":1,"params":null}}}`: `{"inputRequests":{"a":{"method":1,"params":null}}}`, `{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[null]}}}}`: `{"inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[]}}}}`,
		`[null]`: `[null]`, `{"inputRequests":[null]}`: `{"inputRequests":[null]}`,
	} {
		require.Equal(t, want, string(answerable(json.RawMessage(result))), result)
	}
}

// Numbers that the SDK may round stay as they are written: the content is hidden from it, and the
// schemas of tools are added to them.
func TestContentIsHiddenFromTheSDK(t *testing.T) {
	const key = `"ponte-go.dev/verbatim"`
	for result, want := range map[string]string{
		`{}`: `{}`, `{"structuredContent":null}`: `{"structuredContent":null}`, `{"structuredContent":{"a":1}}`: `{"structuredContent":{` + key + `:"{\"a\":1}"}}`, `{"structuredContent":1.50}`: `{"structuredContent":{` + key + `:"1.50"}}`,
		`{"a":"structuredContent"}`: `{"a":"structuredContent"}`, `["structuredContent"]`: `["structuredContent"]`, `{"structuredContent":`: `{"structuredContent":`,
		`{"tools":[{"inputSchema":{"a":12345}}]}`:                            `{"tools":[{"inputSchema":{"a":12345}}]}`,
		`{"tools":[{"inputSchema":{"a":1.5}},{"inputSchema":{}}]}`:           `{"tools":[{"_meta":{` + key + `:{"inputSchema":"{\"a\":1.5}"}},"inputSchema":{"a":1.5}},{"inputSchema":{}}]}`,
		`{"tools":[{"inputSchema":{"a":1234567890123456},"_meta":{"x":1}}]}`: `{"tools":[{"_meta":{` + key + `:{"inputSchema":"{\"a\":1234567890123456}"},"x":1},"inputSchema":{"a":1234567890123456}}]}`,
		`{"tools":[{"inputSchema":{},"outputSchema":{"a":1e5}}]}`:            `{"tools":[{"_meta":{` + key + `:{"outputSchema":"{\"a\":1e5}"}},"inputSchema":{},"outputSchema":{"a":1e5}}]}`,
		`{"tools":[{"inputSchema":{"a":1.5},"_meta":1}]}`:                    `{"tools":[{"_meta":1,"inputSchema":{"a":1.5}}]}`, `{"tools":[{"inputSchema":{"a":1.5},"_meta":null}]}`: `{"tools":[{"_meta":null,"inputSchema":{"a":1.5}}]}`, `{"tools":{"inputSchema":1.5}}`: `{"tools":{"inputSchema":1.5}}`,
	} {
		got := string(verbatim([]byte(result)))
		if strings.HasSuffix(result, ":") {
			require.Equal(t, want, got)
			continue
		}
		require.JSONEq(t, want, got, result)
	}
	for _, c := range []struct {
		content any
		want    string
	}{
		{nil, ""}, {map[string]any{"a": 1}, `{"a":1}`}, {map[string]any{rawKey: `{"a":1.50}`}, `{"a":1.50}`}, {map[string]any{rawKey: `{`}, ""}, {map[string]any{rawKey: "null"}, ""}, {map[string]any{rawKey: 1}, `{"ponte-go.dev/verbatim":1}`},
		{map[string]any{rawKey: "1", "b": 2}, `{"b":2,"ponte-go.dev/verbatim":"1"}`}, {"<a>", `"<a>"`}, {func() {}, ""},
	} {
		require.Equal(t, c.want, string(structured(&mcp.CallToolResult{StructuredContent: c.content})), "%v", c.content)
	}
	tool := &mcp.Tool{Meta: mcp.Meta{rawKey: map[string]any{"inputSchema": `{"a":1.50}`, "outputSchema": `{`}}}
	require.Equal(t, map[string]any{"a": json.Number("1.50")}, verbatimSchema(tool, "inputSchema", 1))
	require.Equal(t, 1, verbatimSchema(tool, "outputSchema", 1))
	require.Equal(t, 1, verbatimSchema(tool, "other", 1))
	require.Equal(t, 1, verbatimSchema(&mcp.Tool{}, "inputSchema", 1))
}

// What a server's request to the model has is sent, and shown to people.
func TestRequestsToTheModel(t *testing.T) {
	text := func(role mcp.Role, text string) *mcp.SamplingMessage {
		return &mcp.SamplingMessage{Role: role, Content: &mcp.TextContent{Text: text}}
	}
	req, shown, err := sampleRequest(&mcp.CreateMessageParams{
		SystemPrompt: "be brief", MaxTokens: 1 << 40, StopSequences: []string{"x"}, Temperature: 0.5,
		Messages: []*mcp.SamplingMessage{
			text("user", "hello"), text("assistant", "hi"),
			{Role: "assistant", Content: &mcp.ImageContent{MIMEType: "image/PNG", Data: []byte("i")}}, {Role: "user", Content: &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("a")}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, "[instructions] be brief\n[user] hello\n[assistant] hi\n[assistant] (an image)\n[user] (audio)", shown)
	half := 0.5
	require.Equal(t, &model.Request{
		Instructions: "be brief", Settings: &model.Settings{MaxTokens: 1 << 30, Stop: []string{"x"}, Temperature: &half},
		Messages: []*model.Message{
			{Kind: model.KindRequest, Parts: []model.Part{model.User("hello")}}, {Kind: model.KindResponse, Parts: []model.Part{model.Text("hi")}},
			{Kind: model.KindResponse, Parts: []model.Part{model.Media("image/png", []byte("i"))}}, {Kind: model.KindRequest, Parts: []model.Part{model.Media("audio/wav", []byte("a"))}},
		},
	}, req)
	req, shown, err = sampleRequest(&mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{text("user", "hello")}})
	require.NoError(t, err)
	require.Equal(t, "\n[user] hello", shown)
	require.Equal(t, &model.Settings{MaxTokens: 5}, req.Settings)
	for want, p := range map[string]*mcp.CreateMessageParams{
		"the last message must be the user's":   {Messages: []*mcp.SamplingMessage{text("user", "hello"), text("assistant", "hi")}},
		"this kind of content is not supported": {Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.ResourceLink{}}}},
	} {
		_, _, err := sampleRequest(p)
		require.EqualError(t, err, want)
	}
	_, _, err = sampleRequest(&mcp.CreateMessageParams{})
	require.EqualError(t, err, "the last message must be the user's")
}

// Questions of servers say who asks. Forms and addresses are bounded, and shown as they are.
func TestQuestionsOfServers(t *testing.T) {
	s := &Server{config: &Config{Name: "s", Limits: Limits{Schema: 120}}}
	said := func(text string) string { return "The MCP server \"s\" asks:\n" + text }
	for i, c := range []struct {
		params mcp.ElicitParams
		want   toolset.Question
		err    string
	}{
		{mcp.ElicitParams{Message: "a\n\u202eb"}, toolset.Question{Message: said("a\n\\u202eb"), Schema: json.RawMessage(`{"properties":{},"type":"object"}`)}, ""},
		{mcp.ElicitParams{Message: strings.Repeat("m", 4001)}, toolset.Question{Message: said(strings.Repeat("m", 4000) + "…"), Schema: json.RawMessage(`{"properties":{},"type":"object"}`)}, ""},
		{mcp.ElicitParams{URL: "https://a.test/x", ElicitationID: strings.Repeat("i", 201)}, toolset.Question{Message: said(""), URL: "https://a.test/x", ID: strings.Repeat("i", 200)}, ""},
		{mcp.ElicitParams{URL: "http://a.test/x", ElicitationID: "i"}, toolset.Question{Message: said(""), URL: "http://a.test/x", ID: "i"}, ""},
		{mcp.ElicitParams{URL: "ftp://a.test/x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https:///x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://u@a.test/x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://a.test/\u202e"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{URL: "https://a.test:x"}, toolset.Question{}, "the address is not a plain web address"},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"title": "a\n", "x": "a\n", "enumNames": []any{"b\n"}, "enum": []any{"b\n"}}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"enum":["b\n"],"enumNames":["b\\n"],"title":"a\\n","x":"a\n"}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"p": map[string]any{"description": "\x01", "title": map[string]any{"title": "\x02"}}}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"p":{"description":"\\u0001","title":{"title":"\\u0002"}}}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"x": strings.Repeat("x", 112)}}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"x":"` + strings.Repeat("x", 112) + `"}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: map[string]any{"x": strings.Repeat("x", 113)}}, toolset.Question{}, "the form is too large"},
		{mcp.ElicitParams{RequestedSchema: nested(8)}, toolset.Question{Message: said(""), Schema: json.RawMessage(`{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}`)}, ""},
		{mcp.ElicitParams{RequestedSchema: nested(9)}, toolset.Question{}, "the form is too deep"},
	} {
		q, err := s.question(&c.params)
		if c.err != "" {
			require.EqualError(t, err, c.err, i)
			continue
		}
		require.NoError(t, err, i)
		require.Equal(t, c.want, q, i)
	}
}

func nested(n int) map[string]any {
	if n == 1 {
		return map[string]any{}
	}
	return map[string]any{"a": nested(n - 1)}
}

// A request of a server belongs to the only run whose calls are in progress.
func TestRequestsBelongToARun(t *testing.T) {
	run := func(token, id string) *flight {
		return &flight{caller: caller{info: &toolset.RunInfo{RunID: id}}, token: token}
	}
	for name, c := range map[string]struct {
		flights   []*flight
		abandoned []string
		want      string
	}{
		"none":                   {nil, nil, "no tool call is in progress that the request could belong to"},
		"one":                    {[]*flight{run("5", "a")}, nil, ""},
		"several of a run":       {[]*flight{run("7", "a"), run("5", "a"), run("6", "a")}, nil, ""},
		"several runs":           {[]*flight{run("5", "a"), run("6", "b")}, nil, "several runs use this connection, and it is not known which one the request belongs to"},
		"the same was cancelled": {[]*flight{run("5", "a")}, []string{"a"}, ""},
		"another was cancelled":  {[]*flight{run("5", "a")}, []string{"a", "b"}, "a call of another run was cancelled before, and it is not known which one the request belongs to"},
	} {
		l := &link{flights: map[string]*flight{}, abandoned: map[string]struct{}{}}
		for _, f := range c.flights {
			l.flights[f.token] = f
		}
		for _, id := range c.abandoned {
			l.abandoned[id] = struct{}{}
		}
		f, err := l.asking(context.Background())
		if c.want != "" {
			require.EqualError(t, err, c.want, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, "5", f.token, name)
		own := run("9", "z")
		f, err = l.asking(context.WithValue(context.Background(), flightKey{}, own))
		require.NoError(t, err)
		require.Same(t, own, f, "the context says it")
	}
	l := &link{flights: map[string]*flight{}, server: &Server{config: &Config{Limits: Limits{Questions: 2}}}}
	f := l.depart(t.Context(), caller{info: &toolset.RunInfo{RunID: "a"}})
	require.Equal(t, "1", f.token)
	require.Same(t, f, l.flights["1"])
	_, _, _, err := l.turn(t.Context())
	require.ErrorContains(t, err, "refused: ")
	for range 2 {
		require.NoError(t, f.enter())
		f.work.Done()
	}
	require.EqualError(t, f.enter(), "more than 2 requests in one call")
	f.arrive(true)
	require.EqualError(t, f.enter(), "the call has ended")
	require.Empty(t, l.flights)
	require.Nil(t, l.abandoned)
	require.Error(t, f.ctx.Err())
	f = l.depart(t.Context(), caller{info: &toolset.RunInfo{RunID: "a"}})
	require.Equal(t, "2", f.token)
	f.arrive(false)
	require.Contains(t, l.abandoned, "a")
}

// Attempts to connect come later each time, up to 30 seconds.
func TestDelaysBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
	synctest.Test(t, func(t *testing.T) {
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

// Errors of a call say whether it was made, and what is known of it.
func TestErrorsOfCallsAreTold(t *testing.T) {
	s := &Server{config: &Config{Name: "s", Transport: HTTP{URL: "https://a.test", Headers: map[string]string{"A": "Bearer topsecret"}}}}
	ended, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cancel(because)
	require.Equal(t, because, s.unavailable(ended, errors.New("x")))
	require.EqualError(t, s.unavailable(t.Context(), errors.New("no topsecret\nhere")), `failed: The MCP server "s" is not available now, so nothing was done: no …\nhere`)
	require.Equal(t, because, s.failure(ended, nil, errors.New("x")))
	long := strings.Repeat("m", 5000)
	require.EqualError(t, s.failure(t.Context(), nil, &jsonrpc.Error{Code: 1, Message: long}),
		`failed: The MCP server "s" refused the call: `+long[:4000]+"\n[The rest is left out: 4000 of 5000 bytes are shown.]")
	require.EqualError(t, s.failure(t.Context(), nil, &jsonrpc.Error{Code: mcp.CodeURLElicitationRequired, Message: long}),
		`failed: The MCP server "s" needs the user to visit a web page first: `+long[:1000]+"\n[The rest is left out: 1000 of 5000 bytes are shown.]")
	require.True(t, answered(fmt.Errorf("x: %w", &jsonrpc.Error{})))
	require.False(t, answered(because))
}

// A server's state is what it is now, with an error of the last attempt.
func TestStatesOfServers(t *testing.T) {
	because := errors.New("because")
	config := &Config{Name: "s", Transport: Command{Path: "x"}}
	now := time.Now()
	for want, s := range map[State]*Server{
		StateIdle: {}, StateClosed: {closed: true, err: because}, StateConnecting: {attempt: &attempt{begun: now.Add(-time.Hour)}, err: because}, StateFailed: {attempt: &attempt{begun: now.Add(time.Hour)}, err: because},
		StateReady: {link: &link{gone: make(chan struct{})}, err: because},
	} {
		s.config = config
		st := s.Status()
		require.Equal(t, want, st.State)
		require.Equal(t, "s", st.Server)
		require.Equal(t, s.err != nil && want != StateReady, st.Err != nil, want)
		if st.Err != nil {
			require.EqualError(t, st.Err, "because")
			require.ErrorIs(t, st.Err, because)
		}
	}
	s := &Server{config: config, logger: slog.New(slog.DiscardHandler), known: &catalog{tools: make([]*Definition, 3), problems: []Problem{{Tool: "p"}}}}
	d := &Definition{Server: "s", Name: "t"}
	other := hashed("n", "s\x00t")
	for range 2 {
		require.Equal(t, other, s.yield(d, "n"))
	}
	st := s.Status()
	require.Equal(t, 3, st.Tools)
	require.Len(t, st.Problems, 2)
	require.Equal(t, fmt.Sprintf(`tool "t": the name "n" is taken or too long: it is offered as %q`, other), st.Problems[1].String())
	for i := range 101 {
		s.yield(d, fmt.Sprint(i))
	}
	require.Len(t, s.Status().Problems, 101, "a hundred are kept")
	require.Equal(t, "s_", (&Server{config: &Config{Name: "s"}}).prefix())
	require.Empty(t, (&Server{config: &Config{Name: "s", Unprefixed: true}}).prefix())
}

// Bodies end with an error at their limit; events have none as a whole.
func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		left int64
		want string
		err  error
	}{{-1, "12345", nil}, {6, "12345", nil}, {5, "12345", errTooLarge}, {3, "123", errTooLarge}, {0, "", errTooLarge}} {
		ended := 0
		b := &boundedBody{ReadCloser: io.NopCloser(strings.NewReader("12345")), left: c.left, end: func() { ended++ }}
		data, err := io.ReadAll(b)
		require.Equal(t, c.err, err, c.left)
		require.Equal(t, c.want, string(data))
		require.NoError(t, b.Close())
		require.Equal(t, 1, ended)
	}
	for header, events := range map[string]bool{"text/event-stream": true, " Text/Event-Stream ; charset=x": true, "text/event": false, "": false} {
		require.Equal(t, events, isEvents(&http.Response{Header: http.Header{"Content-Type": {header}}}), header)
	}
}

// Addresses and headers are checked before they are used, and shown without secrets.
func TestAddressesOfServers(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.test/x": "", "http://a.test": "", "ftp://a.test": "the URL must begin with http:// or https://", "https:///x": "the URL must begin with http:// or https://", "a.test": "the URL must begin with http:// or https://", "": "the URL must begin with http:// or https://",
		"https://u@a.test": "the URL must not have a user: set a header", "https://a.test:x": "the URL is not valid",
	} {
		for _, check := range []error{HTTP{URL: address}.check(), SSE{URL: address}.check()} {
			if want == "" {
				require.NoError(t, check, address)
			} else {
				require.EqualError(t, check, want, address)
			}
		}
	}
	require.EqualError(t, HTTP{URL: "https://a.test", Headers: map[string]string{"A": "b", "B": "x\n"}}.check(), `the header "B" is not valid; does its value end in a newline?`)
	for address, want := range map[string]string{"https://u:p@a.test/x?key=1#f": "https://a.test/x", "https://a.test:x": "invalid address", "https://a.test/" + strings.Repeat("x", 200): "https://a.test/" + strings.Repeat("x", 185) + "…"} {
		require.Equal(t, want, HTTP{URL: address}.String(), address)
		require.Equal(t, want, SSE{URL: address}.String(), address)
	}
	require.ElementsMatch(t, []string{"Bearer token", "token", "plain", "a=1&b=2", "1", "2"}, HTTP{URL: "https://a.test?a=1&b=2", Headers: map[string]string{"A": "Bearer token", "B": "plain"}}.secrets())
	require.Empty(t, HTTP{URL: "https://a.test"}.secrets())
	for want, c := range map[string]Command{
		"the command has no Path": {}, "the command's Grace must not be negative": {Path: "x", Grace: -1}, `the command's Env has an entry without "NAME="`: {Path: "x", Env: []string{"A=b", "c"}},
	} {
		require.EqualError(t, c.check(), want)
	}
	require.EqualError(t, Command{Path: "x", Env: []string{"=c"}}.check(), `the command's Env has an entry without "NAME="`)
	require.NoError(t, Command{Path: "x", Env: []string{"A="}}.check())
	for format, want := range map[string]string{"%v": "prog", "%s": "prog", "%d": "prog", "%+v": "prog", "%#v": `mcptoolset.Command{Path: "prog", …}`, "%#s": "prog"} {
		require.Equal(t, want, fmt.Sprintf(format, Command{Path: "prog", Args: []string{"x"}}), format)
	}
	require.Equal(t, `mcptoolset.HTTP{URL: "https://a.test", …}`, fmt.Sprintf("%#v", HTTP{URL: "https://a.test"}))
	require.Equal(t, `mcptoolset.SSE{URL: "https://a.test", …}`, fmt.Sprintf("%#v", SSE{URL: "https://a.test"}))
}

// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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

func nested(n int) map[string]any {
	if n == 1 {
		return map[string]any{}
	}
	return map[string]any{"a": nested(n - 1)}
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

// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// declared calls a tool with an output schema, and returns the text and the structured content that the application gets.
func declared(t *testing.T, schema string, res *mcp.CallToolResult) (string, string) {
	t.Helper()
	f := newFake(nil)
	f.AddTool(&mcp.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(schema)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
	got, err := call(t, serve(t, f), nil, "r", "s_get", `{}`)
	require.NoError(t, err)
	var meta mcptoolset.Meta
	require.NoError(t, json.Unmarshal(got.Meta, &meta))
	return got.Text, string(meta.Structured)
}

func structured(v string) *mcp.CallToolResult {
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(v)}
}

func TestStructuredContentIsCheckedAgainstTheOutputSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"$ref":"#/$defs/count"}},"required":["n"],"$defs":{"count":{"type":"integer","minimum":1}}}`
	text, content := declared(t, schema, structured(`{"n":1}`))
	require.Equal(t, `{"n":1}`, text)
	require.Equal(t, `{"n":1}`, content)
	for _, wrong := range []string{`{"n":0}`, `{"n":"one"}`, `{}`} {
		text, content = declared(t, schema, structured(wrong))
		require.True(t, strings.HasPrefix(text, "[Do not rely on this result: it does not have the form that the server declares: "), text)
		require.True(t, strings.HasSuffix(text, "]\n"+wrong), text)
		require.Empty(t, content, "the application does not get it")
	}
}

// TestHostileOutputSchemasAreNotFollowed is about schemas by which a validator would end the process or work for ever.
func TestHostileOutputSchemasAreNotFollowed(t *testing.T) {
	doubling := []string{`"d0":{"type":"integer"}`}
	for i := range 30 {
		doubling = append(doubling, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]}`, i+1, i))
	}
	for name, schema := range map[string]string{
		"itself":                     `{"type":"object","$ref":"#"}`,
		"a circle":                   `{"type":"object","allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`,
		"a circle under properties":  `{"type":"object","properties":{"$defs":{"$ref":"#/properties/$defs"},"definitions":{"$ref":"#/properties/definitions"}}}`,
		"capitals":                   `{"type":"object","$REF":"#"}`,
		"an id":                      `{"type":"object","$id":"https://example.com/a","allOf":[{"$ref":"https://example.com/a"}]}`,
		"an anchor":                  `{"type":"object","$anchor":"a","allOf":[{"$ref":"#a"}]}`,
		"a dynamic reference":        `{"type":"object","$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`,
		"an escaped reference":       `{"type":"object","allOf":[{"$ref":"#/%24defs/a"}],"$defs":{"a":{"$ref":"#/%24defs/a"}}}`,
		"doubling":                   `{"type":"object","allOf":[{"$ref":"#/$defs/d30"}],"$defs":{` + strings.Join(doubling, ",") + `}}`,
		"more than a thousand nodes": `{"type":"object","required":["missing"],"enum":[` + strings.Repeat("1,", 2000) + `1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, content := declared(t, schema, structured(`{"$defs":{},"definitions":{}}`))
			require.NotEmpty(t, content)
		})
	}
}

// A pattern of 800 bytes compiles to tens of megabytes. A schema with such patterns is very large: it is not checked.
func TestSchemasWithLargePatternsAreNotChecked(t *testing.T) {
	large := "^(?:" + strings.Repeat("ab", 400) + "){1000}$"
	wrong := &mcp.CallToolResult{StructuredContent: map[string]any{"a": "x"}}
	for _, c := range []struct {
		schema  string
		checked bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}$"}}}`, true},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"patternProperties":{"^b{2,9}$":{}}}`, true},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"` + large + `"}}}`, false},
		{`{"type":"object","properties":{"a":{"type":"string","Pattern":"` + large + `"}}}`, false},
		{`{"type":"object","patternProperties":{"` + large + `":{}},"properties":{"a":{"type":"integer"}}}`, false},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"` + strings.Repeat("y", 1001) + `"}}}`, false},
	} {
		text, structured := declared(t, c.schema, wrong)
		require.Equal(t, c.checked, strings.HasPrefix(text, "[Do not rely on this result"), c.schema)
		require.Equal(t, c.checked, structured == "", c.schema)
	}
}

// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
)

func TestFlatten(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"what the plugin knows": {
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["a"]}`,
		},
		"references": {
			`{"$defs":{"c":{"type":"string","description":"a city"}},"type":"object","properties":{"a":{"$ref":"#/$defs/c"},"b":{"$ref":"#/$defs/c","description":"where to"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"a city"},"b":{"type":"string","description":"where to"}}}`,
		},
		"null":                         {`{"type":["null","string"],"description":"d"}`, `{"type":"string","description":"d (may be null)"}`},
		"types":                        {`{"type":["integer","string"]}`, `{"type":"integer","description":"(or string)"}`},
		"any of":                       {`{"anyOf":[{"type":"null"},{"type":"integer","minimum":1}]}`, `{"type":"integer","minimum":1,"description":"(may be null)"}`},
		"one of":                       {`{"oneOf":[{"type":"integer"},{"type":"string"}]}`, `{"type":"integer","description":"(or {\"type\":\"string\"})"}`},
		"all of":                       {`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		"inheritance":                  {`{"$defs":{"a":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"b":{"properties":{"b":{"type":"string"}},"required":["b"]}},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`},
		"a base that is also a member": {`{"$defs":{"a":{"type":"object","properties":{"n":{"type":"integer"}}}},"allOf":[{"$ref":"#/$defs/a"}],"properties":{"of":{"$ref":"#/$defs/a"}}}`, `{"type":"object","properties":{"n":{"type":"integer"},"of":{"type":"object","properties":{"n":{"type":"integer"}}}}}`},
		"required twice, or not there": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","a","b",1]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		"a map":                        {`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"type":"object","description":"(other members: {\"type\":\"integer\"})"}`},
		"a tuple":                      {`{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"maxItems":2,"uniqueItems":true}`, `{"type":"array","items":{"type":"integer"},"maxItems":2,"description":"(prefixItems: [{\"type\":\"integer\"},{\"type\":\"string\"}], items must be unique)"}`},
		"formats":                      {`{"type":"object","properties":{"u":{"type":"string","format":"uri"},"t":{"type":"string","format":"date-time"},"f":{"type":"number","format":"float"}}}`, `{"type":"object","properties":{"u":{"type":"string","description":"(format: uri)"},"t":{"type":"string","format":"date-time"},"f":{"type":"number","format":"float"}}}`},
		"bounds of another type":       {`{"type":"string","minimum":1,"minItems":1}`, `{"type":"string"}`},
		"values with null":             {`{"enum":["a",null]}`, `{"type":"string","enum":["a"],"description":"(may be null)"}`},
		"values without a type":        {`{"type":"object","properties":{"n":{"enum":[null,1]},"f":{"const":1.5},"b":{"const":true}}}`, `{"type":"object","properties":{"n":{"type":"integer","description":"(one of [null,1])"},"f":{"type":"number","description":"(one of [1.5])"},"b":{"type":"boolean","description":"(one of [true])"}}}`},
		"one of several values":        {`{"$defs":{"b":{"const":"b"}},"oneOf":[{"const":"a","description":"the first"},{"$ref":"#/$defs/b"},{"const":null}]}`, `{"type":"string","enum":["a","b"],"description":"(may be null, a: the first)"}`},
		"values or something else":     {`{"anyOf":[{"enum":["auto"]},{"type":"string","pattern":"^[0-9]+$"}]}`, `{"type":"string","description":"(one of [\"auto\"], or {\"pattern\":\"^[0-9]+$\",\"type\":\"string\"})"}`},
		"OpenAPI":                      {`{"type":"integer","nullable":true,"default":0}`, `{"type":"integer","description":"(may be null, default: 0)"}`},
		"a tree as another choice":     {`{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, `{"type":"string","description":"(or {\"$ref\":\"#\"})"}`},
		"nothing but null":             {`{"anyOf":[{"type":"null"}]}`, `{"type":"string","description":"(may be null)"}`},
		"all of with null":             {`{"allOf":[{"type":"null"},{"type":"object","properties":7},{"properties":{"a":{}}}]}`, `{"type":"object"}`},
		"odd values":                   {`{"type":"matrix","title":1,"format":2,"description":3,"required":true,"minItems":"x","maximum":null}`, `{"type":"string"}`},
		"no type":                      {`{"properties":{"a":true,"b":{},"c":{"items":{"const":"x"}}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"any JSON value"},"b":{"type":"string","description":"any JSON value"},"c":{"type":"array","items":{"type":"string","enum":["x"]}}}}`},
		"no elements":                  {`{"type":"array"}`, `{"type":"array","items":{"type":"string","description":"any JSON value"}}`},
		"other rules":                  {`{"type":"integer","enum":[1,2],"multipleOf":2}`, `{"type":"integer","description":"(one of [1,2], multipleOf: 2)"}`},
	} {
		decoded, err := genkitmodel.Decode([]byte(test.schema))
		require.NoError(t, err, name)
		got, err := googledialect.Flatten(decoded.(map[string]any))
		require.NoError(t, err, name)
		text, err := json.Marshal(got)
		require.NoError(t, err, name)
		require.JSONEq(t, test.want, string(text), name)
	}
	for says, schema := range map[string]string{
		"a schema that refers to itself by #/$defs/n: not supported by the model": `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`,
		`"#/$defs/none" leads to no schema`:                                       `{"$ref":"#/$defs/none"}`,
		`"https://example.com/schema" leads to`:                                   `{"$ref":"https://example.com/schema"}`,
		"a schema that refers to itself by #: not":                                `{"type":"object","properties":{"self":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`,
	} {
		var decoded map[string]any
		require.NoError(t, json.Unmarshal([]byte(schema), &decoded))
		_, err := googledialect.Flatten(decoded)
		require.ErrorContains(t, err, says)
	}
}

func TestFlattenIsLimited(t *testing.T) {
	repeated := func(n int, node func(ref map[string]any) map[string]any, leaf map[string]any) map[string]any {
		defs := map[string]any{"d0": leaf}
		for i := 1; i <= n; i++ {
			defs[fmt.Sprintf("d%d", i)] = node(map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i-1)})
		}
		return map[string]any{"$defs": defs, "$ref": fmt.Sprintf("#/$defs/d%d", n)}
	}
	twice := func(ref map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": map[string]any{"left": ref, "right": ref}}
	}
	leaf := map[string]any{"type": "string"}
	many := make([]any, 100_000)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for name, test := range map[string]struct {
		schema  map[string]any
		refused bool
	}{
		"references":       {repeated(40, twice, leaf), true},
		"some":             {repeated(9, twice, leaf), false},
		"a long chain":     {repeated(20_000, func(ref map[string]any) map[string]any { return ref }, leaf), true},
		"nesting":          {repeated(100, func(ref map[string]any) map[string]any { return map[string]any{"type": "array", "items": ref} }, leaf), true},
		"choices":          {repeated(40, func(ref map[string]any) map[string]any { return map[string]any{"allOf": []any{ref, twice(ref)}} }, leaf), true},
		"text":             {repeated(9, twice, map[string]any{"description": strings.Repeat("x", 10_000)}), true},
		"values":           {repeated(9, twice, map[string]any{"enum": many}), true},
		"quoted values":    {repeated(9, twice, map[string]any{"type": "integer", "enum": many}), true},
		"quoted default":   {repeated(9, twice, map[string]any{"default": many}), true},
		"alternatives":     {repeated(9, twice, map[string]any{"anyOf": many}), true},
		"what is required": {repeated(9, twice, map[string]any{"required": many, "allOf": []any{map[string]any{"required": many}}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := googledialect.Flatten(test.schema)
			if !test.refused {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, model.ErrUnsupported)
			require.ErrorContains(t, err, "too large after resolving references")
		})
	}
}

func TestToolWithoutArgumentsHasNoSchema(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		_, _ = io.WriteString(w, `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`)
	}))
	t.Cleanup(server.Close)
	req := ask()
	req.Tools = []model.ToolDef{{Name: "now", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}, {Name: "here"}}
	_, err := open(t, server.URL, "m").Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Contains(t, sent, `"functionDeclarations":[{"name":"now"},{"name":"here"}]`)
}

// FuzzFlatten checks that the plugin accepts the output for any input.
func FuzzFlatten(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["null","array"],"items":true}}}`,
		`{"anyOf":[{"type":"null"},{"allOf":[{"$ref":"#"}]}]}`, `{"oneOf":[1,{"const":null}],"enum":["",2]}`, `{"$ref":"#/a~1b/~0"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		decoded, err := genkitmodel.Decode(text)
		schema, ok := decoded.(map[string]any)
		if err != nil || !ok {
			return // not a schema
		}
		out, err := googledialect.Flatten(schema)
		if err == nil {
			wellFormed(t, out)
		}
	})
}

// wellFormed checks what the plugin assumes about a schema, and what the API accepts.
func wellFormed(t *testing.T, schema map[string]any) {
	t.Helper()
	require.Contains(t, []string{"string", "number", "integer", "boolean", "object", "array"}, schema["type"])
	for keyword, value := range schema {
		switch keyword {
		case "type", "description":
			require.IsType(t, "", value, keyword)
		case "format":
			require.Contains(t, []string{"date-time", "float", "double", "int32", "int64"}, value)
		case "minItems", "maxItems", "minimum", "maximum":
			require.Contains(t, []string{"int64", "float64"}, fmt.Sprintf("%T", value), keyword)
		case "enum":
			require.Equal(t, "string", schema["type"])
			for _, v := range value.([]any) {
				require.NotEmpty(t, v.(string))
			}
		case "items":
			require.Equal(t, "array", schema["type"])
			wellFormed(t, value.(map[string]any))
		case "properties":
			require.Equal(t, "object", schema["type"])
			for _, member := range value.(map[string]any) {
				wellFormed(t, member.(map[string]any))
			}
		case "required":
			for _, name := range value.([]any) {
				require.Contains(t, schema["properties"], name)
			}
		default:
			require.Fail(t, "the plugin does not know "+keyword)
		}
	}
	if schema["type"] == "array" {
		require.Contains(t, schema, "items")
	}
}

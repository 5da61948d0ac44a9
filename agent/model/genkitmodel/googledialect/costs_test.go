// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/googledialect"
)

// schemas have every keyword that is kept, described or resolved, and values of no use for each.
var schemas = []string{
	`{}`, `{"type":"string"}`, `{"type":"number"}`, `{"type":"integer"}`, `{"type":"boolean"}`, `{"type":"null"}`, `{"type":"object"}`, `{"type":"array"}`, `{"type":"odd"}`, `{"type":7}`,
	`{"type":["string","null"]}`, `{"type":["null"]}`, `{"type":[]}`, `{"type":["odd","integer","string","odd"]}`, `{"type":[7,"array"]}`, `{"type":["null","null","string"]}`,
	`{"description":"d"}`, `{"description":""}`, `{"description":7}`, `{"description":"d","default":1}`, `{"title":"t","examples":[1],"$comment":"c"}`,
	`{"properties":{}}`, `{"type":"object","properties":7}`, `{"type":"object","properties":{"a":7,"b":null,"c":{},"d":{"type":"string"}}}`, `{"type":"string","properties":{"a":{}}}`,
	`{"items":{"type":"integer"}}`, `{"items":true}`, `{"type":"array","items":[]}`, `{"type":"array","prefixItems":[]}`, `{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `{"prefixItems":[true]}`, `{"prefixItems":7}`,
	`{"const":"a"}`, `{"const":""}`, `{"const":1}`, `{"const":18446744073709551615}`, `{"const":1.5}`, `{"const":true}`, `{"const":null}`, `{"const":[1]}`, `{"const":{"a":1}}`,
	`{"enum":["a","b"]}`, `{"enum":["a",""]}`, `{"enum":["a",null]}`, `{"enum":[null]}`, `{"enum":[null,null,2]}`, `{"enum":[]}`, `{"enum":7}`, `{"enum":[1,"a"]}`, `{"enum":[true,false]}`, `{"type":"integer","enum":["a"]}`, `{"type":"string","enum":[1]}`, `{"type":["string","null"],"enum":["a",null]}`,
	`{"type":"string","format":"date-time"}`, `{"type":"string","format":"float"}`, `{"type":"number","format":"float"}`, `{"type":"number","format":"double"}`, `{"type":"integer","format":"int32"}`, `{"type":"integer","format":"int64"}`, `{"type":"integer","format":"float"}`, `{"type":"boolean","format":"x"}`, `{"type":"string","format":""}`,
	`{"type":"array","minItems":1,"maxItems":2,"minimum":3,"items":{}}`, `{"type":"number","minimum":-1.5,"maximum":2,"minItems":1}`, `{"type":"integer","minimum":0,"maximum":"x"}`, `{"type":"string","minimum":1,"minItems":1}`,
	`{"type":"object","properties":{"a":{},"b":{}},"required":["a","c","a",7,"b"]}`, `{"type":"object","required":["a"]}`, `{"type":"object","properties":{"a":{}},"required":"a"}`, `{"type":"object","properties":{"a":{}},"required":[]}`,
	`{"nullable":true}`, `{"nullable":false}`, `{"pattern":"p","minLength":1,"maxLength":2}`, `{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2,"multipleOf":3}`,
	`{"type":"object","minProperties":1,"maxProperties":2,"patternProperties":{"a":{}},"not":{"type":"string"}}`, `{"type":"array","uniqueItems":true}`, `{"type":"array","uniqueItems":false}`,
	`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":{}}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"default":"<&>"}`,
	`{"anyOf":[]}`, `{"anyOf":7,"type":"integer"}`, `{"anyOf":[7]}`, `{"anyOf":[{"type":"integer"}]}`, `{"anyOf":[{"type":"null"},{"type":"integer"},{"type":"string"}],"description":"d"}`, `{"anyOf":[{"const":"a","description":"A"},{"enum":["b","c"],"description":"B"},{"const":1,"description":"one"}]}`,
	`{"anyOf":[{"enum":["a"]},{"type":"string"}]}`, `{"anyOf":[{"type":"string"},{"const":"a"}],"const":"b"}`, `{"anyOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"object"}],"properties":{"b":{"type":"integer"}},"required":["b"]}`,
	`{"oneOf":[{"type":"null"},{"const":null}]}`, `{"oneOf":[{"type":"integer"}],"anyOf":[{"type":"string"}]}`, `{"allOf":[]}`, `{"allOf":[{"type":"integer"},{"minimum":1},{"minimum":2}],"maximum":3}`, `{"allOf":[{"type":"null"},{"const":"a"}]}`,
	`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"a":{"type":"integer"},"b":{}},"required":["b"]}],"properties":{"c":{}},"required":["c"]}`, `{"allOf":[{"properties":7,"required":7},{"properties":{"a":{}},"required":["a"]}]}`, `{"allOf":[{"properties":{"a":{}}}],"properties":7}`,
	`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer","description":"a"}}}`, `{"$ref":"#/$defs/a","description":"own","$defs":{"a":{"$ref":"#/$defs/b","minimum":1},"b":{"type":"integer","description":"b","minimum":2}}}`, `{"$ref":7,"type":"integer"}`, `{"$ref":"#/none"}`, `{"$ref":"other"}`, `{"$ref":"#"}`,
	`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"enum":["x"]}}}`, `{"type":"array","items":{"$ref":"#"}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/none"}}}}`,
	`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, `{"allOf":[{"$ref":"#/none"}]}`, `{"anyOf":[{"$ref":"#/none"}]}`, `{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"const":"a","description":"A"},"b":{"type":"null"}}}`,
	`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]},"b":{"properties":{"up":{"$ref":"#/$defs/a"}}}}}`,
	`{"default":"` + strings.Repeat("x", 498) + `"}`, `{"default":"` + strings.Repeat("x", 499) + `"}`,
}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	decoded, err := genkitmodel.Decode([]byte(text))
	require.NoError(t, err, text)
	return decoded.(map[string]any)
}

// price returns how many bytes less than 1 MiB of text are too many.
func price(flatten func(pad string) error) int {
	text := strings.Repeat("x", 1<<20+1)
	return 2048 - sort.Search(2049, func(n int) bool { return flatten(text[:1<<20-2048+n]) != nil })
}

// Each schema has one form, and a price: how much less text there may be beside it.
func TestFormsAndPricesOfSchemas(t *testing.T) {
	var told strings.Builder
	for _, text := range schemas {
		flat, err := googledialect.Flatten(decode(t, text))
		fmt.Fprintf(&told, "%s\n", text)
		if err != nil {
			require.Nil(t, flat)
			fmt.Fprintf(&told, "  error %s %t\n", err, errors.Is(err, model.ErrUnsupported))
			continue
		}
		again := decode(t, text)
		_, err = googledialect.Flatten(again)
		require.NoError(t, err)
		require.Equal(t, decode(t, text), again, "the schema itself is not changed")
		data, err := json.Marshal(flat)
		require.NoError(t, err)
		fmt.Fprintf(&told, "  %s\n", data)
		if strings.Contains(text, "$ref") {
			continue // it has one root
		}
		fmt.Fprintf(&told, "  costs %d\n", price(func(pad string) error {
			_, err := googledialect.Flatten(map[string]any{"type": "object", "properties": map[string]any{"a": decode(t, text), "pad": map[string]any{"type": "string", "description": pad}}})
			return err
		}))
	}
	golden(t, "schemas.txt", told.String())
}

// What is copied from a definition is paid for, too.
func TestPricesOfReferences(t *testing.T) {
	for _, test := range []struct {
		root string
		want int
	}{
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"pad":{"type":"string","description":""}},"$defs":{"a":{"type":"integer"}}}`, 11},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a","title":"t"},"pad":{"type":"string","description":""}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"integer"}}}`, 18},
		{`{"type":"object","properties":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"required":["x"]}]},"pad":{"type":"string","description":""}},"$defs":{"a":{"type":"object","properties":{"x":{}},"required":["y"]}}}`, 26},
	} {
		require.Equal(t, test.want, price(func(pad string) error {
			root := decode(t, test.root)
			root["properties"].(map[string]any)["pad"].(map[string]any)["description"] = pad
			_, err := googledialect.Flatten(root)
			return err
		}), test.root)
	}
}

// A tool without arguments has an empty schema, and every other tool the form of its own.
func TestSchemasOfTools(t *testing.T) {
	schema := googledialect.Dialect(geminimodel.GeminiAPI, "m").Schema
	for text, want := range map[string]string{
		`{"type":"object"}`: `{}`, `{"type":"object","properties":{},"description":"d"}`: `{}`, `{"properties":{"a":{"type":"string"}}}`: `{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"type":"string"}`: `{"type":"string"}`, `{}`: `{"type":"string"}`,
	} {
		out, err := schema(nil, decode(t, text))
		require.NoError(t, err)
		require.JSONEq(t, want, jsonOf(t, out), text)
	}
	out, err := schema(nil, decode(t, `{"type":"object","$ref":"#/none"}`))
	require.EqualError(t, err, `the reference "#/none" leads to no schema in this document`)
	require.Nil(t, out)
}

func TestListsOfTheSDK(t *testing.T) {
	a, b := map[string]any{"a": 1}, map[string]any{"b": 2}
	require.Equal(t, []map[string]any{a, b}, googledialect.Objects([]map[string]any{a, b}))
	require.Equal(t, []map[string]any{a, b}, googledialect.Objects([]any{a, 5, b, nil}))
	require.Nil(t, googledialect.Objects("text"))
	require.Nil(t, googledialect.Objects(nil))
}

func TestDepthOfSchemas(t *testing.T) {
	nested := func(n int) map[string]any {
		schema := map[string]any{"type": "string"}
		for range n {
			schema = map[string]any{"type": "array", "items": schema}
		}
		return schema
	}
	_, err := googledialect.Flatten(nested(64))
	require.NoError(t, err)
	_, err = googledialect.Flatten(nested(65))
	require.EqualError(t, err, strings.Repeat("items: ", 65)+"a schema that is too large after resolving references: not supported by the model")
	choices := func(n int) map[string]any {
		schema := map[string]any{"type": "string"}
		for range n {
			schema = map[string]any{"allOf": []any{schema}}
		}
		return schema
	}
	_, err = googledialect.Flatten(choices(64))
	require.NoError(t, err)
	_, err = googledialect.Flatten(choices(65))
	require.EqualError(t, err, "a schema that is too large after resolving references: not supported by the model")
}

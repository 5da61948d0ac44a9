// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// values are JSON values of all kinds, which differ in what keywords look at.
var values = []string{
	`null`, `true`, `false`, `0`, `1`, `-1`, `2`, `3`, `1.0`, `1.5`, `2.5`, `-2.5`, `10`, `0.1`, `0.3`, `1e2`, `100`, `-0`, `1e-3`,
	`""`, `"a"`, `"b"`, `"ab"`, `"abc"`, `"abcd"`, `"é"`, `"éé"`, `"1"`, `"a1"`, `"YQ=="`, `"YQ="`, `"x y"`,
	`[]`, `[1]`, `[1,1]`, `[1,1.0]`, `[1,2]`, `[2,1]`, `[1,2,3]`, `["a"]`, `["a",1]`, `[1,"a"]`, `[null]`, `[[1],[1]]`, `[[1],[2]]`, `[{"a":1},{"a":1}]`,
	`[{"a":1},{"a":2}]`, `[{"a":1},{"b":1}]`, `[{"a":1},{"a":1,"b":1}]`, `[1,"1"]`, `["1",1]`, `[1,[1]]`, `[[1],1]`, `[{"a":1},1]`, `[1,{"a":1}]`, `[0,-0]`, `[0,false]`, `[[1,2],[1]]`,
	`{}`, `{"a":1}`, `{"a":"a"}`, `{"b":1}`, `{"a":1,"b":1}`, `{"a":1,"b":"b"}`, `{"a":1,"b":1,"c":1}`, `{"abc":1}`, `{"a":null}`, `{"a":[1,2]}`, `{"a":{"a":1}}`, `{"a":{"a":"a"}}`,
}

// schemas have each keyword, with what it decides about.
var schemas = []string{
	`{}`, `true`, `false`, `{"type":"null"}`, `{"type":"boolean"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"string"}`, `{"type":"array"}`, `{"type":"object"}`,
	`{"type":["null","string"]}`, `{"type":["integer","array"]}`, `{"type":["object","boolean"]}`,
	`{"minimum":1}`, `{"maximum":1}`, `{"exclusiveMinimum":1}`, `{"exclusiveMaximum":1}`, `{"minimum":1,"maximum":2}`, `{"exclusiveMinimum":1,"exclusiveMaximum":3}`,
	`{"multipleOf":2}`, `{"multipleOf":0.5}`, `{"multipleOf":2,"minimum":3}`,
	`{"minLength":1}`, `{"maxLength":1}`, `{"minLength":2,"maxLength":3}`, `{"pattern":"^a"}`, `{"pattern":"b$"}`, `{"pattern":"[0-9]"}`,
	`{"minItems":1}`, `{"maxItems":1}`, `{"minItems":2,"maxItems":2}`, `{"uniqueItems":true}`, `{"items":{"type":"integer"}}`, `{"items":false}`, `{"items":{"minimum":2}}`,
	`{"prefixItems":[{"type":"integer"}]}`, `{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `{"prefixItems":[{"const":1},{"const":2}],"items":false}`,
	`{"minProperties":1}`, `{"maxProperties":1}`, `{"minProperties":2,"maxProperties":2}`, `{"required":["a"]}`, `{"required":["a","b"]}`,
	`{"properties":{"a":{"type":"integer"}}}`, `{"properties":{"a":{"type":"integer"}},"additionalProperties":false}`, `{"additionalProperties":{"type":"integer"}}`,
	`{"properties":{"a":true},"additionalProperties":{"type":"string"}}`, `{"properties":{"a":false}}`, `{"propertyNames":{"maxLength":1}}`, `{"propertyNames":{"const":"a"}}`, `{"propertyNames":false}`,
	`{"enum":[1,"a",null,[1],{"a":1}]}`, `{"const":1}`, `{"const":[1,2]}`, `{"const":{"a":1,"b":1}}`, `{"const":100}`, `{"const":false}`, `{"const":"1"}`, `{"const":0}`, `{"const":{"a":{"a":1}}}`,
	`{"allOf":[{"minimum":1},{"type":["number","null"]}]}`, `{"allOf":[{"minLength":2},{"maxLength":2}]}`, `{"allOf":[true,false]}`,
	`{"anyOf":[{"type":"null"},{"minimum":2}]}`, `{"anyOf":[{"const":1},{"const":2}]}`, `{"anyOf":[false]}`,
	`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"oneOf":[{"minItems":1},{"maxItems":1}]}`, `{"oneOf":[{"type":"array"},{"type":"array"},{"type":"null"}]}`,
	`{"not":{"type":"integer"}}`, `{"not":{"minLength":2}}`, `{"not":{}}`, `{"not":{"not":{"type":"string"}}}`,
	`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"type":"string"}}}`,
	`{"properties":{"a":{"$ref":"#"}},"type":["object","integer"]}`, `{"items":{"$ref":"#"},"type":["array","integer"]}`, `{"$ref":"#/$defs/none"}`,
	`{"minimum":0,"maximum":0}`, `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"minimum":2}}}}`,
}

// What this package takes for a value of a schema is one for a validator, too.
func TestValuesThatASchemaAccepts(t *testing.T) {
	accepted := 0
	for _, text := range schemas {
		d, err := parseSchema(json.RawMessage(text))
		require.NoError(t, err, text)
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal([]byte(text), &s), text)
		judge, err := s.Resolve(nil)
		if text == `{"$ref":"#/$defs/none"}` {
			require.Error(t, err)
		} else {
			require.NoError(t, err, text)
		}
		for _, value := range values {
			var v any
			require.NoError(t, json.Unmarshal([]byte(value), &v))
			want := judge != nil && judge.Validate(v) == nil
			require.Equal(t, want, d.accepts(d.root, decoded([]byte(value))), "%s and %s", text, value)
			if want {
				accepted++
			}
		}
	}
	require.Greater(t, accepted, len(schemas)*len(values)/3, "both answers are frequent")
}

// What validators do not look at, or cannot compute exactly.
func TestValuesThatASchemaAcceptsExactly(t *testing.T) {
	for _, c := range []struct {
		schema, value string
		want          bool
	}{
		{`{"multipleOf":0.1}`, `0.3`, true}, {`{"multipleOf":0.1}`, `0.35`, false},
		{`{"maximum":9007199254740993}`, `9007199254740993`, true}, {`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"const":1e400}`, `1e400`, true}, {`{"const":10e399}`, `1e400`, true}, {`{"minimum":1}`, `1e401`, false}, {`{"maximum":1}`, `1e-401`, false},
		{`{}`, `1e401`, false}, {`{}`, `1e-400`, true}, {`{}`, `1e-401`, false}, {`{"const":10e400}`, `1e401`, false},
		{`{"contentEncoding":"base64"}`, `"YQ=="`, true}, {`{"contentEncoding":"base64"}`, `"YQ="`, false}, {`{"contentEncoding":"other"}`, `"YQ="`, true},
		{`{"contentEncoding":"base64"}`, `7`, true}, {`{"contentEncoding":"base64","pattern":"^Z"}`, `"YQ=="`, false}, {`{"pattern":"("}`, `"a"`, false},
		{`{"items":[{"type":"integer"},{"type":"null"}]}`, `[1,null,"a"]`, true}, {`{"items":[{"type":"integer"},{"type":"null"}]}`, `[1,1]`, false}, {`{"items":[{"type":"integer"}]}`, `["a"]`, false},
		{`{"items":[{"type":"integer"}],"prefixItems":[{"type":"string"}]}`, `["a"]`, true},
		{`{"$ref":"other"}`, `1`, false}, {`{"$ref":"#"}`, `1`, false}, {`{"type":"word"}`, `1`, false},
	} {
		d, err := parseSchema(json.RawMessage(c.schema))
		require.NoError(t, err, c.schema)
		require.Equal(t, c.want, d.accepts(d.root, decoded([]byte(c.value))), "%s and %s", c.schema, c.value)
	}
}

// References are followed 500 times, in schemas that never end.
func TestHowFarReferencesAreFollowed(t *testing.T) {
	d, err := parseSchema(json.RawMessage(`{}`))
	require.NoError(t, err)
	nested := func(depth int) *node {
		n := &node{}
		for range depth {
			n = &node{AllOf: []*node{n}}
		}
		return n
	}
	require.True(t, d.accepts(nested(500), true))
	require.False(t, d.accepts(nested(501), true))
	object := map[string]any{"a": "a"}
	list := []any{"a"}
	for depth, want := range map[int]bool{499: true, 500: false} { // what is inside is one step deeper
		require.Equal(t, want, d.accepts(&node{PropertyNames: nested(depth)}, object), depth)
		require.Equal(t, want, d.accepts(&node{Rest: nested(depth)}, object), depth)
		require.Equal(t, want, d.accepts(&node{Properties: properties{{"a", nested(depth)}}}, object), depth)
		require.Equal(t, want, d.accepts(&node{Items: &items{node: nested(depth)}}, list), depth)
		require.Equal(t, want, d.accepts(&node{Not: &node{Not: nested(depth - 1)}}, "a"), depth)
		for _, n := range []*node{{AnyOf: []*node{nested(depth)}}, {OneOf: []*node{nested(depth)}}, {AllOf: []*node{nested(depth)}}} {
			require.Equal(t, want, d.accepts(n, "a"), depth)
		}
	}
	require.True(t, d.accepts(&node{Ref: "#"}, "a"))
	require.True(t, d.accepts(nil, "a"))
	for _, c := range []struct{ schema, value string }{ // each value and name is one step deeper
		{`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`, `[`}, {`{"additionalProperties":{"$ref":"#"}}`, `{"a":`},
	} {
		d, err := parseSchema(json.RawMessage(c.schema))
		require.NoError(t, err)
		at := func(depth int) any {
			v := any(json.Number("1"))
			for range depth {
				if c.value == "[" {
					v = []any{v}
				} else {
					v = map[string]any{"a": v}
				}
			}
			return v
		}
		require.True(t, d.accepts(d.root, at(249)))
		require.False(t, d.accepts(d.root, at(251)))
	}
}

// Values of another kind are never the same, whatever is in them.
func TestValuesThatAreTheSame(t *testing.T) {
	same := [][]string{
		{`null`}, {`true`}, {`false`}, {`0`, `0.0`, `-0`, `0e5`}, {`1`, `1.0`, `10e-1`, `0.1E1`}, {`12345678901234567890`, `12345678901234567890.0`}, {`12345678901234567891`},
		{`"1"`}, {`""`}, {`[]`}, {`[1]`, `[1.0]`}, {`[1,2]`}, {`[2,1]`}, {`{}`}, {`{"a":1}`, `{"a":1.0}`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`}, {`{"a":1,"c":2}`}, {`{"a":null}`}, {`{"b":null}`}, {`1e999`}, {`[[]]`},
	}
	for i, as := range same {
		for j, bs := range same {
			for _, a := range as {
				for _, b := range bs {
					require.Equal(t, i == j, equalJSON(decoded([]byte(a)), decoded([]byte(b))), "%s and %s", a, b)
				}
			}
		}
	}
}

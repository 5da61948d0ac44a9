// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/generate"
)

func TestThePlainValueOfASchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string"}`:                              `"a"`,
		`{"type":"integer"}`:                             `1`,
		`{"type":"number"}`:                              `1`,
		`{"type":"boolean"}`:                             `true`,
		`{"type":"null"}`:                                `null`,
		`{"type":"array","items":{"type":"integer"}}`:    `[1]`,
		`{"type":"object"}`:                              `{}`,
		`{}`:                                             `"a"`,
		`true`:                                           `"a"`,
		`{"type":["integer","null"]}`:                    `1`,
		`{"type":["null","integer"]}`:                    `null`,
		`{"const":{"a" : [1,null]}}`:                     `{"a":[1,null]}`,
		`{"enum":["red","green"]}`:                       `"red"`,
		`{"enum":["red",7],"type":"integer"}`:            `7`,
		`{"properties":{"b":{"type":"integer"},"a":{}}}`: `{}`,
		`{"required":["x"]}`:                             `{"x":"a"}`,
		`{"type":"object","required":["x"],"additionalProperties":{"type":"integer"}}`:                        `{"x":1}`,
		`{"type":"object","properties":{"b":{"type":"integer"},"a":{}},"required":["a","b"]}`:                 `{"b":1,"a":"a"}`,
		`{"type":"object","properties":{"b":{"type":"integer"},"a":{}},"minProperties":1}`:                    `{"b":1}`,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                                         `{"a":1}`,
		`{"type":"object","additionalProperties":{"type":"integer"},"maxProperties":0}`:                       `{}`,
		`{"type":"object","additionalProperties":{"type":"integer"},"minProperties":3}`:                       `{"a":1,"b":1,"c":1}`,
		`{"type":"object","additionalProperties":{"type":"integer"},"propertyNames":{"pattern":"^k-[0-9]$"}}`: `{"k-1":1}`,
		`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`:                `{}`,
		`{"type":"integer","minimum":0}`:                              `1`,
		`{"type":"integer","minimum":5}`:                              `5`,
		`{"type":"integer","maximum":-5}`:                             `-5`,
		`{"type":"integer","minimum":0,"maximum":0}`:                  `0`,
		`{"type":"integer","exclusiveMinimum":5}`:                     `6`,
		`{"type":"integer","exclusiveMaximum":-5}`:                    `-6`,
		`{"type":"integer","minimum":1.2,"maximum":2.9}`:              `2`,
		`{"type":"integer","multipleOf":7,"minimum":8}`:               `14`,
		`{"type":"integer","multipleOf":0.4}`:                         `2`,
		`{"type":"integer","minimum":18446744073709551615}`:           `18446744073709551615`,
		`{"type":"integer","minimum":-3,"maximum":16}`:                `1`,
		`{"type":"number","minimum":0.1,"maximum":0.2}`:               `0.15`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`: `0.5`,
		`{"type":"number","multipleOf":0.1,"minimum":0.25}`:           `0.3`,
		`{"minimum":4}`:                                                               `4`,
		`{"type":"string","minLength":3}`:                                             `"aaa"`,
		`{"type":"string","maxLength":0}`:                                             `""`,
		`{"type":"string","contentEncoding":"base64"}`:                                `"YQ=="`,
		`{"type":"string","format":"email"}`:                                          `"a@example.com"`,
		`{"type":"string","format":"date-time"}`:                                      `"2026-01-02T15:04:05Z"`,
		`{"type":"string","format":"date"}`:                                           `"2026-01-02"`,
		`{"type":"string","format":"time"}`:                                           `"15:04:05Z"`,
		`{"type":"string","format":"duration"}`:                                       `"P1D"`,
		`{"type":"string","format":"uri"}`:                                            `"https://example.com/a"`,
		`{"type":"string","format":"uri-reference"}`:                                  `"/a"`,
		`{"type":"string","format":"uuid"}`:                                           `"00000000-0000-4000-8000-000000000001"`,
		`{"type":"string","format":"ipv4"}`:                                           `"192.0.2.1"`,
		`{"type":"string","format":"ipv6"}`:                                           `"2001:db8::1"`,
		`{"type":"string","format":"hostname"}`:                                       `"ha.example.com"`,
		`{"type":"string","format":"unheard-of"}`:                                     `"a"`,
		`{"type":"string","format":"email","minLength":16}`:                           `"aaaa@example.com"`,
		`{"type":"string","pattern":"^[A-Z]{3}$"}`:                                    `"AAA"`,
		`{"type":"string","pattern":"^-?[0-9]+$"}`:                                    `"1"`,
		`{"type":"string","pattern":"v1\\."}`:                                         `"v1."`,
		`{"type":"string","pattern":"v1\\.","minLength":5}`:                           `"v1.aa"`,
		`{"type":"string","pattern":"[0-9]$","minLength":3}`:                          `"aa1"`,
		`{"type":"string","pattern":"^[a-z]*$"}`:                                      `"a"`,
		`{"type":"string","pattern":"^[a-z]*$","maxLength":0}`:                        `""`,
		`{"type":"string","pattern":"^(ab)+$","minLength":5}`:                         `"ababab"`,
		`{"type":"string","pattern":"^(x|yy)z?.$","minLength":4}`:                     `"yyzb"`,
		`{"type":"string","pattern":"^[^a-zA-Z0-9_ -]$"}`:                             `"\u0000"`,
		`{"type":"array","minItems":2}`:                                               `["a","a"]`,
		`{"type":"array","maxItems":0}`:                                               `[]`,
		`{"type":"array","items":false}`:                                              `[]`,
		`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"integer"}}`: `[1,2,3]`,
		`{"type":"array","minItems":3,"uniqueItems":true,"items":{"type":"string"}}`:  `["a","b","c"]`,
		`{"type":"array","minItems":4,"uniqueItems":true,"items":{"type":"integer","minimum":-1,"maximum":2}}`:                                                 `[1,2,-1,0]`,
		`{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"boolean"}}`:                                                                          `[true,false]`,
		`{"prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false}`:                                                                                `[1,true]`,
		`{"items":[{"type":"integer"},{"type":"boolean"}]}`:                                                                                                    `[1]`,
		`{"items":[{"type":"integer"},{"type":"boolean"}],"minItems":2}`:                                                                                       `[1,true]`,
		`{"anyOf":[{"type":"integer"},{"type":"null"}]}`:                                                                                                       `1`,
		`{"anyOf":[false,{"type":"null"}]}`:                                                                                                                    `null`,
		`{"oneOf":[{"type":"number"},{"type":"integer"}]}`:                                                                                                     ``,
		`{"oneOf":[{"type":"integer"},{"type":"integer","maximum":1},{"type":"string"}]}`:                                                                      `2`,
		`{"oneOf":[{"properties":{"k":{"const":"x"}},"required":["k"]},{"properties":{"k":{"const":"y"}},"required":["k"]}],"type":"object"}`:                  `{"k":"x"}`,
		`{"allOf":[{"type":"integer","minimum":3},{"maximum":3}]}`:                                                                                             `3`,
		`{"allOf":[{"properties":{"a":{"type":"number"}},"required":["a"]},{"properties":{"a":{"type":"integer"},"b":{"type":"null"}},"required":["b","a"]}]}`: `{"a":1,"b":null}`,
		`{"const":null}`: `null`,
		`{"type":"number","minimum":0.1,"maximum":0.2,"exclusiveMaximum":0.3}`:                                                                                     `0.15`,
		`{"type":"number","minimum":0.1,"maximum":0.3,"exclusiveMaximum":0.2}`:                                                                                     `0.15`,
		`{"type":"number","minimum":0.2,"exclusiveMinimum":0.1,"maximum":0.4}`:                                                                                     `0.3`,
		`{"type":"number","minimum":0.1,"exclusiveMinimum":0.2,"maximum":0.4}`:                                                                                     `0.3`,
		`{"allOf":[{"anyOf":[{"const":1},{"const":2}]},{"anyOf":[{"const":2}]}]}`:                                                                                  `2`,
		`{"allOf":[{"anyOf":[{"const":2}]},{"anyOf":[{"const":1},{"const":2}]}]}`:                                                                                  `2`,
		`{"allOf":[{"oneOf":[{"const":2}]},{"oneOf":[{"const":1},{"const":2}]}]}`:                                                                                  `2`,
		`{"const":1,"allOf":[{"enum":[0,1.0]}]}`:                                                                                                                   `1`,
		`{"allOf":[{"anyOf":[{"const":1},{"const":2}]},{"anyOf":[{"const":2},{"const":3}]}]}`:                                                                      `2`,
		`{"allOf":[{"oneOf":[{"const":1},{"const":2}]},{"oneOf":[{"const":2},{"const":3}]}]}`:                                                                      `2`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"minimum":2,"multipleOf":2},"b":{"type":"integer","multipleOf":3,"not":{"const":6}}}}`: `12`,
		`{"allOf":[{"not":{"const":1}},{"not":{"const":2}},{"type":["number","string"]},{"type":["integer","null"]}]}`:                                             `3`,
		`{"allOf":[{"items":{"type":"integer"},"minItems":1},{"items":{"minimum":3},"minItems":2,"maxItems":4},{"maxItems":3}]}`:                                   `[3,3]`,
		`{"allOf":[{"format":"uuid"},{"contentEncoding":"","minLength":36},{"maxLength":36}],"type":"string"}`:                                                     `"00000000-0000-4000-8000-000000000001"`,
		`{"allOf":[{"maximum":9},{"minimum":3,"maximum":8},{"minimum":4}]}`:                                                                                        `4`,
		`{"allOf":[{"pattern":"^[a-z]"},{"pattern":"[0-9]$"}],"minLength":2,"type":"string"}`:                                                                      `"a1"`,
		`{"type":"string","format":"byte"}`:                                                                                                                        `"YQ=="`,
		`{"allOf":[{"minLength":4},{"minLength":2,"maxLength":9},{"maxLength":7}],"type":"string"}`:                                                                `"aaaa"`,
		`{"oneOf":[{"maxLength":1},{"minLength":2}],"type":"string","minLength":2}`:                                                                                `"aa"`,
		`{"oneOf":[{"type":"array","minItems":1,"maxItems":2},{"type":"array","minItems":2}]}`:                                                                     `["a"]`,
		`{"oneOf":[{"type":"array","uniqueItems":true},{"type":"array","items":{"type":"integer"}}]}`:                                                              `["a"]`,
		`{"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"b":{},"a":{}}}`:                                                                           `{"a":"a"}`,
		`{"oneOf":[{"const":[1,{"a":"b"}]},{"const":[1,{"a":"c"}]}]}`:                                                                                              `[1,{"a":"b"}]`,
		`{"oneOf":[{"enum":[{"a":1}]},{"enum":[{"a":1.0},{"b":1}]}]}`:                                                                                              `{"b":1}`,
		`{"allOf":[{"maximum":3},{"exclusiveMinimum":1},{"exclusiveMinimum":2},{"exclusiveMaximum":9}],"type":"integer"}`:                                          `3`,
		`{"type":"integer","not":{"const":1}}`:                                                                                                                     `2`,
		`{"type":"string","not":{"enum":["a","b"]}}`:                                                                                                               `"c"`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`:                                                                                                    `1`,
		`{"$ref":"#/$defs/a~1b~0","$defs":{"a/b~":{"type":"integer"}}}`:                                                                                            `1`,
		`{"$ref":"#/anyOf/1","anyOf":[{"type":"null"},{"type":"integer"}]}`:                                                                                        `1`,
		`{"$ref":"#/definitions/a","minimum":4,"definitions":{"a":{"type":"integer"}}}`:                                                                            `4`,
	} {
		got, err := generate.Value(json.RawMessage(schema))
		if want == "" {
			require.Error(t, err, schema)
			continue
		}
		require.NoError(t, err, schema)
		require.Equal(t, want, string(got), schema)
	}
}

func TestASchemaWithoutValueIsAnErrorThatSaysWhere(t *testing.T) {
	var said []string
	for schema, want := range map[string]string{
		`false`:                           "no value found",
		`null`:                            "it is null",
		`7`:                               "7 is no schema",
		`{`:                               "cannot be read",
		`{"type":7}`:                      "cannot be read",
		`{"type":"word"}`:                 `unknown type "word"`,
		`{"minLength":"x"}`:               "is no length",
		`{"minLength":-1}`:                "is no length",
		`{"minimum":1e999999999}`:         "too large",
		`{"multipleOf":0}`:                "multipleOf is not above zero",
		`{"minimum":"1"}`:                 "is no number",
		`{"properties":[]}`:               "properties are no object",
		`{"properties":{"a":7}}`:          "7 is no schema",
		`{"properties":7}`:                "properties are no object",
		`{"minimum":true}`:                "true is no number",
		`{"minimum":[1]}`:                 "[1] is no number",
		`{"minimum":"+1"}`:                "is no number",
		`{"minLength":true}`:              "true is no length",
		`{"pattern":7}`:                   "cannot be read",
		`{"items":[7]}`:                   "7 is no schema",
		`{"items":7}`:                     "7 is no schema",
		`{"type":[7]}`:                    "cannot be read",
		`{"enum":[]}`:                     "no value of the enum fits",
		`{"enum":["a"],"type":"integer"}`: "no value of the enum fits",
		`{"type":"integer","minimum":2,"maximum":1}`:                                        "no number is within its bounds",
		`{"type":"number","minimum":2,"maximum":1}`:                                         "no number is within its bounds",
		`{"type":"number","multipleOf":5,"minimum":6,"maximum":9}`:                          "no number is within its bounds",
		`{"type":"string","minLength":2,"maxLength":1}`:                                     "no string has a length from 2 to 1",
		`{"type":"string","minLength":1e9}`:                                                 "no string has a length",
		`{"type":"string","pattern":"("}`:                                                   `the pattern "(" cannot be read`,
		`{"type":"string","pattern":"^(?!a)"}`:                                              "cannot be read",
		`{"type":"string","pattern":"a\\bb"}`:                                               "no string found that matches",
		`{"type":"string","pattern":"^a$","minLength":2}`:                                   "no string found that matches",
		`{"type":"string","contentEncoding":"base64","maxLength":3,"minLength":1}`:          `no string of format "base64"`,
		`{"type":"array","items":false,"minItems":1}`:                                       "[0]: no value found",
		`{"type":"array","items":{"type":"null"},"minItems":2,"uniqueItems":true}`:          "[1]: no value found",
		`{"properties":{"a":{"properties":{"b":false},"required":["b"]}},"required":["a"]}`: "a: b: no value found",
		`{"required":["x"],"additionalProperties":false}`:                                   "x: no value found",
		`{"type":"object","minProperties":1,"additionalProperties":false}`:                  "no value found",
		`{"type":"object","minProperties":3,"propertyNames":{"enum":["a"]}}`:                "too few names",
		`{"type":"object","minProperties":1,"propertyNames":false}`:                         "the name of a property",
		`{"type":"integer","not":{"type":"integer"}}`:                                       "no value found",
		`{"type":"integer","allOf":[{"type":"string"}]}`:                                    "no value found",
		`{"$ref":"#"}`: "recurs without end",
		`{"properties":{"a":{"$ref":"#"}},"required":["a"]}`:                         "recurs without end",
		`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`:                                      "recurs without end",
		`{"type":"array","minItems":1e6}`:                                            "too large a value",
		`{"$ref":"#/$defs/b","$defs":{"a":{}}}`:                                      "leads to no schema",
		`{"$ref":"#/anyOf/7","anyOf":[{}]}`:                                          "leads to no schema",
		`{"$ref":"other.json"}`:                                                      "leads out of the schema",
		`{"$ref":"#anchor"}`:                                                         "leads out of the schema",
		`{"type":"string","if":{"const":"a"},"enum":["a"],"allOf":[{"enum":["b"]}]}`: "no value",
		`{"type":"string","format":"uuid","maxLength":9}`:                            `no string of format "uuid" with a length from 0 to 9`,
		`{"const":1,"enum":[2]}`:                                                     "no value of the enum fits",
		`{"const":1,"allOf":[{"const":2}]}`:                                          "no value",
	} {
		got, err := generate.Value(json.RawMessage(schema))
		require.ErrorContains(t, err, want, schema)
		require.Nil(t, got)
		said = append(said, schema+"\n\t"+err.Error()+"\n")
	}
	slices.Sort(said)
	golden(t, "testdata/errors.golden", strings.Join(said, ""))
}

// golden compares a text with that of a file. UPDATE=1 writes it anew.
func golden(t *testing.T, name, text string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

func TestLongListsOfDistinctItems(t *testing.T) {
	for _, item := range []string{`{"type":"integer"}`, `{"type":"string"}`, `{"type":"integer","minimum":0,"maximum":99}`, `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`} {
		for seed := range uint64(5) {
			got, err := generate.Seeded(json.RawMessage(`{"type":"array","uniqueItems":true,"minItems":100,"items":`+item+`}`), seed)
			require.NoError(t, err, "%s, seed %d", item, seed)
			require.Contains(t, string(got), ",")
		}
	}
}

func TestRecursionEnds(t *testing.T) {
	tree := `{"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"left":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},
		"right":{"oneOf":[{"$ref":"#/$defs/tree"},{"type":["null"]}]},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}},
		"named":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}},"any":{"type":["object","null"],"properties":{"x":{"$ref":"#/$defs/tree"}},"required":["x"]}},
		"required":["name","left","right","kids","named","any"]}},"$ref":"#/$defs/tree"}`
	for seed := range uint64(20) {
		got, err := generate.Seeded(json.RawMessage(tree), seed)
		require.NoError(t, err)
		require.Less(t, len(got), 1<<20)
	}
}

func TestSeedsVaryTheValueAndRepeatIt(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{
		"n":{"type":"integer","minimum":1,"maximum":6},"f":{"type":"number"},"s":{"type":"string","minLength":2,"maxLength":4},
		"e":{"enum":["a","b","c"]},"o":{"type":"boolean"},"m":{"format":"email"},"p":{"pattern":"^(a|b)[0-9]{2}$"},
		"l":{"type":"array","items":{"type":"integer"},"maxItems":3,"uniqueItems":true},"x":{"anyOf":[{"type":"integer"},{"type":"string"}]}
	},"required":["n","f","s","e","m","p","l","x"]}`)
	seen := map[string]map[string]bool{}
	for seed := range uint64(100) {
		got, err := generate.Seeded(schema, seed)
		require.NoError(t, err)
		again, err := generate.Seeded(schema, seed)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(got, &members))
		for name, value := range members {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][string(value)] = true
		}
	}
	require.Len(t, seen["n"], 6)
	require.Len(t, seen["e"], 3)
	require.Len(t, seen["o"], 2, "optional, and both values")
	for _, name := range []string{"f", "s", "m", "p", "l", "x"} {
		require.Greater(t, len(seen[name]), 5, name)
	}
	plain, err := generate.Value(schema)
	require.NoError(t, err)
	zero, err := generate.Seeded(schema, 0)
	require.NoError(t, err)
	require.Equal(t, string(plain), string(zero))
}

// FuzzValue makes sure that no schema makes Generate panic or go on without end, and that what it returns has at
// least the type and bounds that the schema says on its outside.
func FuzzValue(f *testing.F) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"string","minLength":2}},"required":["a"],"additionalProperties":false}`,
		`{"$defs":{"t":{"properties":{"l":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}},"required":["l"]}},"$ref":"#/$defs/t"}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"anyOf":[{"$ref":"#/anyOf/1"},{"$ref":"#/anyOf/0"}]}`,
		`{"type":"array","items":{"type":"array","items":{"$ref":"#"},"minItems":2},"minItems":2}`,
		`{"type":"integer","minimum":-1e300,"maximum":1e300,"multipleOf":1e-300}`, `{"pattern":"^((a*)*)*$","minLength":100}`,
		`{"pattern":"^[^\\x00-\\x{10FFFF}]$"}`, `{"oneOf":[{"not":{}},{"enum":[1,"a",null]}],"not":{"const":1}}`,
		`{"uniqueItems":true,"minItems":30,"items":{"enum":[1,1.0,2]}}`, `{"propertyNames":{"maxLength":1},"minProperties":27}`,
		`{"type":["object","array","null"],"prefixItems":[true,false]}`, `{"multipleOf":0}`, `{"type":[]}`, `{"properties":{"":null}}`,
	} {
		f.Add([]byte(schema), uint64(0))
		f.Add([]byte(schema), uint64(7))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		got, err := generate.Seeded(schema, seed)
		if err != nil {
			return
		}
		var v any
		require.NoError(t, json.Unmarshal(got, &v))
		var s struct {
			Type      any
			MinLength *float64
			Pattern   string
			Minimum   *float64
		}
		if json.Unmarshal(schema, &s) != nil {
			return
		}
		if name, ok := s.Type.(string); ok {
			require.Contains(t, typesOf(v), name)
		}
		if text, ok := v.(string); ok {
			if s.MinLength != nil {
				require.GreaterOrEqual(t, utf8.RuneCountInString(text), int(*s.MinLength))
			}
			if s.Pattern != "" {
				require.Regexp(t, regexp.MustCompile(s.Pattern), text)
			}
		}
		if n, ok := v.(float64); ok && s.Minimum != nil {
			require.GreaterOrEqual(t, n, *s.Minimum)
		}
	})
}

func typesOf(v any) []string {
	switch v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case float64:
		return slices.Clone([]string{"number", "integer"})
	case []any:
		return []string{"array"}
	}
	return []string{"object"}
}

func ExampleValue() {
	schema := json.RawMessage(`{
		"type": "object",
		"properties": {
			"city": {"type": "string", "minLength": 3},
			"days": {"type": "integer", "minimum": 2, "maximum": 14},
			"mail": {"type": "string", "format": "email"}
		},
		"required": ["city", "days", "mail"]
	}`)
	plain, err := generate.Value(schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(plain))
	// Output: {"city":"aaa","days":2,"mail":"a@example.com"}
}

// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// made is a type that makes the schema that is in ownSchemas for its parameter.
type made[K any] struct{ raw json.RawMessage }

var ownSchemas = map[reflect.Type]string{}

func (made[K]) JSONSchema() *jsonschema.Schema {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(ownSchemas[reflect.TypeFor[K]()]), s); err != nil {
		panic(err)
	}
	return s
}

func (m *made[K]) UnmarshalJSON(text []byte) error { return m.raw.UnmarshalJSON(text) }

type holds[K any] struct {
	V made[K] `json:"v"`
}

// own tests a schema: the problems of values, each given as JSON.
func own[K any](t *testing.T, text string, values map[string]string) {
	t.Helper()
	ownSchemas[reflect.TypeFor[K]()] = text
	typ, err := schema.For(reflectType[holds[K]]())
	require.NoError(t, err, text)
	for value, want := range values {
		got := ""
		if err := typ.Decode([]byte(`{"v":`+value+`}`), new(holds[K])); err != nil {
			got = err.Error()
		}
		require.Equal(t, want, got, "%s of %s", value, text)
	}
}

// wrong is the error of a schema.
func wrong[K any](t *testing.T, text, want string) {
	t.Helper()
	ownSchemas[reflect.TypeFor[K]()] = text
	_, err := schema.For(reflectType[holds[K]]())
	require.ErrorContains(t, err, want, text)
}

// TestSchemasThatTypesMake: every keyword that the package documentation names is checked, on both sides of its limit.
func TestSchemasThatTypesMake(t *testing.T) {
	own[[0]int](t, `{"type":"object","minProperties":1,"maxProperties":2}`, map[string]string{
		`{}`: "v: must have at least 1 field, not 0, got {}", `{"a":1}`: "", `{"a":1,"b":2}`: "", `{"a":1,"b":2,"c":3}`: `v: must have at most 2 fields, not 3, got {"a":1,"b":2,"c":3}`,
		`[]`: "v: must be an object, not an array, got []",
	})
	own[[1]int](t, `{"type":"array","minItems":2,"maxItems":3,"items":{"type":"integer"}}`, map[string]string{
		`[1]`: "v: must have at least 2 items, not 1, got [1]", `[1,2]`: "", `[1,2,3]`: "", `[1,2,3,4]`: "v: must have at most 3 items, not 4, got [1,2,3,4]",
		`[1,"2"]`: `v[1]: must be an integer, not a string, got "2"`, `[1,2.0]`: "", `[1,2.5]`: "v[1]: must be an integer, got 2.5",
	})
	own[[2]int](t, `{"type":"string","minLength":2,"maxLength":3}`, map[string]string{
		`"é"`: `v: must have at least 2 characters, not 1, got "é"`, `"éé"`: "", `"ééé"`: "", `"éééé"`: `v: must have at most 3 characters, not 4, got "éééé"`,
		`""`: `v: must have at least 2 characters, not 0, got ""`, `"\u00e9\n"`: "",
	})
	own[[3]int](t, `{"type":"string","minLength":1}`, map[string]string{`""`: "v: must not be empty", `"x"`: ""})
	own[[4]int](t, `{"type":"number","minimum":-1.5,"maximum":1e1}`, map[string]string{
		`-1.5`: "", `-1.50001`: "v: must be at least -1.5, got -1.50001", `10`: "", `10.0`: "", `1e1`: "", `10.1`: "v: must be at most 1e1, got 10.1", `-2`: "v: must be at least -1.5, got -2",
		`11`: "v: must be at most 1e1, got 11", `0`: "", `-0`: "", `"1"`: `v: must be a number, not a string, got "1"`,
	})
	own[[5]int](t, `{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":4}`, map[string]string{
		`1`: "v: must be greater than 1, got 1", `2`: "", `3`: "", `4`: "v: must be less than 4, got 4", `0`: "v: must be greater than 1, got 0",
	})
	own[[6]int](t, `{"type":"number","multipleOf":0.25}`, map[string]string{
		`0`: "", `0.25`: "", `0.5`: "", `1`: "", `1e10`: "", `2.5e-1`: "", `-0.75`: "", `0.1`: "v: must be a multiple of 0.25, got 0.1", `0.125`: "v: must be a multiple of 0.25, got 0.125",
		`0.26`: "v: must be a multiple of 0.25, got 0.26", `1e-3`: "v: must be a multiple of 0.25, got 1e-3", `100000000000000000000.25`: "",
	})
	own[[7]int](t, `{"enum":[1,"a",true,null,[1]]}`, map[string]string{
		`1`: "", `1.0`: "", `"a"`: "", `"\u0061"`: "", `true`: "", `null`: "", `2`: `v: must be one of 1, "a", true, null, [1], got 2`,
		`"b"`: `v: must be one of 1, "a", true, null, [1], got "b"`, `false`: `v: must be one of 1, "a", true, null, [1], got false`,
	})
	own[[8]int](t, `{"const":"x"}`, map[string]string{`"x"`: "", `"y"`: `v: must be "x", got "y"`, `1`: `v: must be "x", got 1`})
	own[[9]int](t, `{"type":"object","propertyNames":{"pattern":"^[a-z]$","maxLength":3},"additionalProperties":{"type":"boolean"}}`, map[string]string{
		`{"a":true}`: "", `{"A":true}`: `v[A]: must match the pattern ^[a-z]$`, `{"a":1}`: "v[a]: must be a boolean, not a number, got 1", `{}`: "",
	})
	own[[10]int](t, `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a","b"],"additionalProperties":false}`, map[string]string{
		`{"a":1,"b":[]}`: "", `{"b":1}`: "v.a: required field is missing", `{"a":1}`: "v.b: required field is missing",
		`{"a":1,"b":2,"ab":3}`: `v.ab: unknown field (did you mean a?): the fields are a, b`, `{"a":1,"b":2,"zzzz":3}`: `v.zzzz: unknown field: the fields are a, b`,
		`{"a":"x","b":1}`: `v.a: must be an integer, not a string, got "x"`, `{"a":1,"b":2,"a":3}`: "v.a: duplicate field",
	})
	own[[11]int](t, `{"type":"array","uniqueItems":true}`, map[string]string{
		`[1,1.0]`: "v: items must be unique, but items 0 and 1 are equal, got [1,1.0]", `[0,1,2,1]`: "v: items must be unique, but items 1 and 3 are equal, got [0,1,2,1]",
		`["1",1]`: "", `[{"a":1,"b":2},{"b":2,"a":1e0}]`: `v: items must be unique, but items 0 and 1 are equal, got [{"a":1,"b":2},{"b":2,"a":1e0}]`, `["a","\u0061"]`: `v: items must be unique, but items 0 and 1 are equal, got ["a","\u0061"]`,
		`[true,false,null,0,""]`: "", `[-0,0]`: "v: items must be unique, but items 0 and 1 are equal, got [-0,0]", `[10,1e1]`: "v: items must be unique, but items 0 and 1 are equal, got [10,1e1]",
	})
	own[[12]int](t, `{"type":"string","format":"date-time"}`, map[string]string{
		`"2026-01-02T15:04:05Z"`: "", `"2026-01-02"`: `v: must be a date and time as in RFC 3339, such as 2006-01-02T15:04:05Z, got "2026-01-02"`,
	})
	own[[13]int](t, `{"type":"string","contentEncoding":"base64"}`, map[string]string{`"aGk="`: "", `"aGk"`: `v: must be base64 with padding, got "aGk"`, `""`: ""})
	own[[14]int](t, `{"not":{"type":"string"}}`, map[string]string{`1`: "", `"x"`: `v: must not be such a value, got "x"`})
	own[[15]int](t, `{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}}},{"required":["b"]},{"type":"object","minProperties":2}]}`, map[string]string{
		`{"a":1,"b":2}`: "", `{"a":"x","b":2}`: `v.a: must be an integer, not a string, got "x"`, `{"a":1,"c":2}`: "v.b: required field is missing",
		`1`: "v: must be an object, not a number, got 1",
	})
	own[[16]int](t, `{"anyOf":[{"type":"integer","minimum":5},{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`, map[string]string{
		`5`: "", `"x"`: "", `[1]`: "", `4`: "v: must be at least 5, got 4", `true`: "v: must be an array or a string or an integer, got true", `["x"]`: `v[0]: must be an integer, not a string, got "x"`,
	})
	own[[17]int](t, `{"oneOf":[{"type":"integer","maximum":5},{"type":"integer","minimum":5},{"type":"string","minLength":2}]}`, map[string]string{
		`4`: "", `6`: "", `5`: "v: must match only one of the alternatives, got 5", `"xy"`: "", `"x"`: `v: must have at least 2 characters, not 1, got "x"`,
	})
	own[[18]int](t, `{"$ref":"#/$defs/pair","$defs":{"pair":{"type":"object","properties":{"rest":{"$ref":"#/$defs/pair"},"n":{"type":"integer"}},"required":["n"]}}}`, map[string]string{
		`{"n":1,"rest":{"n":2}}`: "", `{"n":1,"rest":{}}`: "v.rest.n: required field is missing",
	})
	own[[19]int](t, `{"anyOf":[{"type":"integer"},{"type":"null"}]}`, map[string]string{`1`: "", `null`: "", `"x"`: `v: must be an integer or null, not a string, got "x"`})
	own[[20]int](t, `{"anyOf":[{"enum":[1,2]},{"type":"null"}]}`, map[string]string{`1`: "", `null`: "", `3`: `v: must be one of 1, 2, null, got 3`})
	own[[21]int](t, `{"anyOf":[{"allOf":[{"type":"integer"},{"minimum":1}]},{"type":"null"}]}`, map[string]string{`1`: "", `null`: "", `0`: `v: must be at least 1, got 0`})
	own[[22]int](t, `{"anyOf":[{"$ref":"#/$defs/small"},{"type":"null"}],"$defs":{"small":{"type":"integer","maximum":9}}}`, map[string]string{`9`: "", `null`: "", `10`: `v: must be at most 9, got 10`})
	own[[23]int](t, `{"enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]}`, map[string]string{`19`: "", `20`: "v: must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, got 20"})
	own[[24]int](t, `{"enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21]}`, map[string]string{`22`: "v: must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, or 2 others, got 22"})
	own[[25]int](t, `{"type":"object","additionalProperties":false}`, map[string]string{`{}`: "", `{"a":1}`: "v.a: unknown field: no fields are allowed here"})

	wrong[[30]int](t, `{"$ref":"#/$defs/none"}`, `field v: the schema has a reference to "#/$defs/none", which is not one of its definitions`)
	wrong[[31]int](t, `{"$ref":"other.json"}`, `the schema has a reference to "other.json", which is not one of its definitions`)
	for i, text := range []string{
		`{"type":"tuple"}`, `{"items":{"type":"tuple"}}`, `{"allOf":[{"type":"tuple"}]}`, `{"anyOf":[{"type":"tuple"},{}]}`, `{"oneOf":[{},{"type":"tuple"}]}`, `{"not":{"type":"tuple"}}`,
		`{"propertyNames":{"type":"tuple"}}`, `{"additionalProperties":{"type":"tuple"}}`, `{"properties":{"a":{"type":"tuple"}}}`, `{"anyOf":[{"type":"tuple"},{"type":"null"}]}`,
		`{"anyOf":[{"not":{"type":"tuple"}},{"type":"null"}]}`, `{"$ref":"#/$defs/x","$defs":{"x":{"type":"tuple"}}}`,
	} {
		ownSchemas[reflect.TypeFor[[50]int]()] = text // no schema is kept of a type that has none
		_, err := schema.For(reflectType[holds[[50]int]]())
		require.ErrorContains(t, err, `unknown JSON type "tuple"`, "%d: %s", i, text)
	}
	wrong[[32]int](t, `{"pattern":"("}`, "error parsing regexp: missing closing )")
	wrong[[33]int](t, `{"properties":{"a":{"pattern":"("}}}`, "error parsing regexp: missing closing )")
}

// TestLimitsOfMessages: long lists and values are cut.
func TestLimitsOfMessages(t *testing.T) {
	var fields []reflect.StructField
	var list []string
	for i := range 22 {
		name := fmt.Sprintf("field%02d", i)
		list = append(list, name)
		fields = append(fields, reflect.StructField{Name: "F" + name, Type: reflect.TypeFor[int](), Tag: reflect.StructTag(`json:"` + name + `,omitempty"`)})
	}
	unknown := func(n int) string {
		typ, err := schema.For(reflect.StructOf(fields[:n]))
		require.NoError(t, err)
		return typ.Check([]byte(`{"q":1}`)).Error()
	}
	require.Equal(t, "q: unknown field: the fields are "+strings.Join(list[:20], ", "), unknown(20))
	require.Equal(t, "q: unknown field: the fields are "+strings.Join(list[:20], ", ")+", and 1 others", unknown(21))
	require.Equal(t, "q: unknown field: the fields are "+strings.Join(list[:20], ", ")+", and 2 others", unknown(22))
	for n, want := range map[int]string{78: strings.Repeat("x", 78) + `"`, 79: strings.Repeat("x", 79) + "…"} {
		_, err := decode[one[int]](t, `{"v":"`+strings.Repeat("x", n)+`"}`)
		require.EqualError(t, err, `v: must be an integer, not a string, got "`+want)
		_, err = decode[one[string]](t, `{"v":"`+strings.Repeat("x", n))
		require.ErrorContains(t, err, "unexpected end of JSON: expected the rest of a string, got ")
		require.Equal(t, n+6 > 80, strings.Contains(err.Error(), "…"))
	}
	var problems []string
	for n := 1; n <= 40; n++ {
		_, err := decode[one[[]int]](t, `{"v":[`+strings.TrimSuffix(strings.Repeat(`"x",`, n), ",")+`]}`)
		var e *schema.Error
		require.ErrorAs(t, err, &e)
		problems = append(problems, fmt.Sprint(len(e.Problems), e.More))
		require.Equal(t, e.More, strings.HasSuffix(e.Prompt(), "\nand more problems"))
		require.Equal(t, e.More, strings.HasSuffix(e.Error(), "; and more problems"))
	}
	most := 0
	for _, p := range problems {
		if strings.HasSuffix(p, "false") {
			most++
		}
	}
	require.Equal(t, "1 false", problems[0])
	require.Equal(t, fmt.Sprint(most, true), problems[most])
	require.Equal(t, fmt.Sprint(most, true), problems[39])
}

// TestTheFormOfProblems: what a model reads.
func TestTheFormOfProblems(t *testing.T) {
	e := &schema.Error{Problems: []schema.Problem{{Path: "a.b", Message: "must be", Value: "1"}, {Message: "is not"}}}
	require.EqualError(t, e, "a.b: must be, got 1; is not")
	require.Equal(t, "a.b: must be, got 1\nis not", e.Prompt())
	require.False(t, e.Incomplete())
	require.False(t, (&schema.Error{}).Incomplete())
	require.True(t, (&schema.Error{Problems: []schema.Problem{{Rule: schema.RuleIncomplete}}}).Incomplete())
}

// TestDestinations: a wrong one is a mistake in the program, and no problem of the text.
func TestDestinations(t *testing.T) {
	typ := typeFor[one[int]](t)
	pointer := new(one[int])
	for _, dst := range []any{pointer, &pointer, new(*one[int])} {
		require.NoError(t, typ.Decode([]byte(`{"v":3}`), dst))
	}
	require.Equal(t, 3, pointer.V)
	for want, dst := range map[string]any{
		"schema: cannot decode into <nil>, which is not a pointer to " + fmt.Sprintf("%T", one[int]{}):  nil,
		"schema: cannot decode into *int, which is not a pointer to " + fmt.Sprintf("%T", one[int]{}):   new(int),
		"schema: cannot decode into string, which is not a pointer to " + fmt.Sprintf("%T", one[int]{}): "x",
		fmt.Sprintf("schema: cannot decode into %T, which is not a pointer to %[1]T", one[int]{}):       one[int]{},
		fmt.Sprintf("schema: cannot decode into a nil %T", pointer):                                     (*one[int])(nil),
	} {
		require.EqualError(t, typ.Decode([]byte(`{"v":3}`), dst), want)
	}
	_, err := schema.For(nil)
	require.EqualError(t, err, "schema: the type is nil")
}

// TestKnownTypes: a program that has a schema finds the type that it is of.
func TestKnownTypes(t *testing.T) {
	type first struct {
		Known int `json:"known_to_nobody_else"`
	}
	type second struct {
		Other int `json:"known_to_nobody_else"`
	}
	require.Empty(t, schema.Known(json.RawMessage(`{}`)))
	a, b := typeFor[first](t), typeFor[second](t)
	pointer, err := schema.For(reflect.TypeFor[*first]())
	require.NoError(t, err)
	require.Same(t, a, pointer)
	require.Equal(t, []*schema.Type{a}, schema.Known(a.JSON()), "the very text")
	require.Equal(t, []*schema.Type{b}, schema.Known(b.JSON()), "the very text")
	require.ElementsMatch(t, []*schema.Type{a, b}, schema.Known(append(json.RawMessage(nil), a.JSON()...)))
	require.NoError(t, a.Check([]byte(`{"known_to_nobody_else":1}`)))
	require.EqualError(t, a.Check([]byte(`{}`)), "known_to_nobody_else: required field is missing")
}

// TestSyntaxErrors: each says where the text breaks and what was expected.
func TestSyntaxErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`: `unexpected end of JSON: expected a field name in quotes, got {`, `{"v"`: `unexpected end of JSON: expected a colon after a field name, got {"v"`,
		`{"v":`: `v: unexpected end of JSON: expected a JSON value, got {"v":`, `{"v":[`: `v[0]: unexpected end of JSON: expected a JSON value, got {"v":[`,
		`{"v":[1`: `v: unexpected end of JSON: expected a comma or the end of an array, got {"v":[1`, `{"v":[1,`: `v[1]: unexpected end of JSON: expected a JSON value, got {"v":[1,`,
		`{"v":[1]`: `unexpected end of JSON: expected a comma or the end of an object, got {"v":[1]`, `{"v":[1],`: `unexpected end of JSON: expected a field name in quotes, got {"v":[1],`,
		`{v:1}`: `invalid JSON at byte 1: expected a field name in quotes, got v:1}`, `{"v" 1}`: `invalid JSON at byte 5: expected a colon after a field name, got 1}`,
		`{"v":[1 2]}`: `v: invalid JSON at byte 8: expected a comma or the end of an array, got 2]}`, `{"v":[1] "w":2}`: `invalid JSON at byte 9: expected a comma or the end of an object, got "w":2}`,
		`{"v":[1]}x`: `invalid JSON at byte 9: expected the end of the JSON, got x`, `{"v":[tru]}`: `v[0]: invalid JSON at byte 9: expected true, got ]}`, `{"v":[nul`: `v[0]: unexpected end of JSON: expected null, got {"v":[nul`,
		`{"v":[falsy]}`: `v[0]: invalid JSON at byte 10: expected false, got y]}`, `{"v":[-]}`: `v[0]: invalid JSON at byte 7: expected a digit, got ]}`, `{"v":[01]}`: `v: invalid JSON at byte 7: expected a comma or the end of an array, got 1]}`,
		`{"v":["a` + "\n" + `"]}`: `v[0]: invalid JSON at byte 8: expected an escape such as \n instead of a control character, got "]}`,
		`{"v":["\x"]}`:            `v[0]: invalid JSON at byte 8: expected a valid JSON escape, got x"]}`, `{"v":["\u12G4"]}`: `v[0]: invalid JSON at byte 11: expected four hexadecimal digits, got G4"]}`,
		`{"v":["\`: `v[0]: unexpected end of JSON: expected the rest of an escape, got {"v":["\`, `{"v":["\u1`: `v[0]: unexpected end of JSON: expected four hexadecimal digits, got {"v":["\u1`,
		`{"v":["a`: `v[0]: unexpected end of JSON: expected the rest of a string, got {"v":["a`, `{,}`: `invalid JSON at byte 1: expected a field name in quotes, got ,}`, `{"v":[,]}`: `v[0]: invalid JSON at byte 6: expected a JSON value, got ,]}`,
		`{"v":[1,]}`: `v[1]: invalid JSON at byte 8: expected a JSON value, got ]}`, `{"v":[1],}`: `invalid JSON at byte 9: expected a field name in quotes, got }`, `x`: `invalid JSON at byte 0: expected a JSON value, got x`,
	} {
		_, err := decode[one[[]any]](t, text)
		var e *schema.Error
		require.ErrorAs(t, err, &e, text)
		if strings.Contains(text, "\n") {
			require.Contains(t, e.Error(), want[:60], text)
			continue
		}
		require.Equal(t, want, e.Error(), text)
		require.Equal(t, strings.Contains(want, "unexpected end"), e.Incomplete(), text)
	}
}

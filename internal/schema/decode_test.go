// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// refuses decodes text into a T and wants the problems, as the model is shown them.
func refuses[T any](text string, problems ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		_, err := decode[T](t, text)
		var invalid *schema.Error
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, strings.Join(problems, "\n"), invalid.Prompt())
	}
}

// accepts decodes text into a T and wants a value.
func accepts[T any](text string, want T) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		got, err := decode[T](t, text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

type one[T any] struct {
	V T `json:"v"`
}

type optional[T any] struct {
	V T `json:"v,omitempty"`
}

func TestDecodeAccepts(t *testing.T) {
	seven := 7
	for name, test := range map[string]func(*testing.T){
		"an object that fits":                                  accepts(`{"city":"Oslo","days":3,"unit":"celsius"}`, weatherQuery{"Oslo", 3, "celsius"}),
		"fields in any order, with blank space":                accepts(" {\n\t\"days\" : 3 , \"city\" : \"Oslo\" }\r\n", weatherQuery{"Oslo", 3, ""}),
		"empty text as an empty object":                        accepts("", optional[int]{}),
		"blank text as an empty object":                        accepts(" \n", optional[int]{}),
		"null as an empty object":                              accepts(" null ", optional[int]{}),
		"null as the absence of a field":                       accepts(`{"v":null}`, optional[int]{}),
		"null for a required pointer":                          accepts(`{"v":null}`, one[*int]{}),
		"a value for a required pointer":                       accepts(`{"v":7}`, one[*int]{&seven}),
		"escapes in names and values":                          accepts(`{"\u0063ity":"\u004fslo"}`, weatherQuery{City: "Oslo"}),
		"integers beyond 2^53 exactly":                         accepts(`{"v":9007199254740993}`, one[int64]{9007199254740993}),
		"the largest unsigned integer":                         accepts(`{"v":18446744073709551615}`, one[uint64]{18446744073709551615}),
		"an integer for a float":                               accepts(`{"v":3}`, one[float64]{3}),
		"exponents for a float":                                accepts(`{"v":-1.5e2}`, one[float64]{-150}),
		"exponents for integers":                               accepts(`{"v":[1e0,1e1,1e3,1.5e3,-2e2,0e5,100.0,-0.0,12.50e2,120e-1]}`, one[[]int]{[]int{1, 10, 1000, 1500, -200, 0, 100, 0, 1250, 12}}),
		"an exponent for a large integer":                      accepts(`{"v":1.8446744073709551615e19}`, one[uint64]{18446744073709551615}),
		"base64 for bytes":                                     accepts(`{"v":"aGk="}`, one[[]byte]{[]byte("hi")}),
		"any JSON for raw JSON":                                accepts(`{"v":{"a":[1,null]}}`, one[json.RawMessage]{json.RawMessage(`{"a":[1,null]}`)}),
		"any JSON for any":                                     accepts(`{"v":[true,"x"]}`, one[any]{[]any{true, "x"}}),
		"RFC 3339 for a time":                                  accepts(`{"v":"2026-01-02T03:04:05Z"}`, one[time.Time]{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}),
		"a wrapped string":                                     accepts(`{"value":"x"}`, "x"),
		"a wrapped slice":                                      accepts(`{"value":[1,2]}`, []int{1, 2}),
		"a wrapped map":                                        accepts(`{"value":{"a":1}}`, map[string]int{"a": 1}),
		"a quoted integer":                                     accepts(`{"v":"-12"}`, quotedInt{-12}),
		"a quoted float":                                       accepts(`{"v":"-1.5e2"}`, quotedFloat{-150}),
		"a quoted zero":                                        accepts(`{"v":"0"}`, quotedFloat{}),
		"types that decode themselves":                         accepts(`{"v":"red"}`, one[color]{color{"red"}}),
		"promoted fields of embedded structs":                  accepts(`{"first":"a","id":"b","lower":{"low":1},"shadow":2,"more":"a@b.org"}`, embedding{First: "a", base: base{ID: "b"}, Extra: &Extra{"a@b.org"}, lower: lower{1}, Shadow: 2}),
		"recursion":                                            accepts(`{"name":"a","left":{"name":"b","left":null}}`, tree{Name: "a", Left: &tree{Name: "b"}}),
		"runes as the unit of length":                          accepts(`{"v":"äöü\ud83d\ude00"}`, length4{"äöü😀"}),
		"zero where omitempty leaves no other way to say none": accepts(`{"v":0}`, zeroable{}),
		"null among the choices of a pointer":                  accepts(`{"v":null}`, chosen{}),
	} {
		t.Run(name, test)
	}
}

type quotedInt struct {
	V int8 `json:"v,string"`
}

type quotedFloat struct {
	V float64 `json:"v,string"`
}

type length4 struct {
	V string `json:"v" validate:"len=4"`
}

type zeroable struct {
	V int `json:"v" validate:"omitempty,min=3"`
}

type chosen struct {
	V *string `json:"v" validate:"omitempty,oneof=a b"`
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a missing field":  refuses[weatherQuery](``, `city: required field is missing`),
		"an unknown field": refuses[weatherQuery](`{"city":"x","zzz":{"a":[]}}`, `zzz: unknown field: the fields are city, days, unit`),
		"a misspelt field": refuses[weatherQuery](`{"city":"x","dayz":1}`, `dayz: unknown field (did you mean days?): the fields are city, days, unit`),
		"a name in another case": refuses[weatherQuery](`{"City":"x"}`,
			`City: unknown field (did you mean city?): the fields are city, days, unit`, `city: required field is missing`),
		"a hidden field":           refuses[everyHidden](`{"secret":1}`, `secret: unknown field: no fields are allowed here`),
		"a field twice":            refuses[weatherQuery](`{"city":"x","city":"y"}`, `city: duplicate field`),
		"null for a string":        refuses[one[string]](`{"v":null}`, `v: must be a string, not null`),
		"null for a slice":         refuses[one[[]int]](`{"v":null}`, `v: must be an array, not null`),
		"null in a slice":          refuses[one[[]*int]](`{"v":[null]}`, `v[0]: must be an integer, not null`),
		"a string for an integer":  refuses[one[int]](`{"v":"abc"}`, `v: must be an integer, not a string, got "abc"`),
		"a number for a string":    refuses[one[string]](`{"v":1}`, `v: must be a string, not a number, got 1`),
		"an array for an object":   refuses[weatherQuery](`[1]`, `must be an object, not an array, got [1]`),
		"the wrong type or null":   refuses[one[*int]](`{"v":true}`, `v: must be an integer or null, not a boolean, got true`),
		"a fraction for integers":  refuses[one[int]](`{"v":1.5}`, `v: must be an integer, got 1.5`),
		"an exponent for integers": refuses[one[int]](`{"v":1e-3}`, `v: must be an integer, got 1e-3`),
		"a signed overflow":        refuses[one[int8]](`{"v":300}`, `v: must be at most 127, got 300`),
		"an overflow of 64 bits":   refuses[one[int64]](`{"v":9223372036854775808}`, `v: must be an integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808`),
		"an unsigned overflow":     refuses[one[uint8]](`{"v":256}`, `v: must be at most 255, got 256`),
		"a negative unsigned":      refuses[one[uint]](`{"v":-1}`, `v: must be at least 0, got -1`),
		"a float overflow":         refuses[one[float64]](`{"v":1e999}`, `v: must be a number that fits in a 64-bit float, got 1e999`),
		"broken base64":            refuses[one[[]byte]](`{"v":"*"}`, `v: must be base64 with padding, got "*"`),
		"a time that is none":      refuses[one[time.Time]](`{"v":"noon"}`, `v: must be a date and time as in RFC 3339, such as 2006-01-02T15:04:05Z, got "noon"`),
		"every overflow at once":   refuses[[]one[int8]](`{"value":[{"v":300},{"v":1},{"v":-300}]}`, `value[0].v: must be at most 127, got 300`, `value[2].v: must be at least -128, got -300`),
		"what UnmarshalText refuses": refuses[map[string]color](`{"value":{"a":"red","b":"mauve"}}`,
			`value[b]: is not accepted: no color "mauve", got "mauve"`),
		"what UnmarshalJSON refuses":    refuses[one[shape]](`{"v":2}`, `v: is not accepted: no shape has 2 sides, got 2`),
		"a map key that is refused":     refuses[optional[map[color]int]](`{"v":{"mauve":1}}`, `v[mauve]: the key is not accepted: no color "mauve"`),
		"what JSONSchema rules out":     refuses[one[celsius]](`{"v":-300}`, `v: must be at least -273.15, got -300`),
		"what its definition rules out": refuses[one[currency]](`{"v":"euro"}`, `v: must match the pattern ^[A-Z]{3}$, got "euro"`),
		"a quoted overflow":             refuses[quotedInt](`{"v":"300"}`, `v: must be an integer from -128 to 127, got "300"`),
		"a quoted word":                 refuses[quotedInt](`{"v":"x"}`, `v: must match the pattern ^-?[0-9]+$, got "x"`),
		"a quoted word for a float":     refuses[quotedFloat](`{"v":"1.5 or so"}`, `v: must match the pattern ^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$, got "1.5 or so"`),
		"a quoted float too large":      refuses[quotedFloat](`{"v":"1e999"}`, `v: must be a number that fits in a 64-bit float, got "1e999"`),
		"a wrapper without its field":   refuses[string](`{}`, `value: required field is missing`),
		"a wrapper with more":           refuses[int](`{"value":1,"x":2}`, `x: unknown field: the fields are value`),
		"a bare value for a wrapped":    refuses[string](`"x"`, `must be an object with the result in the field "value", not a string, got "x"`),
		"depth in a recursive type":     refuses[tree](`{"name":"a","left":{"name":"","left":null},"named":{"x":{"name":1,"left":null}}}`, `left.name: must not be empty`, `named[x].name: must be a string, not a number, got 1`),
		"a value that is not a choice":  refuses[chosen](`{"v":"c"}`, `v: must be one of "a", "b", null, got "c"`),
		"everything wrong, at once": refuses[weatherQuery](`{"days":20,"unit":"kelvin","x":1}`,
			`days: must be at most 14, got 20`, `unit: must be one of "celsius", "fahrenheit", got "kelvin"`,
			`x: unknown field: the fields are city, days, unit`, `city: required field is missing`),
	} {
		t.Run(name, test)
	}
}

type everyHidden struct {
	Secret int `json:"secret" jsonschema:"-"`
}

func TestDecodeRefusesBrokenJSON(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"text after the JSON":  refuses[weatherQuery](`{"city":"x"} and more`, `invalid JSON at byte 13: expected the end of the JSON, got and more`),
		"two documents":        refuses[weatherQuery](`{"city":"x"}{}`, `invalid JSON at byte 12: expected the end of the JSON, got {}`),
		"a trailing comma":     refuses[weatherQuery](`{"city":"x",}`, `invalid JSON at byte 12: expected a field name in quotes, got }`),
		"single quotes":        refuses[weatherQuery](`{'city':"x"}`, `invalid JSON at byte 1: expected a field name in quotes, got 'city':"x"}`),
		"a missing colon":      refuses[weatherQuery](`{"city" "x"}`, `invalid JSON at byte 8: expected a colon after a field name, got "x"}`),
		"a missing comma":      refuses[weatherQuery](`{"city":"x" "days":1}`, `invalid JSON at byte 12: expected a comma or the end of an object, got "days":1}`),
		"prose":                refuses[weatherQuery](`Oslo`, `invalid JSON at byte 0: expected a JSON value, got Oslo`),
		"a line break in text": refuses[weatherQuery]("{\"city\":\"a\nb\"}", `city: invalid JSON at byte 10: expected an escape such as \n instead of a control character, got  b"}`),
		"an unknown escape":    refuses[weatherQuery](`{"city":"\x"}`, `city: invalid JSON at byte 10: expected a valid JSON escape, got x"}`),
		"a leading zero":       refuses[weatherQuery](`{"city":"x","days":01}`, `invalid JSON at byte 20: expected a comma or the end of an object, got 1}`),
		"a bare minus":         refuses[weatherQuery](`{"days":-}`, `days: invalid JSON at byte 9: expected a digit, got }`),
		"a word":               refuses[weatherQuery](`{"days":nil}`, `days: invalid JSON at byte 9: expected null, got il}`),
		"a cut-off string":     refuses[weatherQuery](`{"city":"Os`, `city: unexpected end of JSON: expected the rest of a string, got {"city":"Os`),
		"earlier problems do not hide the break": refuses[weatherQuery](`{"x":1,"days":99,"city":`,
			`city: unexpected end of JSON: expected a JSON value, got {"x":1,"days":99,"city":`),
	} {
		t.Run(name, test)
	}
}

func TestEveryPrefixOfADocumentIsIncomplete(t *testing.T) {
	const document = `{"text":"a\u00e4\n","numbers":[-1.5e+3,0],"yes":true,"no":false,"none":null,"sub":{"a":{}}}`
	typ := typeFor[map[string]any](t)
	full := `{"value":` + document + `}`
	for n := 1; n < len(full); n++ {
		var v map[string]any
		err := typ.Decode([]byte(full[:n]), &v)
		var invalid *schema.Error
		require.ErrorAs(t, err, &invalid, full[:n])
		require.True(t, invalid.Incomplete(), full[:n])
	}
	var v map[string]any
	require.NoError(t, typ.Decode([]byte(full), &v))
}

func TestBrokenJSONIsNotIncomplete(t *testing.T) {
	for _, text := range []string{`{"city":"x"]`, `{"city":tru}`, `}`, `{"city":"x"} x`, `{}`} {
		_, err := decode[weatherQuery](t, text)
		var invalid *schema.Error
		require.ErrorAs(t, err, &invalid)
		require.False(t, invalid.Incomplete(), text)
	}
}

func TestNestingIsBounded(t *testing.T) {
	nested := func(n int) string {
		return `{"value":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	}
	_, err := decode[any](t, nested(500))
	require.NoError(t, err)
	for _, n := range []int{512, 1_000_000} {
		t.Run("", refuses[any](nested(n), `JSON is nested more than 512 levels deep`))
	}
}

func TestProblemsAreCapped(t *testing.T) {
	_, err := decode[[]int](t, `{"value":[`+strings.Repeat(`"x",`, 50)+`1]}`)
	var invalid *schema.Error
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 10)
	require.True(t, invalid.More)
	require.True(t, strings.HasSuffix(invalid.Prompt(), "\nand more problems"))
}

func TestValuesAreShortenedAtARuneBoundary(t *testing.T) {
	_, err := decode[one[int]](t, `{"v":"`+strings.Repeat("é", 100)+`"}`)
	var invalid *schema.Error
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, `"`+strings.Repeat("é", 39)+"…", invalid.Problems[0].Value)
}

func TestProblemsAreStructured(t *testing.T) {
	_, err := decode[[]weatherQuery](t, `{"value":[{"city":"x"},{"city":"y","days":20}]}`)
	var invalid *schema.Error
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, []schema.Problem{{Path: "value[1].days", Rule: "maximum", Value: "20", Message: "must be at most 14"}}, invalid.Problems)
	require.EqualError(t, err, "value[1].days: must be at most 14, got 20")
}

func TestDecodeIntoAPointerToAPointer(t *testing.T) {
	var v *weatherQuery
	require.NoError(t, typeFor[*weatherQuery](t).Decode([]byte(`{"city":"x"}`), &v))
	require.Equal(t, &weatherQuery{City: "x"}, v)
	var invalid *schema.Error
	require.ErrorAs(t, typeFor[*mail](t).Decode([]byte(`{"to":"x"}`), new(*mail)), &invalid)
}

func TestWrongDestinationIsAProgramError(t *testing.T) {
	typ := typeFor[weatherQuery](t)
	for _, dst := range []any{nil, weatherQuery{}, new(int), (*weatherQuery)(nil)} {
		err := typ.Decode([]byte(`{"city":"x"}`), dst)
		require.Error(t, err)
		require.False(t, errors.As(err, new(*schema.Error)), "%T", dst)
	}
}

func TestFencesAroundADocumentAreTrimmed(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                            `{}`,
		" {} \n":                        `{}`,
		"```json\n{}\n```":              `{}`,
		"\n```JSON\r\n{}\r\n```\n":      `{}`,
		"```\n[1]\n```":                 `[1]`,
		"```jsonc\n{}\n```":             `{}`,
		"```json {} ```":                `{}`,
		"```{}```":                      `{}`,
		"```42```":                      `42`,
		"```json\n{\"a\":":              `{"a":`,
		"```json\n{\"a\":\"```\"}\n```": "{\"a\":\"```\"}",
		"```":                           ``,
		"``````":                        ``,
		"":                              ``,
		"no JSON":                       `no JSON`,
	} {
		require.Equal(t, want, string(schema.TrimFences([]byte(text))), text)
	}
}

func TestNameIsValidForTools(t *testing.T) {
	require.Equal(t, "weatherQuery", typeFor[weatherQuery](t).Name())
	require.Equal(t, "weatherQuery", typeFor[*weatherQuery](t).Name())
	require.Equal(t, "page_weatherQuery", typeFor[page[weatherQuery]](t).Name())
	require.Equal(t, "page_map_string_int", typeFor[page[map[string]int]](t).Name())
	require.Equal(t, "", typeFor[[]int](t).Name())
	require.Equal(t, "int", typeFor[int](t).Name())
}

func TestOnlyObjectsWithFieldsAreNotWrapped(t *testing.T) {
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[weatherQuery]():   false,
		reflect.TypeFor[*weatherQuery]():  false,
		reflect.TypeFor[struct{}]():       false,
		reflect.TypeFor[tree]():           false,
		reflect.TypeFor[string]():         true,
		reflect.TypeFor[[]weatherQuery](): true,
		reflect.TypeFor[map[string]int](): true,
		reflect.TypeFor[any]():            true,
		reflect.TypeFor[time.Time]():      true,
		reflect.TypeFor[shape]():          true,
		reflect.TypeFor[forest]():         true,
	} {
		got, err := schema.For(typ)
		require.NoError(t, err)
		require.Equal(t, want, got.Wrapped(), typ)
	}
}

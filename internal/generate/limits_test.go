// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/generate"
)

const (
	tooBig = "the schema asks for too large a value, or recurs without end"
	none   = "no value found that keeps the schema"
)

// nested puts a text into n others.
func nested(n int, before, inner, after string) string {
	return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
}

// What is at a limit has a value, and what is beyond has none.
func TestLimitsOfValues(t *testing.T) {
	list := func(item string, n int) string {
		return fmt.Sprintf(`{"type":"array","minItems":%d,"items":%s}`, n, item)
	}
	except := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint(i+1))
		}
		return `{"type":"integer","not":{"enum":[` + strings.Join(all, ",") + `]}}`
	}
	refs := func(n int) string {
		all := []string{`"d0":{"type":"null"}`}
		for i := range n {
			all = append(all, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i+1, i))
		}
		return fmt.Sprintf(`{"$ref":"#/$defs/d%d","$defs":{%s}}`, n-1, strings.Join(all, ","))
	}
	long := func(n int) string { return fmt.Sprintf(`{"type":"string","minLength":%d}`, n) }
	for name, c := range map[string]struct {
		at, beyond, err string
	}{
		"steps":         {list(`{"type":"null"}`, 19_999), list(`{"type":"null"}`, 20_000), "[19999]: " + tooBig},
		"depth":         {nested(200, `{"type":"array","minItems":1,"items":`, `{"type":"null"}`, "}"), nested(201, `{"type":"array","minItems":1,"items":`, `{"type":"null"}`, "}"), strings.Repeat("[0]: ", 201) + tooBig},
		"depth, object": {nested(200, `{"required":["a"],"properties":{"a":`, `{"type":"null"}`, "}}"), nested(201, `{"required":["a"],"properties":{"a":`, `{"type":"null"}`, "}}"), strings.Repeat("a: ", 201) + tooBig},
		"references":    {refs(64), refs(65), tooBig},
		"alternatives":  {nested(64, `{"anyOf":[`, `{"type":"null"}`, "]}"), nested(65, `{"anyOf":[`, `{"type":"null"}`, "]}"), tooBig},
		"one of":        {nested(16, `{"oneOf":[`, `{"type":"null"}`, "]}"), nested(65, `{"oneOf":[`, `{"type":"null"}`, "]}"), tooBig},
		"all of":        {nested(64, `{"allOf":[`, `{"type":"null"}`, "]}"), nested(65, `{"allOf":[`, `{"type":"null"}`, "]}"), tooBig},
		"not":           {nested(64, `{"not":`, `{"type":"string"}`, "}"), nested(65, `{"allOf":[`, `{"not":{"type":"null"}}`, "]}"), tooBig},
		"not, at last":  {nested(63, `{"anyOf":[`, `{"type":"string","not":{"const":"a"}}`, "]}"), nested(64, `{"anyOf":[`, `{"type":"string","not":{"const":"a"}}`, "]}"), tooBig},
		"one, at last":  {nested(63, `{"anyOf":[`, `{"oneOf":[{"type":"null"}]}`, "]}"), nested(64, `{"anyOf":[`, `{"oneOf":[{"type":"null"}]}`, "]}"), tooBig},
		"all, at last":  {nested(63, `{"anyOf":[`, `{"allOf":[{"type":"null"}]}`, "]}"), nested(64, `{"anyOf":[`, `{"allOf":[{"type":"null"}]}`, "]}"), tooBig},
		"string":        {long(1 << 20), long(1<<20 + 1), none + ": no string has a length from 1048577 to 1073741824"},
		"output":        {list(long(1<<20-4), 2), list(long(1<<20-3), 2), "[1]: " + tooBig},
		"tries":         {except(199), except(200), none},
		"few tries":     {`{"oneOf":[{"type":"integer"},{"type":"integer","maximum":9}]}`, `{"oneOf":[{"type":"integer"},{"type":"integer","maximum":10},{"type":"integer","minimum":0}]}`, none},
		"base64":        {`{"contentEncoding":"base64","minLength":268}`, `{"contentEncoding":"base64","minLength":269}`, none + `: no string of format "base64" with a length from 269 to 1073741824`},
		"a format":      {`{"format":"email","minLength":212}`, `{"format":"email","minLength":213}`, none + `: no string of format "email" with a length from 213 to 1073741824`},
		"names":         {`{"type":"object","minProperties":2,"propertyNames":{"not":{"enum":["a"]}}}`, `{"type":"object","minProperties":2,"propertyNames":{"enum":["a"]}}`, none + ": too few names for properties"},
		"exponents":     {`{"minimum":1e400}`, `{"minimum":1e401}`, "the schema cannot be read: 1e401 is no number, or too large a one"},
		"small ones":    {`{"maximum":1,"multipleOf":1e-300}`, `{"multipleOf":1e-401}`, "the schema cannot be read: 1e-401 is no number, or too large a one"},
		"lengths":       {`{"type":"string","maxLength":0.0}`, `{"type":"string","maxLength":-0.1}`, "the schema cannot be read: -0.1 is no length"},
		"multiples":     {`{"multipleOf":0.001,"type":"number"}`, `{"multipleOf":-1,"type":"number"}`, "the schema cannot be read: multipleOf is not above zero"},
		"a repetition":  {`{"pattern":"^(a*)*$","minLength":40}`, `{"pattern":"^(((b*)*)*)*$","minLength":1000,"maxLength":1000}`, none + `: no short string found that matches ["^(((b*)*)*)*$"]`},
	} {
		_, err := generate.Value(json.RawMessage(c.at))
		require.NoError(t, err, name)
		got, err := generate.Value(json.RawMessage(c.beyond))
		if c.err == "" {
			require.Error(t, err, name)
		} else {
			require.EqualError(t, err, c.err, name)
		}
		require.Nil(t, got)
	}
}

// Values that recur are varied up to a depth of five, and in their first two thousand steps, and plain beyond.
func TestValuesBecomePlain(t *testing.T) {
	for seed := range uint64(4) {
		got, err := generate.Seeded(json.RawMessage(nested(8, `{"type":["array","null"],"minItems":1,"items":`, `{"type":"integer"}`, "}")), seed)
		require.NoError(t, err)
		if strings.HasPrefix(string(got), "[") {
			require.NotContains(t, string(got), "[[[[[[[", "deeper ones are null")
		}
		got, err = generate.Seeded(json.RawMessage(`{"type":"array","minItems":2500,"items":{"type":["integer","null"]}}`), seed)
		require.NoError(t, err)
		var list []any
		require.NoError(t, json.Unmarshal(got, &list))
		for i, v := range list[2000:] {
			require.Nil(t, v, "item %d", i+2000)
		}
		if seed == 0 {
			require.NotNil(t, list[1998], "the last one before")
			require.Nil(t, list[2000])
		}
	}
	deep := nested(7, `{"type":"object","properties":{"a":`, `{}`, `}}`)
	most := 0
	for seed := range uint64(300) {
		got, err := generate.Seeded(json.RawMessage(deep), seed)
		require.NoError(t, err)
		most = max(most, strings.Count(string(got), `"a"`))
	}
	require.Equal(t, 6, most, "optional properties of objects that are five deep")
}

// Names of properties are as deep as their values: one deeper than the object.
func TestNamesOfPropertiesBecomePlain(t *testing.T) {
	const names = `{"anyOf":[{"$ref":"#/$defs/r"},{"const":"b"}]}`
	for depth, want := range map[int]string{4: "r", 5: "b"} {
		inner := `{"type":"object","minProperties":1,"propertyNames":` + names + `}`
		schema := nested(depth, `{"type":"array","minItems":1,"items":`, inner, "}")
		got, err := generate.Value(json.RawMessage(`{"$defs":{"r":{"const":"r"}},` + schema[1:]))
		require.NoError(t, err)
		require.Equal(t, nested(depth, "[", `{"`+want+`":"a"}`, "]"), string(got))
	}
	for depth, fits := range map[int]bool{199: true, 200: false} {
		schema := nested(depth, `{"type":"array","minItems":1,"items":`, `{"type":"object","minProperties":1,"propertyNames":{"const":"b"}}`, "}")
		got, err := generate.Value(json.RawMessage(schema))
		if fits {
			require.NoError(t, err)
			require.Equal(t, nested(depth, "[", `{"b":"a"}`, "]"), string(got))
		} else {
			require.ErrorContains(t, err, "recurs without end")
		}
	}
}

// What is encoded in base64 has up to 200 bytes.
func TestLongBytesInBase64(t *testing.T) {
	for schema, n := range map[string]int{`"minLength":1`: 1, `"minLength":265`: 199, `"minLength":265,"pattern":"[^=]=$"`: 200, `"minLength":269`: 0} {
		got, err := generate.Value(json.RawMessage(`{"contentEncoding":"base64",` + schema + "}"))
		if n == 0 {
			require.ErrorContains(t, err, `no string of format "base64"`)
			continue
		}
		require.NoError(t, err, schema)
		require.Equal(t, `"`+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", n)))+`"`, string(got))
	}
}

// Zero begins no number of a pattern unless there is nothing else.
func TestZerosInPatterns(t *testing.T) {
	for pattern, want := range map[string]string{"^[!0]$": "0", "^[01]{3}$": "111", "^[0]x$": "0x"} {
		for seed := range uint64(20) {
			got, err := generate.Seeded(json.RawMessage(fmt.Sprintf(`{"pattern":%q}`, pattern)), seed)
			require.NoError(t, err)
			require.Equal(t, `"`+want+`"`, string(got))
		}
	}
}

// Beyond a depth, alternatives that end a recursion come first, however they are ordered.
func TestWhatEndsARecursion(t *testing.T) {
	all := []struct {
		schema, value string
		weight        int
	}{
		{`null`, `"a"`, 0}, {`{"type":"null"}`, `null`, 0}, {`{"type":["object","null"]}`, `null`, 0}, {`{"type":"integer"}`, `1`, 1}, {`{"const":7}`, `7`, 1},
		{`{"type":"object","required":["o"]}`, `{"o":"a"}`, 2}, {`{"type":"array"}`, `[]`, 2}, {`{"type":["string","array"]}`, `"a"`, 2},
		{`{"$ref":"#/$defs/r"}`, `"r"`, 3}, {`{"allOf":[{"const":8}]}`, `8`, 3}, {`{"anyOf":[{"const":9}]}`, `9`, 3}, {`{"oneOf":[{"const":10}]}`, `10`, 3},
	}
	for _, first := range all {
		for _, second := range all {
			want := first.value
			if second.weight < first.weight {
				want = second.value
			}
			schema := nested(6, `{"type":"array","minItems":1,"items":`, `{"anyOf":[`+first.schema+","+second.schema+"]}", "}")
			got, err := generate.Value(json.RawMessage(`{"$defs":{"r":{"const":"r"}},` + schema[1:]))
			require.NoError(t, err)
			require.Equal(t, nested(6, "[", want, "]"), string(got), schema)
		}
	}
}

// Repetitions that are tried make strings of these lengths.
func TestHowOftenPatternsRepeat(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64} {
		schema := fmt.Sprintf(`{"pattern":"^x(ab)*y$","minLength":%d,"maxLength":%d}`, 2*n+2, 2*n+2)
		got, err := generate.Value(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Equal(t, `"x`+strings.Repeat("ab", n)+`y"`, string(got))
	}
	for pattern, want := range map[string]string{"^b*$": strings.Repeat("b", 50), "^xb*$": "x" + strings.Repeat("b", 49), "^xb*y$": "x" + strings.Repeat("b", 48) + "y", "^(xb*y)?$": "x" + strings.Repeat("b", 48) + "y"} {
		got, err := generate.Value(json.RawMessage(fmt.Sprintf(`{"pattern":%q,"minLength":50,"maxLength":50}`, pattern)))
		require.NoError(t, err, pattern)
		require.Equal(t, `"`+want+`"`, string(got))
	}
	got, err := generate.Value(json.RawMessage(`{"pattern":"^b*$","minLength":1,"maxLength":1}`))
	require.NoError(t, err)
	require.Equal(t, `"b"`, string(got))
}

// The bound of references and alternatives begins anew with each item, member and name, and what an alternative has written
// is taken back when it has no value.
func TestAlternativesOfPartsOfAValue(t *testing.T) {
	deep := nested(64, `{"anyOf":[`, `{"const":"x"}`, "]}")
	for schema, want := range map[string]string{
		`{"type":"array","minItems":1,"maxItems":1,"items":` + deep + `}`:                                             `["x"]`,
		`{"required":["a"],"properties":{"a":` + deep + `}}`:                                                          `{"a":"x"}`,
		`{"type":"object","minProperties":1,"propertyNames":` + nested(64, `{"anyOf":[`, `{"const":"x"}`, "]}") + `}`: `{"x":"a"}`,
		`{"anyOf":[{"required":["a","b"],"properties":{"a":{},"b":false}},{"type":"null"}]}`:                          `null`,
		`{"anyOf":[{"type":"array","minItems":2,"prefixItems":[{},false]},{"type":"null"}]}`:                          `null`,
		`{"pattern":"^(aa|bb|cc|dddd)$","minLength":4}`:                                                               `"dddd"`,
		`{"pattern":"^(ab){2,}c{0}$","minLength":8}`:                                                                  `"abababab"`,
		`{"$defs":{"l":{"anyOf":[{"const":7}]}},"$ref":"#/$defs/l/anyOf/0"}`:                                          `7`,
		`{"type":"integer","allOf":[{"anyOf":[{"minimum":3}]},{"anyOf":[{"const":1},{"const":5}]}]}`:                  `5`,
		`{"type":"array","minItems":6,"uniqueItems":true,"prefixItems":[{"const":"a"},{"const":"b"},{"const":"c"},{"const":"d"},{"const":"e"}],"items":{"type":"integer","minimum":0,"maximum":2}}`: `["a","b","c","d","e",0]`,
	} {
		got, err := generate.Value(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Equal(t, want, string(got), schema)
	}
	_, err := generate.Value(json.RawMessage(`{"pattern":"^(aa|bb|cc|dd|eeee)$","minLength":4}`))
	require.ErrorContains(t, err, "no string found that matches", "four alternatives are tried")
}

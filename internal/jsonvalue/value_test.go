// SPDX-License-Identifier: Apache-2.0

package jsonvalue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/jsonvalue"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(text))
	require.NoError(t, err)
	return v
}

func TestValuesAreEqualByMeaning(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true}, {"1", "1e0", true}, {"-0", "0", true}, {"-0", "0.0", true}, {"-0.0", "0", true},
		{"0.1", "0.10", true}, {"1", "2", false}, {"1", "1.5", false}, {"100", "1e2", true},
		{"9007199254740993", "9007199254740992.0", false}, // exact, not as two floats
		{"9007199254740992", "9007199254740992.0", true},
		{"1e999", "1", false}, {"18446744073709551616", "18446744073709551616", true},
		{"true", "1", false}, {"null", "null", true}, {"null", "false", false}, {"null", "[]", false},
		{"[]", "null", false}, {"{}", "null", false}, {"null", "{}", false}, {"{}", "[]", false},
		{`"a"`, `"a"`, true}, {`"1"`, "1", false}, {`[1,2]`, `[1.0,2]`, true}, {`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false}, {`{"a":1,"b":null}`, `{"b":null,"a":1.0}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false}, {`{"a":null}`, `{"b":null}`, false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		require.Equal(t, c.want, jsonvalue.Rules{}.Equal(a, b), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, jsonvalue.Rules{}.Equal(b, a), "%s, %s", c.b, c.a)
	}
}

func TestBoolsAreNumbersOnRequest(t *testing.T) {
	rules := jsonvalue.Rules{Bools: true}
	require.True(t, rules.Equal(true, json.Number("1.0")))
	require.True(t, rules.Equal(parse(t, `[false]`), parse(t, `[0]`)))
	require.True(t, rules.Equal(true, true))
	require.False(t, rules.Equal(true, false))
	require.False(t, rules.Equal(true, "1"))
}

func TestAValueContainsAPartOfItself(t *testing.T) {
	value := parse(t, `{"a":{"b":1,"c":[{"d":1,"e":2},3]},"f":null}`)
	for text, want := range map[string]bool{
		`{}`: true, `{"f":null}`: true, `{"a":{"c":[{"e":2},3]}}`: true, `{"a":{"b":1.0}}`: true,
		`{"a":{"c":[{"e":2}]}}`: false, `{"a":{"c":[3,{"e":2}]}}`: false, `{"g":null}`: false, `[]`: false,
	} {
		require.Equal(t, want, jsonvalue.Rules{}.Contains(value, parse(t, text)), text)
	}
}

func TestValuesOfGoAreWhatJSONHasOfThem(t *testing.T) {
	v, err := jsonvalue.Of(struct {
		A int    `json:"a"`
		B string `json:"b,omitempty"`
	}{A: 1})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": json.Number("1")}, v)
	v, err = jsonvalue.Of(json.RawMessage(` [1] `))
	require.NoError(t, err)
	require.Equal(t, []any{json.Number("1")}, v)
	_, err = jsonvalue.Of(json.RawMessage("1 2"))
	require.EqualError(t, err, "there is more than one JSON value")
	_, err = jsonvalue.Of(func() {})
	require.Error(t, err)
}

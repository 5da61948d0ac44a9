// SPDX-License-Identifier: Apache-2.0

package jsonvalue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/jsonvalue"
)

func TestSimpleValuesStayWhatTheyAre(t *testing.T) {
	for _, v := range []any{nil, true, false, "x"} {
		got, err := jsonvalue.Of(v)
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
	for text, want := range map[string]string{"": "EOF", "[": "unexpected EOF", "1 x": "there is more than one JSON value", "{} []": "there is more than one JSON value"} {
		_, err := jsonvalue.Parse([]byte(text))
		require.EqualError(t, err, want)
		_, err = jsonvalue.Of(json.RawMessage(text))
		require.EqualError(t, err, want)
	}
	v, err := jsonvalue.Of([]any{1.50, "<", nil, map[string]int{"a": 1}})
	require.NoError(t, err)
	require.Equal(t, []any{json.Number("1.5"), "<", nil, map[string]any{"a": json.Number("1")}}, v)
}

func TestNumbersAreComparedExactly(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"0", "-0", true}, {"-1", "1", false}, {"-1", "-1.0", true}, {"1e2", "100", true}, {"1E2", "100.0", true}, {"1e-1", "0.1", true}, {"1e-1", "0", false}, {"0.5", "0", false}, {"-0.5", "-0", false},
		{"1e300", "1" + "0", false}, {"1e999", "1e998", true}, {"1e999", "99", false}, {"-1e999", "1e999", false}, {"18446744073709551617", "18446744073709551616", false}, {"1e16", "10000000000000000", true}, {"1e16", "10000000000000001", false},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		require.Equal(t, c.want, jsonvalue.Rules{}.Equal(a, b), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, jsonvalue.Rules{}.Equal(b, a), "%s, %s", c.b, c.a)
		require.Equal(t, c.want, jsonvalue.Rules{}.Contains(a, b), "%s, %s", c.a, c.b)
	}
	for _, c := range []struct {
		value, want string
		is          bool
	}{
		{`[1,2]`, `[1]`, false}, {`[1]`, `[1,2]`, false}, {`[1,2]`, `[1,3]`, false}, {`[{"a":1,"b":2}]`, `[{"b":2}]`, true}, {`[{"a":1}]`, `[{"b":null}]`, false}, {`{"a":[1]}`, `{"a":[]}`, false}, {`{"a":1}`, `{}`, true}, {`1`, `{}`, false}, {`1`, `[]`, false}, {`{}`, `[]`, false}, {`"a"`, `"a"`, true},
	} {
		require.Equal(t, c.is, jsonvalue.Rules{}.Contains(parse(t, c.value), parse(t, c.want)), "%s in %s", c.want, c.value)
	}
	rules := jsonvalue.Rules{Bools: true}
	require.True(t, rules.Equal(json.Number("0.0"), false))
	require.False(t, rules.Equal(false, json.Number("1")))
	require.True(t, rules.Contains(parse(t, `{"a":[true]}`), parse(t, `{"a":[1]}`)))
	require.False(t, jsonvalue.Rules{}.Contains(parse(t, `{"a":[true]}`), parse(t, `{"a":[1]}`)))
}

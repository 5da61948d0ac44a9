// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/strictjson"
)

// Every value has its kind, its text and its place, however the text is laid out.
func TestValuesHaveTheirPlaces(t *testing.T) {
	for _, data := range []string{`{"n":null,"t":true,"f":false,"i":-1.5e+3,"s":"a\"\\","l":[1,[],{}],"o":{"x":0}}`, "\uFEFF \t{ \"n\" :\r\n null , \"t\"\n:true\t,\"f\": false , \"i\":-1.5e+3\n, \"s\" : \"a\\\"\\\\\" ,\"l\":[ 1 , [ ] ,{ }\r] , \"o\": {\"x\" : 0 } } "} {
		v, err := strictjson.Parse([]byte(data))
		require.NoError(t, err)
		var order []string
		for _, m := range v.Members {
			order = append(order, m.Name)
			require.True(t, strings.HasPrefix(data[m.Start:], `"`+m.Name+`"`), "%s at %d", m.Name, m.Start)
		}
		require.Equal(t, []string{"n", "t", "f", "i", "s", "l", "o"}, order)
		for name, want := range map[string]struct {
			kind strictjson.Kind
			says string
			text string // as in the source
			got  string
		}{
			"n": {strictjson.Null, "null", "null", "null"}, "t": {strictjson.Bool, "true or false", "true", "true"}, "f": {strictjson.Bool, "true or false", "false", "false"},
			"i": {strictjson.Number, "a number", "-1.5e+3", "-1.5e+3"}, "s": {strictjson.String, "a string", `"a\"\\"`, `a"\`}, "l": {strictjson.Array, "a list", "", ""}, "o": {strictjson.Object, "an object", "", ""},
		} {
			m := v.Get(name)
			require.Equal(t, want.kind, m.Kind, name)
			require.Equal(t, want.says, m.Kind.String())
			require.Equal(t, want.got, m.Text, name)
			source := data[m.Start:m.End]
			if want.text != "" {
				require.Equal(t, want.text, source, name)
			}
			require.True(t, json.Valid([]byte(source)), "%s: %s", name, source)
		}
		list := v.Get("l")
		require.Len(t, list.Items, 3)
		require.Equal(t, []strictjson.Kind{strictjson.Number, strictjson.Array, strictjson.Object}, []strictjson.Kind{list.Items[0].Kind, list.Items[1].Kind, list.Items[2].Kind})
		require.Equal(t, "0", v.Get("o").Get("x").Text)
		require.Nil(t, list.Get("x"))
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, pair := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		nested := func(n int) []byte { return []byte(strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n)) }
		_, err := strictjson.Parse(nested(64))
		require.NoError(t, err)
		_, err = strictjson.Parse(nested(65))
		require.EqualError(t, err, "more than 64 levels deep")
		e, ok := errors.AsType[*strictjson.Error](err)
		require.True(t, ok)
		require.Equal(t, 65*len(pair[0]), e.Offset)
	}
}

func TestPositionsCountCharacters(t *testing.T) {
	data := []byte("\uFEFFé\n日x\n")
	for offset, want := range map[int][2]int{-1: {1, 1}, 0: {1, 1}, 3: {1, 1}, 5: {1, 2}, 6: {2, 1}, 9: {2, 2}, 10: {2, 3}, 11: {3, 1}, 99: {3, 1}} {
		line, column := strictjson.Position(data, offset)
		require.Equal(t, want, [2]int{line, column}, offset)
	}
	for text, want := range map[string]int{"a\xffb": 1, "é\xe9": 2, "\xff": 0, "\ufffd\xff": 3} {
		_, err := strictjson.Parse([]byte(text))
		require.Equal(t, &strictjson.Error{Offset: want, Problem: "not UTF-8"}, err)
	}
	for text, want := range map[string]int{"": 0, "\uFEFF": 3, "\uFEFFx": 3, "[1": 1, "[1 x": 3, "nul": 2} {
		_, err := strictjson.Parse([]byte(text))
		e, ok := errors.AsType[*strictjson.Error](err)
		require.True(t, ok)
		require.Equal(t, want, e.Offset, text)
	}
}

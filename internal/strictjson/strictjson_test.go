// SPDX-License-Identifier: Apache-2.0

package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/strictjson"
)

func TestParseKeepsPositions(t *testing.T) {
	data := []byte("\uFEFF{\n  \"é\": [1, \"a\\\"b\", null], \"b\": {\"c\": true}}")
	v, err := strictjson.Parse(data)
	require.NoError(t, err)
	require.Equal(t, strictjson.Object, v.Kind)
	list := v.Get("é")
	require.Len(t, list.Items, 3)
	require.Equal(t, `a"b`, list.Items[1].Text)
	require.Equal(t, strictjson.Null, list.Items[2].Kind)
	require.Equal(t, `"a\"b"`, string(data[list.Items[1].Start:list.Items[1].End]))
	line, column := strictjson.Position(data, list.Items[1].Start)
	require.Equal(t, []int{2, 12}, []int{line, column})
	require.Equal(t, strictjson.Bool, v.Get("b").Get("c").Kind)
	require.Nil(t, v.Get("d"))
	line, column = strictjson.Position(data, 3)
	require.Equal(t, []int{1, 1}, []int{line, column}, "a byte order mark is no column")
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "1:1 unexpected end of JSON input",
		"{\n  \"a\": x}":             "2:8 invalid character 'x'",
		`{"a": 1, "\u0061": 2}`:      `1:10 "a" is there twice`,
		`{"a": {"b": 1, "b": 1}}`:    `1:16 "b" is there twice`,
		"{\"a\": \"\xff\"}":          "1:8 not UTF-8",
		`{} {}`:                      "1:4 invalid character '{' after top-level value",
		`{"a": 1,}`:                  "1:9 invalid character '}'",
		strings.Repeat("[", 100_000): "exceeded max depth",
		strings.Repeat("[", 70) + strings.Repeat("]", 70): "more than 64 levels deep",
	} {
		_, err := strictjson.Parse([]byte(text))
		var e *strictjson.Error
		require.ErrorAs(t, err, &e, text)
		line, column := strictjson.Position([]byte(text), e.Offset)
		require.Contains(t, strings.Join([]string{number(line) + ":" + number(column), e.Problem}, " "), want)
	}
}

func number(n int) string {
	data, _ := json.Marshal(n)
	return string(data)
}

// FuzzParse compares with encoding/json: whatever is read is what that reads, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",true,null,{}]}`, "\uFEFF []", `"\`, `{"a":1,"a":2}`, "[[[", " 1 "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := strictjson.Parse(data)
		if err != nil {
			return
		}
		var want any
		if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\uFEFF")), &want) != nil {
			return // a number that is too large for a float64
		}
		require.Equal(t, want, plain(t, v))
	})
}

func plain(t *testing.T, v *strictjson.Value) any {
	switch v.Kind {
	case strictjson.Object:
		all := map[string]any{}
		for _, m := range v.Members {
			all[m.Name] = plain(t, m.Value)
		}
		return all
	case strictjson.Array:
		all := []any{}
		for _, i := range v.Items {
			all = append(all, plain(t, i))
		}
		return all
	case strictjson.String:
		return v.Text
	}
	var simple any
	require.NoError(t, json.Unmarshal([]byte(v.Text), &simple))
	return simple
}

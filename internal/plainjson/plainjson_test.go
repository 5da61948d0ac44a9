// SPDX-License-Identifier: Apache-2.0

package plainjson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// wrapped encodes itself, with the escapes of encoding/json.
type wrapped struct{ text string }

func (w wrapped) MarshalJSON() ([]byte, error) { return json.Marshal(w.text) }

func TestMarshalKeepsHTMLCharacters(t *testing.T) {
	for want, v := range map[string]any{
		`"a < b && c > d"`:             "a < b && c > d",
		`{"a<b":["x&y",{"z":">"}]}`:    map[string]any{"a<b": []any{"x&y", map[string]string{"z": ">"}}},
		`["<"]`:                        []wrapped{{"<"}},
		`"\\u003c"`:                    `\u003c`,
		`"\\<"`:                        `\<`,
		`"\\\\u0026 & \"\u0001\u2028"`: "\\\\u0026 & \"\x01\u2028",
		`{"raw":"\u00e4<>"}`:           map[string]any{"raw": json.RawMessage(`"\u00e4\u003C\u003E"`)},
		`""`:                           "",
		`1.5`:                          1.5,
	} {
		data, err := plainjson.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	_, err := plainjson.Marshal(func() {})
	require.Error(t, err)
}

func FuzzMarshal(f *testing.F) {
	for _, seed := range []string{"", "<", `\u003c`, `\\u003c<`, "\\", `"\"&`, "a\x00<\xff>\u2028"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := map[string]any{text: []any{text, wrapped{text}}}
		escaped, err := json.Marshal(v)
		require.NoError(t, err)
		plain, err := plainjson.Marshal(v)
		require.NoError(t, err)
		var want, got any
		require.NoError(t, json.Unmarshal(escaped, &want))
		require.NoError(t, json.Unmarshal(plain, &got), "%s", plain)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s means %v, want %v", plain, got, want)
		}
	})
}

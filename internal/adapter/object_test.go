// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

func TestObjectKeepsOrderAndValues(t *testing.T) {
	members, err := adapter.Members([]byte(` {"z": 9007199254740993, "a" :{"y":1.0, "b":2}, "<":"\u00e9", "a":[ ]} `))
	require.NoError(t, err)
	require.Equal(t, []adapter.Member{
		{Name: "z", Value: json.RawMessage("9007199254740993")}, {Name: "a", Value: json.RawMessage(`{"y":1.0, "b":2}`)},
		{Name: "<", Value: json.RawMessage(`"\u00e9"`)}, {Name: "a", Value: json.RawMessage(`[ ]`)},
	}, members)
	require.Equal(t, `{"z":9007199254740993,"a":{"y":1.0, "b":2},"<":"\u00e9","a":[ ]}`, string(adapter.Object(members)))
	require.Equal(t, `{}`, string(adapter.Object(nil)))
	members, err = adapter.Members([]byte(`{}`))
	require.NoError(t, err)
	require.Empty(t, members)
	for _, bad := range []string{"", "null", "[]", `"x"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{1:2}`, `{"a":}`} {
		_, err := adapter.Members([]byte(bad))
		require.Error(t, err, bad)
	}
}

// FuzzMembers compares with the decoder of the standard library.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"a\\\"":{"b":"}"},"c":[1,{"d":2}] , "e" : "\u00e9\\"}`, ` {}`, `{"":null}`, `{"a":1}{`, "\f{}", "{\"\xff\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		members, err := adapter.Members(object)
		dec := json.NewDecoder(bytes.NewReader(object))
		token, _ := dec.Token()
		require.Equal(t, json.Valid(object) && token == json.Delim('{'), err == nil)
		if err != nil {
			return
		}
		for _, m := range members {
			name, err := dec.Token()
			require.NoError(t, err)
			require.Equal(t, name, m.Name)
			var value json.RawMessage
			require.NoError(t, dec.Decode(&value))
			require.Equal(t, string(value), string(m.Value))
		}
		require.False(t, dec.More())
	})
}

// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
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

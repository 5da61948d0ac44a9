// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// plainJSON encodes and decodes as users of encoding/json do.
func plainJSON(t *testing.T, v any) (text string, back any) {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err, "%T", v)
	p := reflect.New(reflect.TypeOf(v).Elem())
	require.NoError(t, json.Unmarshal(data, p.Interface()), "%T: %s", v, data)
	return string(data), p.Interface()
}

// Types have methods for encoding/json only where it would do otherwise without them.
func TestEncodingJSONWritesAndReadsWhatAConnectionDoes(t *testing.T) {
	everyStruct(func(typ reflect.Type) {
		for variant := range maxVariants {
			full := reflect.New(typ)
			fill(full.Elem(), variant)
			same(t, full.Interface())
			for i := range typ.NumField() { // with this field at its zero value: absent, if it may be
				v := reflect.New(typ)
				fill(v.Elem(), variant)
				v.Elem().Field(i).SetZero()
				if _, err := acp.Marshal(v.Interface()); err == nil {
					same(t, v.Interface())
				}
			}
		}
		same(t, emptyOf(typ))
	})
}

// emptyOf returns a value whose fields are zero, but for one variant of each union.
func emptyOf(typ reflect.Type) any {
	v := reflect.New(typ)
	if _, err := acp.Marshal(v.Interface()); err != nil {
		fill(v.Elem(), 0)
	}
	return v.Interface()
}

// same compares a value's JSON, and what is read from it, with that of package acp.
func same(t *testing.T, v any) {
	t.Helper()
	text, got := plainJSON(t, v)
	data, err := acp.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, string(data), text, "%T", v)
	want := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	require.NoError(t, acp.Unmarshal([]byte(text), want))
	require.Equal(t, want, got, "%s", text)
	byValue, err := acp.Marshal(reflect.ValueOf(v).Elem().Interface())
	require.NoError(t, err)
	require.Equal(t, string(data), string(byValue))
}

// Null in an optional member is what the schema allows, wherever it stands.
func TestEncodingJSONReadsNullInOptionalMembersAsAConnectionDoes(t *testing.T) {
	everyStruct(func(typ reflect.Type) {
		v := reflect.New(typ)
		fill(v.Elem(), 0)
		text, err := acp.Marshal(v.Interface())
		require.NoError(t, err)
		var whole map[string]json.RawMessage
		if json.Unmarshal(text, &whole) != nil {
			return // it is a list or a scalar
		}
		for name, value := range whole {
			whole[name] = json.RawMessage("null")
			doc, err := json.Marshal(whole)
			require.NoError(t, err)
			whole[name] = value
			want, got := reflect.New(typ).Interface(), reflect.New(typ).Interface()
			if acp.Unmarshal(doc, want) != nil {
				continue // it is required
			}
			require.NoError(t, json.Unmarshal(doc, got), "%s", doc)
			require.Equal(t, want, got, "%s", doc)
		}
	})
}

func TestMarshalAndUnmarshalTakeOtherValues(t *testing.T) {
	for _, v := range []any{nil, 7, "<", map[string]int{"a": 1}, &acp.TooLongError{Limit: 7}, (*acp.ToolCall)(nil), acp.ConnOptions{}.MaxLine} {
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := acp.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	var n int
	require.NoError(t, acp.Unmarshal([]byte("7"), &n))
	require.Equal(t, 7, n)
	for _, v := range []any{nil, 7, (*acp.ToolCall)(nil), (*acp.RequestID)(nil), acp.ToolCall{}} {
		require.Error(t, acp.Unmarshal([]byte(`{}`), v), fmt.Sprintf("%T", v))
	}
}

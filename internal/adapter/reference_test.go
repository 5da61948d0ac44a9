// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

func TestReferencesStayWithinTheSchema(t *testing.T) {
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(
		`{"title":"root","$defs":{"a":{"title":"a"},"b/c~d":{"title":"b"},"List[int]":{"title":"list"},"":{"title":"empty"}},"anyOf":[{"title":"first"},7]}`), &root))
	for ref, want := range map[string]string{
		"#": "root", "#/$defs/a": "a", "#/$defs/b~1c~0d": "b", "#/$defs/List%5Bint%5D": "list", "#/$defs/List[int]": "list", "#/$defs/": "empty", "#/anyOf/0": "first",
	} {
		target, ok := adapter.Reference(root, ref)
		require.True(t, ok, ref)
		require.Equal(t, want, target["title"], ref)
	}
	for _, ref := range []string{
		"", "a", "#a", "https://example.com/#/$defs/a", "#/$defs/x", "#/$defs/a/title", "#/$defs/a/title/x", "#/anyOf/1", "#/anyOf/2", "#/anyOf/-1", "#/anyOf/x", "#/%zz",
	} {
		_, ok := adapter.Reference(root, ref)
		require.False(t, ok, ref)
	}
}

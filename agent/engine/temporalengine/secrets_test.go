// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/secrettest"
)

var updateTypes = flag.Bool("update-types", false, "write the table of exported types")

func TestNoTypeShowsSecrets(t *testing.T) {
	const table = "exported_types_test.go"
	want, err := secrettest.Exported(".", "agent/engine/temporalengine", "temporalengine_test")
	require.NoError(t, err)
	if *updateTypes {
		require.NoError(t, os.WriteFile(table, want, 0o644))
	}
	got, err := os.ReadFile(table)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test -run TestNoTypeShowsSecrets -update-types")
	// These are parts of the conversation, which is shown to people.
	harmless := []string{"model.Part.URL", "toolset.Question.URL", "model.Effect.Env"}
	m := &secrettest.Maker{Pool: exported, Harmless: func(field string) bool { return slices.Contains(harmless, field) }}
	for _, of := range exported {
		if of.Kind() == reflect.Interface {
			continue
		}
		v, _ := m.Make(of)
		require.Empty(t, secrettest.Ways(v.Addr().Interface()), of)
		if !secrettest.Locks(of) {
			require.Empty(t, secrettest.Ways(v.Interface()), of)
		}
	}
}

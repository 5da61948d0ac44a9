// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestSchemasAreAsRecorded(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"weather":   reflect.TypeFor[weatherQuery](),
		"kinds":     reflect.TypeFor[everyKind](),
		"rules":     reflect.TypeFor[everyRule](),
		"keywords":  reflect.TypeFor[everyKeyword](),
		"embedding": reflect.TypeFor[embedding](),
		"optional":  reflect.TypeFor[optionality](),
		"recursive": reflect.TypeFor[tree](),
		"custom":    reflect.TypeFor[customTypes](),
		"generic":   reflect.TypeFor[page[weatherQuery]](),
		"slice":     reflect.TypeFor[[]weatherQuery](),
		"string":    reflect.TypeFor[string](),
		"map":       reflect.TypeFor[map[string]int](),
		"forest":    reflect.TypeFor[forest](),
		"any":       reflect.TypeFor[any](),
		"empty":     reflect.TypeFor[struct{}](),
	} {
		t.Run(name, func(t *testing.T) {
			typ, err := schema.For(typ)
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, typ.JSON(), "", "  "))
			got.WriteByte('\n')
			path := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

func reflectType[T any]() reflect.Type { return reflect.TypeFor[T]() }

// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	Az09_aZ            struct{ A int }
	größe_9            struct{ A int }
	tags               struct{ A int }
	Ünnötig            struct{ A int }
	two[A, B any]      struct{ A A }
	namesOfArgs[A any] struct{ A A }
	Zz90               struct{ A int }
)

// Names of tools have only letters, digits and underlines of ASCII.
func TestNamesHaveOnlyWhatProvidersAccept(t *testing.T) {
	require.Equal(t, "Az09_aZ", typeFor[Az09_aZ](t).Name())
	require.Equal(t, "gre_9", typeFor[größe_9](t).Name())
	require.Equal(t, "nntig", typeFor[Ünnötig](t).Name())
	require.Equal(t, "two_Zz90_string", typeFor[two[Zz90, string]](t).Name())
	require.Equal(t, "two_int_map_string_Az09_aZ", typeFor[two[*int, map[string]*Az09_aZ]](t).Name())
	require.Equal(t, "namesOfArgs_page_tags", typeFor[namesOfArgs[page[tags]]](t).Name())
	require.Equal(t, "page_struct_A_int_json09AZ_azx", typeFor[page[struct {
		A int `json:"0:9@AZ^_az|~x"` //nolint:govet // every character that is next to those that names have
	}]](t).Name())
}

// SPDX-License-Identifier: Apache-2.0

package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/nearest"
)

// A third of the letters may be wrong, and one in any case. Of several names the nearest is meant, and of equal ones the first.
func TestMistakesAreCounted(t *testing.T) {
	for _, c := range []struct {
		typed string
		names []string
		want  string
	}{
		{"ab", []string{"ax"}, "ax"}, {"ab", []string{"xy"}, ""}, {"a", []string{"b"}, "b"}, {"a", []string{"ab"}, "ab"}, {"", []string{"a"}, "a"}, {"", []string{"ab"}, ""},
		{"abc", []string{"abx"}, "abx"}, {"abc", []string{"axy"}, "axy"}, {"abc", []string{"xyz"}, ""}, {"abcdef", []string{"abcxyz"}, "abcxyz"}, {"abcdef", []string{"abwxyz"}, ""},
		{"model", []string{"modal", "models", "model"}, "model"}, {"modex", []string{"model", "modes"}, "model"}, {"modes", []string{"xodes", "modesx"}, "xodes"}, {"abcdef", []string{"abcxyz", "abcdez"}, "abcdez"},
		{"abcd", []string{"bacd"}, "bacd"}, {"abcd", []string{"badc"}, "badc"}, {"ab", []string{"ba"}, "ba"}, {"abcd", []string{"dcba"}, ""},
		{"ABC", []string{"abc"}, "abc"}, {"a b_c-d", []string{"abcd"}, "abcd"}, {"größe", []string{"grösse"}, "grösse"}, {"日本", []string{"日x"}, "日x"}, {"日本", []string{"xy"}, ""},
		{strings.Repeat("a", 64), []string{strings.Repeat("a", 63)}, strings.Repeat("a", 63)}, {strings.Repeat("a", 65), []string{strings.Repeat("a", 65)}, ""}, {"a", nil, ""},
	} {
		require.Equal(t, c.want, nearest.Of(c.typed, slices.Values(c.names)), "%q of %q", c.typed, c.names)
	}
}

// SPDX-License-Identifier: Apache-2.0

package lazy_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lazy"
)

func TestSizesOfExpressions(t *testing.T) {
	for expr, want := range map[string]int{
		"abc": 3, "[a-z]": 1, "(?:ab){1000}": 3000, "(?:ab){3,5}": 15, "a{2,}": 4, "a{0}": 2, `\pL{50}`: 100,
		"(": math.MaxInt32, strings.Repeat("a", 1001): math.MaxInt32, strings.Repeat("a", 1000): 1000,
	} {
		require.Equal(t, want, lazy.Size(expr), expr)
	}
	uuid := "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"
	require.Less(t, lazy.Size(uuid), 200)
	require.Greater(t, lazy.Size("(?:"+strings.Repeat("ab", 400)+"){1000}"), 100_000)
}

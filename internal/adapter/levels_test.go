// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/adapter"
)

func TestLevelsAreInOrder(t *testing.T) {
	require.Equal(t, []string{"off", "low", "high", "xhigh", "alpha", "zeta"},
		adapter.Levels(map[string]int{"": 0, "zeta": 1, "high": 1, "off": 1, "xhigh": 1, "low": 1, "alpha": 1}))
	require.Empty(t, adapter.Levels[int](nil))
}

func TestKeysAreSorted(t *testing.T) {
	require.Equal(t, []string{"", "a", "b"}, adapter.SortedKeys(map[string]int{"b": 1, "": 2, "a": 0}))
	require.Equal(t, []string{}, adapter.SortedKeys(map[string]int(nil)))
}

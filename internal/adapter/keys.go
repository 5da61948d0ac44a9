// SPDX-License-Identifier: Apache-2.0

package adapter

import "slices"

// SortedKeys returns the keys of a map in order. It links less than the iterators of package maps.
func SortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

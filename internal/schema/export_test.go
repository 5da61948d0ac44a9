// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"maps"
	"slices"
)

// TagNames returns the names that the package reads in jsonschema tags, and those of validate tags that become formats or
// patterns.
func TagNames() (keywords, named []string) {
	keywords = slices.Concat(append(slices.Collect(maps.Values(typeKeywords)), anyKeywords)...)
	return keywords, slices.Concat(slices.Collect(maps.Keys(formats)), slices.Collect(maps.Keys(patterns)))
}

// Repaired returns the document that Repair makes of a text in the plainest way, whether anybody accepts it or not; nil if there
// is none, or nothing to do.
func Repaired(text []byte) []byte {
	if json.Valid(text) {
		return nil
	}
	if m := mend(text); m != nil {
		return m.result
	}
	return nil
}

package schema

import (
	"maps"
	"slices"
)

// TagNames returns the names that the package reads in jsonschema tags, and those of validate tags that become formats or
// patterns.
func TagNames() (keywords, named []string) {
	keywords = slices.Concat(append(slices.Collect(maps.Values(typeKeywords)), anyKeywords)...)
	return keywords, slices.Concat(slices.Collect(maps.Keys(formats)), slices.Collect(maps.Keys(patterns)))
}

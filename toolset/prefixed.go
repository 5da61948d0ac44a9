// SPDX-License-Identifier: Apache-2.0

package toolset

// Prefixed puts a prefix before the names of a toolset's tools, which keeps two toolsets apart that would clash. A tool
// sees its own name in [Call.Tool], without the prefix.
func Prefixed[D any](set Toolset[D], prefix string) Toolset[D] {
	return RenamedFunc(set, func(name string) string { return prefix + name })
}

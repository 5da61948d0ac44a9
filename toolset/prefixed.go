// SPDX-License-Identifier: Apache-2.0

package toolset

// Prefixed adds a prefix to the names of a toolset's tools, for example to avoid clashes with another toolset. In
// [Call.Tool], a tool sees its own name without the prefix.
func Prefixed[D any](set Toolset[D], prefix string) Toolset[D] {
	return RenamedFunc(set, func(name string) string { return prefix + name })
}

// SPDX-License-Identifier: Apache-2.0

package app

import "runtime/debug"

// release is the module's version, or the commit of a build from a clone.
func release() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "(devel)"
}

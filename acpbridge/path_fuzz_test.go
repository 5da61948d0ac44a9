// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// FuzzPathsStayInside checks that whatever a model gives as a path, the client is asked for a clean path inside of the session.
func FuzzPathsStayInside(f *testing.F) {
	for _, seed := range []string{
		"a", "../a", "/project/../etc", "a/../../b", "", "/", "//project//x", "a\x00", `..\..\x`, `C:\work\proj\..\..\x`, `c:/WORK/proj/x`,
		`\\?\C:\work\proj\x`, `\\?\UNC\s\h\x`, `\\.\pipe\x`, `C:x`, `x:y`, `a. \b`, `\work\proj\x`, `//s/h/x`, `.. /x`, `C:\work\proj\\..\x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got, _ := readIn(t, "/project", nil, name); got != "" {
			if got != path.Clean(got) || got != "/project" && !strings.HasPrefix(got, "/project/") {
				t.Errorf("%q became %q", name, got)
			}
		}
		if got, _ := readIn(t, `C:\work\proj`, nil, name); got != "" {
			folded := strings.ToLower(got)
			parts := strings.Split(got, `\`)
			if folded != `c:\work\proj` && !strings.HasPrefix(folded, `c:\work\proj\`) ||
				slices.Contains(parts, "..") || slices.Contains(parts, ".") || strings.Contains(got[2:], ":") || strings.Contains(got, "/") {
				t.Errorf("%q became %q", name, got)
			}
		}
	})
}

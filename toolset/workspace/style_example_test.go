// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"fmt"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// A backend finds out where a path leads before it opens it.
func ExampleLocate() {
	roots := []string{"/home/ada/project", "/home/ada/notes"}
	for _, name := range []string{"cmd/../main.go", "file:///home/ada/notes/a%20b.md", "../../bob"} {
		at, err := workspace.Locate(roots, name)
		fmt.Printf("%d %q %v\n", at.Root, at.Name, err)
	}
	// Output:
	// 0 "main.go" <nil>
	// 1 "a b.md" <nil>
	// 0 "" outside of the workspace
}

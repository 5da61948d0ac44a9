// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"

	"github.com/ponte-go/ponte/toolset/command"
)

// What "always allow" covers for a few commands.
func ExampleScopeOf() {
	place := command.Place{Roots: []string{"/repo"}, Inside: func(path string) bool { return path == "/repo" || len(path) > 6 && path[:6] == "/repo/" }}
	for _, line := range []string{"go test ./...", "go test -exec ./x ./...", "go test ./... 2>&1 | tail -5", "cat /etc/passwd"} {
		s := command.ScopeOf(command.Command{Line: line, Dir: "/repo"}, place)
		fmt.Println("Always allow", s.Title)
	}
	// Output:
	// Always allow `go test` (ordinary options, project files)
	// Always allow exactly `go test -exec ./x ./...`
	// Always allow `go test` and `tail` (ordinary options, project files)
	// Always allow exactly `cat /etc/passwd`
}

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestLinksWithLinesAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		link, path  string
		line, lines int
	}{
		{"file:///a.go", "file:///a.go", 0, 0},
		{"file:///a.go#L5", "file:///a.go", 5, 1},
		{"file:///a.go#L5-10", "file:///a.go", 5, 6},
		{"file:///a.go#L5:10", "file:///a.go", 5, 6},
		{"FILE:///a.go#L5-L10", "FILE:///a.go", 5, 6},
		{"file:///a.go#L10-L5", "file:///a.go", 5, 6},
		{"file:///a.go#L5C3-L10C7", "file:///a.go", 5, 6},
		{"file:///a.go#5,3", "file:///a.go", 5, 1},
		{"file:///a.go?symbol=Parse", "file:///a.go", 0, 0},
		{"file:///a.go?symbol=Parse#L5:10", "file:///a.go", 5, 6},
		{"file:///a%23L5.go#L7", "file:///a%23L5.go", 7, 1},
		// The whole file has what these name.
		{"file:///a.md#parse", "file:///a.md", 0, 0},
		{"file:///a.md#", "file:///a.md", 0, 0},
		{"file:///a.md?symbol=Parse#two%20words", "file:///a.md", 0, 0},
		{"file:///a.go#L0", "file:///a.go", 0, 0},
		{"file:///a.go#L5-x", "file:///a.go", 0, 0},
		{"file:///a%23b.md#L", "file:///a%23b.md", 0, 0},
		// These are refused by who reads the path.
		{"file:///C#/a.go", "file:///C#/a.go", 0, 0},
		{"file:///C#/a.go#L5", "file:///C#/a.go#L5", 0, 0},
		{"file:///a.go?x=1", "file:///a.go?x=1", 0, 0},
		{"file:///a.go?symbol=A&x=1#L5", "file:///a.go?symbol=A&x=1#L5", 0, 0},
		// These are no links.
		{"a.go#L5", "a.go#L5", 0, 0},
		{"/dir/a.go#L5-10", "/dir/a.go#L5-10", 0, 0},
		{"https://example.com/a.go#L5", "https://example.com/a.go#L5", 0, 0},
	} {
		path, lines := workspace.ParseLink(c.link)
		require.Equal(t, c.path, path, c.link)
		require.Equal(t, workspace.Range{Line: c.line, Lines: c.lines}, lines, c.link)
	}
}

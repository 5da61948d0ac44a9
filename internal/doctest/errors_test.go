// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// between returns the text of a file from one text up to another.
func between(t *testing.T, file, from, to string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(data), from)
	require.True(t, ok, "%s has no %q", file, from)
	text, _, ok := strings.Cut(rest, to)
	require.True(t, ok, "%s has no %q behind it", file, to)
	return text
}

// found returns the first group of each match, in order.
func found(text, pattern string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestKindsOfErrorsAreListed keeps the list of kinds in docs/streaming.md: programs switch on them.
func TestKindsOfErrorsAreListed(t *testing.T) {
	kinds := found(between(t, "agent/engine/event_error.go", "const (", "\n)"), `ErrorKind = "(\w+)"`)
	require.Greater(t, len(kinds), 10)
	listed := found(between(t, "docs/streaming.md", "An error has a `kind`", "`agent.DescribeError`"), "`(\\w+)`")
	notKinds := []string{"status", "code"} // which an api error has
	require.Equal(t, kinds, slices.DeleteFunc(listed, func(s string) bool { return slices.Contains(notKinds, s) }))
}

// TestClassesOfErrorsAreListed keeps the list in the documentation of package otelagent: alerts are
// made of them.
func TestClassesOfErrorsAreListed(t *testing.T) {
	const code = "agent/otelagent/errorclass.go"
	classes := found(between(t, code, "const (", "\n)"), `= "(\w+[^_"])"`)
	classes = append(classes, found(between(t, code, "var classes", "\n}\n"), `, "(\w+)"\}`)...)
	for _, limit := range found(between(t, "toolset/limits.go", "// Names of the limits", "\n)"), `LimitName = "([\w ]+)"`) {
		classes = append(classes, "limit_"+strings.ReplaceAll(limit, " ", "_"))
	}
	require.Greater(t, len(classes), 25)
	listed := found(between(t, "agent/otelagent/doc.go", "// # Errors", "// A retry, a denial"), `(\w+)`)
	for _, class := range classes {
		require.Contains(t, listed, class)
	}
}

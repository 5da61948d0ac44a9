// SPDX-License-Identifier: Apache-2.0

package webfetch

import "testing"

// Markdown is exported for tests of its work and memory.
var Markdown = markdown

// LimitNodes lowers the limit of nodes until the test ends.
func LimitNodes(t testing.TB, n int) {
	before := maxNodes
	maxNodes = n
	t.Cleanup(func() { maxNodes = before })
}

// SetOf and Union make the sets of elements.
var SetOf, Union = setOf, union

// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// FuzzIndexRare compares the search for a text with that of package bytes.
func FuzzIndexRare(f *testing.F) {
	f.Add([]byte("zazbzaabz"), []byte("aab"))
	f.Add([]byte(strings.Repeat("xq", 500)+"xqq"), []byte("xqq"))
	f.Fuzz(func(t *testing.T, block, text []byte) {
		if len(text) > 0 {
			require.Equal(t, bytes.Index(block, text), workspace.IndexRare(block, text))
		}
	})
}

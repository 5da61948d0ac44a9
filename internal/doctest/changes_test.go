// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// path is a file or directory of the repository in a document.
var path = regexp.MustCompile("`((?:[a-zA-Z_.-]+/)+[a-zA-Z_.-]*)`")

// The lists of files in docs/contributing.md must lead somebody who has nothing else.
func TestFilesOfUsualChangesExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "contributing.md"))
	require.NoError(t, err)
	_, chapter, ok := strings.Cut(string(text), "\n## Where a change goes\n")
	require.True(t, ok)
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	changes := strings.Split(chapter, "\n### ")[1:]
	require.Len(t, changes, 5)
	for _, change := range changes {
		title, list, _ := strings.Cut(change, "\n")
		named := path.FindAllStringSubmatch(list, -1)
		assert.GreaterOrEqual(t, len(named), 5, title)
		assert.LessOrEqual(t, len(strings.Fields(list)), 350, "%s: half a page", title)
		for _, m := range named {
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1])))
			assert.NoError(t, err, title)
		}
	}
	_, entity, _ := strings.Cut(chapter, "### An entity that users see")
	assert.LessOrEqual(t, len(path.FindAllString(entity, -1)), 5, "an entity takes five files at most")
}

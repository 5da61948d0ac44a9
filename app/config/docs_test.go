// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/config"
)

// TestKeysAreDocumented compares docs/configuration.md with what is read.
func TestKeysAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	_, table, ok := strings.Cut(doc, "<!-- keys -->\n")
	require.True(t, ok)
	table, _, ok = strings.Cut(table, "<!-- end of keys -->")
	require.True(t, ok)
	rows := strings.Split(strings.TrimSpace(table), "\n")[2:]
	keys := config.Keys()
	require.Len(t, rows, len(keys))
	for i, k := range keys {
		require.True(t, strings.HasPrefix(rows[i], "| `"+k.Name+"` | "), "%s: %s", k.Name, rows[i])
		for _, v := range k.Values {
			if k.Name != "terminal" { // "the same"
				require.Contains(t, rows[i], "`"+v+"`")
			}
		}
		if k.Project {
			require.Contains(t, doc, "It has one key, `"+k.Name+"`")
		}
	}
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(doc, -1)
	require.Len(t, examples, 2)
	_, err = config.ParseUser("f", []byte(examples[0][1]))
	require.NoError(t, err)
	_, err = config.ParseProject("f", []byte(examples[1][1]))
	require.NoError(t, err)
	require.Contains(t, doc, config.ProjectFile("ideagent"))
	require.Contains(t, doc, config.ProjectPrompts)
}

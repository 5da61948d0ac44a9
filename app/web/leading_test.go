// SPDX-License-Identifier: Apache-2.0

package web

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFileThatLeadsToThePage is for its user alone, and its address is part of the page, whatever characters it has.
func TestFileThatLeadsToThePage(t *testing.T) {
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	file, err := leadTo("desk", `http://127.0.0.1:1/?token=a&b="<`)
	require.NoError(t, err)
	require.Equal(t, "open.html", filepath.Base(file))
	require.Equal(t, temp, filepath.Dir(filepath.Dir(file)))
	require.Contains(t, filepath.Base(filepath.Dir(file)), "desk-")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, `<!doctype html>
<meta charset="utf-8">
<title>desk</title>
<meta http-equiv="refresh" content="0; url=http://127.0.0.1:1/?token=a&amp;b=&#34;&lt;">
<a href="http://127.0.0.1:1/?token=a&amp;b=&#34;&lt;">Open the page</a>
`, string(text))
	if runtime.GOOS != "windows" {
		for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, want, info.Mode().Perm())
		}
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(temp, "none"))
	}
	_, err = leadTo("desk", "x")
	require.Error(t, err)
	open("desk", "x")() // there is nothing to remove
}

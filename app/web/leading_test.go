// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client has ten seconds and 64 KB for the headers of a request, and may be silent for two minutes between two.
func TestWhatClientsOfThePageMayTake(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := serve(l, http.NotFoundHandler(), make(chan error, 1))
	require.NoError(t, server.Close())
	require.Equal(t, []time.Duration{10 * time.Second, 2 * time.Minute}, []time.Duration{server.ReadHeaderTimeout, server.IdleTimeout})
	require.Equal(t, 64<<10, server.MaxHeaderBytes)
	require.Zero(t, server.WriteTimeout, "events are written as long as there are some")
}

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

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The arguments of a command, and its environment as its user sees it, tell other users of the machine nothing. What they name is readable by its
// owner only, leads to the page, and is gone when the program is.
func TestCommandThatOpensThePageKnowsNoToken(t *testing.T) {
	bin, told := t.TempDir(), filepath.Join(t.TempDir(), "told")
	script := "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >" + told + ".new && mv " + told + ".new " + told + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, in, "-dir", t.TempDir(), "-store", t.TempDir(), "-model", "offline")
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	printed, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	token := printed.Query().Get("token")
	require.NotEmpty(t, token, "a person can open the printed address")

	var args []byte
	require.Eventually(t, func() bool {
		args, err = os.ReadFile(told)
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	require.NotContains(t, string(args), token)
	require.NotContains(t, string(args), "token")
	require.NotContains(t, string(args), "http")
	file := strings.Split(strings.TrimSpace(string(args)), "\n")[1]
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	address := regexp.MustCompile(`url=([^"]+)"`).FindStringSubmatch(string(text))[1]
	require.Equal(t, printed.String(), address)

	// A browser comes from the file, which is another site: the cookie would not be sent with a redirect.
	r, err := http.NewRequest("GET", address, nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, 200, res.StatusCode)
	require.Len(t, res.Cookies(), 1)
	require.NotContains(t, string(body), token)
	require.Contains(t, string(body), `content="0; url=./"`)

	cancel()
	require.NoError(t, <-done)
	http.DefaultClient.CloseIdleConnections()
	require.NoFileExists(t, file)
	require.NoDirExists(t, filepath.Dir(file))
}

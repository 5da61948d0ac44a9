// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/examples/ideagent/internal/program"
)

// A conversation that begins in an editor goes on in the browser, on the same database, and then in the editor again.
func TestConversationMovesToTheBrowserAndBack(t *testing.T) {
	at, work := database(t), directory(t, "a.txt=one\n")
	editor := newMachine(t, work).start("-store", at)
	s, err := editor.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	say(t, s, "replace one with two in a.txt")

	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		var err error
		args := []string{"web", "-dir", work, "-store", at, "-open=false", "-model", "offline"}
		if code := app.Run(ctx, program.Config(), app.Process{Args: args, Out: in}); code != 0 {
			err = fmt.Errorf("exit code %d", code)
		}
		_ = in.CloseWithError(err)
		done <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	page, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	path := "/api/sessions/" + url.PathEscape(string(s.ID()))
	// call makes a request, and reads the answer until it has a text.
	call := func(method, path, body, until string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, "http://"+page.Host+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+page.Query().Get("token"))
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		for lines := bufio.NewReader(res.Body); ; {
			line, err := lines.ReadString('\n')
			answer += line
			if err != nil || until != "" && strings.Contains(line, until) {
				return res.StatusCode, answer
			}
		}
	}
	status, answer := call("POST", path+"/prompts", `{"parts":[{"text":"read a.txt"}]}`, "")
	require.Equal(t, http.StatusAccepted, status, answer)
	_, shown := call("GET", path+"/events", "", "two\\n")
	require.Contains(t, shown, "Replaced `one` with `two`")
	require.Contains(t, shown, "two\\n")
	call("GET", path+"/events", "", `"running":false`)
	cancel()
	require.NoError(t, <-done)
	http.DefaultClient.CloseIdleConnections()

	again := load(t, newMachine(t, work).start("-store", at), s.ID(), work)
	var said []string
	for e := range again.Snapshot().All() {
		said = append(said, e.Text())
	}
	require.Contains(t, said, "read a.txt", "it was said in the browser")
	require.Contains(t, say(t, again, "read a.txt"), "two")
}

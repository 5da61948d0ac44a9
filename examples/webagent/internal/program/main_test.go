// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app"
)

// running is webagent while it runs.
type running struct {
	t           *testing.T
	base, token string
	stop        func()
	said        bytes.Buffer // to be read when it has stopped
}

// run runs the program. Its error is what it says about it.
func run(ctx context.Context, out io.Writer, args ...string) error {
	return runWith(ctx, out, new(bytes.Buffer), args...)
}

func runWith(ctx context.Context, out io.Writer, said *bytes.Buffer, args ...string) error {
	if code := app.Run(ctx, Config(), app.Process{Args: args, Out: out, Err: said}); code != 0 {
		return fmt.Errorf("exit code %d: %s", code, said.String())
	}
	return nil
}

func start(t *testing.T, dir, store string, flags ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	done := make(chan error, 1)
	p := &running{t: t}
	go func() {
		args := []string{"-dir", dir, "-store", store, "-open=false", "-model", "offline"}
		err := runWith(ctx, in, &p.said, append(args, flags...)...)
		_ = in.CloseWithError(err)
		done <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	u, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	p.base, p.token = "http://"+u.Host, u.Query().Get("token")
	p.stop = func() {
		cancel()
		require.NoError(t, <-done)
		http.DefaultClient.CloseIdleConnections()
	}
	return p
}

// call makes a request with the token as a bearer.
func (p *running) call(method, path, body string, status int) map[string]any {
	p.t.Helper()
	r, err := http.NewRequest(method, p.base+path, bytes.NewReader([]byte(body)))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, status, res.StatusCode, string(data))
	v := map[string]any{}
	if len(data) > 0 {
		require.NoError(p.t, json.Unmarshal(data, &v))
	}
	return v
}

// stream sends a request and returns the stream that answers it.
func (p *running) stream(path, body string) string {
	p.t.Helper()
	r, err := http.NewRequest("POST", p.base+path, strings.NewReader(body))
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, 200, res.StatusCode, string(data))
	return string(data)
}

// until reads the events of a session until one has a text, and returns it.
func (p *running) until(path, text string) string {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, p.base+path+"/events", nil)
	require.NoError(p.t, err)
	r.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(r)
	require.NoError(p.t, err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		require.NoError(p.t, err)
		if strings.Contains(line, text) {
			return line
		}
	}
}

func TestAgentInTheBrowser(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\n"), 0o600))
	p := start(t, dir, store)
	path := "/api/sessions/" + p.call("POST", "/api/sessions", `{}`, 201)["id"].(string)
	p.call("POST", path+"/prompts", `{"parts":[{"text":"replace one with two in notes.txt"}]}`, 202)
	line := p.until(path, `"kind":"question"`)
	require.Contains(t, line, `"kind":"diff"`, "the whole change is shown")
	_, id, _ := strings.Cut(line, `"id":"question:`)
	id, rest, _ := strings.Cut(id, `"`)
	_, digest, _ := strings.Cut(rest, `"digest":"`)
	digest, _, _ = strings.Cut(digest, `"`)
	p.call("POST", path+"/questions/"+url.PathEscape("question:"+id), `{"digest":"`+digest+`","choice":"allow_once"}`, 204)
	p.until(path, "Replaced `one` with `two`")
	data, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))
	p.until(path, `"running":false`)
	v := p.call("POST", "/v1/chat/completions", `{"model":"webagent","messages":[{"role":"user","content":"replace two with three in notes.txt"}]}`, 200)
	require.NotEmpty(t, v["choices"])
	data, err = os.ReadFile(filepath.Join(dir, "notes.txt"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data), "nobody has allowed it")
	for path, body := range map[string]string{
		"/api/chat": `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"replace two with three in notes.txt"}]}]}`,
		"/api/agui": `{"threadId":"two","runId":"r","messages":[{"id":"m","role":"user","content":"replace two with three in notes.txt"}]}`,
	} {
		shown := p.stream(path, body)
		require.Contains(t, shown, `"kind":"diff"`, "%s shows the whole change and asks", path)
		require.Contains(t, shown, `"toolCallId"`)
	}
	p.stop()

	p = start(t, dir, store) // another process
	require.Len(t, p.call("GET", "/api/sessions", "", 200)["sessions"], 3)
	p.until(path, "Replaced `one` with `two`")
	p.stop()
	p = start(t, t.TempDir(), store) // another directory
	require.Empty(t, p.call("GET", "/api/sessions", "", 200)["sessions"])
	p.stop()
}

func TestFirstLineIsThePage(t *testing.T) {
	p := start(t, t.TempDir(), t.TempDir())
	defer p.stop()
	res, err := http.Get(p.base + "/")
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, 401, res.StatusCode)
	visit := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err = visit.Get(p.base + "/?token=" + p.token)
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	r, err := http.NewRequest(http.MethodGet, p.base+"/", nil)
	require.NoError(t, err)
	r.AddCookie(res.Cookies()[0])
	res, err = http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(t, 200, res.StatusCode)
	require.Contains(t, res.Header.Get("Content-Type"), "text/html")
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		`unknown command "x"`: {"x"}, "no such file": {"-dir", "/nowhere/at/all"}, "unknown provider": {"-model", "gpt"}, "docs/app.md": {"-store", "postgres://localhost/app"},
	} {
		require.ErrorContains(t, run(t.Context(), io.Discard, args...), want)
	}
}

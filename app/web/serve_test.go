// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/web"
	"github.com/ponte-go/ponte/webbridge"
)

const token = "a-secret-of-many-words"

// run runs the command "web", with output that is written to out.
func run(ctx context.Context, out io.Writer, o web.Options, env map[string]string, args ...string) (code int, said string) {
	var b bytes.Buffer
	code = app.Run(ctx, app.Config[any, string]{
		Name: "order-desk", Title: "Desk", Version: "1.2.3", Surfaces: []app.Surface{web.New(o)},
		Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Hello."))})),
		Store: func(context.Context, *app.Env) (session.Store, error) { return new(session.Memory), nil },
	}, app.Process{Args: append([]string{"web", "-open=false"}, args...), In: strings.NewReader(""), Out: out, Err: &b, Getenv: func(name string) string { return env[name] }})
	return code, b.String()
}

// started starts the command and returns the address of the page without the token, the token, and what ends it.
func started(t *testing.T, o web.Options, env map[string]string, args ...string) (address, secret string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	read, out := io.Pipe()
	type ending struct {
		code int
		said string
	}
	ended := make(chan ending, 1)
	go func() {
		code, said := run(ctx, out, o, env, args...)
		ended <- ending{code, said}
	}()
	line := make([]byte, 500)
	n, err := read.Read(line)
	require.NoError(t, err)
	address, secret, ok := strings.Cut(strings.TrimSuffix(string(line[:n]), "\n"), "/?token=")
	require.True(t, ok, "%s", line[:n])
	return address, secret, func() {
		cancel()
		require.Equal(t, ending{}, <-ended)
	}
}

func get(t *testing.T, address, secret string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	require.NoError(t, err)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Jar: jar}).Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(body)
}

// The first line is the address; probes need no token, all else does, and large headers are refused.
func TestWhatIsServed(t *testing.T) {
	address, secret, end := started(t, web.Options{}, map[string]string{"ORDER_DESK_TOKEN": token}, "-dir", t.TempDir())
	require.Equal(t, token, secret)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+$`, address)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/sessions": 401, "/v1/models": 401, "/metrics": 401} {
		code, _ := get(t, address+path, "")
		require.Equal(t, want, code, path)
	}
	for path, want := range map[string]int{"/api/sessions": 200, "/v1/models": 200} {
		code, _ := get(t, address+path, token)
		require.Equal(t, want, code, path)
	}
	_, models := get(t, address+"/v1/models", token)
	require.Contains(t, models, "order-desk")
	code, page := get(t, address+"/?token="+token, "")
	require.Equal(t, 200, code)
	require.Contains(t, page, "<html")
	code, _ = get(t, address+"/healthz", "", "X-Large", strings.Repeat("x", 60<<10))
	require.Equal(t, 200, code)
	code, _ = get(t, address+"/healthz", "", "X-Large", strings.Repeat("x", 80<<10))
	require.Equal(t, 431, code)
	end()

	first, one, end := started(t, web.Options{}, nil)
	_, two, endTwo := started(t, web.Options{}, nil)
	require.NotEqual(t, one, two, "without the variable each has a token of its own")
	require.Greater(t, len(one), 20)
	code, _ = get(t, first+"/api/sessions", one)
	require.Equal(t, 200, code)
	end()
	endTwo()
}

// What the program sets itself stays, and the rest is filled in.
func TestOptionsOfTheBridge(t *testing.T) {
	own := webbridge.Options{Token: "another-secret-of-words", Title: "Orders"}
	address, _, end := started(t, web.Options{Bridge: func() webbridge.Options { return own }}, map[string]string{"ORDER_DESK_TOKEN": token})
	code, _ := get(t, address+"/api/sessions", token)
	require.Equal(t, 401, code)
	code, _ = get(t, address+"/api/sessions", own.Token)
	require.Equal(t, 200, code)
	end()
	address, _, end = started(t, web.Options{Bridge: func() webbridge.Options { return webbridge.Options{} }}, map[string]string{"ORDER_DESK_TOKEN": token})
	code, _ = get(t, address+"/api/sessions", token)
	require.Equal(t, 200, code)
	end()
}

// Metrics and probes have an address of their own, without a token.
func TestAddressOfTheAdministrator(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	admin := l.Addr().String()
	code, said := run(t.Context(), io.Discard, web.Options{}, nil, "-admin", admin)
	require.Equal(t, 1, code)
	require.True(t, strings.HasPrefix(said, "order-desk: -admin: listen tcp "), said)
	code, said = run(t.Context(), io.Discard, web.Options{}, nil, "-addr", admin)
	require.Equal(t, 1, code)
	require.True(t, strings.HasPrefix(said, "order-desk: -addr: listen tcp "), said)
	require.NoError(t, l.Close())
	_, _, end := started(t, web.Options{}, nil, "-admin", admin)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/api/sessions": 404} {
		code, _ := get(t, "http://"+admin+path, "")
		require.Equal(t, want, code, path)
	}
	end()
}

func TestMistakesOfTheCommand(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	none := filepath.Join(t.TempDir(), "none")
	code, said := run(ctx, io.Discard, web.Options{}, nil, "-dir", none)
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(said, "order-desk: -dir: "), said)
	code, _ = run(ctx, io.Discard, web.Options{}, nil, "x")
	require.Equal(t, 2, code)
	code, said = run(ctx, io.Discard, web.Options{}, map[string]string{"ORDER_DESK_TOKEN": "short"})
	require.Equal(t, 1, code)
	require.NotContains(t, said, "short\n")
}

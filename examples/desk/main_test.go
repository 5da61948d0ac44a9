// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
	"github.com/ponte-go/ponte/app/offline"
)

// scratch is a directory that is removed after the tests.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(all.Run(context.Background(), program(), app.Process{Args: os.Args[1:]}))
	}
	dir, err := os.MkdirTemp("", "desk-test-")
	if err != nil {
		panic(err)
	}
	scratch = dir
	os.Setenv("XDG_STATE_HOME", dir)
	os.Setenv("XDG_CONFIG_HOME", dir)
	os.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// asProgram is the variable that makes this test binary the program.
const asProgram = "DESK_AS_PROGRAM"

// program is that of main with a model that needs nothing.
func program() all.Config[any, string] {
	c := all.Config[any, string]{Name: "desk", About: "Answers questions about orders", Agent: desk}
	c.Demo = func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) }
	return c
}

// run runs the program of main with a model that needs nothing.
func run(t *testing.T, in io.Reader, out io.Writer, args ...string) (stderr string, code int) {
	t.Helper()
	var errs bytes.Buffer
	code = all.Run(t.Context(), program(), app.Process{Args: args, In: in, Out: out, Err: &errs})
	return errs.String(), code
}

// runIn runs the program until ctx ends, and returns its exit code.
func runIn(ctx context.Context, out io.WriteCloser, args ...string) int {
	defer out.Close()
	return all.Run(ctx, program(), app.Process{Args: args, Out: out})
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestQuestion(t *testing.T) {
	var out bytes.Buffer
	stderr, code := run(t, strings.NewReader(""), &out, `use order {"number":"17"}`)
	require.Zero(t, code, stderr)
	require.Contains(t, out.String(), "a lamp, delivered")
}

func TestChat(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`use order {"number":"18"}` + "\n" + `use refund {"number":"18","amount":5}` + "\n")
	stderr, code := run(t, in, &out, "chat")
	require.Equal(t, 5, code, stderr)
	require.Contains(t, out.String(), "a chair, on its way")
	require.Contains(t, out.String(), "Rejected")
}

func TestEditor(t *testing.T) {
	client := acptest.New(acptest.Options{})
	t.Cleanup(client.Close)
	conn := acptest.Connect(t, client, func(_ context.Context, r io.Reader, w io.Writer) error {
		run(t, r, w, "acp", "-no-store")
		return nil
	})
	id, err := conn.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, `use refund {"number":"17","amount":5}`)
	require.NoError(t, err)
	require.Contains(t, client.State().Text, "Refunded 5.")
	require.Len(t, client.Permissions(), 1)
	require.Empty(t, client.Violations())
}

func TestWeb(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		c := all.Config[any, string]{Name: "desk", Agent: desk}
		c.Demo = func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) }
		done <- all.Run(ctx, c, app.Process{Args: []string{"web", "-open=false", "-admin", "127.0.0.1:0", "-no-store"}, Out: in})
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	page, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	get := func(path, body string) (int, string) {
		t.Helper()
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		r, err := http.NewRequest(method, "http://"+page.Host+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+page.Query().Get("token"))
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(data)
	}
	for _, path := range []string{"/", "/healthz", "/readyz"} {
		status, text := get(path, "")
		require.Equal(t, 200, status, "%s: %s", path, text)
	}
	status, text := get("/v1/chat/completions", `{"model":"desk","messages":[{"role":"user","content":"use order {\"number\":\"18\"}"}]}`)
	require.Equal(t, 200, status, text)
	require.Contains(t, text, "a chair, on its way")
	cancel()
	require.Zero(t, <-done)
	http.DefaultClient.CloseIdleConnections()
}

func TestServerForOtherAgents(t *testing.T) {
	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	done := make(chan int, 1)
	go func() {
		_, code := run(t, toAgent, fromAgent, "mcp")
		done <- code
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil)
	s, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	require.NoError(t, err)
	ask := func(arguments map[string]any) (a struct{ Answer, Session string }, text string) {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "ask", Arguments: arguments})
		require.NoError(t, err)
		text = res.Content[0].(*sdk.TextContent).Text
		_ = json.Unmarshal([]byte(text), &a)
		return a, text
	}
	a, text := ask(map[string]any{"prompt": `use order {"number":"18"}`})
	require.Contains(t, a.Answer, "a chair, on its way", text)
	b, _ := ask(map[string]any{"prompt": `use order {"number":"17"}`, "session": a.Session})
	require.Equal(t, a.Session, b.Session)
	require.Contains(t, b.Answer, "a lamp, delivered")
	c, text := ask(map[string]any{"prompt": `use refund {"number":"18","amount":5}`})
	require.NotContains(t, c.Answer, "Refunded 5", text)
	_, text = ask(map[string]any{"prompt": "hi", "session": "none"})
	require.Contains(t, text, "there is no such session")
	require.NoError(t, s.Close())
	require.Zero(t, <-done)
}

// TestProgramIsShort keeps what docs/app.md promises: an agent becomes a program in eleven lines of Go beside its tools,
// and none of them is about surfaces: package all is the only one of the program, and it is imported once.
func TestProgramIsShort(t *testing.T) {
	data, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(data), "\npackage main\n")
	require.True(t, ok)
	lines := 1
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 11)
	require.Len(t, regexp.MustCompile(`"[^"]+/app[/"]`).FindAllString(code, -1), 1)
	require.NotRegexp(t, `(?i)surface|chat|editor|web|mcp|terminal`, code)
	page, err := os.ReadFile("../../docs/app.md")
	require.NoError(t, err)
	require.Contains(t, string(page), code[strings.Index(code, "\nvar desk"):])
}

// TestPeerIsCounted keeps the table of docs/app.md: the program of the peer is the one that
// internal/interop starts, and as long as the table says.
func TestPeerIsCounted(t *testing.T) {
	page, err := os.ReadFile("../../docs/app.md")
	require.NoError(t, err)
	_, after, ok := strings.Cut(string(page), "In Pydantic AI")
	require.True(t, ok)
	_, program, ok := strings.Cut(after, "```text\n")
	require.True(t, ok)
	program, _, _ = strings.Cut(program, "```")
	peer, err := os.ReadFile("../../internal/interop/python/pydantic_desk.py")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(peer), "# The program.\n")
	require.True(t, ok)
	var lines []string
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	require.Equal(t, strings.Join(lines, ""), program)
	require.Len(t, lines, 19)
	require.Contains(t, string(page), "| Lines beside the tools | 11 | 19 |")
}

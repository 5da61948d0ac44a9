// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
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
)

// built returns the program, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "program")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// slowModel is a server that has begun each answer when asked receives, and ends it when release is closed.
type slowModel struct {
	asked   chan struct{}
	release chan struct{}
}

func newSlowModel(t *testing.T) (*slowModel, string) {
	m := &slowModel{make(chan struct{}, 10), make(chan struct{})}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	t.Cleanup(sync.OnceFunc(func() {
		select {
		case <-m.release:
		default:
			close(m.release)
		}
	}))
	return m, server.URL
}

func (m *slowModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	piece := func(delta, reason string) {
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}`+"\n\n", delta, reason)
		_ = http.NewResponseController(w).Flush()
	}
	piece("It is ", "null")
	m.asked <- struct{}{}
	select {
	case <-m.release:
	case <-r.Context().Done():
		return
	}
	piece("on its way.", `"stop"`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// server is the built program that serves a page.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string
	log  *paper
}

type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func startServer(t *testing.T, state, model string) *server {
	t.Helper()
	binary, err := built()
	require.NoError(t, err)
	s := &server{t: t, log: new(paper)}
	s.cmd = exec.Command(binary, "web", "-open=false", "-dir", state, "-addr", "127.0.0.1:0", "-model", "llamacpp:m")
	s.cmd.Env = []string{"HOME=" + state, "XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + state, "DESK_TOKEN=a-token-of-32-characters-or-more", "LLAMACPP_BASE_URL=" + model}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, s.log)
	page, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	s.base = "http://" + page.Host
	return s
}

func (s *server) call(method, path, body string) (status int, text string, err error) {
	r, err := http.NewRequest(method, s.base+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Close = true
	r.Header.Set("Authorization", "Bearer a-token-of-32-characters-or-more")
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// asks sends a prompt, and returns a channel with what is answered.
func (s *server) asks(m *slowModel) <-chan string {
	answer := make(chan string, 1)
	go func() {
		status, text, err := s.call("POST", "/v1/chat/completions", `{"model":"desk","messages":[{"role":"user","content":"Where is order 18?"}]}`)
		answer <- fmt.Sprint(status, " ", text, " ", err)
	}()
	select {
	case <-m.asked:
	case <-time.After(time.Minute):
		s.t.Fatalf("the model is not asked: %s", s.log)
	}
	return answer
}

func (s *server) signal(with os.Signal) { require.NoError(s.t, s.cmd.Process.Signal(with)) }

// ends waits for the program to end within a time that nobody has to wait for.
func (s *server) ends() error {
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Minute):
		s.t.Fatalf("the program has not ended: %s", s.log)
		return nil
	}
}

// TestSIGTERMLetsTheTurnEnd ends the program while the model answers.
func TestSIGTERMLetsTheTurnEnd(t *testing.T) {
	model, address := newSlowModel(t)
	s := startServer(t, t.TempDir(), address)
	answer := s.asks(model)
	status, _, err := s.call("GET", "/readyz", "")
	require.NoError(t, err)
	require.Equal(t, 200, status)
	s.signal(syscall.SIGTERM)
	require.Eventually(t, func() bool { status, _, err := s.call("GET", "/readyz", ""); return err == nil && status == 503 }, time.Minute, 10*time.Millisecond)
	status, text, err := s.call("GET", "/healthz", "")
	require.NoError(t, err)
	require.Equal(t, []any{200, ""}, []any{status, text}, "the process lives, and this is not the page")
	status, text, err = s.call("POST", "/v1/chat/completions", `{"model":"desk","messages":[{"role":"user","content":"And order 17?"}]}`)
	require.NoError(t, err)
	require.Equal(t, 503, status, text)
	close(model.release)
	got := <-answer
	require.True(t, strings.HasPrefix(got, "200 "), got)
	require.Contains(t, got, "It is on its way.")
	require.NoError(t, s.ends(), s.log)
}

// TestSecondSIGTERMEndsAtOnce ends it while the model would answer forever.
func TestSecondSIGTERMEndsAtOnce(t *testing.T) {
	model, address := newSlowModel(t)
	s := startServer(t, t.TempDir(), address)
	answer := s.asks(model)
	s.signal(syscall.SIGTERM)
	require.Eventually(t, func() bool { status, _, err := s.call("GET", "/readyz", ""); return err == nil && status == 503 }, time.Minute, 10*time.Millisecond)
	s.signal(syscall.SIGTERM)
	require.Error(t, s.ends(), "the turn has not ended")
	require.Equal(t, 1, s.cmd.ProcessState.ExitCode(), s.log)
	require.NotContains(t, <-answer, "It is on its way.")
}

// TestTurnOfAKilledServerIsTakenUp kills it, as systemd and Docker do after a while.
func TestTurnOfAKilledServerIsTakenUp(t *testing.T) {
	model, address := newSlowModel(t)
	state := t.TempDir()
	first := startServer(t, state, address)
	status, text, err := first.call("POST", "/api/sessions", "{}")
	require.NoError(t, err)
	require.Less(t, status, 300, text)
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(text), &made))
	status, text, err = first.call("POST", "/api/sessions/"+made.ID+"/prompts", `{"parts":[{"text":"Where is order 18?"}]}`)
	require.NoError(t, err)
	require.Less(t, status, 300, text)
	<-model.asked
	first.signal(syscall.SIGTERM)
	first.signal(syscall.SIGKILL)
	require.Error(t, first.ends())
	close(model.release)
	second := startServer(t, state, address)
	binary, err := built()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		cmd := exec.Command(binary, "sessions", "show", made.ID)
		cmd.Env = second.cmd.Env
		shown, err := cmd.Output()
		return err == nil && strings.Contains(string(shown), "It is on its way.")
	}, time.Minute, 100*time.Millisecond, "%s", second.log)
	second.signal(syscall.SIGTERM)
	require.NoError(t, second.ends(), second.log)
}

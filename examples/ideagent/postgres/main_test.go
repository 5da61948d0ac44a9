// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/pgtest"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

var (
	// binary is the program, built once for all tests.
	binary string
	// server is nil if there is no Postgres.
	server *pgtest.Server
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var err error
	server, err = pgtest.Start(false)
	switch {
	case errors.Is(err, pgtest.ErrMissing) && !pgtest.Required():
		fmt.Fprintln(os.Stderr, "tests with a server are skipped:", err)
	case err != nil:
		return fail(err)
	default:
		defer func() { _ = server.Close() }()
	}
	dir, err := os.MkdirTemp("", "ideagent-postgres-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "ideagent.exe") // a name that Windows runs too
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return fail(fmt.Errorf("go build: %w\n%s", err, out))
	}
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE", "PGPASSFILE", "OPENAI_API_KEY"} {
		_ = os.Unsetenv(name)
	}
	return m.Run()
}

// database returns the address of the server.
func database(t *testing.T) string {
	t.Helper()
	if server == nil {
		t.Skip(pgtest.ErrMissing)
	}
	return server.URL()
}

// machine is a computer: it has state and configuration of its own, and files.
type machine struct {
	t         *testing.T
	home      string
	work      string
	variables []string
}

func newMachine(t *testing.T, work string) *machine {
	t.Helper()
	return &machine{t: t, home: t.TempDir(), work: work}
}

func (m *machine) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), binary, args...)
	cmd.Env = append(append(os.Environ(), "HOME="+m.home, "XDG_STATE_HOME="+filepath.Join(m.home, "state"), "XDG_CONFIG_HOME="+filepath.Join(m.home, "config"),
		"OLLAMA_HOST=127.0.0.1:1", "IDEAGENT_KEYS="+filepath.Join(m.home, "keys.json")), m.variables...)
	return cmd
}

// run runs the program to its end.
func (m *machine) run(args ...string) (stdout, stderr string, code int) {
	m.t.Helper()
	cmd := m.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		require.NoError(m.t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// process is the agent, started by an editor.
type process struct {
	*acpclient.Client
	cmd    *exec.Cmd
	stderr *paper
}

// start starts the agent. The editor has files and commands, and allows everything.
func (m *machine) start(args ...string) *process {
	m.t.Helper()
	cmd := m.command(append([]string{"-model", "offline"}, args...)...)
	in, err := cmd.StdinPipe()
	require.NoError(m.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(m.t, err)
	p := &process{cmd: cmd, stderr: &paper{}}
	cmd.Stderr = p.stderr
	require.NoError(m.t, cmd.Start())
	files, err := local.Open(local.Config{Roots: []string{m.work}})
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = files.Close() })
	p.Client, err = acpclient.Connect(m.t.Context(), out, in, acpclient.Config{Workspace: files, Permission: acpclient.AllowAll})
	require.NoError(m.t, err, p.stderr.String())
	m.t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.Close()
		_ = p.cmd.Wait()
	}
}

// paper is an output that can be read while it is written.
type paper struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}

// say has the agent do something, and returns its answer.
func say(t *testing.T, s *acpclient.Session, text string) string {
	t.Helper()
	turn, err := s.Say(t.Context(), text)
	require.NoError(t, err)
	return turn.Text()
}

// shown returns what a session shows of the conversation.
func shown(s *view.Snapshot) (all []view.Entity) {
	for e := range s.All() {
		if e.Kind == view.Message || e.Kind == view.ToolCall {
			all = append(all, *e)
		}
	}
	return all
}

// directory is an empty directory, without symbolic links in its name.
func directory(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// binary is the program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ideagent-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "ideagent.exe") // a name that Windows runs too
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../..").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	// No test talks to a model of the developer's own.
	for _, driver := range model.Providers() {
		for _, name := range driver.Env {
			os.Unsetenv(name)
		}
	}
	os.Unsetenv("OPENAI_MODEL")
	os.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")) // nor sessions of theirs
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
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

// ideagent runs the program to its end.
func ideagent(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"-h"}, 0, "chat        Talk to the agent in this terminal", ""},
		{[]string{"chat", "-h"}, 0, "-scratch", ""},
		{[]string{"help"}, 0, "-model", ""},
		{[]string{"version"}, 0, "ideagent ", ""},
		{[]string{"-modle", "x"}, 2, "", `ideagent: unknown flag -modle; did you mean -model?`},
		{[]string{"-model", "x", "eval", "show", "a"}, 2, "", `ideagent: eval takes no flags before it: leave out -model`},
		{[]string{"-no-store", "eval"}, 2, "", `eval takes no flags before it: leave out -no-store`},
		{[]string{"chta"}, 2, "", `ideagent: unknown command "chta"; did you mean chat?`},
		{[]string{"-model", "offlin"}, 2, "", `ideagent: -model offlin: unknown; did you mean offline?`},
		{[]string{"chat", "-model", "openai:x", "hi"}, 2, "", `there is no key for openai: run "ideagent login openai" in a terminal, or set OPENAI_API_KEY`},
		{[]string{"chat", "-agent", "x", "-model", "y"}, 2, "", `leave it out with -agent`},
		{[]string{"chat", "-agent", `a "b`, "hi"}, 2, "", `ideagent: -agent: a quote is not closed`},
		{[]string{"chat", "-agent", "claude-cod", "hi"}, 2, "", `did you mean claude-`},
		{[]string{"chat", "-agent", "claude-code", "hi"}, 1, "", `is not installed. Install it with: `},
		{[]string{"chat", "-agents"}, 0, "claude-acp, claude-code, ", ""},
		{[]string{"-no-store", "chat", "-agents"}, 0, "claude-acp, claude-code, ", ""},
		{[]string{"-model", "offline", "--no-store=true", "chat", "--agents"}, 0, "claude-acp, claude-code, ", ""},
		{[]string{"-model=offline", "sessions", "-no-store", "list", "-jsn"}, 2, "", "unknown flag -jsn; did you mean -json?"},
		{[]string{"-model", "offline", "read a.txt", "chat", "-agents"}, 2, "", "unknown flag -agents"},
		{[]string{"chat", "-dir", "/no/such/dir", "hi"}, 2, "", `ideagent: -dir: `},
		{[]string{"acp", "-model", "offline", "read a.txt"}, 2, "", `use: ideagent chat "read a.txt"`},
	} {
		stdout, stderr, code := ideagent(t, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		require.Contains(t, stdout, c.stdout, "%v", c.args)
		require.Contains(t, stderr, c.stderr, "%v", c.args)
	}
}

// message is a line of the protocol.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func TestAnIDETalksToTheAgentInLines(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), binary, "-model", "offline")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr paper
	cmd.Stderr = &stderr
	begin := time.Now()
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stdout)
	send := func(line string) {
		_, err := io.WriteString(stdin, line+"\n")
		require.NoError(t, err)
	}
	receive := func() (m message) {
		line, err := lines.ReadBytes('\n')
		require.NoError(t, err, stderr.String())
		require.NoError(t, json.Unmarshal(line, &m))
		return m
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	hello := receive()
	t.Logf("initialize answered %v after the start of the process", time.Since(begin))
	require.Contains(t, string(hello.Result), `"protocolVersion":1`)
	require.Contains(t, string(hello.Result), `"name":"ideagent"`)

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "found.txt"), []byte("a needle here\n"), 0o600))
	params, err := json.Marshal(map[string]any{"cwd": dir, "mcpServers": []any{}})
	require.NoError(t, err)
	send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":` + string(params) + `}`)
	opened := receive()
	for opened.Method != "" {
		opened = receive()
	}
	var session struct{ SessionID string }
	require.NoError(t, json.Unmarshal(opened.Result, &session), "%s", opened.Error)

	// The client announced neither files nor terminals.
	send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"` + session.SessionID +
		`","prompt":[{"type":"text","text":"search needle, run go version, and list files"}]}}`)
	var updates, said strings.Builder
	for {
		m := receive()
		if m.ID != nil {
			require.Contains(t, string(m.Result), `"stopReason":"end_turn"`)
			break
		}
		require.Equal(t, "session/update", m.Method)
		updates.Write(m.Params)
		var p struct {
			Update struct {
				SessionUpdate string
				Content       json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(m.Params, &p))
		if p.Update.SessionUpdate == "agent_message_chunk" {
			var content struct{ Text string }
			require.NoError(t, json.Unmarshal(p.Update.Content, &content))
			said.WriteString(content.Text)
		}
	}
	require.Contains(t, updates.String(), `"kind":"search"`)
	require.Contains(t, updates.String(), `found.txt:1: a needle here`)
	require.Contains(t, updates.String(), `"title":"Search \"needle\""`)
	require.Contains(t, said.String(), "I was not given the tool `run_command` here")
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait())
	require.Contains(t, stderr.String(), "ideagent: model offline (a demo model: a few rules and no intelligence): -model says so\n")
}

// demonstration is the prompt of examples/README.md.
const demonstration = `run go test ./..., search "+ 23", replace "+ 23" with "+ 32" in temperature.go, and run go test ./...`

func TestTheDemonstration(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	require.Contains(t, string(readme), demonstration)
	original, err := os.ReadFile("../../../demo/temperature.go")
	require.NoError(t, err)
	require.Contains(t, string(original), "+ 23", "the mistake is there")
	t.Setenv("TMPDIR", t.TempDir())
	begin := time.Now()
	out, stderr, code := ideagent(t, "chat", "-model", "offline", "-yes", "-scratch", "-dir", "../../../demo", demonstration)
	t.Logf("the demonstration took %v", time.Since(begin))
	require.Equal(t, 0, code, stderr)
	if _, err := exec.LookPath("bwrap"); err == nil || runtime.GOOS != "linux" {
		require.Empty(t, stderr)
	} else {
		require.Regexp(t, `^ideagent: commands run without the sandbox: .*\n$`, stderr)
	}
	for _, want := range []string{
		"Offline demo model, my plan: 1. run `go test ./...`",
		"  │ --- FAIL: TestKnownTemperatures", "  └ exit code 1",
		"temperature.go:14: \treturn Fahrenheit(c*9/5 + 23)",
		"    -\treturn Fahrenheit(c*9/5 + 23)\n    +\treturn Fahrenheit(c*9/5 + 32)\n",
		"Replaced `+ 23` with `+ 32` in `temperature.go`:", "    14\t\treturn Fahrenheit(c*9/5 + 32)",
		"  └ exit code 0",
	} {
		require.Contains(t, out, want)
	}
	where := regexp.MustCompile(`Working on a copy: (.+)\n`).FindStringSubmatch(out)
	require.NotNil(t, where)
	mended, err := os.ReadFile(filepath.Join(where[1], "temperature.go"))
	require.NoError(t, err)
	require.Equal(t, strings.Replace(string(original), "+ 23", "+ 32", 1), string(mended))
	still, err := os.ReadFile("../../../demo/temperature.go")
	require.NoError(t, err)
	require.Equal(t, string(original), string(still), "the clone stays clean")
}

// project is a copy of the demo.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "demo")
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../demo")))
	return dir
}

func TestWithoutPermissionNothingIsChanged(t *testing.T) {
	dir := project(t)
	before, err := os.ReadFile(filepath.Join(dir, "temperature.go"))
	require.NoError(t, err)
	out, _, code := ideagent(t, "chat", "-dir", dir, `replace "+ 23" with "+ 32" in temperature.go, run go test ./..., read go.mod`)
	require.Equal(t, 5, code)
	require.Contains(t, out, "Rejected: no one can be asked")
	require.Contains(t, out, "I was not permitted to change `temperature.go`")
	require.Contains(t, out, "I left out “run `go test ./...`”")
	require.Contains(t, out, "module example.com/temperature")
	after, err := os.ReadFile(filepath.Join(dir, "temperature.go"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestALargeFileIsNotCutByAChange(t *testing.T) {
	dir := t.TempDir()
	lines := filepath.Join(dir, "lines.txt")
	require.NoError(t, os.WriteFile(lines, []byte(strings.Repeat("some text\n", 100_000)), 0o600))
	one := filepath.Join(dir, "one.txt")
	require.NoError(t, os.WriteFile(one, []byte("some text\n"+strings.Repeat("x", 1<<20)), 0o600))
	out, _, code := ideagent(t, "chat", "-yes", "-dir", dir, "replace some with any in lines.txt; replace some with any in one.txt; append x to one.txt")
	require.Equal(t, 0, code)
	require.Contains(t, out, "Replaced `some` with `any` in `lines.txt`")
	require.Contains(t, out, "`one.txt` is too large for me to change", "to append, the end of the file has to be read")
	for path, size := range map[string]int64{lines: 900_000, one: 9 + 1<<20} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, size, info.Size())
	}
}

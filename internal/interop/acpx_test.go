// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The exit codes that acpx documents.
const (
	acpxOK               = 0
	acpxTimeout          = 3
	acpxNoSession        = 4
	acpxPermissionDenied = 5
)

// acpxUser runs acpx in a directory and a home of its own.
type acpxUser struct {
	t          *testing.T
	cli        string
	home, dir  string
	agent      string // the command line
	transcript string // what the agent's recorder writes, of the last agent that was started
}

// newACPX checks at the end of the test what went over the wire, and that no process is left. whole says that every request was
// answered: it was not if acpx has ended the agent.
func newACPX(t *testing.T, whole bool) *acpxUser {
	t.Helper()
	a := newACPXFor(t, ideagent(), t.TempDir())
	t.Cleanup(func() {
		wire := readTranscript(t, a.transcript)
		if whole {
			wire.check(t)
		}
		if schemas, err := loadUnstable(); err == nil { // the sample serves what is not stable
			wire.checkSchema(t, schemas)
		}
	})
	return a
}

// newACPXFor is newACPX for an agent and a directory. Only that no process is left is checked.
func newACPXFor(t *testing.T, command []string, dir string) *acpxUser {
	t.Helper()
	cli := filepath.Join(node(t), "node_modules", "acpx", "dist", "cli.js")
	home, err := os.MkdirTemp(scratch, "acpx") // with a short path, since sockets are made below it
	if err != nil {
		t.Fatal(err)
	}
	agent, file := recorded(t, command)
	for _, word := range agent {
		if strings.ContainsAny(word, " '\"\\") {
			t.Fatalf("acpx would have to be told to quote %q", word)
		}
	}
	a := &acpxUser{t: t, cli: cli, home: home, dir: dir, agent: strings.Join(agent, " "), transcript: file}
	t.Cleanup(func() {
		mustBeGone(t, file) // the agent's recorder and the agent
		mustBeGone(t, home) // acpx in the background
	})
	return a
}

// mustBeGone waits until no process has the word in its command line. It kills those that stay. What is told to live for a minute after its
// last use is still there when it gives up.
func mustBeGone(t *testing.T, word string) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for {
		left := processes(t, word)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for pid, args := range left {
				t.Errorf("the process %d is left: %s", pid, args)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// processes returns the processes that have the word in their command line.
func processes(t testing.TB, word string) map[int]string {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	found := map[int]string{}
	for line := range strings.Lines(string(out)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err == nil && strings.Contains(line, word) && pid != os.Getpid() {
			found[pid] = strings.TrimSpace(line)
		}
	}
	return found
}

func (a *acpxUser) write(name, content string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o666); err != nil {
		a.t.Fatal(err)
	}
}

func (a *acpxUser) wantFile(name, want string) {
	a.t.Helper()
	got, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		a.t.Error(err)
	} else if string(got) != want {
		a.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// acpxRun is one acpx.
type acpxRun struct {
	a              *acpxUser
	cmd            *exec.Cmd
	stdout, stderr lockedText
	ended          chan struct{} // closed when it has ended
	err            error
}

func (a *acpxUser) start(args ...string) *acpxRun {
	a.t.Helper()
	r := &acpxRun{a: a, ended: make(chan struct{})}
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	r.cmd = exec.CommandContext(ctx, "node", append([]string{a.cli, "--agent", a.agent}, args...)...)
	r.cmd.Dir, r.cmd.Env = a.dir, cleanEnv("HOME="+a.home, "NO_COLOR=1")
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := startGroup(a.t, r.cmd); err != nil {
		a.t.Fatal(err)
	}
	go func() {
		defer cancel()
		defer close(r.ended)
		r.err = r.cmd.Wait()
	}()
	return r
}

// wait returns what acpx has written to its standard output. It has to end with the code.
func (r *acpxRun) wait(code int) string {
	r.a.t.Helper()
	<-r.ended
	if got := exitCode(r.err); got != code {
		r.a.t.Fatalf("acpx %v ended with %v, want code %d\n%s%s", r.cmd.Args[4:], r.err, code, &r.stdout, &r.stderr)
	}
	return r.stdout.String()
}

func (a *acpxUser) run(code int, args ...string) string {
	a.t.Helper()
	return a.start(args...).wait(code)
}

// awaitOutput waits until acpx has written the text.
func (r *acpxRun) awaitOutput(text string) {
	r.a.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(r.stdout.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.a.t.Fatalf("acpx %v did not write %q, but:\n%s%s", r.cmd.Args[4:], text, &r.stdout, &r.stderr)
		}
	}
}

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func TestACPX(t *testing.T) {
	for _, s := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"exec reads a file", acpxReads},
		{"exec writes a file with permission", acpxWrites},
		{"exec writes nothing where permission is denied", acpxDenied},
		{"exec writes nothing where nobody can be asked", acpxUnasked},
		{"exec runs a command", acpxRuns},
		{"exec without files and terminals gets an answer", acpxWithout},
		{"strict JSON output is the transcript", acpxJSON},
		{"a timeout ends the agent", acpxTimesOut},
		{"an interrupt cancels the turn", acpxInterrupt},
		{"a session is made, listed, shown, used and closed", acpxSessions},
		{"cancel ends the turn of a session", acpxCancels},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t)
		})
	}
}

func acpxReads(t *testing.T) {
	a := newACPX(t, true)
	a.write("greeting.txt", "hello from disk\n")
	out := a.run(acpxOK, "--approve-all", "exec", "read greeting.txt")
	wantText(t, out, "Read greeting.txt (completed)", "hello from disk", "[done] end_turn")
	if out := a.run(acpxOK, "--approve-all", "--format", "quiet", "exec", "read greeting.txt"); !strings.HasPrefix(out, "`greeting.txt`:") {
		t.Errorf("more than the answer was written: %s", out)
	}
}

func acpxWrites(t *testing.T) {
	a := newACPX(t, true)
	a.write("colour.txt", "the sky is grey\n")
	out := a.run(acpxOK, "--approve-all", "exec", "replace grey with blue in colour.txt")
	wantText(t, out, "Edit colour.txt (completed)", "[done] end_turn")
	a.wantFile("colour.txt", "the sky is blue\n")
}

func acpxDenied(t *testing.T) {
	a := newACPX(t, true)
	a.write("colour.txt", "the sky is grey\n")
	out := a.run(acpxPermissionDenied, "--approve-reads", "exec", "replace grey with blue in colour.txt")
	wantText(t, out, "Edit colour.txt (failed)", "The user rejected this", "[done] end_turn")
	a.wantFile("colour.txt", "the sky is grey\n")
	out = a.run(acpxPermissionDenied, "--deny-all", "exec", "read colour.txt")
	wantText(t, out, "Read colour.txt (failed)", "[done] end_turn")
}

func acpxUnasked(t *testing.T) {
	a := newACPX(t, true)
	a.write("colour.txt", "the sky is grey\n")
	out := a.run(acpxPermissionDenied, "--non-interactive-permissions", "fail", "exec", "replace grey with blue in colour.txt")
	wantText(t, out, "Edit colour.txt (failed)")
	a.wantFile("colour.txt", "the sky is grey\n")
}

func acpxRuns(t *testing.T) {
	a := newACPX(t, true)
	out := a.run(acpxOK, "--approve-all", "exec", `run "echo out && echo err >&2 && exit 3"`)
	wantText(t, out, "(failed)", "out\nerr\n", "exit code 3", "[done] end_turn")
}

func acpxWithout(t *testing.T) {
	a := newACPX(t, true)
	for _, prompt := range []string{"read greeting.txt", "run echo hello"} {
		wantText(t, a.run(acpxOK, "--no-fs", "--no-terminal", "--approve-all", "exec", prompt), "[done] end_turn")
	}
}

func acpxJSON(t *testing.T) {
	a := newACPX(t, true)
	a.write("greeting.txt", "hello from disk\n")
	r := a.start("--approve-all", "--format", "json", "--json-strict", "exec", "read greeting.txt, then create new.txt with text, then run echo hello")
	out := r.wait(acpxOK)
	if stderr := r.stderr.String(); stderr != "" {
		t.Errorf("acpx wrote to standard error: %s", stderr)
	}
	written := map[string]bool{}
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
		written[canonical(line)] = true
	}
	for _, line := range readTranscript(t, a.transcript) {
		if !written[canonical(string(line.raw))] {
			t.Errorf("acpx does not show: %s", line.raw)
		}
	}
}

// canonical returns a message with its members in a fixed order.
func canonical(line string) string {
	var value any
	if json.Unmarshal([]byte(line), &value) != nil {
		return line
	}
	return string(mustMarshal(value))
}

func acpxTimesOut(t *testing.T) {
	a := newACPX(t, false)
	a.run(acpxTimeout, "--timeout", "1", "exec", "wait 60 seconds")
}

func acpxInterrupt(t *testing.T) {
	a := newACPX(t, false)
	r := a.start("exec", "wait 60 seconds")
	r.awaitOutput("Waiting")
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wantText(t, r.wait(acpxOK), "[done] cancelled") // it would be 130 if the agent had not answered in time
	mustBeGone(t, a.transcript)
	var lines []byte
	for _, line := range readTranscript(t, a.transcript) {
		lines = append(lines, line.raw...)
	}
	if !bytes.Contains(lines, []byte(`"session/cancel"`)) || !bytes.Contains(lines, []byte(`"stopReason":"cancelled"`)) {
		t.Errorf("the turn was not cancelled:\n%s", lines)
	}
}

func acpxSessions(t *testing.T) {
	a := newACPX(t, true)
	a.write("greeting.txt", "hello from disk\n")
	wantText(t, a.run(acpxOK, "sessions", "list"), "No sessions")
	id := strings.TrimSpace(a.run(acpxOK, "--format", "quiet", "sessions", "new"))
	if id == "" {
		t.Fatal("acpx did not say the session's id")
	}
	wantText(t, a.run(acpxOK, "sessions", "list", "--local"), id)
	wantText(t, a.run(acpxOK, "sessions", "show"), id, "closed: no")
	wantText(t, a.run(acpxOK, "--ttl", "60", "--approve-all", "read greeting.txt"), "hello from disk", "[done] end_turn")
	wantText(t, a.run(acpxOK, "--ttl", "60", "--approve-all", "read it again"), "[done] end_turn")
	wantText(t, a.run(acpxOK, "sessions", "history"), "read greeting.txt")
	a.run(acpxOK, "sessions", "close")
	wantText(t, a.run(acpxOK, "sessions", "show"), "closed: yes")
	a.run(acpxNoSession, "read greeting.txt")
}

func acpxCancels(t *testing.T) {
	a := newACPX(t, true)
	a.run(acpxOK, "sessions", "new")
	r := a.start("--ttl", "60", "wait 60 seconds")
	r.awaitOutput("Waiting")
	wantText(t, a.run(acpxOK, "cancel"), "cancel requested")
	wantText(t, r.wait(acpxOK), "[done] cancelled")
	wantText(t, a.run(acpxOK, "--ttl", "60", "help"), "offline demo model", "[done] end_turn")
	a.run(acpxOK, "sessions", "close")
}

// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/internal/hide"
	"github.com/ponte-go/ponte/internal/show"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Command is the command that starts an agent.
type Command struct {
	// Path is the program: a path, or a name that is looked up in PATH.
	Path string
	// Args are its arguments, without the program's name.
	Args []string
	// Env are variables to add to the environment of this process, each as NAME=value. If OnlyEnv
	// is set, they are all that the agent gets.
	Env     []string
	OnlyEnv bool
	// Dir is the directory to start it in. The default is this process's directory.
	Dir string
}

// String returns the command line for people. Passwords in URLs, and the environment, are left out.
func (c Command) String() string {
	words := []string{c.Path}
	for _, arg := range c.Args {
		words = append(words, withoutPassword(arg))
	}
	return show.Command(words)
}

// Format implements [fmt.Formatter]: every verb prints the result of String.
func (c Command) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// LogValue implements [slog.LogValuer].
func (c Command) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText lets encoders write what a log shows, without the environment.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// withoutPassword returns an argument without the password that it has if it is a URL.
func withoutPassword(arg string) string {
	before, rest, ok := strings.Cut(arg, "://")
	if !ok {
		return arg
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if name, _, ok := strings.Cut(rest[:at], ":"); ok {
			rest = name + ":…" + rest[at:]
		}
	}
	address, query, ok := strings.Cut(rest, "?")
	if !ok {
		return before + "://" + rest
	}
	options := strings.Split(query, "&")
	for i, o := range options {
		if name, _, ok := strings.Cut(o, "="); ok && strings.HasSuffix(strings.ToLower(name), "password") {
			options[i] = name + "=…"
		}
	}
	return before + "://" + address + "?" + strings.Join(options, "&")
}

func (c *Command) environment() []string {
	if c.OnlyEnv {
		return append([]string{}, c.Env...)
	}
	return append(os.Environ(), c.Env...)
}

// Bounds of the output that is kept.
const (
	keptLines = 12
	keptBytes = 400 // of a line
)

// process is the agent's process and its pipes.
type process struct {
	command       *Command
	grace         time.Duration
	guarded       *guard.Process
	stdin, stdout *os.File // our ends
	stderr        *os.File
	drained       chan struct{} // stderr has been read to its end
	last          lines
}

// startProcess starts the command under the guard. tell, if not nil, gets each line of its standard
// error.
func startProcess(c Command, grace time.Duration, tell func(line string)) (*process, error) {
	var opened []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return r, w, err
	}
	agentIn, stdin, err1 := pipe()
	stdout, agentOut, err2 := pipe()
	stderr, agentErr, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	env := c.environment()
	p := &process{command: &c, grace: grace, stdin: stdin, stdout: stdout, stderr: stderr, drained: make(chan struct{}), last: lines{secrets: secrets(env)}}
	if err == nil {
		p.guarded, err = guard.Start(guard.Command{
			Path: c.Path, Args: c.Args, Env: env, Dir: c.Dir, Stdin: agentIn, Stdout: agentOut, Stderr: agentErr, Grace: grace,
		})
	}
	if err != nil {
		for _, f := range opened {
			_ = f.Close()
		}
		return nil, err
	}
	_, _, _ = agentIn.Close(), agentOut.Close(), agentErr.Close()
	go p.collect(tell)
	return p, nil
}

func (p *process) collect(tell func(string)) {
	defer close(p.drained)
	r := bufio.NewReaderSize(p.stderr, 8<<10)
	for {
		chunk, _, err := r.ReadLine()
		if err != nil {
			return
		}
		if line := p.last.add(chunk); line != "" && tell != nil {
			tell(line)
		}
	}
}

// exit waits for a moment for the end of the process and of its standard error.
func (p *process) exit(patience time.Duration) (guard.Exit, bool) {
	select {
	case <-p.guarded.Exited():
	case <-time.After(patience):
		return guard.Exit{}, false
	}
	select {
	case <-p.drained:
	case <-time.After(100 * time.Millisecond): // a child of the agent may hold it open
	}
	return p.guarded.Exit(), true
}

// close ends the agent. It notices that its input has ended, or is told to end and then killed,
// with all that it has started.
func (p *process) close() {
	_ = p.stdin.Close()
	select {
	case <-p.guarded.Exited():
	case <-time.After(p.grace):
	}
	p.guarded.Close()
	_ = p.stderr.Close()
	<-p.drained
	_ = p.stdout.Close()
}

// lines keeps the last lines that were printed. It is safe for concurrent use.
type lines struct {
	secrets *strings.Replacer
	mu      sync.Mutex
	kept    []string
}

// add keeps a line, and returns it as it is kept. Blank lines are not kept.
func (l *lines) add(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	// Secrets are taken out before the line is cut, or their beginning would stay.
	text := string(raw[:min(len(raw), 16*keptBytes)])
	if l.secrets != nil {
		text = l.secrets.Replace(text)
	}
	if len(text) > keptBytes {
		text = strings.ToValidUTF8(text[:keptBytes], "") + "…"
	}
	text = show.Line(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept = append(l.kept, text); len(l.kept) > keptLines {
		l.kept = append(l.kept[:0], l.kept[1:]...)
	}
	return text
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.kept...)
}

// secrets takes the values of variables that look like secrets out of what a process prints.
func secrets(env []string) *strings.Replacer {
	var values []string
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); local.Secret(name) {
			values = append(values, value)
		}
	}
	return hide.Replacer("[secret]", values...)
}

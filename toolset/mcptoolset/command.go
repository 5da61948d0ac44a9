// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/internal/guard"
)

// Command starts a server as a process and speaks to it through its standard input and output. The
// process, and what it starts, ends with this program, however that ends.
type Command struct {
	// Path is the program, looked up in PATH, and Args are its arguments.
	Path string
	Args []string
	// Env lists variables as "NAME=value". Apart from these, the process gets only those variables
	// of this program that are ordinary, such as PATH and HOME (docs/local.md lists them), and
	// those listed in Inherit. API keys are not passed on.
	Env []string
	// Inherit lists names of further variables to pass on. "*" stands for any text.
	Inherit []string
	// Dir is the working directory. The default is this program's.
	Dir string
	// Stderr receives what the server writes to its standard error, line by line, if it is not nil.
	// Characters that control terminals are written out, as in ⟨ESC⟩, and the values of Env and
	// Inherit are left out. It is called from one goroutine. The last lines also appear in the
	// error if the server dies.
	Stderr io.Writer
	// Grace is the time a server has to end after its standard input is closed, and again after
	// SIGTERM. 0 means 500 ms.
	Grace time.Duration
}

const (
	// writeTimeout bounds how long a server may leave its standard input unread.
	writeTimeout = 10 * time.Second
	// drainTime bounds how long output is read after the process has ended or the connection has
	// been closed. Something that it started may hold it open.
	drainTime = 500 * time.Millisecond
	// lateTime is how long what was written before is read after that.
	lateTime   = 50 * time.Millisecond
	keepStderr = 2 << 10
)

func (c Command) check() error {
	if c.Path == "" {
		return errors.New("the command has no Path")
	}
	if c.Grace < 0 {
		return errors.New("the command's Grace must not be negative")
	}
	for _, v := range c.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return errors.New(`the command's Env has an entry without "NAME="`)
		}
	}
	return nil
}

func (c Command) secrets() []string {
	var values []string
	for _, v := range c.Env {
		_, value, _ := strings.Cut(v, "=")
		values = append(values, value)
	}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); guard.Matches(c.Inherit, name) {
			values = append(values, value)
		}
	}
	return values
}

// String returns the program. Arguments and environment are left out, because they may hold
// secrets.
func (c Command) String() string { return visible(c.Path, 200) }

// GoString implements [fmt.GoStringer].
func (c Command) GoString() string { return fmt.Sprintf("mcptoolset.Command{Path: %q, …}", c.Path) }

// LogValue implements [slog.LogValuer].
func (c Command) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText lets encoders write what a log shows, without the environment.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Format implements [fmt.Formatter]. No verb prints the environment.
func (c Command) Format(f fmt.State, verb rune) { format(f, verb, c) }

func format(f fmt.State, verb rune, t interface{ String() string }) {
	if g, ok := t.(fmt.GoStringer); ok && verb == 'v' && f.Flag('#') {
		_, _ = io.WriteString(f, g.GoString())
		return
	}
	_, _ = io.WriteString(f, t.String())
}

func (c Command) environment() []string {
	return append(guard.Environ(os.Environ(), c.Inherit), c.Env...)
}

func (c Command) open(_ context.Context, limits *Limits) (*opened, error) {
	guarded, in, out, errs, err := guard.StartPiped(guard.Command{
		Path: c.Path, Args: c.Args, Env: c.environment(), Dir: c.Dir, Grace: c.Grace,
	})
	if err != nil {
		return nil, err
	}
	p := &process{guarded: guarded, in: in, out: out, errs: errs, grace: c.Grace}
	if c.Stderr != nil {
		p.stderr = &stderrLines{to: c.Stderr, secrets: c.secrets()}
	}
	if p.grace == 0 {
		p.grace = guard.DefaultGrace
	}
	p.work.Go(p.readErrors)
	p.work.Go(p.watch)
	messages := newMessages(p)
	return &opened{
		Transport: &mcp.IOTransport{Reader: messages, Writer: p, MaxLineLength: limits.Message},
		ordered:   true, end: p.end, why: p.why, note: messages.note,
	}, nil
}

// process is a running server.
type process struct {
	guarded       *guard.Process
	in, out, errs *os.File
	grace         time.Duration
	stderr        *stderrLines // nil if nobody reads it
	work          sync.WaitGroup
	ending        sync.Once
	late          bool // the deadline of out has passed

	mu      sync.Mutex
	tail    []byte
	stopped bool // by us
}

// Read reads the server's output. It is called from one goroutine. Output from before the deadline
// is read after it on a busy machine.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && !p.late {
		p.late = true
		_ = p.out.SetReadDeadline(time.Now().Add(lateTime))
		n, err = p.out.Read(b)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// Write sends to the server. A server that does not read for a while is given up.
func (p *process) Write(b []byte) (int, error) {
	_ = p.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := p.in.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.stop()
		err = errors.New("the server does not read its input")
	}
	return n, err
}

// Close ends the server's input, which asks it to end. Its last output can be read for a moment,
// for errors. The rest is done by end.
func (p *process) Close() error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	err := p.in.Close()
	_ = p.out.SetReadDeadline(time.Now().Add(drainTime))
	return err
}

func (p *process) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.guarded.Stop()
}

// end ends the server and waits until nothing of it is left: politely, then with SIGTERM, then with
// SIGKILL.
func (p *process) end() {
	p.ending.Do(func() {
		_ = p.Close()
		select {
		case <-p.guarded.Exited():
		case <-time.After(p.grace):
		}
		p.guarded.Close()
		p.work.Wait() // watch sets a deadline
		_ = p.out.Close()
		_ = p.errs.Close()
	})
}

// watch sees to it that reading ends soon after the process, also if something that it started
// holds its output open.
func (p *process) watch() {
	<-p.guarded.Exited()
	deadline := time.Now().Add(drainTime)
	p.mu.Lock()
	if !p.stopped {
		_ = p.out.SetReadDeadline(deadline)
	}
	p.mu.Unlock()
	_ = p.errs.SetReadDeadline(deadline)
}

// readErrors keeps the last of what the server writes to its standard error.
func (p *process) readErrors() {
	buf := make([]byte, 4<<10)
	for {
		n, err := p.errs.Read(buf)
		if n > 0 {
			if p.stderr != nil {
				p.stderr.add(buf[:n])
			}
			p.mu.Lock()
			p.tail = append(p.tail, buf[:n]...)
			if over := len(p.tail) - keepStderr; over > 0 {
				p.tail = append(p.tail[:0], p.tail[over:]...)
			}
			p.mu.Unlock()
		}
		if err != nil {
			if p.stderr != nil {
				p.stderr.flush()
			}
			return
		}
	}
}

// why returns how the process has ended, with the last line of its standard error. It is nil if the
// process was stopped, or runs.
func (p *process) why() error {
	select {
	case <-p.guarded.Exited():
	case <-time.After(drainTime): // its output ends a moment before the process does
		return nil
	}
	p.mu.Lock()
	stopped := p.stopped
	p.mu.Unlock()
	exit := p.guarded.Exit()
	if stopped && exit.Signal != "" {
		return nil
	}
	text := fmt.Sprintf("the server exited with code %d", exit.Code)
	if exit.Signal != "" {
		text = "the server was ended by " + exit.Signal
	}
	p.work.Wait()
	p.mu.Lock()
	tail := lastLines(string(p.tail))
	p.mu.Unlock()
	if tail != "" {
		text += ": " + tail
	}
	return errors.New(text)
}

// lastLines returns the last lines of an output that say something.
func lastLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 400 {
		text = text[len(text)-400:]
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text = text[i+1:]
		}
	}
	return strings.ToValidUTF8(text, "")
}

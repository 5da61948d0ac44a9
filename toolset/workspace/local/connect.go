// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// writeTimeout bounds how long a program may leave its standard input unread.
	writeTimeout = 10 * time.Second
	// drainTime bounds how long output is read after the program has ended: what it started may
	// hold it open.
	drainTime  = 500 * time.Millisecond
	keptErrors = 2 << 10
)

// Connection is a program that this process talks to through the program's standard input and
// output, such as a language server. Read must not be called by several goroutines at once, nor
// Write. Close must be called.
type Connection struct {
	owner         *Workspace
	guarded       *guard.Process
	in, out, errs *os.File
	work          sync.WaitGroup
	closing       sync.Once

	mu   sync.Mutex
	tail []byte // of standard error
}

var _ io.ReadWriteCloser = (*Connection)(nil)

// Connect starts a program like [Workspace.Start], in the sandbox if there is one, and connects its
// standard input and output. It ends, with everything it started, when the connection or the
// workspace is closed, and when this process ends, however that happens.
func (w *Workspace) Connect(ctx context.Context, c workspace.Command) (*Connection, error) {
	if !w.Features().Commands {
		return nil, fmt.Errorf("local: connect: %w", errors.ErrUnsupported)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("local: connect: %w", err)
	}
	name := c.Dir
	if name == "" {
		name = w.named[0]
	}
	dir, at, err := w.openDir(ctx, name)
	if err != nil {
		return nil, wrapError("start", name, err)
	}
	defer dir.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("local: connect: %w", workspace.ErrClosed)
	}
	g, boxed, err := w.guarded(c, dir, at)
	if err != nil {
		return nil, err
	}
	defer boxed.release()
	conn, err := connect(g, boxed.program)
	if err != nil {
		return nil, err
	}
	conn.owner = w
	if w.connected == nil {
		w.connected = map[*Connection]struct{}{}
	}
	w.connected[conn] = struct{}{}
	return conn, nil
}

func connect(g guard.Command, program string) (*Connection, error) {
	guarded, in, out, errs, err := guard.StartPiped(g)
	if err != nil {
		return nil, startError(program, err)
	}
	c := &Connection{guarded: guarded, in: in, out: out, errs: errs}
	c.work.Go(c.readErrors)
	c.work.Go(c.watch)
	return c, nil
}

// Read reads the program's standard output. After the program has ended, the error is io.EOF, soon
// after that at the latest.
func (c *Connection) Read(b []byte) (int, error) {
	n, err := c.out.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// Write writes to the program's standard input. A program that does not read for ten seconds is an
// error.
func (c *Connection) Write(b []byte) (int, error) {
	_ = c.in.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := c.in.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("the program does not read its input")
	}
	return n, err
}

// Exited is closed when the program has ended.
func (c *Connection) Exited() <-chan struct{} { return c.guarded.Exited() }

// Memory returns how much memory the program and what it started use, in bytes. It is 0 where that
// is not known: on other systems than Linux.
func (c *Connection) Memory() int64 { return c.guarded.Memory() }

// Ended says how the program has ended, with the last lines of its standard error. It is empty
// while the program runs.
func (c *Connection) Ended() string {
	select {
	case <-c.guarded.Exited():
	default:
		return ""
	}
	exit := c.guarded.Exit()
	text := fmt.Sprintf("it exited with code %d", exit.Code)
	if exit.Signal != "" {
		text = "it was ended by " + exit.Signal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if tail := strings.ToValidUTF8(strings.TrimSpace(string(c.tail)), ""); tail != "" {
		text += ": " + tail
	}
	return text
}

// Close ends the program, if it has not ended by itself within the grace after its standard input
// was closed, and waits until nothing of it is left. It may be called several times.
func (c *Connection) Close() error {
	c.closing.Do(func() {
		_ = c.in.Close()
		select {
		case <-c.guarded.Exited():
		case <-time.After(c.grace()):
		}
		c.guarded.Close()
		_ = c.errs.SetReadDeadline(time.Now().Add(drainTime))
		c.work.Wait()
		_ = c.out.Close()
		_ = c.errs.Close()
		c.owner.mu.Lock()
		delete(c.owner.connected, c)
		c.owner.mu.Unlock()
	})
	return nil
}

func (c *Connection) grace() time.Duration {
	switch grace := c.owner.config.Grace; {
	case grace == 0:
		return guard.DefaultGrace
	case grace < 0:
		return 0
	default:
		return grace
	}
}

// Stop closes the program's standard input and ends the program. It does not wait.
func (c *Connection) Stop() {
	_ = c.in.Close()
	_ = c.out.SetReadDeadline(time.Now().Add(drainTime))
	c.guarded.Stop()
}

// watch sees to it that reading ends soon after the program.
func (c *Connection) watch() {
	<-c.guarded.Exited()
	_ = c.out.SetReadDeadline(time.Now().Add(drainTime))
}

// readErrors keeps the last of what the program writes to its standard error.
func (c *Connection) readErrors() {
	buf := make([]byte, 4<<10)
	for {
		n, err := c.errs.Read(buf)
		c.mu.Lock()
		c.tail = append(c.tail, buf[:n]...)
		if over := len(c.tail) - keptErrors; over > 0 {
			c.tail = append(c.tail[:0], c.tail[over:]...)
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

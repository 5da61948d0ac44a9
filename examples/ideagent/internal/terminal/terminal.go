// SPDX-License-Identifier: Apache-2.0

// Package terminal runs the commands of an agent on the user's machine, as an ACP client offers it to agents: a terminal
// is created with a command, its output can be read while it runs, it can be waited for, killed and released.
//
// A command reads from the null device, has a session of its own, and ends with this process (see package guard).
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// DefaultLimit is how many bytes of output are kept if a command does not say.
const DefaultLimit = 4 << 20

// Options say what to run.
type Options struct {
	Command string
	Args    []string
	// Env has entries of the form NAME=value that are added to the environment of this process, without its secrets.
	Env []string
	// Dir is the working directory.
	Dir string
	// Limit is how many bytes of output to keep, the last ones; negative means [DefaultLimit].
	Limit int
	// Watch, if not nil, is called with what the command writes, as it does, on one goroutine of the terminal. It
	// must not keep the slice.
	Watch func([]byte)
}

// Terminal is a command, running or not. Its methods may be called from any goroutine.
type Terminal struct {
	process *guard.Process
	read    *os.File
	watch   func([]byte)
	drained chan struct{} // the command has ended and all that it wrote is in output
	done    chan struct{} // nobody can write any more
	once    sync.Once

	mu     sync.Mutex
	output buffer
}

// drainPause is how long the output must be silent, after the command has ended while its children still hold the
// output open, until all that it has written itself counts as read.
const drainPause = 50 * time.Millisecond

// killGrace is how long a command that is asked to end has for it.
const killGrace = time.Second

// Start creates a terminal. Release must be called in the end.
func Start(o Options) (*Terminal, error) {
	if err := checkDir(o.Dir); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	defer write.Close()
	limit := o.Limit
	if limit < 0 {
		limit = DefaultLimit
	}
	t := &Terminal{
		read: read, watch: o.Watch, drained: make(chan struct{}), done: make(chan struct{}), output: buffer{limit: limit},
	}
	t.process, err = guard.Start(guard.Command{
		Path: o.Command, Args: o.Args, Env: append(environment(), o.Env...), Dir: o.Dir, Stdout: write, Stderr: write, Grace: killGrace,
	})
	if err != nil {
		read.Close()
		return nil, err
	}
	go t.collect()
	go t.drain()
	return t, nil
}

// environment returns the environment of this process without what looks like a secret, such as the keys of models.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return local.Secret(name)
	})
}

func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("terminal: working directory %q is not absolute", dir)
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("terminal: working directory %s does not exist: %w", dir, os.ErrNotExist)
	case err != nil:
		return fmt.Errorf("terminal: %w", err)
	case !info.IsDir():
		return fmt.Errorf("terminal: working directory %s is not a directory", dir)
	}
	return nil
}

// collect reads all output.
func (t *Terminal) collect() {
	defer close(t.done)
	chunk := make([]byte, 32<<10)
	for {
		n, err := t.read.Read(chunk)
		if n > 0 {
			t.mu.Lock()
			t.output.write(chunk[:n])
			t.mu.Unlock()
			if t.watch != nil {
				t.watch(chunk[:n])
			}
		}
		if err != nil {
			return
		}
	}
}

// drain waits until the output of the command is complete. A child in the background may hold the output open for ever.
func (t *Terminal) drain() {
	defer close(t.drained)
	<-t.process.Exited()
	for seen := -1; ; {
		select {
		case <-t.done:
			return
		case <-time.After(drainPause):
		}
		t.mu.Lock()
		total := t.output.total
		t.mu.Unlock()
		if total == seen {
			return
		}
		seen = total
	}
}

// Output returns what the command has written so far, as far as the limit allows, whether that is all, and, if it has
// ended, how.
func (t *Terminal) Output() (text string, truncated bool, exit *guard.Exit) {
	select {
	case <-t.drained:
		e := t.process.Exit()
		exit = &e
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	text, truncated = t.output.text(exit != nil)
	return text, truncated, exit
}

// Wait waits for the end of the command.
func (t *Terminal) Wait(ctx context.Context) (guard.Exit, error) {
	select {
	case <-t.drained:
		return t.process.Exit(), nil
	case <-ctx.Done():
		return guard.Exit{}, context.Cause(ctx)
	}
}

// Kill asks the command to end, and makes it a second later. The output stays. It does not wait.
func (t *Terminal) Kill() { t.process.Stop() }

// Release ends the command, with all that it has started, and waits until nothing is left.
func (t *Terminal) Release() {
	t.once.Do(func() {
		t.process.Close()
		<-t.drained
		t.read.Close() // what escaped the session may hold the other end
		<-t.done
	})
}

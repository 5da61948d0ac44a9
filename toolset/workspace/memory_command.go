// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// MemoryScript is a command in Go. It returns the exit code. ctx ends when the command is killed;
// the script must then return, and what it returns does not count.
type MemoryScript func(ctx context.Context, sh *MemoryShell) int

// MemoryShell is the environment of a [MemoryScript]. Writing to it adds to the command's output.
type MemoryShell struct {
	// Command is the command as it was started. Dir is the directory that it runs in, absolute.
	Command Command
	Dir     string
	// Disk is the file system.
	Disk *MemoryDisk

	process *process
}

// Write adds to the output. It never fails.
func (sh *MemoryShell) Write(p []byte) (int, error) {
	sh.process.write(p)
	return len(p), nil
}

// MemoryPrint returns a script that writes a text and ends with an exit code.
func MemoryPrint(text string, code int) MemoryScript {
	return func(_ context.Context, sh *MemoryShell) int {
		_, _ = sh.Write([]byte(text))
		return code
	}
}

// Start implements [Workspace].
func (w *Memory) Start(ctx context.Context, c Command) (Process, error) {
	if !w.Features().Commands {
		return nil, fmt.Errorf("workspace: start: %w", errors.ErrUnsupported)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("workspace: start: %w", err)
	}
	if c.Dir == "" {
		c.Dir = w.config.Roots[0]
	}
	sh := &MemoryShell{Command: c, Disk: w.disk}
	sh.Command.Args, sh.Command.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	if err := w.use(ctx, "start", c.Dir, true, func(found at) error {
		switch {
		case found.node == nil:
			return fs.ErrNotExist
		case !found.node.mode.IsDir():
			return ErrNotDirectory
		}
		sh.Dir = found.Path
		return nil
	}); err != nil {
		return nil, err
	}
	script := w.script(sh.Command)
	if script == nil {
		if len(c.Args) > 0 {
			return nil, fmt.Errorf("workspace: start: %w: %q", ErrNoProgram, c.Args[0])
		}
		script = MemoryPrint("sh: "+strings.Fields(c.Line)[0]+": not found\n", 127)
	}
	w.mu.Lock()
	w.nextID++
	ref := fmt.Sprintf("term_%d", w.nextID)
	w.mu.Unlock()
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{ref: ref, keep: w.config.OutputLimit, kill: kill, ended: make(chan struct{})}
	sh.process = p
	go func() {
		defer kill()
		p.end(running, script(running, sh))
	}()
	return p, nil
}

// script returns the script for a command, nil if the program is unknown.
func (w *Memory) script(c Command) MemoryScript {
	line := c.Line
	if len(c.Args) > 0 {
		line = strings.Join(c.Args, " ")
	}
	if s := w.config.Commands[line]; s != nil {
		return s
	}
	if w.config.Command != nil {
		return w.config.Command(c)
	}
	return nil
}

// process is a command in progress, or one that has ended.
type process struct {
	ref   string
	keep  int
	kill  context.CancelFunc
	ended chan struct{} // closed when exit is set

	mu     sync.Mutex
	kept   []byte // the end of the output
	start  int64  // the position of kept
	exit   *Exit
	closed bool
}

// Ref implements [Process].
func (p *process) Ref() string { return p.ref }

func (p *process) write(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit != nil || p.closed {
		return
	}
	p.kept = append(p.kept, data...)
	if drop := len(p.kept) - p.keep; drop > 0 && len(p.kept) > 2*p.keep || drop > 1<<20 {
		p.drop(drop)
	}
}

func (p *process) drop(n int) {
	p.kept = append([]byte(nil), p.kept[n:]...)
	p.start += int64(n)
}

func (p *process) end(ctx context.Context, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit = &Exit{Code: code}
	if ctx.Err() != nil {
		p.exit = &Exit{Code: -1, Signal: "killed"}
	}
	close(p.ended)
}

// Output implements [Process].
func (p *process) Output(ctx context.Context, from int64, limit int) (Chunk, error) {
	if ctx.Err() != nil {
		return Chunk{}, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Chunk{}, fmt.Errorf("workspace: output of %s: %w", p.ref, ErrClosed)
	}
	if over := len(p.kept) - p.keep; over > 0 {
		p.drop(over)
	}
	end := p.start + int64(len(p.kept))
	if from < 0 {
		from = max(end+from, 0)
	}
	c := Chunk{From: min(max(from, p.start), end), End: end, Lost: from < p.start, Exit: p.exit}
	data := p.kept[c.From-p.start:]
	if limit > 0 {
		data = data[:min(limit, len(data))]
	}
	c.Data = slices.Clone(data)
	return c, nil
}

// Wait implements [Process].
func (p *process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.ended:
		return *p.exit, nil
	default:
	}
	select {
	case <-p.ended:
		return *p.exit, nil
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}

// Kill implements [Process]. It waits for the script to return: afterwards all its output
// can be read.
func (p *process) Kill(ctx context.Context) error {
	p.kill()
	_, err := p.Wait(ctx)
	return err
}

// Close implements [Process].
func (p *process) Close(context.Context) error {
	p.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.kept = true, nil
	return nil
}

// Getenv returns the value of a variable that the command was started with; empty if there is none.
func (sh *MemoryShell) Getenv(name string) string {
	for _, v := range slices.Backward(sh.Command.Env) {
		if n, value, _ := strings.Cut(v, "="); n == name {
			return value
		}
	}
	return ""
}

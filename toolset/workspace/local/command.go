// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/guard"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// canRun reports whether commands can be run on this system.
const canRun = runtime.GOOS != "js" && runtime.GOOS != "wasip1" && runtime.GOOS != "plan9"

// Start implements [workspace.Workspace]. The command leads a new session without a terminal. It
// ends with everything it started when it is closed, when the workspace is closed, and when this
// process ends, however that happens.
func (w *Workspace) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	if !w.Features().Commands {
		return nil, fmt.Errorf("local: start: %w", errors.ErrUnsupported)
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("local: start: %w", err)
	}
	name := c.Dir
	if name == "" {
		name = w.named[0]
	}
	dir, path, err := w.openDir(ctx, name)
	if err != nil {
		return nil, wrapError("start", name, err)
	}
	defer dir.Close()
	return w.start(c, dir, path)
}

// openDir opens the directory that a command runs in. The open directory cannot be exchanged for
// another one.
func (w *Workspace) openDir(ctx context.Context, name string) (*os.File, place, error) {
	p, err := w.find(ctx, name, true)
	switch {
	case err != nil:
		return nil, p, err
	case p.info == nil:
		return nil, p, fs.ErrNotExist
	case !p.info.IsDir():
		return nil, p, workspace.ErrNotDirectory
	}
	dir, err := p.root.OpenFile(p.rel, os.O_RDONLY|openDirectory, 0)
	if err != nil {
		return nil, p, err
	}
	info, err := dir.Stat()
	if err == nil && !info.IsDir() {
		err = workspace.ErrNotDirectory
	}
	if err != nil {
		dir.Close()
		return nil, p, err
	}
	return dir, p, nil
}

func (w *Workspace) start(c workspace.Command, dir *os.File, at place) (*process, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("local: start: %w", workspace.ErrClosed)
	}
	g, boxed, err := w.guarded(c, dir, at)
	if err != nil {
		return nil, err
	}
	defer boxed.release()
	r, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("local: start: %w", err)
	}
	defer out.Close()
	g.Stdout, g.Stderr = out, out
	guarded, err := guard.Start(g)
	if err != nil {
		r.Close()
		return nil, startError(boxed.program, err)
	}
	w.nextID++
	p := &process{
		ref: fmt.Sprintf("term_%d", w.nextID), owner: w, guarded: guarded, pipe: r,
		output: output{keep: w.config.OutputLimit}, exited: make(chan struct{}), created: boxed.created,
	}
	w.processes[p] = struct{}{}
	if w.config.TimeLimit > 0 {
		p.limit = time.AfterFunc(w.config.TimeLimit, p.kill)
	}
	go p.readAll()
	go p.watch()
	return p, nil
}

// guarded returns a command as it is started, in the sandbox if there is one.
func (w *Workspace) guarded(c workspace.Command, dir *os.File, at place) (guard.Command, started, error) {
	real := filepath.Join(at.root.real, at.rel)
	// Env wins over what the command would get anyway.
	env := slices.Concat(w.env(), []string{"PWD=" + at.Path}, c.Env)
	argv := c.Args
	g := guard.Command{Dir: dirOf(dir, real), Env: env, Grace: w.config.Grace}
	switch {
	case len(argv) > 0:
	case runtime.GOOS == "windows":
		// cmd.exe does not read arguments as other programs do.
		argv, g.Line = []string{"cmd"}, `cmd /D /S /C "`+c.Line+`"`
	default:
		argv = c.Argv(workspace.Slash)
	}
	g.Path, g.Args = argv[0], argv[1:]
	inside, err := w.boxes(&c)
	if err != nil {
		return g, started{}, err
	}
	if !inside {
		return g, started{program: argv[0]}, nil
	}
	boxed, err := w.box.wrap(&g, real, at.Path, c.Sandbox == model.SandboxNetwork)
	if err != nil {
		return g, started{}, startError(argv[0], err)
	}
	boxed.program = argv[0]
	return g, boxed, nil
}

func startError(program string, err error) error {
	if errors.Is(err, guard.ErrNoProgram) {
		program = program[:min(len(program), 1000)]
		return fmt.Errorf("local: start: %w: %q", workspace.ErrNoProgram, program)
	}
	if slices.ContainsFunc(tooManyArgs, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("local: start: the command %w for this system", workspace.ErrTooLarge)
	}
	return fmt.Errorf("local: start: %w", err)
}

// process is a command that was started.
type process struct {
	ref     string
	owner   *Workspace
	guarded *guard.Process
	pipe    *os.File // the reading end of the output
	limit   *time.Timer
	created func() []string // nil without a sandbox

	mu     sync.Mutex
	output output
	killed bool // by us
	closed bool
	exit   *workspace.Exit
	exited chan struct{} // closed when exit is set

	shutOnce sync.Once
}

// readAll reads the output until its last writer has closed it, or the process is closed.
func (p *process) readAll() {
	defer p.pipe.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := p.pipe.Read(buf)
		p.add(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The command has ended. What it started may hold the output open for as long as it
			// likes, and what the command itself has written is there to be read at once.
			drain(p.pipe, buf, p.add)
			p.finish()
			continue
		}
		if err != nil {
			<-p.guarded.Exited()
			p.finish()
			return
		}
	}
}

// watch waits for the command's end, and sees to it that its output is read to the end then.
func (p *process) watch() {
	<-p.guarded.Exited()
	if p.limit != nil {
		p.limit.Stop()
	}
	if p.pipe.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	// On this system a read cannot be interrupted. The output may end soon.
	select {
	case <-p.exited:
	case <-time.After(200 * time.Millisecond):
		p.finish()
	}
}

func (p *process) add(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.output.add(data)
	}
}

// finish sets how the command ended.
func (p *process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit != nil {
		return
	}
	e := p.guarded.Exit()
	p.exit = &workspace.Exit{Code: e.Code, Signal: signalName(e.Signal)}
	if p.killed {
		p.exit = &workspace.Exit{Code: -1, Signal: "killed"}
	}
	if p.created != nil {
		p.exit.Created = p.created()
	}
	close(p.exited)
}

// kill ends the command. It does not wait.
func (p *process) kill() {
	p.mu.Lock()
	select {
	case <-p.guarded.Exited():
	default:
		p.killed = true
	}
	p.mu.Unlock()
	p.guarded.Stop()
}

// shut ends the command, waits for that, and releases its resources.
func (p *process) shut() {
	p.shutOnce.Do(func() {
		p.kill()
		p.guarded.Close()
		<-p.exited
		p.mu.Lock()
		p.closed, p.output = true, output{}
		p.mu.Unlock()
		p.pipe.Close()
		p.owner.mu.Lock()
		delete(p.owner.processes, p)
		p.owner.mu.Unlock()
	})
}

// Ref implements [workspace.Process].
func (p *process) Ref() string { return p.ref }

// Output implements [workspace.Process].
func (p *process) Output(ctx context.Context, from int64, limit int) (workspace.Chunk, error) {
	if ctx.Err() != nil {
		return workspace.Chunk{}, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return workspace.Chunk{}, fmt.Errorf("local: output of %s: %w", p.ref, workspace.ErrClosed)
	}
	c := p.output.chunk(from, limit)
	c.Exit = p.exit
	return c, nil
}

// Wait implements [workspace.Process]. Processes that the command started and left running do not
// hold it up.
func (p *process) Wait(ctx context.Context) (workspace.Exit, error) {
	select {
	case <-p.exited:
		return *p.exit, nil
	default:
	}
	select {
	case <-p.exited:
		return *p.exit, nil
	case <-ctx.Done():
		return workspace.Exit{}, context.Cause(ctx)
	}
}

// Kill implements [workspace.Process]. It asks with SIGTERM, and uses SIGKILL after [Config.Grace].
// It does not wait.
func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

// Close implements [workspace.Process]. It waits until all processes of the command have ended. If
// ctx ends first, they are ended in the background.
func (p *process) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.shut()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// shells are where a POSIX shell may be; the second is Android's.
var shells = []string{"/bin/sh", "/system/bin/sh"}

// step is the unit of the watcher's patience.
const step = 10 * time.Millisecond

// Process is a command that was started. Its methods may be called from several goroutines.
type Process struct {
	leader  *exec.Cmd
	shell   string
	watcher int // its process id

	mu       sync.Mutex
	lifeline *os.File
	ending   atomic.Bool // the watcher may end

	lost    atomic.Bool
	exit    Exit          // valid once exited is closed
	exited  chan struct{} // the command has ended
	settled chan struct{} // and it is known whether something is left of it
	ended   chan struct{} // its session has ended too, and the watcher
}

// Start starts a command. The error wraps [ErrStart] if it cannot be started, and [errors.ErrUnsupported] too if this
// machine has no shell to watch over it.
//
// A file that the system accepts as executable but cannot run, such as a program for another processor, is not an error
// here: the command exits with code 126 or 127 and says why on its standard error, as in a shell.
func Start(c Command) (*Process, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	program, err := lookup(c)
	if err != nil {
		return nil, startError(c.Path, err)
	}
	shell, err := findShell()
	if err != nil {
		return nil, startError(c.Path, err)
	}
	lifelineRead, lifeline, err := os.Pipe()
	if err != nil {
		return nil, startError(c.Path, err)
	}
	defer lifelineRead.Close()
	report, reportWrite, err := os.Pipe()
	if err != nil {
		lifeline.Close()
		return nil, startError(c.Path, err)
	}
	defer reportWrite.Close()

	steps := int((c.grace() + step - 1) / step)
	args := append([]string{"-c", launchScript, shell, watchScript, strconv.Itoa(steps)}, argv(c, program)...)
	cmd := exec.Command(shell, args...)
	cmd.Args[0] = "sh"
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.ExtraFiles = append([]*os.File{lifelineRead, reportWrite}, c.Files...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	setFiles(cmd, c)
	if err := cmd.Start(); err != nil {
		lifeline.Close()
		report.Close()
		return nil, startError(c.Path, plain(err))
	}
	reportWrite.Close()
	p := &Process{leader: cmd, shell: shell, lifeline: lifeline, exited: make(chan struct{}), settled: make(chan struct{}), ended: make(chan struct{})}
	line, err := bufio.NewReaderSize(report, 16).ReadString('\n')
	if err == nil {
		p.watcher, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		// The command cannot run without a watcher: the shell could not fork.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		lifeline.Close()
		report.Close()
		return nil, startError(c.Path, errors.New("its watcher did not start"))
	}
	go p.await(report)
	go p.wait()
	return p, nil
}

// argv returns what the shell executes.
func argv(c Command, program string) []string {
	args := append([]string{program}, c.Args...)
	if odd := foreign(c.Env); len(odd) > 0 && !strings.Contains(program, "=") {
		if env, err := lookup(Command{Path: "env", Env: []string{"PATH=/usr/bin:/bin"}}); err == nil {
			args = append(append([]string{env}, odd...), args...)
		}
	}
	return args
}

func findShell() (string, error) {
	for _, s := range shells {
		if check(s) == nil {
			return s, nil
		}
	}
	return "", unsupported("there is no " + shells[0] + " to watch over it")
}

// unsupported is an error that wraps [errors.ErrUnsupported].
type unsupported string

func (u unsupported) Error() string { return string(u) }
func (unsupported) Unwrap() error   { return errors.ErrUnsupported }

// setFiles leaves a nil *os.File to os/exec as a nil interface, which means the null device.
func setFiles(cmd *exec.Cmd, c Command) {
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
}

// plain takes the name of the operation and the shell's path out of an error: the user did not name them.
func plain(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// wait waits for the command.
func (p *Process) wait() {
	_ = p.leader.Wait()
	p.exit = exitOf(p.leader.ProcessState)
	if p.lost.Load() {
		p.exit.Lost = true
	}
	close(p.exited)
	defer close(p.settled)
	// Most commands leave nothing behind.
	switch empty, known := sessionEmpty(p.Pid(), p.watcher); {
	case empty:
		p.tell("q\n", true)
	case !known:
		p.tell("c\n", true)
	}
}

// await waits for the end of the watcher.
func (p *Process) await(report *os.File) {
	_, _ = io.Copy(io.Discard, report)
	report.Close()
	if !p.ending.Load() {
		p.lost.Store(true)
		p.hunt()
	}
	if os.Getpid() == 1 {
		// As process 1, reap the orphaned watcher.
		_, _ = syscall.Wait4(p.watcher, nil, 0, nil)
	}
	p.mu.Lock()
	p.lifeline.Close()
	p.mu.Unlock()
	close(p.ended)
}

// hunt kills the session without its watcher.
func (p *Process) hunt() {
	// The command's group first: this cannot fail for want of resources.
	_ = syscall.Kill(-p.leader.Process.Pid, syscall.SIGKILL)
	cmd := exec.Command(p.shell, "-c", watchScript, "ponte-guard", strconv.Itoa(p.leader.Process.Pid), "0")
	if null, err := os.Open(os.DevNull); err == nil {
		defer null.Close()
		cmd.ExtraFiles = []*os.File{null}
	}
	_ = cmd.Run()
}

// tell sends the watcher a word after which it may end.
func (p *Process) tell(word string, ending bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending.Store(p.ending.Load() || ending)
	_, _ = io.WriteString(p.lifeline, word)
}

// Pid returns the command's process id, which is its session's id too.
func (p *Process) Pid() int { return p.leader.Process.Pid }

// Exited is closed when the command itself has ended. Processes that it started may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit waits until the command has ended and returns its result.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Ended is closed when nothing of the command is left. This is noticed when the command exits, and after Stop, Kill or
// Close: processes that outlive the command and end by themselves later are not.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop asks the command and everything it started to end (SIGTERM), and kills what is left after the grace. It does not
// wait.
func (p *Process) Stop() {
	p.settle()
	p.tell("t\n", true)
}

// Kill kills the command and everything it started. It does not wait. A Stop that is under way keeps its grace.
func (p *Process) Kill() {
	p.settle()
	p.tell("k\n", true)
}

// settle waits a few milliseconds, if the command has just ended, because there is probably nothing to end. The watcher would take longer
// to find that out.
func (p *Process) settle() {
	select {
	case <-p.exited:
		<-p.settled
	default:
	}
}

// Close stops the command like [Process.Stop] and waits until nothing of it is left.
func (p *Process) Close() {
	p.Stop()
	<-p.ended
	<-p.exited
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Code: -1, Signal: signalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

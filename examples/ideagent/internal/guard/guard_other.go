// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package guard

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Process is a program that was started.
type Process struct {
	program *exec.Cmd
	grace   time.Duration
	exit    Exit
	exited  chan struct{}
	once    sync.Once
}

// Start starts a program. It returns once the program runs; the error wraps [ErrStart] if it does not.
func Start(c Command) (*Process, error) {
	program := exec.Command(c.Path, c.Args...)
	program.Env, program.Dir = c.Env, c.Dir
	if c.Stdin != nil {
		program.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		program.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		program.Stderr = c.Stderr
	}
	if err := program.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("there is no such program in PATH")
		}
		return nil, fmt.Errorf("guard: %w %s: %w", ErrStart, c.Path, err)
	}
	p := &Process{program: program, grace: c.Grace, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = program.Wait()
		p.exit = Exit{Code: program.ProcessState.ExitCode()}
	}()
	return p, nil
}

// Exited is closed when the program has ended. Its children may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the program ended. It waits for that.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Kill ends the program and its children. It does not wait.
func (p *Process) Kill() {
	pid := p.program.Process.Pid
	if runtime.GOOS == "windows" {
		_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).Run()
	}
	_ = p.program.Process.Kill()
}

// Close ends the program and its children once the grace is over, and waits for that.
func (p *Process) Close() {
	p.once.Do(func() {
		select {
		case <-p.exited:
		case <-time.After(p.grace):
			p.Kill()
		}
	})
	<-p.exited
}

// Main does nothing: there is no guard on this platform.
func Main() {}

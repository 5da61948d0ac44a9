// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// The files that a guard inherits beside the standard ones.
const (
	lifelineFD = 3 // a byte asks for the program to be ended, the end of the file for everything to be killed
	reportFD   = 4 // the reports, one JSON value each
)

// report is what a guard tells: first that the program was started or why not, then how it ended.
type report struct {
	Started bool   `json:"started,omitempty"`
	Error   string `json:"error,omitempty"`
	Exit    *Exit  `json:"exit,omitempty"`
}

// Process is a program that was started under a guard.
type Process struct {
	guard    *exec.Cmd
	lifeline *os.File
	exit     Exit          // valid once exited is closed
	exited   chan struct{} // the program has ended
	gone     chan struct{} // so has the guard
}

// Start starts a program. It returns once the program runs; the error wraps [ErrStart] if it does not.
func Start(c Command) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("guard: %w %s: %w", ErrStart, c.Path, err)
	}
	lifelineRead, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guard: %w %s: %w", ErrStart, c.Path, err)
	}
	defer lifelineRead.Close()
	reports, reportWrite, err := os.Pipe()
	if err != nil {
		lifeline.Close()
		return nil, fmt.Errorf("guard: %w %s: %w", ErrStart, c.Path, err)
	}
	g := exec.Command(self, append([]string{Subcommand, strconv.FormatInt(c.Grace.Milliseconds(), 10), c.Path}, c.Args...)...)
	g.Env, g.Dir = c.Env, c.Dir
	g.ExtraFiles = []*os.File{lifelineRead, reportWrite}
	g.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	setFiles(g, c)
	err = g.Start()
	reportWrite.Close()
	if err != nil {
		lifeline.Close()
		reports.Close()
		return nil, fmt.Errorf("guard: %w %s: %w", ErrStart, c.Path, plain(err))
	}
	p := &Process{guard: g, lifeline: lifeline, exited: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		_ = g.Wait()
	}()
	decoder := json.NewDecoder(reports)
	var first report
	if err := decoder.Decode(&first); err != nil || !first.Started {
		reports.Close()
		lifeline.Close()
		<-p.gone
		if first.Error == "" {
			first.Error = "the guard died"
		}
		return nil, fmt.Errorf("guard: %w %s: %s", ErrStart, c.Path, first.Error)
	}
	go func() {
		defer close(p.exited)
		defer reports.Close()
		last := report{Exit: &Exit{Signal: "SIGKILL"}} // if the guard is killed it cannot tell
		_ = decoder.Decode(&last)
		p.exit = *last.Exit
	}()
	return p, nil
}

// setFiles leaves a nil *os.File to os/exec as a nil interface, which means the null device.
func setFiles(g *exec.Cmd, c Command) {
	if c.Stdin != nil {
		g.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		g.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		g.Stderr = c.Stderr
	}
}

// plain takes the path of this executable out of an error about starting it, which is no news to the user.
func plain(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Exited is closed when the program has ended. Its children may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit says how the program ended. It waits for that.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Kill asks the program and its children to end (SIGTERM), and kills them if the program has not ended a second later.
// It does not wait.
func (p *Process) Kill() { _, _ = p.lifeline.Write([]byte{'k'}) }

// Close kills what is left of the program and its children once the grace is over, and waits for that. It may be
// called more than once, but not from several goroutines.
func (p *Process) Close() {
	_ = p.lifeline.Close()
	<-p.gone
	<-p.exited
}

// Main turns this process into a guard if it was started as one, and does not return then. It must be the first thing
// that main does.
func Main() {
	if len(os.Args) < 4 || os.Args[1] != Subcommand {
		return
	}
	// SIGKILL to the group is the only end: a signal meant for the program must not take the guard away.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	lifeline, reports := os.NewFile(lifelineFD, "lifeline"), os.NewFile(reportFD, "reports")
	syscall.CloseOnExec(lifelineFD)
	syscall.CloseOnExec(reportFD)
	milliseconds, err := strconv.Atoi(os.Args[2])
	if err != nil || lifeline == nil || reports == nil {
		os.Exit(2)
	}
	tell := json.NewEncoder(reports)

	program := exec.Command(os.Args[3], os.Args[4:]...)
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := program.Start(); err != nil {
		_ = tell.Encode(report{Error: reason(err)})
		os.Exit(1)
	}
	_ = tell.Encode(report{Started: true})
	// The guard must not hold the program's files open: their readers wait for the end.
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
	_ = os.Stderr.Close()

	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = program.Wait()
		exit := exitOf(program.ProcessState)
		_ = tell.Encode(report{Exit: &exit})
		_ = reports.Close()
	}()
	group := syscall.Getpgrp()
	asked := make([]byte, 1)
	for {
		if _, err := lifeline.Read(asked); err != nil {
			if !errors.Is(err, io.EOF) {
				milliseconds = 0
			}
			break
		}
		_ = syscall.Kill(-group, syscall.SIGTERM)
		go func() {
			select {
			case <-exited:
			case <-time.After(killGrace):
				_ = program.Process.Kill()
			}
		}()
	}
	if milliseconds > 0 {
		select {
		case <-exited:
		case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		}
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	select {}
}

// reason says why a program did not start, without the words that os/exec adds for programmers.
func reason(err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "there is no such program in PATH"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such program"
	case errors.Is(err, fs.ErrPermission):
		return "it is not executable, or not permitted"
	}
	return err.Error()
}

func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Signal: signalName(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

func signalName(s syscall.Signal) string {
	for name, known := range map[string]syscall.Signal{
		"SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGQUIT": syscall.SIGQUIT, "SIGABRT": syscall.SIGABRT,
		"SIGKILL": syscall.SIGKILL, "SIGSEGV": syscall.SIGSEGV, "SIGPIPE": syscall.SIGPIPE, "SIGALRM": syscall.SIGALRM,
		"SIGTERM": syscall.SIGTERM, "SIGBUS": syscall.SIGBUS, "SIGFPE": syscall.SIGFPE, "SIGILL": syscall.SIGILL,
	} {
		if s == known {
			return name
		}
	}
	return s.String()
}

// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"io/fs"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Process is a command that was started. Its methods may be called from several goroutines.
type Process struct {
	program *exec.Cmd
	exit    Exit          // valid once exited is closed
	exited  chan struct{} // the command has ended
	ended   chan struct{} // so has its job

	mu     sync.Mutex
	job    windows.Handle
	closed bool
}

// poll is how often the job is asked whether it is empty, once it has been ended.
const poll = 5 * time.Millisecond

// Start starts a command. The error wraps [ErrStart] if it cannot be started.
func Start(c Command) (*Process, error) {
	job, err := newJob()
	if err != nil {
		return nil, startError(c.Path, err)
	}
	program := exec.Command(c.Path, c.Args...)
	program.Env, program.Dir = c.Env, c.Dir
	program.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true, CmdLine: c.Line}
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
		_ = windows.CloseHandle(job)
		return nil, startError(c.Path, reason(err))
	}
	if err := enter(job, uint32(program.Process.Pid)); err != nil {
		_ = program.Process.Kill()
		_ = program.Wait()
		_ = windows.CloseHandle(job)
		return nil, startError(c.Path, err)
	}
	p := &Process{program: program, job: job, exited: make(chan struct{}), ended: make(chan struct{})}
	go p.wait()
	return p, nil
}

// newJob returns a job object that ends its processes with its last handle.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// enter puts a suspended process into the job and lets it run.
func enter(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return err
	}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		return err
	}
	return errors.New("its thread is not to be found")
}

// reason says why a program did not start, without the words that os/exec adds for programmers.
func reason(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return errNotInPath
	case errors.Is(err, fs.ErrNotExist):
		return ErrNoProgram
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

func (p *Process) wait() {
	_ = p.program.Wait()
	p.exit = Exit{Code: -1}
	if state := p.program.ProcessState; state != nil {
		p.exit.Code = state.ExitCode()
	}
	close(p.exited)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.processes() == 0 {
		p.finish()
	}
}

// processes returns how many processes the job has. The lock is held.
func (p *Process) processes() uint32 {
	var info struct {
		TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
		TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
	}
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(p.job, basicAccounting, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 1
	}
	return info.ActiveProcesses
}

// finish closes the job. The lock is held.
func (p *Process) finish() {
	p.closed = true
	_ = windows.CloseHandle(p.job)
	close(p.ended)
}

// Pid returns the command's process id.
func (p *Process) Pid() int { return p.program.Process.Pid }

// Exited is closed when the command itself has ended. Processes that it started may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Exit waits until the command has ended and returns its result.
func (p *Process) Exit() Exit {
	<-p.exited
	return p.exit
}

// Ended is closed when nothing of the command is left. This is noticed when the command exits, and after Stop, Kill or
// Close.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop ends the command and everything it started. It does not wait: there is nothing to ask a command to end with.
func (p *Process) Stop() { p.Kill() }

// Kill ends the command and everything it started. It does not wait.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	_ = windows.TerminateJobObject(p.job, 1)
	go func() {
		<-p.exited
		for {
			p.mu.Lock()
			over := p.closed
			if !over && p.processes() == 0 {
				p.finish()
				over = true
			}
			p.mu.Unlock()
			if over {
				return
			}
			time.Sleep(poll)
		}
	}()
}

// Close ends the command and everything it started, and waits for that.
func (p *Process) Close() {
	p.Kill()
	<-p.ended
	<-p.exited
}

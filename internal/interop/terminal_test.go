// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
)

// terminal is a command that runs in the editor.
type terminal struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	limit  int
	mu     sync.Mutex
	output []byte
}

// Write takes the command's output.
func (tm *terminal) Write(p []byte) (int, error) {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	tm.output = append(tm.output, p...)
	return len(p), nil
}

func (e *editor) terminal(method string, params json.RawMessage) (any, *rpcError) {
	if method == "terminal/create" {
		return e.createTerminal(params)
	}
	id := terminalOf(params)
	e.mu.Lock()
	tm := e.terminals[id]
	e.mu.Unlock()
	if tm == nil {
		return nil, &rpcError{Code: -32002, Message: "Resource not found: terminal " + id}
	}
	switch method {
	case "terminal/output":
		return tm.show(), nil
	case "terminal/wait_for_exit":
		<-tm.ended
		return tm.exitStatus(), nil
	case "terminal/kill":
		tm.kill()
		return object{}, nil
	case "terminal/release":
		tm.kill()
		<-tm.ended
		e.change(func() { delete(e.terminals, id) })
		return object{}, nil
	}
	return nil, &rpcError{Code: -32601, Message: "Method not found: " + method}
}

func (e *editor) createTerminal(params json.RawMessage) (any, *rpcError) {
	var p struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Cwd     string   `json:"cwd"`
		Limit   int      `json:"outputByteLimit"`
		Env     []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"env"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &rpcError{Code: -32602, Message: err.Error()}
	}
	tm := &terminal{cmd: exec.Command(p.Command, p.Args...), ended: make(chan struct{}), limit: p.Limit}
	tm.cmd.Dir = p.Cwd
	for _, v := range p.Env {
		tm.cmd.Env = append(tm.cmd.Environ(), v.Name+"="+v.Value)
	}
	tm.cmd.Stdout, tm.cmd.Stderr = tm, tm
	if err := startGroup(e.t, tm.cmd); err != nil {
		return nil, &rpcError{Code: -32603, Message: err.Error()}
	}
	go func() {
		defer close(tm.ended)
		_ = tm.cmd.Wait() // exitStatus tells
	}()
	var id string
	e.change(func() {
		id = fmt.Sprintf("terminal-%d", len(e.calls))
		e.terminals[id] = tm
	})
	return object{"terminalId": id}, nil
}

func (tm *terminal) kill() {
	if err := syscall.Kill(-tm.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		panic(err)
	}
}

func (tm *terminal) show() object {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	from := 0
	if tm.limit > 0 {
		from = max(0, len(tm.output)-tm.limit)
	}
	shown := object{"output": string(tm.output[from:]), "truncated": from > 0}
	select {
	case <-tm.ended:
		shown["exitStatus"] = tm.exitStatus()
	default:
	}
	return shown
}

// exitStatus is valid once the command has ended.
func (tm *terminal) exitStatus() object {
	if status, ok := tm.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return object{"signal": status.Signal().String()}
	}
	return object{"exitCode": tm.cmd.ProcessState.ExitCode()}
}

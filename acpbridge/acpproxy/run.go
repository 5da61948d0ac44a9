// SPDX-License-Identifier: Apache-2.0

package acpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/internal/guard"
)

// Run starts an agent and serves it to an editor that writes to in and reads out, as [Serve] does.
// The agent shares the standard error of this process. The agent ends with Run, and with this
// process, however that ends. So does everything that the agent has started. An agent that has
// ended with an exit code other than 0, or by a signal, is an [*acpclient.ProcessError].
func Run(ctx context.Context, in io.Reader, out io.Writer, agent acpclient.Command, config Config) error {
	if err := config.complete(); err != nil {
		return err
	}
	agentIn, toAgent, err1 := os.Pipe()
	fromAgent, agentOut, err2 := os.Pipe()
	ours := []*os.File{toAgent, fromAgent}
	theirs := []*os.File{agentIn, agentOut}
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close() // nil files have an error of their own
		}
	}
	env := agent.Env
	if !agent.OnlyEnv {
		env = append(os.Environ(), agent.Env...)
	}
	var process *guard.Process
	err := errors.Join(err1, err2)
	if err == nil {
		process, err = guard.Start(guard.Command{
			Path: agent.Path, Args: agent.Args, Env: append([]string{}, env...), Dir: agent.Dir,
			Stdin: agentIn, Stdout: agentOut, Stderr: os.Stderr, Grace: config.Grace,
		})
	}
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return fmt.Errorf("acpproxy: start the agent %q: %w", agent.String(), err)
	}
	ended := make(chan struct{})
	go func() { // one of the agent's children may hold its output open
		select {
		case <-process.Exited():
		case <-ended:
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
			_ = fromAgent.Close()
		case <-ended:
		}
	}()
	err = Serve(ctx, in, out, fromAgent, toAgent, config)
	close(ended)
	closeAll(ours)
	select {
	case <-process.Exited():
	case <-time.After(config.Grace):
	case <-ctx.Done():
	}
	exited := false
	select {
	case <-process.Exited():
		exited = true
	default:
	}
	process.Close()
	if exit := process.Exit(); exited && (exit.Code != 0 || exit.Signal != "") {
		return &acpclient.ProcessError{Command: agent.String(), Ended: true, ExitCode: exit.Code, Signal: exit.Signal}
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"context"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

const (
	getTerminalOutputDescription      = "See what a command in the background has written so far, and whether it is still running."
	waitForTerminalExitDescription    = "Wait for the end of a command in the background and get its output. When timeout_seconds are over you get what there is; the command goes on."
	killTerminalDescription           = "Stop the command of a terminal. Its output can still be read."
	releaseTerminalDescription        = "Close a terminal when you are done with it. A command that is still running is stopped."
	defaultWaitForTerminalExitTimeout = time.Minute
)

type terminalArgs struct {
	Terminal string `json:"terminal_id" jsonschema_description:"The id that run_command gave." validate:"required"`
}

type getTerminalOutputArgs struct{ terminalArgs }

func (in getTerminalOutputArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	return "Look at " + w.terminals.command(in.Terminal), nil
}

type waitForTerminalExitArgs struct {
	terminalArgs
	Timeout int `json:"timeout_seconds,omitempty" jsonschema_description:"How long to wait, in seconds; 60 if left out." validate:"omitempty,min=1,max=86400"`
}

func (in waitForTerminalExitArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	return "Wait for " + w.terminals.command(in.Terminal), nil
}

type killTerminalArgs struct{ terminalArgs }

func (in killTerminalArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	return "Stop " + w.terminals.command(in.Terminal), nil
}

type releaseTerminalArgs struct{ terminalArgs }

func (in releaseTerminalArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	return "Close " + w.terminals.command(in.Terminal), nil
}

func (w *workspace) getTerminalOutput(ctx context.Context, a *activity, in getTerminalOutputArgs) (answer, error) {
	t, err := w.terminals.background(in.Terminal)
	if err != nil {
		return answer{}, err
	}
	a.started(ctx)
	return w.look(ctx, t, "")
}

// look returns the output of a terminal so far; how says how it ended, if that is known better than the output tells.
func (w *workspace) look(ctx context.Context, t terminal, how string) (answer, error) {
	out, err := w.output(ctx, t.id)
	if err != nil {
		return answer{}, clientError(ctx, "read the output of "+t.command, err)
	}
	text, cut := clipOutput(out.Output, w.options.outputLimit)
	if how == "" {
		how = howEnded(out.ExitStatus)
	}
	end := commandEnd{TerminalID: t.id, Running: out.ExitStatus == nil, Truncated: cut || out.Truncated, Output: text}
	if exit := out.ExitStatus; exit != nil {
		end.ExitCode, end.Signal = exit.ExitCode, exit.Signal
	}
	return answer{text: withNotes(text, out.Truncated, how), raw: end}, nil
}

func (w *workspace) waitForTerminalExit(ctx context.Context, a *activity, in waitForTerminalExitArgs) (answer, error) {
	t, err := w.terminals.background(in.Terminal)
	if err != nil {
		return answer{}, err
	}
	a.started(ctx)
	timeout := defaultWaitForTerminalExitTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	exit, timedOut, err := w.waitForExit(ctx, t.id, timeout)
	if err != nil {
		return answer{}, clientError(ctx, "wait for "+t.command, err)
	}
	if timedOut {
		return w.look(ctx, t, fmt.Sprintf("still running after %v", timeout))
	}
	return w.look(ctx, t, howEnded(exit))
}

func (w *workspace) killTerminal(ctx context.Context, a *activity, in killTerminalArgs) (answer, error) {
	t, err := w.terminals.background(in.Terminal)
	if err != nil {
		return answer{}, err
	}
	a.started(ctx)
	if err := w.kill(ctx, t.id); err != nil {
		return answer{}, clientError(ctx, "stop "+t.command, err)
	}
	return answer{text: fmt.Sprintf("Stopped. Terminal %s stays open; its output can be read.", t.id)}, nil
}

func (w *workspace) releaseTerminal(ctx context.Context, a *activity, in releaseTerminalArgs) (answer, error) {
	t, err := w.terminals.background(in.Terminal)
	if err != nil {
		return answer{}, err
	}
	a.started(ctx)
	w.release(ctx, t.id)
	return answer{text: fmt.Sprintf("Terminal %s is closed.", t.id)}, nil
}

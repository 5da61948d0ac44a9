// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

const (
	getTerminalOutputDescription   = "Get the output of a command so far, and whether it is still running. For long output, use from to continue at a position."
	waitForTerminalExitDescription = "Wait for a background command to end and get its output. After timeout_seconds, the output so far is returned and the command keeps running."
	killTerminalDescription        = "Stop the command of a terminal. Its output can still be read."
	releaseTerminalDescription     = "Close a terminal that is no longer needed. A command that is still running is stopped."
	defaultWaitTimeout             = time.Minute
)

type terminalArgs struct {
	Terminal string `json:"terminal_id" jsonschema_description:"The id that run_command returned." validate:"required"`
}

type getTerminalOutputArgs struct {
	terminalArgs
	From int64 `json:"from,omitempty" jsonschema_description:"The byte position in the output to continue from. Default: show the beginning and the end." validate:"omitempty,min=0"`
}

type waitForTerminalExitArgs struct {
	terminalArgs
	Timeout int `json:"timeout_seconds,omitempty" jsonschema_description:"How many seconds to wait. Default: 60." validate:"omitempty,min=1,max=86400"`
}

type (
	killTerminalArgs    struct{ terminalArgs }
	releaseTerminalArgs struct{ terminalArgs }
)

// inMemory names the state that the tools keep.
const inMemory = "commands in the background"

// terminalTools makes the tools for commands in the background.
func (t *tools[D]) terminalTools() []feature[D] {
	options := func(title string) []toolset.Option {
		return append(execute(title), toolset.InMemory(inMemory))
	}
	return []feature[D]{
		{makeTool(t, ToolGetTerminalOutput, getTerminalOutputDescription, (*call).getTerminalOutput, nil,
			options("Look at terminal")...), canCommand},
		{makeTool(t, ToolWaitForTerminalExit, waitForTerminalExitDescription, (*call).waitForTerminalExit, nil,
			options("Wait for terminal")...), canCommand},
		{makeTool(t, ToolKillTerminal, killTerminalDescription, (*call).killTerminal, nil,
			options("Stop terminal")...), canCommand},
		{makeTool(t, ToolReleaseTerminal, releaseTerminalDescription, (*call).releaseTerminal, nil,
			options("Close terminal")...), canCommand},
	}
}

// terminal returns the terminal that the model means.
func (c *call) terminal(id string) (*Terminal, error) {
	t, all := c.kept(id)
	if t != nil {
		return t, nil
	}
	id = cutText(id, maxRepeated)
	if len(all) == 0 {
		return nil, toolset.Failed("Unknown terminal %q: it was closed, or ended with the program that ran it. No terminals are open: %s with background set to true opens one.",
			id, ToolRunCommand)
	}
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.ID + " (" + cutText(t.title, 100) + ")"
	}
	return nil, toolset.Failed("Unknown terminal %q. Open terminals: %s.", id, strings.Join(names, ", "))
}

func (c *call) getTerminalOutput(ctx context.Context, in getTerminalOutputArgs) (toolset.Result, error) {
	t, err := c.terminal(in.Terminal)
	if err != nil {
		return toolset.Result{}, err
	}
	if in.From > 0 {
		return c.readOn(ctx, t, in.From)
	}
	out, err := c.output(ctx, t)
	if err != nil {
		return toolset.Result{}, err
	}
	return withMeta(out.text(t.ID, howEnded(out.exit)), out.state(t.ID)), nil
}

func (c *call) waitForTerminalExit(ctx context.Context, in waitForTerminalExitArgs) (toolset.Result, error) {
	t, err := c.terminal(in.Terminal)
	if err != nil {
		return toolset.Result{}, err
	}
	timeout := defaultWaitTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	exit, timedOut, err := waitFor(ctx, t.Process, timeout)
	if err != nil {
		return toolset.Result{}, c.failed(ctx, "wait for "+t.short(), err)
	}
	how := howEnded(exit)
	if timedOut {
		how = fmt.Sprintf("still running after %v", timeout)
	}
	out, err := c.output(ctx, t)
	if err != nil {
		return toolset.Result{}, err
	}
	return withMeta(out.text(t.ID, how), out.state(t.ID)), nil
}

func (c *call) killTerminal(ctx context.Context, in killTerminalArgs) (toolset.Result, error) {
	t, err := c.terminal(in.Terminal)
	if err != nil {
		return toolset.Result{}, err
	}
	if err := t.Process.Kill(ctx); err != nil {
		return toolset.Result{}, c.failed(ctx, "stop "+t.short(), err)
	}
	return text("Stopped. Terminal %s stays open; its output can be read.", t.ID), nil
}

func (c *call) releaseTerminal(ctx context.Context, in releaseTerminalArgs) (toolset.Result, error) {
	t, err := c.terminal(in.Terminal)
	if err != nil {
		return toolset.Result{}, err
	}
	if err := c.release(ctx, t); err != nil {
		return toolset.Result{}, c.failed(ctx, "close "+t.short(), err)
	}
	return text("Terminal %s is closed.", t.ID), nil
}

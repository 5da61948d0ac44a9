// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// runCommandDescription describes the tool. timeout is the default; zero or less is none.
func runCommandDescription(o *options) string {
	limit := "no limit"
	if o.commandTimeout > 0 {
		limit = o.commandTimeout.String()
	}
	text := "Run a command and wait for it to end. Returns its output and exit code. The user may be asked first. " +
		"Commands have no stdin. Do not run interactive programs. A command is killed after timeout_seconds (default " + limit + ")."
	if o.noTerminals {
		return text
	}
	return text + " For servers and watchers set background to true; the tool returns a terminal id immediately."
}

// commandArgs are the arguments of run_command where commands end with their calls.
type commandArgs struct {
	Command string            `json:"command" jsonschema_description:"A command line for the shell, such as: go test ./... 2>&1 | tail -5. Or, if args is given, just the program." validate:"required"`
	Args    []string          `json:"args,omitempty" jsonschema_description:"The program's arguments, one each, without quoting. Leave out if command is a whole line."`
	Cwd     string            `json:"cwd,omitempty" jsonschema_description:"The directory to run in. Default: the working directory."`
	Env     map[string]string `json:"env,omitempty" jsonschema_description:"Variables to add to the environment."`
	Timeout int               `json:"timeout_seconds,omitempty" jsonschema_description:"After how many seconds to kill the command." validate:"omitempty,min=1,max=86400"`

	background bool   // of runCommandArgs
	sandbox    string // of leaving
}

type runCommandArgs struct {
	commandArgs
	Background bool `json:"background,omitempty" jsonschema_description:"Do not wait: return a terminal id immediately. The command runs until it ends, or is killed or released."`
}

// leaving is an argument where commands run in a sandbox and may leave it.
type leaving struct {
	Sandbox string `json:"sandbox,omitempty" jsonschema_description:"Leave out to run in the sandbox. network: in the sandbox, with the network. none: outside of it." validate:"omitempty,oneof=network none"`
}

type boxedCommandArgs struct {
	runCommandArgs
	leaving
}

type boxedArgs struct {
	commandArgs
	leaving
}

// command returns the arguments in the form that all variants of the tool have.
func (in commandArgs) command() commandArgs { return in }

func (in runCommandArgs) command() commandArgs {
	in.background = in.Background
	return in.commandArgs
}

func (in boxedCommandArgs) command() commandArgs {
	in.sandbox = in.Sandbox
	return in.runCommandArgs.command()
}

func (in boxedArgs) command() commandArgs {
	in.sandbox = in.Sandbox
	return in.commandArgs
}

// runTool makes a variant of run_command.
func runTool[D any, In interface{ command() commandArgs }](
	t *tools[D], description string, opts []toolset.Option,
) *toolset.Tool[D] {
	return makeTool(t, ToolRunCommand, description,
		func(c *call, ctx context.Context, in In) (toolset.Result, error) {
			return c.runCommand(ctx, in.command())
		},
		func(c *call, ctx context.Context, in In) (*toolset.Approval, error) {
			return c.approveCommand(ctx, in.command())
		}, opts...)
}

func boxedCommandDescription(o *options) string {
	return runCommandDescription(o) + " Commands run in a sandbox: they write only in the " +
		"working directories and a /tmp of their own, not to git's configuration and hooks or " +
		"the settings of editors and agents, and have no network. If a command fails for that " +
		"reason, set sandbox; the user is asked."
}

// prepared is a command that could run.
type prepared struct {
	Command
	dir, title string
	real       string // what the directory leads to, as [Follow] names it
}

func (p *prepared) linked() bool { return p.real != p.dir }

func (c *call) prepare(ctx context.Context, in commandArgs) (prepared, error) {
	roots := c.ws.Roots()
	cmd, err := commandOf(StyleOf(roots[0]), in)
	if err != nil {
		return prepared{}, err
	}
	at, err := LocateIn(c.ws, cmp.Or(in.Cwd, "."))
	if err != nil {
		return prepared{}, c.failed(ctx, "run a command in "+c.name(in.Cwd), err)
	}
	return prepared{Command: cmd, dir: at.Path, title: commandTitle(cmd), real: Follow(ctx, c.ws, at.Path)}, nil
}

func (c *call) approveCommand(ctx context.Context, in commandArgs) (*toolset.Approval, error) {
	cmd, err := c.prepare(ctx, in)
	if err != nil {
		return nil, context.Cause(ctx) // the call reports the rest
	}
	return c.commandApproval(ctx, &cmd), nil
}

func (c *call) commandApproval(ctx context.Context, cmd *prepared) *toolset.Approval {
	a := &toolset.Approval{
		Title: "Run " + cmd.title,
		Preview: []toolset.Preview{{Command: &toolset.CommandLine{
			Line: cmd.Line, Args: cmd.Args, Dir: cmd.dir, Env: cmd.Env, Sandbox: cmd.Sandbox,
		}}},
	}
	if cmd.linked() {
		a.Preview = append(a.Preview, toolset.Preview{
			Text: "The directory is a link to " + printable(shortPath(c.ws, cmd.real)) + ".",
		})
	}
	effects, behind := c.commandEffects(ctx, cmd)
	a.Basis = "in " + cmd.real + basisOf(behind) // links may be changed while the question is open
	c.affects(a, effects)
	c.scope(ctx, a)
	if c.ws.Features().Sandboxed && cmd.Sandbox == "" {
		a.Covers = append(a.Covers, SandboxScope)
		wider := toolset.WiderScope{Scope: SandboxScope, Title: "all commands in the sandbox"}
		a.Wider = append(a.Wider, wider)
	}
	return a
}

func (c *call) runCommand(ctx context.Context, in commandArgs) (toolset.Result, error) {
	cmd, err := c.prepare(ctx, in)
	if err != nil {
		return toolset.Result{}, err
	}
	if a := c.commandApproval(ctx, &cmd); !c.approved || c.approval != nil && c.approval.Basis != a.Basis {
		return toolset.Result{}, toolset.ApprovalRequired(*a)
	}
	t, err := c.start(ctx, cmd.Command, cmd.dir, cmd.title)
	if err != nil {
		doing := "run " + cutText(cmd.title, maxRepeated)
		if in.Cwd != "" {
			doing += " in " + c.name(in.Cwd)
		}
		if errors.Is(err, ErrTooLarge) && ctx.Err() == nil {
			return toolset.Result{}, toolset.Failed("Could not %s: the command is too long for this system. "+
				"Write it to a file and run that.", doing)
		}
		return toolset.Result{}, c.failed(ctx, doing, err)
	}
	if in.background {
		c.keep(t)
		return withMeta(fmt.Sprintf(
			"Started in the background, in terminal %s. See its output with %s.", t.ID,
			ToolGetTerminalOutput,
		),
			CommandState{Terminal: t.ID, Running: true}), nil
	}
	timeout := c.options.commandTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	result, keep, err := c.finish(ctx, t, timeout)
	if keep {
		c.keep(t)
		return result, err
	}
	if closing := c.release(ctx, t); err == nil && closing != nil {
		err = c.failed(ctx, "close its terminal", closing)
		if failed, ok := errors.AsType[*toolset.FailedError](err); ok { // what the command did is known all the same
			result.Text += "\n[" + failed.Message + "]"
			err = nil
		}
	}
	return result, err
}

// finish waits for the end of a command and reports its outcome. keep is set if its output was too
// long to be shown at once.
func (c *call) finish(
	ctx context.Context, t *Terminal, timeout time.Duration,
) (result toolset.Result, keep bool, err error) {
	exit, timedOut, err := waitFor(ctx, t.Process, timeout)
	if err == nil && timedOut {
		err = t.Process.Kill(ctx)
	}
	if err != nil {
		return result, false, c.failed(ctx, "wait for "+t.short(), err)
	}
	how := howEnded(exit)
	if timedOut {
		how = fmt.Sprintf("timed out after %v and was killed", timeout)
	}
	state := CommandState{Exit: exit, TimedOut: timedOut}
	how += createdNote(exit)
	out, err := c.output(ctx, t)
	can := c.ws.Features()
	boxed := can.Sandboxed || can.Unsandboxed // a weaker one can be left
	if err == nil && t.Command.Sandbox != model.SandboxNone && boxed {
		how += deniedNote(exit, out.head+out.tail, can.Unsandboxed, t.Command.Sandbox)
	}
	if failed, ok := errors.AsType[*toolset.FailedError](err); ok { // how it ended is worth knowing
		return withMeta(fmt.Sprintf("[%s]\n[%s]", failed.Message, how), state), false, nil
	}
	if err != nil {
		return result, false, err
	}
	state.Truncated = out.left > 0 || out.lost
	if keep = out.left > 0 && !c.options.noTerminals; keep {
		state.Terminal = t.ID
	}
	return withMeta(out.text(state.Terminal, how), state), keep, nil
}

// waitFor waits for the end of a command, for at most d, or as long as it takes if d is not
// positive. A timeout is not an error.
func waitFor(ctx context.Context, p Process, d time.Duration) (exit *Exit, timedOut bool, err error) {
	bounded := ctx
	if d > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	e, err := p.Wait(bounded)
	switch {
	case err == nil:
		return &e, false, nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return nil, true, nil
	}
	return nil, false, err
}

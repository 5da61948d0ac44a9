// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// runCommandDescription describes the tool. timeout is the default; zero or less is none.
func runCommandDescription(timeout time.Duration) string {
	limit := "no limit"
	if timeout > 0 {
		limit = timeout.String()
	}
	return "Run a command in a terminal of the user's editor, where the user sees it, and wait for its end. The user may refuse it. " +
		"You get the output and how the command ended. There is no input: do not run programs that ask. " +
		"A command is killed after timeout_seconds (default " + limit + "). " +
		"Give servers and watchers background: you get a terminal id at once, for the other terminal tools."
}

type runCommandArgs struct {
	Command    string            `json:"command" jsonschema_description:"A command line for the shell, such as: go test ./... 2>&1 | tail -5. Or, if args is given, just the program." validate:"required"`
	Args       []string          `json:"args,omitempty" jsonschema_description:"The program's arguments, one each, without quoting. Leave out if command is a whole line."`
	Cwd        string            `json:"cwd,omitempty" jsonschema_description:"Where to run it, relative to the working directory; the working directory if left out."`
	Env        map[string]string `json:"env,omitempty" jsonschema_description:"Variables to add to the environment."`
	Timeout    int               `json:"timeout_seconds,omitempty" jsonschema_description:"After how many seconds to kill it." validate:"omitempty,min=1,max=86400"`
	Background bool              `json:"background,omitempty" jsonschema_description:"Do not wait: return a terminal id at once. What is still running at the end of your turn is killed."`
}

func (in runCommandArgs) describe(w *workspace) (string, []acp.ToolCallLocation) {
	cmd, err := w.parse(in)
	if err != nil {
		return in.Command, nil
	}
	if in.Cwd != "" {
		return cmd.shown + " (in " + w.display(in.Cwd).short + ")", nil
	}
	return cmd.shown, nil
}

func (w *workspace) parse(in runCommandArgs) (commandLine, error) {
	return parseCommand(isWindowsPath(w.Session.Cwd), in.Command, in.Args)
}

// commandEnd is the raw output of run_command and of the tools that look at its terminal.
type commandEnd struct {
	TerminalID acp.TerminalID `json:"terminalId,omitempty"`
	ExitCode   *uint32        `json:"exitCode,omitempty"`
	Signal     *string        `json:"signal,omitempty"`
	TimedOut   bool           `json:"timedOut,omitempty"`
	Running    bool           `json:"running,omitempty"`
	Truncated  bool           `json:"truncated,omitempty"`
	Output     string         `json:"output"`
}

// plannedCommand is what a call would run.
type plannedCommand struct {
	line commandLine
	dir  string
	req  PermissionRequest
}

func (w *workspace) planCommand(in runCommandArgs) (*plannedCommand, error) {
	cmd, err := w.parse(in)
	if err != nil {
		return nil, err
	}
	dir, err := w.resolve(cmp.Or(in.Cwd, w.Session.Cwd))
	if err != nil {
		return nil, err
	}
	shown := toolset.CommandLine{Args: append([]string{cmd.program}, cmd.args...), Dir: dir}
	if cmd.line {
		shown.Line, shown.Args = cmd.shown, nil
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		shown.Env = append(shown.Env, name+"="+in.Env[name])
	}
	title, _ := in.describe(w)
	scope := command.ScopeOf(command.Command{Line: shown.Line, Args: shown.Args, Dir: dir, Env: shown.Env}, w.place())
	return &plannedCommand{cmd, dir, PermissionRequest{
		Tool: ToolRunCommand, Command: cmd.program, Args: cmd.args, Cwd: dir, Env: shown.Env,
		Approval: toolset.Approval{
			Title: title, Scope: scope.Scope, ScopeTitle: scope.Title, Covers: scope.Covers, Parts: scope.Parts,
			Preview: []toolset.Preview{{Command: &shown}},
		},
	}}, nil
}

// place is where named scopes of commands hold.
func (w *workspace) place() command.Place {
	p := w.paths()
	place := command.Place{Windows: !p.native() || isWindowsPath(w.Session.Cwd), Inside: func(path string) bool {
		_, err := w.resolve(path)
		return err == nil
	}}
	for _, dir := range append([]string{w.Session.Cwd}, w.Session.AdditionalDirectories...) {
		if abs, err := p.abs(w.Session.Cwd, dir); err == nil {
			place.Roots = append(place.Roots, abs)
		}
	}
	return place
}

func (w *workspace) approveCommand(ctx context.Context, a *activity, in runCommandArgs) (*toolset.Approval, error) {
	plan, err := w.planCommand(in)
	if err != nil {
		return nil, nil // the call says so itself
	}
	return a.approval(ctx, &plan.req)
}

func (w *workspace) runCommand(ctx context.Context, a *activity, in runCommandArgs) (answer, error) {
	plan, err := w.planCommand(in)
	if err != nil {
		return answer{}, err
	}
	if err := a.permit(ctx, &plan.req); err != nil {
		return answer{}, err
	}
	cmd, dir := plan.line, plan.dir
	a.started(ctx)
	id, err := w.createTerminal(ctx, w.terminalRequest(&cmd, dir, in.Env), terminal{command: cmd.shown, background: in.Background})
	if err != nil {
		return answer{}, clientError(ctx, "run "+cmd.shown, err)
	}
	if in.Background {
		return answer{
			text: fmt.Sprintf("Started in the background, in terminal %s. See its output with %s.", id, ToolGetTerminalOutput),
			show: []acp.ToolCallContent{terminalContent(id)}, raw: commandEnd{TerminalID: id, Running: true},
		}, nil
	}
	defer w.release(ctx, id)
	a.started(ctx, terminalContent(id))
	timeout := w.options.commandTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	return w.finishCommand(ctx, id, &cmd, timeout)
}

// finishCommand waits for the end of a command and says how it went.
func (w *workspace) finishCommand(ctx context.Context, id acp.TerminalID, cmd *commandLine, timeout time.Duration) (answer, error) {
	exit, timedOut, err := w.waitForExit(ctx, id, timeout)
	if err == nil && timedOut {
		err = w.kill(ctx, id)
	}
	if err != nil {
		return answer{}, clientError(ctx, "wait for "+cmd.shown, err)
	}
	out, err := w.output(ctx, id)
	switch {
	case err == nil && exit == nil:
		exit = out.ExitStatus
	case err == nil:
	default:
		if failure := clientError(ctx, "read the output of "+cmd.shown, err); !isForModel(failure) {
			return answer{}, failure
		}
		out = &acp.TerminalOutputResponse{Output: "[The output could not be read: " + reason(err) + "]"}
	}
	text, cut := clipOutput(out.Output, w.options.outputLimit)
	end := commandEnd{TimedOut: timedOut, Truncated: out.Truncated || cut, Output: text}
	how := ""
	if timedOut {
		how = fmt.Sprintf("timed out after %v and was killed", timeout)
	} else {
		end.ExitCode, end.Signal = exit.ExitCode, exit.Signal
		how = howEnded(exit)
	}
	return answer{text: withNotes(text, out.Truncated, how), raw: end, failed: timedOut || !succeeded(exit)}, nil
}

func (w *workspace) terminalRequest(cmd *commandLine, dir string, env map[string]string) *acp.CreateTerminalRequest {
	req := &acp.CreateTerminalRequest{
		SessionID: w.Session.ID, Command: cmd.program, Args: cmd.args, Cwd: &dir,
		// The client drops the beginning of what is longer; clipOutput needs some of it.
		OutputByteLimit: new(uint64(max(4*w.options.outputLimit, 1<<20))),
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: env[name]})
	}
	return req
}

// succeeded reports whether a command ended with exit code 0. An empty signal is none, as in [howEnded].
func succeeded(exit *acp.TerminalExitStatus) bool {
	return exit.ExitCode != nil && *exit.ExitCode == 0 && (exit.Signal == nil || *exit.Signal == "")
}

// howEnded says how a command ended.
func howEnded(exit *acp.TerminalExitStatus) string {
	switch {
	case exit == nil:
		return "still running"
	case exit.Signal != nil && *exit.Signal != "":
		return "killed by signal " + *exit.Signal
	case exit.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *exit.ExitCode)
	}
	return "ended, exit code unknown"
}

// withNotes puts what is to be known of an output behind it.
func withNotes(text string, truncated bool, how string) string {
	var b strings.Builder
	if truncated {
		b.WriteString("[The beginning of the output is lost.]\n")
	}
	b.WriteString(text)
	if text == "" {
		b.WriteString("[no output]")
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString("[" + how + "]")
	return b.String()
}

// isForModel reports whether an error is one that the model is told about.
func isForModel(err error) bool {
	_, ok := err.(*toolset.FailedError)
	return ok
}

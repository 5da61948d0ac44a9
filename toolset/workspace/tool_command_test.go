// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func command(line string, more ...any) toolCall {
	a := args{"command": line}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return toolCall{"run_command", a}
}

func terminal(tool, id string, more ...any) toolCall {
	a := args{"terminal_id": id}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return toolCall{tool, a}
}

func texts(parts []model.Part) []string {
	all := make([]string, len(parts))
	for i, p := range parts {
		all[i] = p.Text
	}
	return all
}

var scripts = map[string]workspace.MemoryScript{
	"echo hi":   workspace.MemoryPrint("hi\n", 0),
	"false":     workspace.MemoryPrint("", 1),
	"no-eol":    workspace.MemoryPrint("x", 0),
	"ls -l a b": workspace.MemoryPrint("args\n", 0),
	"build": func(ctx context.Context, sh *workspace.MemoryShell) int {
		fmt.Fprintln(sh, "compiling")
		select {
		case <-time.After(30 * time.Second):
			fmt.Fprintln(sh, "compiled")
		case <-ctx.Done():
		}
		return 0
	},
	"serve": func(ctx context.Context, sh *workspace.MemoryShell) int {
		fmt.Fprintln(sh, "listening")
		<-ctx.Done()
		return 0
	},
	"pwd": func(_ context.Context, sh *workspace.MemoryShell) int {
		fmt.Fprintf(sh, "%s %q\n", sh.Dir, sh.Command.Env)
		return 0
	},
	"lines": func(_ context.Context, sh *workspace.MemoryShell) int {
		for i := range 1000 {
			fmt.Fprintf(sh, "line %d\n", i+1)
		}
		return 0
	},
}

func TestRunCommand(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Commands: scripts})
	require.NoError(t, ws.Disk().Mkdir("/project/sub"))
	told := texts(r.calls(
		command("echo hi"), command("false"), command("no-eol"), command("ls", "args", []string{"-l", "a", "b"}), command("ls -l", "args", []string{"a", "b"}),
		command("pwd", "cwd", "sub", "env", args{"B": "2", "A": "1"}),
		command("nothing here"), command("nothing", "args", []string{"x"}), command("pwd", "cwd", "missing"), command("pwd", "cwd", ".."), command(" "), command("a | b", "args", []string{"x"}),
	))
	require.Equal(t, []string{
		"hi\n[exit code 0]", "[no output]\n[exit code 1]", "x\n[exit code 0]", "args\n[exit code 0]", "args\n[exit code 0]",
		"/project/sub [\"A=1\" \"B=2\"]\n[exit code 0]",
		"sh: nothing: not found\n[exit code 127]", "Could not run nothing x: program not found.",
		"Could not run pwd in missing: not found.", "Could not run a command in ..: the path lies outside of the working directory, or leads out through a link. Use a path inside /project.",
		"The command is empty.", "Give either a whole command line in command, without args, or a program in command and its arguments in args.",
	}, told)
	require.Empty(t, r.session.Terminals(), "a command that was waited for is closed")
	asked := r.asked[5].Approval
	require.Equal(t, "Run pwd", asked.Title)
	require.Equal(t, toolset.CommandLine{Line: "pwd", Dir: "/project/sub", Env: []string{"A=1", "B=2"}}, *asked.Preview[0].Command)
	require.Equal(t, `exactly sh "pwd" in "/project/sub" with ["A=1" "B=2"]`, asked.Scope)
	require.Equal(t, toolset.CommandLine{Args: []string{"ls", "-l", "a", "b"}, Dir: "/project"}, *r.asked[3].Approval.Preview[0].Command)
}

func TestBackgroundCommandOutlivesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts})
		require.Equal(t, "Started in the background, in terminal terminal-1. See its output with get_terminal_output.", r.call("run_command", args{"command": "build", "background": true}))
		// The next runs of the conversation find it.
		require.Equal(t, []string{
			"compiling\n[still running after 10s]", "compiling\n[still running]", "compiling\ncompiled\n[exit code 0]", "compiling\ncompiled\n[exit code 0]",
			"Terminal terminal-1 is closed.", `Unknown terminal "terminal-1": it was closed, or ended with the program that ran it. No terminals are open: run_command with background set to true opens one.`,
		}, texts(r.calls(
			terminal("wait_for_terminal_exit", "terminal-1", "timeout_seconds", 10), terminal("get_terminal_output", "terminal-1"), terminal("wait_for_terminal_exit", "terminal-1"),
			terminal("get_terminal_output", "terminal-1"), terminal("release_terminal", "terminal-1"), terminal("get_terminal_output", "terminal-1"),
		)))
		require.Equal(t, []string{
			"Started in the background, in terminal terminal-2. See its output with get_terminal_output.", "Stopped. Terminal terminal-2 stays open; its output can be read.",
			"listening\n[killed by signal killed]", `Unknown terminal "x". Open terminals: terminal-2 (serve).`,
		}, texts(r.calls(command("serve", "background", true), terminal("kill_terminal", "terminal-2"), terminal("wait_for_terminal_exit", "terminal-2"), terminal("get_terminal_output", "x"))))
	})
}

func TestCommandsEndWithSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts})
		r.call("run_command", args{"command": "serve", "background": true})
		p := r.session.Terminals()[0].Process
		require.NoError(t, r.session.Close(t.Context()))
		exit, err := p.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "killed", exit.Signal)
		require.Empty(t, r.session.Terminals())
		require.Equal(t, "Could not run serve: the session has ended.", r.call("run_command", args{"command": "serve"}))
	})
}

func TestCommandTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts}, workspace.WithCommandTimeout(3*time.Second))
		require.Equal(t, []string{"compiling\n[timed out after 3s and was killed]", "compiling\n[timed out after 20s and was killed]"},
			texts(r.calls(command("build"), command("build", "timeout_seconds", 20))))
	})
}

func TestCommandEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts})
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, err := r.run(ctx, command("serve"))
		require.ErrorIs(t, err, cause)
		require.Empty(t, r.session.Terminals())
	})
}

func TestLongOutputIsReadInParts(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts}, workspace.WithOutputLimit(100))
	first := r.call("run_command", args{"command": "lines"})
	require.Equal(t, "line 1\nline 2\nline 3\n[8799 bytes left out here. To read them, call get_terminal_output with terminal_id \"terminal-1\" and from 21.]\n"+
		"line 993\nline 994\nline 995\nline 996\nline 997\nline 998\nline 999\nline 1000\n[exit code 0]", first)
	// Reading on from position to position gives the whole.
	whole, from := "line 1\nline 2\nline 3\n", 21
	for {
		part := r.call("get_terminal_output", args{"terminal_id": "terminal-1", "from": from})
		i := strings.Index(part, "[")
		whole += part[:i]
		if _, err := fmt.Sscanf(part[i:], "[%d bytes more. To read on, call get_terminal_output with from %d.]", new(int), &from); err != nil {
			require.Equal(t, "[exit code 0]", part[i:])
			break
		}
	}
	require.Len(t, whole, 8893)
	require.True(t, strings.HasSuffix(whole, "line 999\nline 1000\n"))
	require.Equal(t, "[No output after position 8893.]\n[exit code 0]", r.call("get_terminal_output", args{"terminal_id": "terminal-1", "from": 8893}))
}

func TestSessionKeepsBoundedOutputs(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts}, workspace.WithOutputLimit(100))
	for range 20 {
		r.call("run_command", args{"command": "lines"})
	}
	require.LessOrEqual(t, len(r.session.Terminals()), 8)
	require.Contains(t, r.call("get_terminal_output", args{"terminal_id": "terminal-20"}), "line 1000")
}

func TestTooManyCommands(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts})
	for range 32 {
		require.Contains(t, r.call("run_command", args{"command": "serve", "background": true}), "Started")
	}
	require.Equal(t, "Could not run serve: too many commands are running. Release some with release_terminal.", r.call("run_command", args{"command": "serve", "background": true}))
}

// slowToClose is a workspace whose processes cannot be closed, although they have ended.
type slowToClose struct {
	workspace.Workspace
	err error
}

func (w slowToClose) Start(ctx context.Context, c workspace.Command) (workspace.Process, error) {
	p, err := w.Workspace.Start(ctx, c)
	return slowProcess{p, w.err}, err
}

type slowProcess struct {
	workspace.Process
	err error
}

func (p slowProcess) Close(ctx context.Context) error {
	_ = p.Process.Close(ctx)
	return p.err
}

// An editor under load may be late to release a terminal. The command has ended before that.
func TestResultIsKeptIfTheTerminalCannotBeClosed(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Commands: scripts})
	require.NoError(t, err)
	r := newRig(t, slowToClose{ws, context.DeadlineExceeded})
	require.Equal(t, "hi\n[exit code 0]\n[Could not close its terminal: context deadline exceeded]", r.call("run_command", args{"command": "echo hi"}))

	r = newRig(t, slowToClose{ws, fmt.Errorf("%w: connection closed", workspace.ErrLost)})
	_, err = r.run(t.Context(), command("echo hi"))
	require.ErrorIs(t, err, workspace.ErrLost)
}

func TestModelIsToldHowMuchOutputIsLost(t *testing.T) {
	scripts := map[string]workspace.MemoryScript{"make": workspace.MemoryPrint(strings.Repeat("0123456789\n", 1000), 2)}
	r, _ := inMemory(t, workspace.MemoryConfig{Commands: scripts, OutputLimit: 1000}, workspace.WithOutputLimit(500))
	text := r.call(workspace.ToolRunCommand, args{"command": "make"})
	require.True(t, strings.HasPrefix(text, "[The beginning of the output is lost: 10000 bytes or more.]\n"), text)
	require.Regexp(t, `\n\[\d+ bytes left out here\.`, text)
	require.True(t, strings.HasSuffix(text, "\n0123456789\n[exit code 2]"), text)
}

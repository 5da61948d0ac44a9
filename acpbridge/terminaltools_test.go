// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

var server = map[string]acptest.Program{
	"serve": acptest.Runs("listening\n"),
	"build": func(ctx context.Context, p *acptest.Process) acptest.Exit {
		fmt.Fprint(p, "compiling\n")
		select {
		case <-time.After(30 * time.Second):
		case <-ctx.Done():
		}
		fmt.Fprint(p, "compiled\n")
		return acptest.Exit{}
	},
}

func terminalCall(tool, id string) model.Part { return call("c", tool, args{"terminal_id": id}) }

func TestACommandInTheBackgroundIsTheModelsToFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		editor := acptest.New(acptest.Options{Programs: server})
		r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
			call("c", "run_command", args{"command": "build", "background": true}),
			call("c", "wait_for_terminal_exit", args{"terminal_id": "terminal-1", "timeout_seconds": 10}),
			terminalCall("get_terminal_output", "terminal-1"),
			terminalCall("wait_for_terminal_exit", "terminal-1"),
			terminalCall("get_terminal_output", "terminal-1"),
			terminalCall("release_terminal", "terminal-1"),
			terminalCall("get_terminal_output", "terminal-1"),
		}, allowed()...)
		require.NoError(t, r.err)
		var told []string
		for _, p := range r.answers() {
			told = append(told, p.Text)
		}
		assert.Equal(t, []string{
			"Started in the background, in terminal terminal-1. See its output with get_terminal_output.",
			"compiling\n[still running after 10s]",
			"compiling\n[still running]",
			"compiling\ncompiled\n[exit code 0]",
			"compiling\ncompiled\n[exit code 0]",
			"Terminal terminal-1 is closed.",
			`Unknown terminal "terminal-1": it was closed, or ended with the program that ran it. No terminals are open: run_command with background set to true opens one.`,
		}, told)
		assert.Equal(t, "build", r.shown(t, 0).Title)
		assert.Equal(t, acp.ToolCallStatusCompleted, r.shown(t, 0).Status)
		assert.Equal(t, "Wait for build", r.shown(t, 1).Title)
		assert.Equal(t, "Look at build", r.shown(t, 2).Title)
		assert.JSONEq(t, `{"terminalId":"terminal-1","running":true,"output":"compiling\n"}`, string(r.shown(t, 2).RawOutput))
	})
}

func TestATerminalCanBeKilledAndReadAfterwards(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: server})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("c", "run_command", args{"command": "serve", "background": true}),
		terminalCall("kill_terminal", "terminal-1"),
		terminalCall("get_terminal_output", "terminal-1"),
	}, allowed()...)
	require.NoError(t, r.err)
	assert.Equal(t, "Stopped. Terminal terminal-1 stays open; its output can be read.", r.answers()[1].Text)
	assert.Equal(t, "listening\n[killed by signal SIGKILL]", r.answers()[2].Text)
}

func TestTerminalsThatAreOpenAtTheEndOfTheRunAreReleased(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: server})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("c", "run_command", args{"command": "serve", "background": true}),
		call("c", "run_command", args{"command": "serve", "background": true}),
	}, allowed()...) // which checks that none is open
	require.NoError(t, r.err)
}

// The model's ids are not the client's, so that it cannot name a terminal that is not the session's.
func TestOnlyTerminalsOfTheSessionCanBeUsed(t *testing.T) {
	editor := acptest.New(acptest.Options{Programs: server})
	d := editor.Deps("/project")
	foreign, err := editor.CreateTerminal(t.Context(), &acp.CreateTerminalRequest{SessionID: d.Session.ID, Command: "foreign"})
	require.NoError(t, err)
	r := runUnchecked(t.Context(), t, editor, d,
		terminalCall("kill_terminal", string(foreign.TerminalID)),
		call("c", "run_command", args{"command": "serve", "background": true}),
		terminalCall("release_terminal", "terminal-2"),
		terminalCall("release_terminal", "terminal-1"),
	)
	require.NoError(t, r.err)
	assert.Equal(t, model.OutcomeFailed, r.answers()[0].Outcome)
	assert.Equal(t, `Unknown terminal "terminal-2". Open terminals: terminal-1 (serve).`, r.answers()[2].Text)
	assert.Equal(t, "Terminal terminal-1 is closed.", r.answers()[3].Text)
	assert.Equal(t, []string{"foreign"}, editor.Open())
}

func TestErrorsOfTheTerminalToolsAreToldToTheModel(t *testing.T) {
	for tool, method := range map[string]string{
		"get_terminal_output": acp.MethodTerminalOutput, "wait_for_terminal_exit": acp.MethodWaitForTerminalExit, "kill_terminal": acp.MethodKillTerminal,
	} {
		editor := acptest.New(acptest.Options{Programs: server})
		editor.Fail(method, 1, acp.Errorf(acp.CodeInternal, "boom"))
		r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
			call("c", "run_command", args{"command": "serve", "background": true}), terminalCall(tool, "terminal-1"),
		}, allowed()...)
		require.NoError(t, r.err)
		assert.Equal(t, model.OutcomeFailed, r.answers()[1].Outcome, tool)
		assert.Contains(t, r.answers()[1].Text, "boom")
	}
}

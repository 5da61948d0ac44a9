// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// runs is a program that starts what a terminal was asked for.
func runs(ctx context.Context, p *acptest.Process) acptest.Exit {
	cmd := exec.CommandContext(ctx, p.Request.Command, p.Request.Args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = p, p, *p.Request.Cwd
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return acptest.Exit{Code: uint32(ended.ExitCode())}
	}
	if err != nil {
		return acptest.Exit{Code: 127}
	}
	return acptest.Exit{}
}

// A command line means in an editor's terminal what it means on this machine, and what sh makes of it.
func TestCommandLinesAreWhatShReads(t *testing.T) {
	lines := []string{
		"exit 3", "cd sub && pwd", "cd sub", "export A=1", "ulimit -n > /dev/null", ". ./x", "type sh > /dev/null", "echo a\u00a0b", "printf '%s\\n' a\tb", ":", "true ; false",
		"echo  two   blanks", "touch a\u00a0b && ls", "A=1 ; echo $A", "echo ~root", "test -d sub", "echo x # y", "set -- a b; echo $2",
	}
	for _, terminal := range []bool{true, false} {
		dir := project(t, map[string]string{"x": "echo sourced\n", "sub/y": ""})
		editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{Terminal: terminal}, Programs: map[string]acptest.Program{"sh": runs}})
		d := editor.Deps(dir)
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Commands: true})
		require.NoError(t, err)
		d.Workspace = workspace.NewSession(w)
		for i, line := range lines {
			r := runTools(t.Context(), t, editor, d, []model.Part{call(fmt.Sprint(i), "run_command", args{"command": line})}, allowed()...)
			sh := exec.Command("sh", "-c", line)
			sh.Dir = dir
			out, err := sh.CombinedOutput()
			want, code := string(out), 0
			if ended, ok := errors.AsType[*exec.ExitError](err); ok {
				code = ended.ExitCode()
			}
			if want == "" {
				want = "[no output]\n"
			}
			require.Equal(t, fmt.Sprintf("%s[exit code %d]", want, code), r.answer(t).Text, "%q, in a terminal: %v", line, terminal)
		}
		require.NoError(t, d.Workspace.Close(t.Context()))
		require.NoError(t, w.Close())
	}
}

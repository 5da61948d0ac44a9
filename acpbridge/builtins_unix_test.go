// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/show"
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

// A command line means in an editor's terminal what it means on this machine, and what sh makes of it. The question has the line that runs.
func TestCommandLinesAreWhatShReads(t *testing.T) {
	lines := []string{
		"exit 3", "cd sub && pwd", "cd sub", "export A=1", "ulimit -n > /dev/null", ". ./x", "type sh > /dev/null", "echo a\u00a0b", "printf '%s\\n' a\tb", ":", "true ; false",
		"echo  two   blanks", "touch a\u00a0b && ls", "A=1 ; echo $A", "echo ~root", "test -d sub", "echo x # y", "set -- a b; echo $2",
		// What sh could take for options.
		"-x", "+e", "--version", "-", "--", "-c 'echo hi'", "-s", "+",
		// The end and the beginning of a line.
		"printf '[%s]' a\\ ", "printf '[%s]' a\\\n", "echo a\r", "\recho a", "\n\n\t echo lead", "echo end \t\n", "echo 'open ", "echo a \\\n  b", "echo x #y \n",
		"cat <<EOF\n  x \nEOF\n", "cat <<EOF\nx\n\n", "cat <<'A'; echo b\n$HOME\nA", "\u00a0true", "echo \u3000x\u2028y\u200b", "echo a\vb\fc", "echo \x01\x7f",
		// Words of the shell itself.
		"if true; then echo t; fi", "f() { echo f; }; f", "(exit 5)", "! true", "{ echo a; }", "case a in a) echo y;; esac", "trap 'echo bye' EXIT; exit 4",
		"alias e=echo\ne hi", "# nothing", "A=1", "A=1 exit 6", "exec echo x", "set -e; false; echo y", "umask > /dev/null", "echo \"$#\"", "echo {a,b} ~ *",
		strings.Repeat("echo long; ", 3000) + "true",
	}
	for _, terminal := range []bool{true, false} {
		dir := project(t, map[string]string{"x": "echo sourced\n", "sub/y": ""})
		editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{Terminal: terminal}, Programs: map[string]acptest.Program{"sh": runs}})
		d := editor.Deps(dir)
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Commands: true})
		require.NoError(t, err)
		d.Workspace = workspace.NewSession(w)
		for i, line := range lines {
			known := len(editor.Permissions())
			r := runTools(t.Context(), t, editor, d, []model.Part{call(fmt.Sprint(i), "run_command", args{"command": line})})
			sh := exec.Command("sh") // which takes a line from its input for nothing else
			sh.Dir, sh.Stdin = dir, strings.NewReader(line)
			out, err := sh.CombinedOutput()
			want, code := string(out), 0
			if ended, ok := errors.AsType[*exec.ExitError](err); ok {
				code = ended.ExitCode()
			}
			switch {
			case want == "":
				want = "[no output]\n"
			case !strings.HasSuffix(want, "\n"):
				want += "\n"
			}
			asked := editor.Permissions()[known:]
			require.Len(t, asked, 1)
			require.Contains(t, asked[0].ToolCall.Content[0].Content.Content.Text.Text, "Run in a shell:\n"+show.Lines("  ", shownLine(line)), "%q", line)
			told := regexp.MustCompile(`(?m)^\S*/sh: `).ReplaceAllString(r.answer(t).Text, "sh: ")
			require.Equal(t, fmt.Sprintf("%s[exit code %d]", want, code), told, "%q, in a terminal: %v", line, terminal)
		}
		require.NoError(t, d.Workspace.Close(t.Context()))
		require.NoError(t, w.Close())
	}
}

// shownLine is a line without blanks around it that mean nothing.
func shownLine(line string) string {
	line = strings.TrimLeft(line, " \t\n")
	if !strings.ContainsAny(strings.TrimRight(line, " \t\n"), "\\'\"`<\n") {
		line = strings.TrimRight(line, " \t\n")
	}
	return line
}

// A directory that is exchanged for a link while the question is open is shown, and asked about anew.
func TestCommandRunsInTheDirectoryThatWasShown(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		for name, exchange := range map[string]func(dir string) error{
			"by a link": func(dir string) error { return os.Symlink("other", filepath.Join(dir, "sub")) },
			"above it": func(dir string) error {
				return errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.Symlink("../other", filepath.Join(dir, "sub", "deep")))
			},
		} {
			dir := project(t, map[string]string{"sub/x": "", "sub/deep/x": "", "other/y": ""})
			cwd := map[string]string{"by a link": "sub", "above it": "sub/deep"}[name]
			var editor *acptest.Client
			editor = acptest.New(acptest.Options{
				Capabilities: &acp.ClientCapabilities{Terminal: terminal}, Programs: map[string]acptest.Program{"sh": runs},
				Permission: func(context.Context, *acp.RequestPermissionRequest) acptest.Answer {
					if len(editor.Permissions()) > 1 {
						return acptest.RejectOnce
					}
					assert.NoError(t, os.RemoveAll(filepath.Join(dir, "sub")))
					assert.NoError(t, exchange(dir))
					return acptest.AllowOnce
				},
			})
			d := editor.Deps(dir)
			w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Commands: true})
			require.NoError(t, err)
			d.Workspace = workspace.NewSession(w)
			r := runTools(t.Context(), t, editor, d, []model.Part{call("1", "run_command", args{"command": "touch made", "cwd": cwd})})
			require.Contains(t, r.answer(t).Text, "rejected", name)
			require.Len(t, editor.Permissions(), 2)
			first, second := editor.Permissions()[0].ToolCall.Content, editor.Permissions()[1].ToolCall.Content
			require.Len(t, first, 1)
			require.Contains(t, second[1].Content.Content.Text.Text, "The directory is a link to other.")
			_, err = os.Stat(filepath.Join(dir, "other", "made"))
			require.ErrorIs(t, err, os.ErrNotExist)
			require.NoError(t, errors.Join(d.Workspace.Close(t.Context()), w.Close()))
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// workFiles are the files that the work of [workCalls] begins with. The test of the project is a script of the shell.
var workFiles = map[string]string{
	"go.mod":       "module greet\n\ngo 1.26\n",
	"greet.go":     "package greet\n\n// Greet greets.\nfunc Greet(name string) string {\n\treturn \"Hello, \" + name\n}\n",
	"lib/names.go": "package lib\r\n\r\nvar Names = []string{\"Ada\"}\r\n",
	"check.sh":     "if grep -q 'Good day' greet.go; then echo ok; else echo 'FAIL: no Good day'; exit 1; fi\n",
}

// workCheck is what check.sh does.
func workCheck(greet string) (out string, code int) {
	if strings.Contains(greet, "Good day") {
		return "ok\n", 0
	}
	return "FAIL: no Good day\n", 1
}

// workCalls read, search, edit three times, run the tests, fix and run them again.
var workCalls = []model.Part{
	call("1", "list_files", args{"pattern": "**/*.go"}),
	call("2", "search_files", args{"pattern": "Greet", "context": 1}),
	call("3", "read_file", args{"path": "greet.go"}),
	call("4", "edit_file", editArgs("greet.go", "// Greet greets.", "// Greet greets someone.")),
	call("5", "edit_file", editArgs("greet.go", "Hello", "Good dye")),
	call("6", "edit_file", editArgs("lib/names.go", "\"Ada\"}\n", "\"Ada\", \"Grace\"}\n\nvar None []string\n")),
	call("7", "run_command", args{"command": "sh check.sh"}),
	call("8", "edit_file", editArgs("greet.go", "dye", "day")),
	call("9", "run_command", args{"command": "sh check.sh"}),
	call("10", "read_file", args{"path": "lib/names.go"}),
	call("11", "read_file", args{"path": "missing.go"}),
	call("12", "read_file", args{"path": "../secret"}),
	call("13", "edit_file", editArgs("greet.go", "return Hello", "x")),
	call("14", "run_command", args{"command": "sh check.sh", "cwd": "missing"}),
}

// workModel makes those calls that it is offered the tools for, and keeps what it is told, by call.
func workModel(told map[string]string) model.Model {
	next := 0
	return modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
					told[p.CallID] = p.Text
				}
			}
		}
		for ; next < len(workCalls); next++ {
			c := workCalls[next]
			if slices.ContainsFunc(req.Tools, func(t model.ToolDef) bool { return t.Name == c.Tool }) {
				next++
				return model.Response(c), nil
			}
		}
		return model.Response(model.Text("done")), nil
	})
}

// workIn does the work in an editor on a directory, and returns what the model was told, by call.
func workIn(t *testing.T, can acp.ClientCapabilities, fallback acpbridge.LocalFallback, replaced func(dir string) workspace.Workspace) map[string]string {
	t.Helper()
	dir := project(t, workFiles)
	var editor *acptest.Client
	editor = acptest.New(acptest.Options{
		Capabilities: &can,
		Before: func(_ context.Context, c acptest.Call) error { // the editor opens and saves files
			switch req := c.Params.(type) {
			case *acp.ReadTextFileRequest:
				if data, err := os.ReadFile(req.Path); err == nil {
					editor.SetFile(req.Path, string(data))
				}
			case *acp.WriteTextFileRequest:
				return os.WriteFile(req.Path, []byte(req.Content), 0o644)
			}
			return nil
		},
		Programs: map[string]acptest.Program{"sh check.sh": func(_ context.Context, p *acptest.Process) acptest.Exit {
			greet, err := os.ReadFile(filepath.Join(*p.Request.Cwd, "greet.go"))
			out, code := workCheck(string(greet))
			fmt.Fprint(p, out)
			if err != nil {
				code = 2
			}
			return acptest.Exit{Code: uint32(code)}
		}},
	})
	answers := map[string]string{}
	a, err := agent.New(agent.Config[bare, string]{Model: workModel(answers), Toolsets: []toolset.Toolset[bare]{acpbridge.Toolset[bare]()}})
	require.NoError(t, err)
	c := acpbridge.Config[bare, string]{Host: host.Config[bare, string]{Agent: a, Logger: slog.New(slog.DiscardHandler)}}
	c.Local, c.ShutdownTimeout = fallback, time.Minute
	if replaced != nil {
		c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
			d.Workspace = workspace.NewSession(replaced(dir))
			return d, nil
		}
	}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	stop, err := conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Empty(t, editor.Violations())
	require.Empty(t, editor.Open())
	for _, shown := range editor.State().ToolCalls {
		require.Contains(t, []acp.ToolCallStatus{acp.ToolCallStatusCompleted, acp.ToolCallStatusFailed}, shown.Status)
	}
	for id, text := range answers {
		answers[id] = strings.ReplaceAll(text, dir, "ROOT")
	}
	return answers
}

// The same work gets the same answers in an editor, on this machine and in memory, and whatever a client cannot do.
func TestSameWorkGetsTheSameAnswers(t *testing.T) {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	all := acp.ClientCapabilities{FS: files, Terminal: true}
	want := workIn(t, all, acpbridge.LocalFallback{}, nil)
	require.Len(t, want, len(workCalls))
	for id, text := range map[string]string{
		"1": "greet.go\nlib/names.go\n", "3": workFiles["greet.go"], "7": "FAIL: no Good day\n[exit code 1]", "9": "ok\n[exit code 0]",
		"10": "package lib\r\n\r\nvar Names = []string{\"Ada\", \"Grace\"}\r\n\r\nvar None []string\r\n", "11": "Could not read missing.go: not found.",
		"14": "Could not run sh check.sh in missing: not found.",
	} {
		require.Equal(t, text, want[id])
	}
	for name, can := range map[string]acp.ClientCapabilities{"files": {FS: files}, "terminal": {Terminal: true}, "neither": {}} {
		require.Equal(t, want, workIn(t, can, everything, nil), "an editor with %s, and this machine", name)
	}
	require.Equal(t, want, workIn(t, all, acpbridge.LocalFallback{}, func(dir string) workspace.Workspace {
		w, err := local.Open(local.Config{Roots: []string{dir}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.Close() })
		return w
	}), "this machine")
	require.Equal(t, want, workIn(t, all, acpbridge.LocalFallback{}, func(dir string) workspace.Workspace {
		w, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{dir}, Files: workFiles, Commands: map[string]workspace.MemoryScript{"sh check.sh": func(_ context.Context, sh *workspace.MemoryShell) int {
			greet, _ := sh.Disk.ReadFile(sh.Dir + "/greet.go")
			out, code := workCheck(string(greet))
			fmt.Fprint(sh, out)
			return code
		}}})
		require.NoError(t, err)
		return w
	}), "memory")
}

// Without a fallback the work ends well too, as far as it goes.
func TestWorkEndsWellWithoutCapabilities(t *testing.T) {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	for name, c := range map[string]struct {
		can  acp.ClientCapabilities
		want int
	}{"files": {acp.ClientCapabilities{FS: files}, 11}, "terminal": {acp.ClientCapabilities{Terminal: true}, 5}, "neither": {acp.ClientCapabilities{}, 2}} {
		require.Len(t, workIn(t, c.can, acpbridge.LocalFallback{}, nil), c.want, name)
	}
}

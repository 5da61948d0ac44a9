// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
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
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// project makes a directory with files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

var everything = acpbridge.LocalFallback{Files: true, Commands: true}

// What this machine does in place of a client is shown in the editor: changes as diffs, in parts if the file is large, and output as it is
// written.
func TestLocalFallbackShowsItsWork(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	dir := project(t, map[string]string{"a": strings.Repeat(line, 500) + "needle\n" + strings.Repeat(line, 500)})
	editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{}})
	c, m := worker(t, nil, []model.Part{
		call("1", "read_file", args{"path": "a", "line": 501, "limit": 1}),
		call("2", "edit_file", editArgs("a", "needle", "pin")),
		call("3", "run_command", args{"command": "echo '*begun*'; while [ ! -e go ]; do sleep 0.01; done; echo ended; exit 3"}),
		background("sleep 600"),
	})
	c.Local, c.ShutdownTimeout = everything, time.Minute
	var work deps.ACPDeps
	conn, _ := served(t, editor, withDeps(c, &work))
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	go func() {
		_ = editor.Await(t.Context(), func(s acptest.State) bool {
			return len(s.ToolCalls) == 3 && s.ToolCalls[2].Status == acp.ToolCallStatusInProgress && shownText(s.ToolCalls[2]) == "```text\n*begun*\n```"
		})
		_ = os.WriteFile(filepath.Join(dir, "go"), nil, 0o644)
	}()
	stop, err := conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, stop)
	texts := told(m)
	require.Equal(t, "needle\n", texts[0])
	require.Equal(t, "*begun*\nended\n[exit code 3]", texts[2])
	shown := editor.State().ToolCalls
	require.Equal(t, "Edit a", shown[1].Title)
	require.Equal(t, []acp.ToolCallContent{{Diff: &acp.Diff{
		Path: filepath.Join(dir, "a"), OldText: new(line + line + line + "needle\n" + line + line + line), NewText: line + line + line + "pin\n" + line + line + line,
	}}}, shown[1].Content)
	require.Equal(t, acp.ToolCallStatusFailed, shown[2].Status)
	require.Equal(t, "```text\n*begun*\nended\n[exit code 3]\n```", shownText(shown[2]))
	require.JSONEq(t, `{"exitCode":3}`, string(shown[2].RawOutput))
	require.Contains(t, shownText(shown[3]), "Started in the background, in terminal terminal-2.")

	// The command ends with the session.
	sleep := work.Workspace.Terminals()[0].Process
	_, err = conn.CloseSession(t.Context(), &acp.CloseSessionRequest{SessionID: id})
	require.NoError(t, err)
	exit, err := sleep.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "killed", exit.Signal)
	require.Empty(t, editor.Calls())
	require.Empty(t, editor.Violations())
}

// withDeps has a configuration tell which dependencies a session was given.
func withDeps(c acpbridge.Config[bare, string], given *deps.ACPDeps) acpbridge.Config[bare, string] {
	c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
		*given = d
		return d, nil
	}
	return c
}

func TestLocalFallbackKeepsSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("GH_TOKEN", "passed")
	editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{}})
	c, m := worker(t, nil, []model.Part{call("1", "run_command", args{"command": "echo $OPENAI_API_KEY-$GH_TOKEN"})})
	c.Local = acpbridge.LocalFallback{Commands: true, Config: local.Config{PassEnv: []string{"GH_TOKEN"}}}
	conn, _ := served(t, editor, c)
	id, err := conn.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Equal(t, []string{"-passed\n[exit code 0]"}, told(m))
}

// This machine does nothing unless the program says so, and nothing that the client can do.
func TestLocalFallbackIsForWhatTheClientLacks(t *testing.T) {
	files := acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	commands := []string{"run_command", "get_terminal_output", "wait_for_terminal_exit", "kill_terminal", "release_terminal"}
	find, edit := []string{"list_files", "search_files"}, []string{"read_file", "write_file", "edit_file"}
	for _, c := range []struct {
		can      acp.ClientCapabilities
		fallback acpbridge.LocalFallback
		want     []string
	}{
		{acp.ClientCapabilities{}, acpbridge.LocalFallback{}, find},
		{acp.ClientCapabilities{}, acpbridge.LocalFallback{Files: true}, slices.Concat(edit, find)},
		{acp.ClientCapabilities{}, acpbridge.LocalFallback{Commands: true}, slices.Concat(find, commands)},
		{acp.ClientCapabilities{}, everything, slices.Concat(edit, find, commands)},
		{acp.ClientCapabilities{Terminal: true}, acpbridge.LocalFallback{}, slices.Concat(find, commands)},
		{acp.ClientCapabilities{FS: files}, acpbridge.LocalFallback{Files: true}, slices.Concat(edit, find)},
	} {
		editor := acptest.New(acptest.Options{Capabilities: &c.can})
		config, m := worker(t, nil, nil)
		config.Local = c.fallback
		conn, _ := served(t, editor, config)
		id, err := conn.Start(t.Context(), t.TempDir())
		require.NoError(t, err)
		_, err = conn.Say(t.Context(), id, "Go.")
		require.NoError(t, err)
		var offered []string
		for _, tool := range m.Requests()[0].Tools {
			offered = append(offered, tool.Name)
		}
		require.Equal(t, c.want, offered)
	}

	dir := project(t, map[string]string{"a": "saved\n"})
	editor := acptest.New(acptest.Options{Files: map[string]string{dir + "/a": "typed\n"}, Programs: makeProgram})
	config, m := worker(t, nil, []model.Part{call("1", "read_file", args{"path": "a"}), call("2", "run_command", args{"command": "make"})})
	config.Local = everything
	conn, _ := served(t, editor, config)
	id, err := conn.Start(t.Context(), dir)
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	require.Equal(t, []string{"typed\n" + notOnDisk, "made\n[exit code 0]"}, told(m))
}

// A session needs its directories here if this machine works in them.
func TestSessionNeedsItsDirectories(t *testing.T) {
	dir := project(t, map[string]string{"file": "text"})
	for cwd, want := range map[string]string{
		dir + "/missing": "invalid params: the directory \"" + dir + "/missing\" cannot be used: no such file or directory",
		dir + "/file":    "invalid params: the directory \"" + dir + "/file\" cannot be used: is not a directory",
	} {
		for _, c := range []struct {
			can      acp.ClientCapabilities
			fallback acpbridge.LocalFallback
			refused  bool
		}{
			{acp.ClientCapabilities{}, everything, true},
			{acp.ClientCapabilities{Terminal: true}, acpbridge.LocalFallback{Files: true}, true},
			{acp.ClientCapabilities{}, acpbridge.LocalFallback{}, false},
			{acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}, Terminal: true}, everything, false},
		} {
			editor := acptest.New(acptest.Options{Capabilities: &c.can})
			config, _ := worker(t, nil)
			config.Local = c.fallback
			conn, _ := served(t, editor, config)
			_, err := conn.Start(t.Context(), cwd)
			if !c.refused {
				require.NoError(t, err)
				continue
			}
			var refused *acp.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, acp.CodeInvalidParams, refused.Code)
			require.Equal(t, want, refused.Message)
		}
	}
}

// A client may read and not write: then unsaved changes are read, and not overwritten.
func TestFilesOfAnEditorThatCannotWrite(t *testing.T) {
	dir := project(t, map[string]string{"a": "saved\n"})
	editor := acptest.New(acptest.Options{
		Capabilities: &acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}, Files: map[string]string{dir + "/a": "saved\n"},
	})
	d := editor.Deps(dir)
	w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Files: true})
	require.NoError(t, err)
	defer w.Close()
	d.Workspace = workspace.NewSession(w)
	editor.Type(dir+"/a", "typed\n")
	write := func() string {
		r := runTools(t.Context(), t, editor, d, []model.Part{call("1", "write_file", args{"path": "a", "content": "new\n"})}, allowed()...)
		return r.answer(t).Text
	}
	require.Equal(t, "Could not write a: the editor has unsaved changes in this file, or it was changed on disk. Ask the user to save it or to discard the changes", write())
	editor.Type(dir+"/a", "saved\n")
	require.Equal(t, "Wrote a (4 bytes).", write())
	data, err := os.ReadFile(dir + "/a")
	require.NoError(t, err)
	require.Equal(t, "new\n", string(data))
}

// A sandbox that was asked for is never left out.
func TestLocalFallbackNeedsItsSandbox(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{}})
	_, err := acpbridge.NewWorkspace(editor.Deps(t.TempDir()), acpbridge.LocalFallback{Commands: true, Config: local.Config{Sandbox: &local.Sandbox{}}})
	require.ErrorIs(t, err, local.ErrSandbox)
}

func TestLocalCommandsEndWithServe(t *testing.T) {
	editor := acptest.New(acptest.Options{Capabilities: &acp.ClientCapabilities{}})
	c, _ := worker(t, nil, []model.Part{background("sleep 600")})
	c.Local, c.ShutdownTimeout = everything, time.Minute
	var work deps.ACPDeps
	conn, stop := served(t, editor, withDeps(c, &work))
	id, err := conn.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	_, err = conn.Say(t.Context(), id, "Go.")
	require.NoError(t, err)
	sleep := work.Workspace.Terminals()[0].Process
	begun := time.Now()
	require.Equal(t, errStopped, stop())
	t.Logf("ended after %v", time.Since(begun))
	exit, err := sleep.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "killed", exit.Signal)
	require.Empty(t, work.Workspace.Terminals())
}

// An editor that writes and does not read, and this machine, which reads: a version is that of both.
func TestVersionsOfFilesThatTheEditorWrites(t *testing.T) {
	dir := project(t, map[string]string{"a": "old\n"})
	can := &acp.ClientCapabilities{FS: acp.FileSystemCapabilities{WriteTextFile: true}}
	editor := acptest.New(acptest.Options{Capabilities: can})
	defer editor.Close()
	d := editor.Deps(dir)
	d.Client = writesToDisk{editor}
	w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{Files: true})
	require.NoError(t, err)
	defer w.Close()
	version, err := w.Write(t.Context(), "a", []byte("new\n"), workspace.AnyVersion)
	require.NoError(t, err)
	info, err := w.Stat(t.Context(), "a")
	require.NoError(t, err)
	require.NotEmpty(t, version)
	require.Equal(t, info.Version, version)
	_, err = w.Write(t.Context(), "a", []byte("newer\n"), version)
	require.NoError(t, err)
	_, err = w.Write(t.Context(), "a", []byte("late\n"), version)
	require.ErrorIs(t, err, workspace.ErrChanged)
}

// writesToDisk is an editor that saves what it is given.
type writesToDisk struct{ *acptest.Client }

func (writesToDisk) WriteTextFile(_ context.Context, r *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	return nil, os.WriteFile(r.Path, []byte(r.Content), 0o644)
}

// The client could do all of it. Nothing of it reaches the client.
func TestLocalIsPreferred(t *testing.T) {
	dir := project(t, map[string]string{"a": "saved\n"})
	editor := acptest.New(acptest.Options{Files: map[string]string{filepath.Join(dir, "a"): "unsaved\n"}})
	for _, c := range []struct {
		local acpbridge.LocalFallback
		reads string
	}{
		{acpbridge.LocalFallback{Files: true, Commands: true, Prefer: acpbridge.Prefer{Files: true, Commands: true}}, "saved\n"},
		{acpbridge.LocalFallback{Prefer: acpbridge.Prefer{Files: true}}, "unsaved\n" + notOnDisk},
	} {
		config, m := worker(t, nil, []model.Part{call("1", "read_file", args{"path": "a"})})
		config.Local = c.local
		conn, _ := served(t, editor, config)
		id, err := conn.Start(t.Context(), dir)
		require.NoError(t, err)
		_, err = conn.Say(t.Context(), id, "Go.")
		require.NoError(t, err)
		require.Equal(t, []string{c.reads}, told(m))
	}
}

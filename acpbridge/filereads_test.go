// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpbridge_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// readsBy returns how often an editor was asked for a file before and after the write of the last call. With a recorder changes can be taken back.
func readsBy(t *testing.T, editor *acptest.Client, d deps.ACPDeps, recorded bool, calls ...model.Part) (before, after int) {
	t.Helper()
	w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
	require.NoError(t, err)
	defer w.Close()
	var files workspace.Workspace = w
	if recorded {
		files = checkpoint.New(w, checkpoint.Options{})
	}
	d.Workspace = workspace.NewSession(files)
	for i, c := range calls {
		known := len(editor.Calls())
		r := runTools(t.Context(), t, editor, d, []model.Part{c}, allowed()...)
		require.Equal(t, model.OutcomeSuccess, r.answer(t).Outcome, r.answer(t).Text)
		if i < len(calls)-1 {
			continue
		}
		for _, m := range editor.Calls()[known:] {
			switch m.Method {
			case acp.MethodWriteTextFile:
				before, after = after, 0
			case acp.MethodReadTextFile:
				after++
			}
		}
	}
	return before, after
}

// An editor is asked for a file once before a change, and once after it if the directory is on another machine. A file on another machine that is
// replaced without having been read is asked for once more, because the question shows what would be lost.
func TestEachChangeReadsAFileAsOftenAsItSays(t *testing.T) {
	text := strings.Repeat("some line\n", 50) + "needle\n"
	write := call("w", "write_file", args{"path": "a", "content": "new\n"})
	every := args{"path": "a", "edits": []args{{"old_text": "some", "new_text": "any", "replace_all": true}}}
	read := call("r", "read_file", args{"path": "a"})
	for name, c := range map[string]struct {
		missing     bool
		calls       []model.Part
		here, there int // reads before the write, on this machine and elsewhere
	}{
		"edit_file":                        {calls: []model.Part{call("e", "edit_file", editArgs("a", "needle", "pin"))}, here: 1, there: 1},
		"edit_file, after a read":          {calls: []model.Part{read, call("e", "edit_file", editArgs("a", "needle", "pin"))}, here: 1, there: 1},
		"edit_file, every place":           {calls: []model.Part{call("e", "edit_file", every)}, here: 1, there: 1},
		"write_file":                       {calls: []model.Part{write}, here: 1, there: 2},
		"write_file, after a read":         {calls: []model.Part{read, write}, here: 1, there: 1},
		"write_file, after an edit":        {calls: []model.Part{call("e", "edit_file", every), write}, here: 1, there: 1},
		"write_file of a file that is new": {missing: true, calls: []model.Part{write}, here: 1, there: 2},
	} {
		for _, recorded := range []bool{false, true} {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			here, there := acptest.Options{OnDisk: true}, acptest.Options{}
			if !c.missing {
				here.Files, there.Files = map[string]string{filepath.Join(dir, "a"): text}, map[string]string{"/project/a": text}
			}
			editor := acptest.New(here)
			before, after := readsBy(t, editor, editor.Deps(dir), recorded, c.calls...)
			require.Equal(t, []int{c.here, 0}, []int{before, after}, "%s, on this machine, recorded: %v", name, recorded)
			editor = acptest.New(there)
			before, after = readsBy(t, editor, editor.Deps("/project"), recorded, c.calls...)
			require.Equal(t, []int{c.there, 1}, []int{before, after}, "%s, elsewhere, recorded: %v", name, recorded)
		}
	}
}

// Files that editors may show otherwise than they are cost a read for the question, the first of each kind. Then it is known how the editor shows them,
// also if it loses something.
func TestEachKindOfFileIsReadOnceMore(t *testing.T) {
	for name, lossy := range map[string]bool{"faithful": false, "has line feeds": true} {
		e := editortest.Editors()[slices.IndexFunc(editortest.Editors(), func(e *editortest.Editor) bool { return e.Name == name })]
		e.Disk = workspacetest.OSDisk{}
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		reads := 0
		client := &fakeEditor{acptest.New(acptest.Options{}), e}
		d := client.Deps(dir)
		d.Client = countedReads{client, &reads}
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		require.NoError(t, err)
		d.Workspace = workspace.NewSession(checkpoint.New(w, checkpoint.Options{}))
		for i, text := range []string{"one\r\nneedle\r\n", "\ufeffone\nneedle\n", "d\xe9j\xe0 vu, caf\xe9 cr\xe8me, \xe9t\xe9\nneedle\n"} {
			for n, want := range []int{2, 1, 1} {
				file := fmt.Sprint(i, n)
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text+fmt.Sprint(n)), 0o644))
				reads = 0
				known := len(client.Permissions())
				c := call(file, "edit_file", editArgs(file, "needle", "pin"))
				r := runTools(t.Context(), t, client.Client, d, []model.Part{c}).answer(t)
				require.Contains(t, r.Text, "Edited")
				require.Equal(t, want, reads, "%s: %q, the %d. file", name, text, n+1)
				asked := client.Permissions()[known:]
				require.Len(t, asked, 1)
				said := fmt.Sprint(len(asked[0].ToolCall.Content) > 1)
				require.Equal(t, fmt.Sprint(lossy && i != 1 || i == 2), said, "that it is written to disk: %q", text)
				data, err := os.ReadFile(filepath.Join(dir, file))
				require.NoError(t, err)
				require.Equal(t, strings.Replace(text, "needle", "pin", 1)+fmt.Sprint(n), string(data))
			}
		}
		require.NoError(t, w.Close())
	}
}

// countedReads is a client that counts how often it is asked for a file.
type countedReads struct {
	*fakeEditor
	n *int
}

func (c countedReads) ReadTextFile(ctx context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	*c.n++
	return c.fakeEditor.ReadTextFile(ctx, req)
}

// A replacement wherever a text occurs in a file that was not read is asked about as such.
func TestEveryPlaceOfAnUnreadFileElsewhereIsAskedAbout(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a": "one\ntwo\none\n"}})
	r := once(t, editor, "edit_file", args{"path": "a", "edits": []args{{"old_text": "one", "new_text": "1", "replace_all": true}}})
	require.Contains(t, r.answer(t).Text, "Edited a.")
	require.Len(t, editor.Permissions(), 1)
	asked := editor.Permissions()[0].ToolCall.Content
	require.Equal(t, "one", *asked[0].Diff.OldText)
	require.Equal(t, "1", asked[0].Diff.NewText)
	require.Contains(t, asked[1].Content.Content.Text.Text, "wherever the text occurs")
	text, _ := editor.File("/project/a")
	require.Equal(t, "1\ntwo\n1\n", text)
	require.Equal(t, "1\ntwo\n1\n", r.shown(t, 0).Content[0].Diff.NewText, "in the end all of it is shown")
}

// Lines are read from every kind of editor on another machine, also those after the end of a file, which editors answer in different ways.
func TestLinesOfAFileElsewhere(t *testing.T) {
	const unknown = "[The file is empty or does not exist: the editor does not say which.]"
	for i := range editortest.Editors() {
		dir := t.TempDir()
		e := editortest.Editors()[i]
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("1\n2\n3\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644))
		e.Disk = remoteDisk{dir: dir}
		client := &fakeEditor{acptest.New(acptest.Options{}), e}
		d := client.Deps("/elsewhere/project")
		d.Client = client
		told := func(a args) string {
			return runTools(t.Context(), t, client.Client, d, []model.Part{call("1", "read_file", a)}).answer(t).Text
		}
		for _, limit := range []int{1, 2, 100} {
			require.Equal(t, "3\n", told(args{"path": "a", "line": 3, "limit": limit}), e.Name)
			for _, line := range []int{4, 5, 6, 1000} {
				require.Equal(t, told(args{"path": "a", "line": line}), told(args{"path": "a", "line": line, "limit": limit}), e.Name)
				require.Contains(t, told(args{"path": "a", "line": line, "limit": limit}), "[The file ends before line ", e.Name)
			}
			for _, line := range []int{1, 2, 50} {
				require.Equal(t, unknown, told(args{"path": "empty", "line": line, "limit": limit}), "%s: line %d", e.Name, line)
				want := "Could not read missing: not found."
				if e.Blank {
					want = unknown
				}
				require.Equal(t, want, told(args{"path": "missing", "line": line, "limit": limit}), "%s: line %d", e.Name, line)
			}
		}
		client.Close()
	}
}

// A file that was created on another machine stays, in every kind of editor. The undo says so, also where the editor does not tell an empty file from none.
func TestUndoElsewhereTellsOfCreatedFiles(t *testing.T) {
	for i := range editortest.Editors() {
		e := editortest.Editors()[i]
		e.Disk = remoteDisk{dir: t.TempDir()}
		client := &fakeEditor{acptest.New(acptest.Options{}), e}
		d := client.Deps("/elsewhere/project")
		d.Client = client
		w, err := acpbridge.NewWorkspace(d, acpbridge.LocalFallback{})
		require.NoError(t, err)
		recorder := checkpoint.New(w, checkpoint.Options{})
		d.Workspace = workspace.NewSession(recorder)
		mark := recorder.Mark("turn").ID
		for n, c := range []model.Part{
			call("1", "write_file", args{"path": "new", "content": "one\n"}),
			call("2", "edit_file", editArgs("new", "one", "two")),
			call("3", "write_file", args{"path": "new", "content": ""}),
			call("4", "write_file", args{"path": "new", "content": "three\n"}),
		} {
			r := runTools(t.Context(), t, client.Client, d, []model.Part{c}, allowed()...).answer(t)
			require.Equal(t, model.OutcomeSuccess, r.Outcome, r.Text)
			if n == 2 {
				continue // it is as empty as before
			}
			_, err = recorder.Undo(t.Context(), checkpoint.Since(mark))
			require.ErrorContains(t, err, "this workspace cannot remove files", "%s, after call %d", e.Name, n+1)
		}
		text, err := e.Read("/elsewhere/project/new")
		require.NoError(t, err)
		require.Equal(t, "three\n", text, e.Name)
		client.Close()
		require.NoError(t, w.Close())
	}
}

// remoteDisk is a disk that has the files of a directory under another name, which this machine does not have.
type remoteDisk struct {
	workspacetest.OSDisk
	dir string
}

func (e remoteDisk) name(path string) string {
	return strings.Replace(path, "/elsewhere/project", e.dir, 1)
}

func (e remoteDisk) ReadFile(path string) ([]byte, error) { return e.OSDisk.ReadFile(e.name(path)) }

func (e remoteDisk) Mode(path string) (fs.FileMode, error) { return e.OSDisk.Mode(e.name(path)) }

func (e remoteDisk) WriteFile(path string, data []byte, mode fs.FileMode) error {
	return e.OSDisk.WriteFile(e.name(path), data, mode)
}

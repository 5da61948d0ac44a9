// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func edit(path string, pairs ...string) toolCall {
	var list []args
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, args{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return toolCall{"edit_file", args{"path": path, "edits": list}}
}

func (r *rig) file(t *testing.T, path string) string {
	t.Helper()
	f, err := r.ws.Read(t.Context(), path, workspace.Range{})
	require.NoError(t, err)
	return string(f.Data)
}

func TestWriteFile(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "old\n", "d/b": ""}})
	told := r.calls(
		toolCall{"write_file", args{"path": "sub/new", "content": "text\r\n"}},
		toolCall{"write_file", args{"path": "a", "content": "new\n"}},
		toolCall{"write_file", args{"path": "a", "content": "new\n"}},
		toolCall{"write_file", args{"path": "d", "content": "x"}},
		toolCall{"write_file", args{"path": "../x", "content": "x"}},
		toolCall{"write_file", args{"path": "file:///project/a#L1", "content": "x"}},
	)
	require.Contains(t, told[5].Text, "the file URI has a query or a fragment, which is not part of the path: leave it out")
	require.Equal(t, "new\n", r.file(t, "a"), "of which one line was meant")
	require.Equal(t, "Created sub/new (6 bytes).", told[0].Text)
	require.Equal(t, "Wrote a (4 bytes).", told[1].Text)
	require.Equal(t, "a has this content already; nothing was written.", told[2].Text)
	require.Equal(t, "Could not write d, because its present content cannot be read: it is a directory.", told[3].Text)
	require.Contains(t, told[4].Text, "Could not write ../x: the path lies outside")
	require.Equal(t, "text\r\n", r.file(t, "sub/new"))

	require.Len(t, r.asked, 2, "what writes nothing needs no approval")
	first, second := r.asked[0].Approval, r.asked[1].Approval
	require.Equal(t, "Create sub/new", first.Title)
	require.Equal(t, toolset.Diff{Path: "/project/sub/new", New: new("text\r\n")}, *first.Preview[0].Diff)
	require.Equal(t, "Edit a", second.Title)
	require.Equal(t, toolset.Diff{Path: "/project/a", Old: new("old\n"), New: new("new\n")}, *second.Preview[0].Diff)
	require.Equal(t, "/project/a", second.Scope)
	require.Equal(t, []string{"/project", "/"}, second.Covers)
}

func TestEditFile(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "\ufeffone\r\ntwo\r\nthree", "b": "x\nx\n"}})
	require.NoError(t, ws.Disk().WriteFile("/project/run.sh", []byte("echo a\n"), 0o755))
	require.NoError(t, ws.Disk().WriteFile("/project/bin", []byte("a\x00b"), 0o755))
	told := r.calls(
		edit("a", "two\n", "2\n2b\n", "three", "3"),
		edit("run.sh", "echo a", "echo b"),
		edit("b", "x", "y"),
		edit("b", "x\nx", "y", "z", "w"),
		edit("missing", "x", "y"),
		edit("bin", "a", "b"),
	)
	require.Equal(t, "Edited a. Lines 1 to 4 are now:\n     1\t\ufeffone\n     2\t2\n     3\t2b\n     4\t3", told[0].Text)
	require.Equal(t, "\ufeffone\r\n2\r\n2b\r\n3", r.file(t, "a"))
	mode, err := ws.Disk().Mode("/project/run.sh")
	require.NoError(t, err)
	require.EqualValues(t, 0o755, mode)
	require.Contains(t, told[2].Text, "Nothing was changed in b. old_text occurs 2 times, at lines 1, 2.")
	require.Contains(t, told[3].Text, "Nothing was changed in b. Edit 2 of 2: old_text was not found")
	require.Equal(t, "x\nx\n", r.file(t, "b"), "all edits or none")
	require.Equal(t, "Could not edit missing: not found. Create it with write_file.", told[4].Text)
	require.Equal(t, "Could not edit bin: it is a binary file, and only text can be edited.", told[5].Text)
	for _, p := range told[2:] {
		require.Equal(t, model.OutcomeFailed, p.Outcome)
	}
	require.Len(t, r.asked, 2, "edits that cannot be made need no approval")
}

// countingWorkspace counts what is asked of it.
type countingWorkspace struct {
	workspace.Workspace
	reads, writes int
}

func (w *countingWorkspace) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	w.reads++
	return w.Workspace.Read(ctx, path, r)
}

func (w *countingWorkspace) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	w.writes++
	return w.Workspace.Write(ctx, path, data, v)
}

func TestEditReadsAndWritesOnce(t *testing.T) {
	line := strings.Repeat("x", 107) + "\n"
	for name, size := range map[string]int{"108 kB": 1000, "5 MB": 48_000} {
		ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"a": strings.Repeat(line, size/2) + "needle\n" + strings.Repeat(line, size/2)}})
		require.NoError(t, err)
		counting := &countingWorkspace{Workspace: ws}
		r := newRig(t, counting)
		require.Contains(t, r.calls(edit("a", "needle", "pin"))[0].Text, "Edited a.", name)
		require.Equal(t, 1, counting.reads, "the preview, its check and the call share one Read")
		require.Equal(t, 1, counting.writes)
		require.Equal(t, strings.Repeat(line, size/2)+"pin\n"+strings.Repeat(line, size/2), r.file(t, "a"))
	}
}

func TestChangedFileIsShownAgain(t *testing.T) {
	r, ws := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "one\ntwo\n"}})
	r.asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		if len(r.asked) == 1 { // the user types while the question is open
			require.NoError(t, ws.Disk().WriteFile("/project/a", []byte("zero\none\ntwo\n"), 0o644))
		}
		return toolset.Allow(), nil
	}}
	require.Contains(t, r.calls(edit("a", "two", "2"))[0].Text, "Edited a.")
	require.Equal(t, "zero\none\n2\n", r.file(t, "a"), "what the user typed stays")
	require.Len(t, r.asked, 2)
	require.Equal(t, "zero\none\n2\n", *r.asked[1].Approval.Preview[0].Diff.New)
}

// aging is a workspace in which a file gets another version with time, as on a disk.
type aging struct {
	workspace.Workspace
	old bool
}

func (w *aging) aged(v workspace.Version) workspace.Version {
	if w.old && v != "" {
		return "old " + v
	}
	return v
}

func (w *aging) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	f, err := w.Workspace.Read(ctx, path, r)
	f.Version = w.aged(f.Version)
	return f, err
}

func (w *aging) Stat(ctx context.Context, path string) (workspace.Info, error) {
	info, err := w.Workspace.Stat(ctx, path)
	info.Version = w.aged(info.Version)
	return info, err
}

func (w *aging) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	made, err := w.Workspace.Write(ctx, path, data, workspace.Version(strings.TrimPrefix(string(v), "old ")))
	return w.aged(made), err
}

func TestFileThatIsAsItWasShownIsNotShownAgain(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"a": "one"}})
	require.NoError(t, err)
	w := &aging{Workspace: ws}
	r := newRig(t, w)
	r.asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		w.old = true
		return toolset.Allow(), nil
	}}
	require.Contains(t, r.calls(edit("a", "one", "two"))[0].Text, "Edited a.")
	require.Len(t, r.asked, 1)
	require.Equal(t, "two", r.file(t, "a"))
}

func TestDeniedEditWritesNothing(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "one"}, Commands: map[string]workspace.MemoryScript{"x": workspace.MemoryPrint("", 0)}})
	r.asker = toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Deny("not now"), nil
	}}
	for _, p := range r.calls(edit("a", "one", "two"), toolCall{"write_file", args{"path": "b", "content": ""}}, toolCall{"run_command", args{"command": "x"}}) {
		require.Equal(t, model.OutcomeDenied, p.Outcome)
	}
	require.Equal(t, "one", r.file(t, "a"))
	_, err := r.ws.Stat(t.Context(), "b")
	require.Error(t, err)
}

// A call that nobody approved does nothing, whoever makes it and however.
func TestToolsDoNothingUnapproved(t *testing.T) {
	r, _ := inMemory(t, workspace.MemoryConfig{Files: map[string]string{"a": "one"}, Commands: map[string]workspace.MemoryScript{"x": workspace.MemoryPrint("", 0)}})
	run := &toolset.RunContext[deps]{Deps: deps{r.session}}
	in, err := workspace.Tools(deps.Session).Open(t.Context(), run)
	require.NoError(t, err)
	listing, err := in.Tools(t.Context(), run)
	require.NoError(t, err)
	for tool, raw := range map[string]string{
		"write_file": `{"path":"a","content":"x"}`, "edit_file": `{"path":"a","edits":[{"old_text":"one","new_text":"x"}]}`, "run_command": `{"command":"x"}`,
	} {
		for _, tl := range listing.Tools {
			if tl.Def.Name != tool {
				continue
			}
			decoded, err := tl.Decode([]byte(raw))
			require.NoError(t, err)
			_, err = tl.Call(t.Context(), run, decoded)
			var needs *toolset.ApprovalRequiredError
			require.ErrorAs(t, err, &needs, tool)
			require.NotEmpty(t, needs.Approval.Preview)

			stale := *run
			stale.Call.Approved, stale.Call.Approval = true, &toolset.Approval{Basis: "version of something else"}
			if _, err = tl.Call(t.Context(), &stale, decoded); tool != "run_command" {
				require.ErrorAs(t, err, &needs, tool)
			}
		}
	}
	require.Equal(t, "one", r.file(t, "a"))
}

// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// bare is a workspace with other features, and without what is optional.
type bare struct {
	workspace.Workspace
	features workspace.Features
}

func (b bare) Features() workspace.Features { return b.features }

type resolving struct {
	bare
	err error
}

func (r resolving) Resolve(context.Context, string) error { return r.err }

func put(t *testing.T, r *Recorder, path, text string) {
	t.Helper()
	_, err := r.Write(t.Context(), path, []byte(text), workspace.AnyVersion)
	require.NoError(t, err)
}

// Twenty checkpoints are listed, the newest, and it is told that there were more.
func TestListedCheckpoints(t *testing.T) {
	r := newRecorder(t, nil)
	list := func(in listChangesArgs) string {
		text, err := listChanges(t.Context(), r, in)
		require.NoError(t, err)
		return text
	}
	r.Mark("nothing")
	require.Equal(t, "No changes were recorded.", list(listChangesArgs{}))
	var want []string
	for i := range 20 {
		id := r.Mark(fmt.Sprint("turn ", i)).ID
		put(t, r, "a", fmt.Sprintln("text", i))
		want = append(want, fmt.Sprintf("Checkpoint %d (turn %d):\n  changed a (+1 -1)", id, i))
	}
	want[0] = strings.Replace(want[0], "changed a (+1 -1)", "created a (+1 -0)", 1)
	require.Equal(t, strings.Join(want, "\n"), list(listChangesArgs{}))
	id := r.Mark("last").ID
	put(t, r, "b", "x\n")
	r.Mark("nothing")
	want[0] = "[older checkpoints are not shown]"
	want = append(want, fmt.Sprintf("Checkpoint %d (last):\n  created b (+1 -0)", id))
	require.Equal(t, strings.Join(want, "\n"), list(listChangesArgs{}))
	r.log.Dropped = Dropped{Changes: 3, Through: 1}
	require.Equal(t, strings.Join(append(want, "[3 older changes are no longer kept and cannot be undone]"), "\n"), list(listChangesArgs{}))
	for in, want := range map[listChangesArgs]string{{Checkpoint: id}: "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x", {Checkpoint: id, Path: "/project/b"}: "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x", {Checkpoint: id, Path: "a"}: "No changes were recorded there.", {Checkpoint: 1}: "No changes were recorded there."} {
		require.Equal(t, want, list(in))
	}
	for in, want := range map[listChangesArgs]string{{Checkpoint: 99}: "failed: Unknown checkpoint 99. Call list_changes without arguments to list checkpoints.", {Checkpoint: id, Path: "/b"}: `failed: The path "/b" is malformed or lies outside of the working directory.`} {
		_, err := listChanges(t.Context(), r, in)
		require.EqualError(t, err, want)
	}
	r.reads = func(path string) (toolset.Verdict, string) {
		return map[string]toolset.Verdict{"/project/b": toolset.VerdictDeny, "/project/a": toolset.VerdictAllow}[path], ""
	}
	require.Equal(t, "[b: its contents must not be shown]", list(listChangesArgs{Checkpoint: id}))
	require.Equal(t, []bool{true, false, false}, []bool{r.hides(t.Context(), "/project/b"), r.hides(t.Context(), "/project/a"), r.hides(t.Context(), "/project/c")})
	preview := func(f FileUndo) toolset.Preview {
		f.Path, f.Name, f.Old = "/project/b", "b", []byte("x")
		return r.preview(t.Context(), &f)
	}
	require.Equal(t, toolset.Preview{Diff: &toolset.Diff{Path: "/project/b"}}, preview(FileUndo{Action: Remove}))
	require.Equal(t, toolset.Preview{Text: "b gets its earlier contents, which must not be read."}, preview(FileUndo{Action: Rewrite}))
}

// Diffs of a checkpoint are shown up to their bound, and what is cut is counted.
func TestDiffsAreCutAtLines(t *testing.T) {
	const bound = 32 << 10
	for _, over := range []int{0, 1} {
		r := newRecorder(t, nil)
		id := r.Mark("").ID
		put(t, r, "a", "1\n")
		put(t, r, "b", "2\n")
		c, err := r.Changes(Only(id))
		require.NoError(t, err)
		require.Len(t, c.Files, 2)
		first, small := c.Files[0].Diff(), c.Files[1].Diff()
		require.Contains(t, first, "b/a")
		put(t, r, "b", strings.Repeat("x", bound-len(first)-len(small)+1+over)+"\n")
		put(t, r, "c", "3\n")
		c, err = r.Changes(Only(id))
		require.NoError(t, err)
		long := c.Files[1].Diff()
		require.Len(t, first+long, bound+over)
		text, err := r.showChanges(t.Context(), listChangesArgs{Checkpoint: id})
		require.NoError(t, err)
		const more = "[%d more files. Call list_changes with checkpoint %d and path to see one, such as %s.]"
		if over == 0 {
			require.Equal(t, first+long+fmt.Sprintf(more, 1, id, "c"), text)
		} else {
			require.Equal(t, first+fmt.Sprintf(more, 2, id, "b"), text)
		}
	}
	r := newRecorder(t, nil)
	id := r.Mark("").ID
	put(t, r, "a", strings.Repeat("some text\n", 4000))
	put(t, r, "b", "1\n")
	c, err := r.Changes(Only(id))
	require.NoError(t, err)
	diff := c.Files[0].Diff()
	end := strings.LastIndex(diff[:bound], "\n") + 1
	text, err := r.showChanges(t.Context(), listChangesArgs{Checkpoint: id})
	require.NoError(t, err)
	rest := fmt.Sprintf("[Cut here: %d more bytes of this file's diff.]\n[1 more files.", len(diff)-end)
	require.True(t, strings.HasPrefix(text, diff[:end]+rest), text[end-20:])
	_, err = Tools[struct{}](nil).Open(t.Context(), nil)
	require.EqualError(t, err, "checkpoint: Tools: the function is nil")
}

// The files of a span are in the order of their last changes.
func TestFilesAreInTheOrderOfTheirChanges(t *testing.T) {
	r := newRecorder(t, nil)
	r.Mark("")
	for _, name := range strings.Split("hgfedcbah", "") {
		put(t, r, name, "x")
		NewTurns(r).Mark("turn", "title")
	}
	for _, c := range r.Checkpoints() {
		require.False(t, c.Undo)
	}
	files, err := r.files(Span{})
	require.NoError(t, err)
	var names string
	for _, f := range files {
		names += f.Name
	}
	require.Equal(t, "gfedcbah", names)
	require.Equal(t, Checkpoint{ID: 99, Undo: true, Undoes: Span{1, 4}}, r.undoes(99, Span{From: 1}, 4), "it was dropped")
	a, b := State{Hash: "a"}, State{Hash: "b"}
	for i, c := range []struct {
		segments []segment
		want     bool
	}{{[]segment{{before: a, after: a}}, false}, {[]segment{{before: a, after: b}}, true}, {[]segment{{before: a, after: a}, {before: b, after: b}}, true}} {
		require.Equal(t, c.want, (&FileChange{segments: c.segments}).changed(), i)
	}
	gone, err := Restore(r.workspace, r.Log(), func(string) ([]byte, error) { return nil, fs.ErrNotExist }, Options{})
	require.NoError(t, err)
	files, err = gone.files(Span{})
	require.NoError(t, err)
	require.Len(t, files, 8)
	for _, f := range files {
		require.False(t, f.segments[0].kept, f.Name)
	}
}

// What a workspace cannot do is not done another way.
func TestWorkspacesWithFewerFeatures(t *testing.T) {
	ctx, memory := t.Context(), newRecorder(t, map[string]string{"a": "x"}).workspace
	all := workspace.Features{Read: true, Write: true, Remove: true}
	for i, c := range []struct {
		w    workspace.Workspace
		path string
		want string
	}{
		{bare{memory, all}, "a", ""}, {bare{memory, all}, "none", ""}, {bare{memory, all}, "/", "workspace: stat"}, {bare{memory, workspace.Features{}}, "a", ""}, {bare{memory, workspace.Features{}}, "none", ""}, {bare{memory, workspace.Features{}}, "/", "workspace: resolve"}, {resolving{bare{memory, all}, nil}, "/", ""}, {resolving{bare{memory, all}, errors.New("because")}, "a", "because"},
	} {
		if err := New(c.w, Options{}).Resolve(ctx, c.path); c.want == "" {
			require.NoError(t, err, i)
		} else {
			require.ErrorContains(t, err, c.want, i)
		}
	}
	for v, want := range map[workspace.Version]found{"": {absent: true}, "v": {why: "this workspace cannot read files"}, workspace.AnyVersion: {why: "this workspace cannot read files"}} {
		got, version := New(bare{memory, workspace.Features{Write: true}}, Options{}).before(ctx, "/project/a", v)
		require.Equal(t, want, got)
		require.Equal(t, v, version)
	}
	for _, c := range []struct {
		features             workspace.Features
		created, rewritten   Action
		createdWhy, rewrites string
	}{
		{all, Remove, Rewrite, "", ""}, {workspace.Features{Read: true, Remove: true}, Remove, Impossible, "", "this workspace cannot write files"}, {workspace.Features{Read: true, Write: true}, Impossible, Rewrite, "it was created, and this workspace cannot remove files", ""}, {workspace.Features{Write: true, Remove: true}, Impossible, Impossible, "this workspace cannot read files", "this workspace cannot read files"},
	} {
		r := newRecorder(t, map[string]string{"a": "x"})
		id := r.Mark("").ID
		put(t, r, "a", "y")
		put(t, r, "b", "z")
		r.workspace = bare{r.workspace, c.features}
		p, err := r.PlanUndo(ctx, Only(id))
		require.NoError(t, err)
		require.Len(t, p.Files, 2)
		a, b := p.Files[0], p.Files[1]
		require.Equal(t, []any{c.rewritten, c.rewrites, c.created, c.createdWhy}, []any{a.Action, a.Reason, b.Action, b.Reason}, "%+v", c.features)
		require.False(t, a.bypass)
	}
}

type failing struct {
	workspace.Workspace
	err error
}

func (f failing) Remove(context.Context, string, workspace.Version) error { return f.err }

// A file whose removal failed may be removed, unless the workspace has refused it.
func TestFailedRemovals(t *testing.T) {
	refusal := &workspace.PathError{Op: "remove", Path: "a", Err: workspace.ErrChanged}
	for err, want := range map[error]int{errors.New("because"): 1, refusal: 0} {
		r := newRecorder(t, map[string]string{"a": "x"})
		id := r.Mark("").ID
		inner := r.workspace
		r.workspace = failing{inner, err}
		require.ErrorIs(t, r.Remove(t.Context(), "a", workspace.AnyVersion), err)
		c, err := r.Changes(Only(id))
		require.NoError(t, err)
		require.Len(t, c.Files, want)
		if want > 0 {
			require.True(t, c.Files[0].Unsure)
		}
	}
	r := newRecorder(t, map[string]string{"a": "x"})
	id := r.Mark("").ID
	put(t, r, "a", "x")
	p, err := r.PlanUndo(t.Context(), Only(id))
	require.NoError(t, err)
	require.Empty(t, p.Files, "nothing has changed")
	put(t, r, "a", "y")
	_, err = r.workspace.Write(t.Context(), "a", []byte("x"), workspace.AnyVersion)
	require.NoError(t, err)
	p, err = r.PlanUndo(t.Context(), Only(id))
	require.NoError(t, err)
	require.Len(t, p.Files, 1)
	require.Equal(t, Nothing, p.Files[0].Action)
	because := errors.New("because")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(because)
	_, err = planFor(ctx, r, undoChangesArgs{Checkpoint: id})
	require.ErrorIs(t, err, because)
}

// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

func TestUndo(t *testing.T) {
	b := newBench(t, files{"a": "1\n", "gone": "x\n", "same": "s\n"}, checkpoint.Options{})
	require.NoError(t, b.disk.WriteFile("/project/gone", []byte("x\n"), 0o755))
	require.NoError(t, b.disk.WriteFile("/project/run.sh", []byte("\ufeffone\r\n"), 0o755))
	turn := b.Mark("turn")
	b.agent("a", "2\n")
	b.agent("a", "3\n")
	b.agent("new/c", "1\n")
	b.agent("run.sh", "\ufefftwo\r\nthree\r\n")
	require.NoError(t, b.Remove(t.Context(), "gone", workspace.AnyVersion))

	p, err := b.PlanUndo(t.Context(), checkpoint.Only(turn.ID))
	require.NoError(t, err)
	require.Equal(t, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-3\n+1\n", p.Diff()[:len("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-3\n+1\n")])
	b.holds("a", "3\n")

	res := b.undo(checkpoint.Only(turn.ID))
	b.holds("a", "1\n")
	b.holds("new/c", "-")
	b.holds("gone", "x\n")
	b.holds("run.sh", "\ufeffone\r\n")
	mode, err := b.disk.Mode("/project/run.sh")
	require.NoError(t, err)
	require.EqualValues(t, 0o755, mode)
	mode, err = b.disk.Mode("/project/gone")
	require.NoError(t, err)
	require.EqualValues(t, 0o644, mode, "no workspace can set a mode")
	_, err = b.disk.Mode("/project/new")
	require.NoError(t, err, "the directory that was made for new/c stays")
	require.Equal(t, "undo of checkpoint 1", res.Checkpoint.Title)
	require.Equal(t, checkpoint.Only(turn.ID), res.Checkpoint.Undoes)

	require.Empty(t, b.changes(checkpoint.Since(turn.ID)).Files, "nothing is left of the turn")
	again := b.undo(checkpoint.Since(turn.ID))
	require.Zero(t, again.Checkpoint, "what does nothing makes no checkpoint")

	redo := b.undo(checkpoint.Only(res.Checkpoint.ID))
	b.holds("a", "3\n")
	b.holds("new/c", "1\n")
	b.holds("gone", "-")
	b.holds("run.sh", "\ufefftwo\r\nthree\r\n")
	b.undo(checkpoint.Only(redo.Checkpoint.ID))
	b.holds("a", "1\n")
	b.holds("new/c", "-")
}

func TestUndoKeepsWhatTheUserChanged(t *testing.T) {
	for name, c := range map[string]struct{ before, agent, user, want string }{
		"other lines":          {"1\n2\n3\n4\n5\n", "one\n2\n3\n4\n5\n", "one\n2\n3\n4\nfive\n", "1\n2\n3\n4\nfive\n"},
		"the same undone":      {"1\n2\n3\n", "one\n2\n3\n", "1\n2\n3\n", "1\n2\n3\n"},
		"undone, and more":     {"1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "1\n2\nthree\n"},
		"lines added":          {"1\n2\n3\n", "1\n2\n3\nfour\n", "zero\n1\n2\n3\nfour\n", "zero\n1\n2\n3\n"},
		"line endings changed": {"1\n2\n3\n", "one\n2\n3\n", "one\r\n2\r\nthree\r\n", "1\r\n2\r\nthree\r\n"},
		"agent changed them":   {"1\r\n2\r\n3\r\n", "one\n2\n3\n", "one\n2\nthree\n", "1\r\n2\r\nthree\r\n"},
		"byte order mark":      {"1\n2\n3\n", "one\n2\n3\n", "\ufeffone\n2\nthree\n", "\ufeff1\n2\nthree\n"},
		"mark of the agent":    {"\ufeff1\n2\n3\n", "one\n2\n3\n", "one\n2\nthree\n", "\ufeff1\n2\nthree\n"},
		"mixed line endings":   {"1\r\n2\n3\n", "one\r\n2\n3\n", "one\r\n2\nthree\n", "1\r\n2\nthree\n"},
		"no last line break":   {"1\n2\n3", "one\n2\n3", "one\n2\nthree", "1\n2\nthree"},
		"deleted, made again":  {"1\n2\n3\n", "one\n2\n3\n", "one\n2\n3\nnew\n", "1\n2\n3\nnew\n"},
	} {
		b := newBench(t, files{"a": c.before}, checkpoint.Options{})
		b.agent("a", c.agent)
		b.userRemoves("a")
		b.user("a", c.user)
		b.undo(checkpoint.Span{})
		b.holds("a", c.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestUndoShowsConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		before, agent, user string // "-" for no file
		reason              string
		conflicts           []checkpoint.Conflict
	}{
		"same line": {"1\n2\n3\n", "1\ntwo\n3\n", "1\nzwei\n3\n", "someone else has changed the same or adjacent lines since",
			[]checkpoint.Conflict{{Line: 2, Lines: 1, Current: "zwei\n", Changed: "two\n", Before: "2\n"}}},
		"created and changed":   {"-", "1\n", "1\nuser\n", "it was created, and someone else has changed it since", nil},
		"removed by the user":   {"1\n", "2\n", "-", "someone else has removed it since", nil},
		"removed, created anew": {"1\n", "-", "user\n", "it was removed, and someone else has created it again since", nil},
		"not text":              {"\x00a", "\x00b", "\x00c", "someone else has changed it since, and it is not text", nil},
	} {
		f := files{"other": "o\n"}
		if c.before != "-" {
			f["a"] = c.before
		}
		b := newBench(t, f, checkpoint.Options{})
		b.Mark("turn")
		if c.agent == "-" {
			require.NoError(t, b.Remove(t.Context(), "a", workspace.AnyVersion))
		} else {
			b.agent("a", c.agent)
		}
		b.agent("other", "changed\n")
		if c.user == "-" {
			b.userRemoves("a")
		} else {
			b.user("a", c.user)
		}
		res, err := b.undoFails(checkpoint.Only(1))
		require.ErrorIs(t, err, checkpoint.ErrConflict, name)
		require.Equal(t, "checkpoint: not undone: a ("+c.reason+"); undone: other", err.Error(), name)
		require.Equal(t, checkpoint.Clash, res.Files[0].Action, name)
		require.Equal(t, c.conflicts, res.Files[0].Conflicts, name)
		require.False(t, res.Files[0].Done)
		require.True(t, res.Files[1].Done)
		b.holds("a", c.user)
		b.holds("other", "o\n")
		require.Zero(t, res.Checkpoint.Undoes, "what is not undone as a whole can be undone again")
	}
}

// What the user changes between two changes of the agent stays, too.
func TestUndoGoesBackThroughChangesOfOthers(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n4\n5\n"}, checkpoint.Options{})
	b.agent("a", "one\n2\n3\n4\n5\n")
	b.user("a", "one\n2\ndrei\n4\n5\n")
	b.agent("a", "one\n2\ndrei\n4\nfive\n")
	b.user("a", "null\none\n2\ndrei\n4\nfive\n")
	res, err := b.undoFails(checkpoint.Span{})
	require.ErrorIs(t, err, checkpoint.ErrConflict, "the user wrote next to the agent's first line")
	require.Zero(t, res.Files[0].Conflicts[0].Line, "it is found in a text that nobody has seen")
	b.user("a", "one\n2\ndrei\n4\nfive\n")
	b.undo(checkpoint.Span{})
	b.holds("a", "1\n2\ndrei\n4\n5\n")
}

// One turn can be undone although later turns changed the same file.
func TestUndoOfOneTurn(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n4\n5\n"}, checkpoint.Options{})
	b.Mark("one")
	b.agent("a", "one\n2\n3\n4\n5\n")
	b.Mark("two")
	b.agent("a", "one\n2\n3\n4\nfive\n")
	b.undo(checkpoint.Only(1))
	b.holds("a", "1\n2\n3\n4\nfive\n")
	b.undo(checkpoint.Since(1))
	b.holds("a", "1\n2\n3\n4\n5\n")
}

func TestUndoableIsTheLastTurnInEffect(t *testing.T) {
	b := newBench(t, files{"a": "0\n"}, checkpoint.Options{})
	undoable := func() int {
		c, _ := b.Undoable()
		return c.ID
	}
	require.Zero(t, undoable())
	b.Mark("one")
	b.agent("a", "1\n")
	b.Mark("two")
	b.agent("a", "2\n")
	b.Mark("nothing")
	require.Equal(t, 2, undoable())
	b.undo(checkpoint.Only(2))
	b.holds("a", "1\n")
	require.Equal(t, 1, undoable())
	b.undo(checkpoint.Only(1))
	b.holds("a", "0\n")
	require.Zero(t, undoable())

	b = newBench(t, files{"a": "0\n"}, checkpoint.Options{})
	b.agent("a", "1\n") // without a checkpoint
	require.Equal(t, 1, undoable())
	second := b.undo(checkpoint.Since(1))
	require.Zero(t, undoable())
	b.undo(checkpoint.Only(second.Checkpoint.ID))
	b.holds("a", "1\n")
	require.Equal(t, 1, undoable(), "what was redone can be undone")
	b.agent("b", "new\n")
	c, ok := b.Undoable()
	require.True(t, ok)
	require.False(t, c.Undo, "what follows an undo does not belong to it")
	require.Equal(t, []string{"created b"}, names(b.changes(checkpoint.Only(c.ID)).Files))
}

// failing is a workspace whose writes fail for some files.
type failing struct {
	workspace.Workspace
	fail map[string]error
	// then is called before a write.
	then func(path string)
}

func (w *failing) Write(ctx context.Context, path string, data []byte, v workspace.Version) (workspace.Version, error) {
	if w.then != nil {
		w.then(path)
	}
	if err := w.fail[path]; err != nil {
		return "", &workspace.PathError{Op: "write", Path: path, Err: err}
	}
	return w.Workspace.Write(ctx, path, data, v)
}

// spoiled has three files that were changed, and a recorder on a workspace that fails.
func spoiled(t *testing.T) (*bench, *failing) {
	b := newBench(t, files{"a": "1\n", "b": "1\n", "c": "1\n"}, checkpoint.Options{})
	f := &failing{Workspace: b.ws, fail: map[string]error{}}
	b.Recorder = checkpoint.New(f, checkpoint.Options{})
	for _, name := range []string{"a", "b", "c"} {
		b.agent(name, "2\n")
	}
	return b, f
}

func TestUndoThatFailsHalfway(t *testing.T) {
	broken := errors.New("disk broken")
	b, f := spoiled(t)
	f.fail["/project/b"] = broken
	res, err := b.undoFails(checkpoint.Span{})
	require.ErrorIs(t, err, broken)
	require.Equal(t, `checkpoint: not undone: b (disk broken); undone: a, c`, err.Error())
	require.Equal(t, []bool{true, false, true}, []bool{res.Files[0].Done, res.Files[1].Done, res.Files[2].Done})
	b.holds("a", "1\n")
	b.holds("b", "2\n")
	b.holds("c", "1\n")
	delete(f.fail, "/project/b")
	b.undo(checkpoint.Only(1))
	b.holds("b", "1\n")

	b, f = spoiled(t)
	f.fail["/project/b"] = workspace.ErrLost
	res, err = b.undoFails(checkpoint.Span{})
	require.ErrorIs(t, err, workspace.ErrLost)
	require.True(t, res.Files[2].Done, "the last change first")
	require.ErrorContains(t, res.Files[0].Err, "not tried")
	b.holds("a", "2\n")

	b, f = spoiled(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	f.then = func(path string) {
		if path == "/project/c" {
			cancel(broken)
		}
	}
	p, planErr := b.PlanUndo(ctx, checkpoint.Span{})
	require.NoError(t, planErr)
	_, undoErr := b.Apply(ctx, p)
	require.ErrorIs(t, undoErr, broken)
	b.holds("a", "2\n")
	_, undoErr = b.Undo(ctx, checkpoint.Span{})
	require.ErrorIs(t, undoErr, broken)
}

func TestFileThatChangesDuringAnUndoIsLeftAlone(t *testing.T) {
	b, f := spoiled(t)
	f.then = func(path string) {
		if path == "/project/b" {
			b.user("b", "user\n")
		}
	}
	_, err := b.undoFails(checkpoint.Span{})
	require.ErrorIs(t, err, workspace.ErrChanged)
	b.holds("a", "1\n")
	b.holds("b", "user\n")
}

// A write whose end is not known may have happened.
func TestUnsureWrites(t *testing.T) {
	b, f := spoiled(t)
	b.Mark("unsure")
	f.fail["/project/a"] = errors.New("connection lost")
	_, err := b.Write(t.Context(), "/project/a", []byte("3\n"), workspace.AnyVersion)
	require.Error(t, err)
	c := b.changes(checkpoint.Only(2))
	require.True(t, c.Files[0].Unsure)
	delete(f.fail, "/project/a")
	b.undo(checkpoint.Only(2))
	b.holds("a", "2\n")
	b.user("a", "3\n") // it did happen
	b.undo(checkpoint.Only(2))
	b.holds("a", "2\n")

	_, err = b.Write(t.Context(), "a", []byte("x"), "no version")
	require.ErrorIs(t, err, workspace.ErrChanged)
	require.Len(t, b.changes(checkpoint.Only(2)).Files, 1, "a refused write is no change")
}

func TestUndoWithoutFeatures(t *testing.T) {
	b := newBench(t, files{"a": "1\n"}, checkpoint.Options{})
	b.Recorder = checkpoint.New(limited{b.ws, workspace.Features{Read: true, Write: true}}, checkpoint.Options{})
	b.agent("a", "2\n")
	b.agent("new", "1\n")
	res, err := b.undoFails(checkpoint.Span{})
	require.Equal(t, "checkpoint: not undone: new (it was created, and this workspace cannot remove files); undone: a", err.Error())
	require.Equal(t, checkpoint.Impossible, res.Files[1].Action)
	b.holds("a", "1\n")
	b.holds("new", "1\n")

	b.Recorder = checkpoint.New(limited{b.ws, workspace.Features{Write: true}}, checkpoint.Options{})
	_, writeErr := b.Write(t.Context(), "a", []byte("2\n"), workspace.AnyVersion)
	require.NoError(t, writeErr)
	_, err = b.undoFails(checkpoint.Span{})
	require.Contains(t, err.Error(), "a (its earlier contents are unknown, because this workspace cannot read files)")
	require.False(t, b.changes(checkpoint.Span{}).Files[0].Kept)
}

func TestUndoOfRemovedLink(t *testing.T) {
	b := newBench(t, files{"real": "1\n"}, checkpoint.Options{})
	require.NoError(t, b.disk.Symlink("real", "/project/link"))
	require.NoError(t, b.Remove(t.Context(), "link", workspace.AnyVersion))
	_, err := b.undoFails(checkpoint.Span{})
	require.Contains(t, err.Error(), "it was a symbolic link")
	b.holds("real", "1\n")
	b.holds("link", "-")
}

// A change through a link is undone through it, whatever other name the file was changed by.
func TestUndoThroughLinks(t *testing.T) {
	b := newBench(t, files{"real": "1\n"}, checkpoint.Options{})
	require.NoError(t, b.disk.Symlink("real", "/project/link"))
	b.agent("link", "2\n")
	b.undo(checkpoint.Span{})
	b.holds("real", "1\n")
	require.NoError(t, b.disk.Remove("/project/link"))
	require.NoError(t, b.disk.Symlink("/etc/passwd", "/project/link"))
	b.Mark("out")
	_, err := b.Write(t.Context(), "link", []byte("x"), workspace.AnyVersion)
	require.ErrorIs(t, err, workspace.ErrOutside)
	require.Empty(t, b.changes(checkpoint.Only(4)).Files)
}

// A file has one history, whichever of its names it is changed by.
func TestUndoOfChangesByTwoNames(t *testing.T) {
	for _, names := range [][]string{{"real", "link", "real"}, {"link", "real", "link"}, {"dir/x", "sub/x", "dir/x"}} {
		b := newBench(t, files{"real": "1\n", "sub/x": "1\n"}, checkpoint.Options{})
		require.NoError(t, b.disk.Symlink("real", "/project/link"))
		require.NoError(t, b.disk.Symlink("sub", "/project/dir"))
		for i, name := range names {
			b.agent(name, fmt.Sprintln(i+2))
		}
		require.Len(t, b.changes(checkpoint.Span{}).Files, 1)
		b.undo(checkpoint.Span{})
		b.holds("real", "1\n")
		b.holds("sub/x", "1\n")
	}
	b := newBench(t, files{"sub/x": "1\n"}, checkpoint.Options{})
	require.NoError(t, b.disk.Symlink("sub", "/project/dir"))
	b.agent("sub/x", "2\n")
	require.NoError(t, b.Remove(t.Context(), "dir/x", workspace.AnyVersion))
	b.undo(checkpoint.Span{})
	b.holds("sub/x", "1\n")
}

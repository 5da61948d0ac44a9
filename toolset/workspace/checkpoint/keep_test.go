// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// keptBench is a bench whose recorder is kept in a directory. again opens it as the next process
// would.
func keptBench(t *testing.T, f files, dir string, o checkpoint.Options) (b *bench, again func() *checkpoint.Turns) {
	b = newBench(t, f, o)
	again = func() *checkpoint.Turns {
		r, err := checkpoint.Keep(b.ws, dir, o)
		require.NoError(t, err)
		b.Recorder = r
		return checkpoint.NewTurns(r)
	}
	return b, again
}

func kept(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		names = append(names, f.Name())
		if info, err := f.Info(); runtime.GOOS != "windows" {
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
		}
	}
	return names
}

// Nothing but the directory is left of the first recorder: that is what a process leaves that was
// killed.
func TestKeptTurnsAreTakenBackByTheNextProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "undo", "s1")
	b, again := keptBench(t, files{"a": "one\n", "gone": "x\n", "empty": ""}, dir, checkpoint.Options{})
	turns := again()
	require.NoDirExists(t, dir, "nothing is made before it is needed")
	turns.Mark("t1", "first")
	b.agent("a", "two\n")
	b.agent("empty", "not\n")
	if info, err := os.Stat(dir); runtime.GOOS != "windows" {
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode())
	}
	turns = again()
	turns.Mark("t2", "second")
	b.agent("a", "three\n")
	b.agent("new", "n\n")
	require.NoError(t, b.Remove(t.Context(), "gone", workspace.AnyVersion))

	turns = again()
	note, err := turns.Undo(t.Context(), "t2")
	require.NoError(t, err)
	require.Contains(t, note, "Files taken back: ")
	b.holds("a", "two\n")
	b.holds("new", "-")
	b.holds("gone", "x\n")
	turns = again()
	_, err = turns.Undo(t.Context(), "t1")
	require.NoError(t, err)
	b.holds("a", "one\n")
	b.holds("empty", "")
	_, err = again().Undo(t.Context(), "t0")
	require.ErrorIs(t, err, checkpoint.ErrNotRecorded)
	kept(t, dir)
}

func TestKeptContentsAreBounded(t *testing.T) {
	dir := t.TempDir()
	b, again := keptBench(t, files{}, dir, checkpoint.Options{MaxBytes: 250})
	turns := again()
	for i := range 20 {
		turns.Mark("t", "turn")
		b.agent("a", strings.Repeat(string(rune('a'+i)), 100))
	}
	require.LessOrEqual(t, len(kept(t, dir)), 3+1, "old contents are removed")
	turns = again()
	_, err := turns.Undo(t.Context(), "t")
	require.NoError(t, err)
	b.holds("a", strings.Repeat("s", 100))
}

func TestKeepWithDamage(t *testing.T) {
	dir := t.TempDir()
	b, again := keptBench(t, files{"a": "one\n", "b": "one b\n"}, dir, checkpoint.Options{})
	again().Mark("t1", "first")
	b.agent("a", "two\n")
	b.agent("b", "two b\n")
	flipped := 0
	for _, name := range kept(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		if string(data) == "one\n" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("onE\n"), 0o600))
			flipped++
		}
	}
	require.Equal(t, 1, flipped)
	note, err := again().Undo(t.Context(), "t1")
	require.EqualError(t, err, "Not taken back: a (its earlier contents are no longer kept)")
	require.ErrorAs(t, err, new(*checkpoint.IncompleteError))
	require.Equal(t, "Files taken back: b", note)
	b.holds("a", "two\n")
	b.holds("b", "one b\n")

	for _, log := range []string{"{", `{"version":99}`, `{"version":1,"changes":[{"checkpoint":1,"path":"x"}]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "log.json"), []byte(log), 0o600))
		_, err = checkpoint.Keep(b.ws, dir, checkpoint.Options{})
		require.ErrorIs(t, err, checkpoint.ErrLog)
	}
}

// The change is made all the same, and what is in memory can be taken back.
func TestKeepReportsWhatItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	var problems []error
	b := newBench(t, files{"a": "one\n"}, checkpoint.Options{})
	_, err := checkpoint.Keep(b.ws, dir, checkpoint.Options{})
	require.Error(t, err)
	require.NoError(t, os.Remove(dir))
	r, err := checkpoint.Keep(b.ws, dir, checkpoint.Options{Problem: func(err error) { problems = append(problems, err) }})
	require.NoError(t, err)
	b.Recorder = r
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	turns := checkpoint.NewTurns(r)
	turns.Mark("t1", "first")
	b.agent("a", "two\n")
	require.NotEmpty(t, problems)
	require.ErrorContains(t, problems[0], "checkpoint: cannot keep checkpoints")
	_, err = turns.Undo(t.Context(), "t1")
	require.NoError(t, err)
	b.holds("a", "one\n")
}

// lost is a workspace that cannot be reached any more.
type lost struct {
	workspace.Workspace
	gone bool
}

func (w *lost) Read(ctx context.Context, path string, r workspace.Range) (workspace.File, error) {
	if w.gone {
		return workspace.File{}, &workspace.PathError{Op: "read", Path: path, Err: workspace.ErrLost}
	}
	return w.Workspace.Read(ctx, path, r)
}

func TestFilesThatCannotBeTakenBackAreTold(t *testing.T) {
	b := newBench(t, files{"a": "one\n"}, checkpoint.Options{})
	w := &lost{Workspace: b.ws}
	b.Recorder = checkpoint.New(w, checkpoint.Options{})
	turns := checkpoint.NewTurns(b.Recorder)
	turns.Mark("t1", "first")
	b.agent("a", "two\n")
	w.gone = true
	note, err := turns.Undo(t.Context(), "t1")
	require.EqualError(t, err, "Files were not taken back: checkpoint: undo: "+(&workspace.PathError{Op: "read", Path: "/project/a", Err: workspace.ErrLost}).Error())
	require.ErrorIs(t, err, workspace.ErrLost)
	require.Empty(t, note)
	b.holds("a", "two\n")

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	_, err = turns.Undo(ctx, "t1")
	require.ErrorIs(t, err, stop)
	w.gone = false
	note, err = turns.Undo(t.Context(), "t1")
	require.NoError(t, err)
	require.Equal(t, "Files taken back: a", note)
	note, err = turns.Undo(t.Context(), "t1")
	require.NoError(t, err)
	require.Empty(t, note, "there is nothing left")
}

func TestMistakesAreRefused(t *testing.T) {
	_, err := checkpoint.Keep(nil, t.TempDir(), checkpoint.Options{})
	require.EqualError(t, err, "checkpoint: the workspace is nil")
	_, err = checkpoint.Restore(nil, checkpoint.Log{}, nil, checkpoint.Options{})
	require.EqualError(t, err, "checkpoint: the workspace is nil")
	_, err = checkpoint.Keep(newBench(t, nil, checkpoint.Options{}).ws, "", checkpoint.Options{})
	require.EqualError(t, err, "checkpoint: Keep: the directory is empty")
	require.PanicsWithValue(t, "checkpoint: the workspace is nil", func() { checkpoint.New(nil, checkpoint.Options{}) })
	for _, o := range []checkpoint.Options{{MaxBytes: -1}, {MaxChanges: -1}} {
		ws := newBench(t, nil, checkpoint.Options{}).ws
		_, err = checkpoint.Keep(ws, t.TempDir(), o)
		require.ErrorContains(t, err, "must not be negative")
		_, err = checkpoint.Restore(ws, checkpoint.Log{}, nil, o)
		require.ErrorContains(t, err, "must not be negative")
		require.Panics(t, func() { checkpoint.New(ws, o) })
	}
	require.PanicsWithValue(t, "checkpoint: NewTurns: the recorder is nil", func() { checkpoint.NewTurns(nil) })
}

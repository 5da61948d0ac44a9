// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// The JSON form is kept: a store has it.
func TestLogJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still
		b := newBench(t, files{"a": "1\n"}, checkpoint.Options{MaxChanges: 2})
		b.agent("a", "0\n")
		b.Mark("first")
		b.agent("a", "2\n")
		p, err := b.Start(t.Context(), workspace.Command{Line: "make"})
		require.NoError(t, err)
		require.NoError(t, p.Close(t.Context()))
		b.agent("new", "")
		raw, err := json.MarshalIndent(b.Log(), "", " ")
		require.NoError(t, err)
		require.Equal(t, `{
 "version": 1,
 "checkpoints": [
  {
   "id": 1,
   "time": "2000-01-01T00:00:00Z"
  },
  {
   "id": 2,
   "title": "first",
   "time": "2000-01-01T00:00:00Z"
  }
 ],
 "changes": [
  {
   "checkpoint": 2,
   "path": "/project/a",
   "before": {
    "hash": "sha256:9a271f2a916b0b6ee6cecb2426f0b3206ef074578be55d9bc94f6f3fe3ab86aa",
    "size": 2
   },
   "after": {
    "hash": "sha256:53c234e5e8472b6ac51c1ae1cab3fe06fad053beb8ebfd8977b010655bfdd3c3",
    "size": 2
   }
  },
  {
   "checkpoint": 2,
   "path": "/project/new",
   "before": {
    "absent": true
   },
   "after": {
    "hash": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
   }
  }
 ],
 "commands": [
  {
   "checkpoint": 2,
   "title": "make"
  }
 ],
 "dropped": {
  "changes": 1,
  "through": 1
 }
}`, string(raw))
	})
}

// restore stores a recorder and makes another one of what was stored.
func (b *bench) restore(o checkpoint.Options, missing ...string) *checkpoint.Recorder {
	b.t.Helper()
	raw, err := json.Marshal(b.Log())
	require.NoError(b.t, err)
	var l checkpoint.Log
	require.NoError(b.t, json.Unmarshal(raw, &l))
	r, err := checkpoint.Restore(b.ws, l, func(hash string) ([]byte, error) {
		data, ok := b.Content(hash)
		for _, m := range missing {
			ok = ok && string(data) != m
		}
		if !ok {
			return nil, fmt.Errorf("%s: %w", hash, fs.ErrNotExist)
		}
		return data, nil
	}, o)
	require.NoError(b.t, err)
	return r
}

func TestRestoredRecorderUndoes(t *testing.T) {
	b := newBench(t, files{"a": "1\n", "b": "1\n"}, checkpoint.Options{})
	b.Mark("one")
	b.agent("a", "2\n")
	b.agent("new", "")
	b.Mark("two")
	b.agent("b", "2\n")
	b.Recorder = b.restore(checkpoint.Options{})
	require.Equal(t, 3, b.Mark("three").ID)
	b.undo(checkpoint.Since(1))
	b.holds("a", "1\n")
	b.holds("b", "1\n")
	b.holds("new", "-")

	_, ok := b.Undoable()
	require.False(t, ok)
	b.Recorder = b.restore(checkpoint.Options{})
	_, ok = b.Undoable()
	require.False(t, ok, "a restored recorder knows what was undone")
	b.undo(checkpoint.Only(4))
	b.holds("b", "2\n")
}

func TestRestoreWithoutSomeContents(t *testing.T) {
	b := newBench(t, files{"a": "1\n", "b": "1 b\n"}, checkpoint.Options{})
	b.agent("a", "2\n")
	b.agent("b", "2 b\n")
	b.Recorder = b.restore(checkpoint.Options{}, "1\n")
	_, err := b.undoFails(checkpoint.Span{})
	require.Equal(t, "checkpoint: not undone: a (its earlier contents are no longer kept); undone: b", err.Error())
}

func TestRestoreRefusesBadLogs(t *testing.T) {
	b := newBench(t, files{"a": "1\n"}, checkpoint.Options{})
	b.Mark("")
	b.agent("a", "2\n")
	for name, spoil := range map[string]func(l *checkpoint.Log){
		"version 2":               func(l *checkpoint.Log) { l.Version = 2 },
		"version 0":               func(l *checkpoint.Log) { l.Version = 0 },
		"checkpoint 1 follows 1":  func(l *checkpoint.Log) { l.Checkpoints = append(l.Checkpoints, l.Checkpoints[0]) },
		"a change without a path": func(l *checkpoint.Log) { l.Changes[0].Path = "" },
		"a change of checkpoint 5 between 1 and 1":  func(l *checkpoint.Log) { l.Changes[0].Checkpoint = 5 },
		"a state that is not exactly one of":        func(l *checkpoint.Log) { l.Changes[0].Before.Absent = true },
		"contents sha256:zz have another hash":      func(l *checkpoint.Log) { l.Changes[0].Before.Hash = "sha256:zz" },
		"/project/a: a state that is not exactly o": func(l *checkpoint.Log) { l.Changes[0].After = checkpoint.State{} },
	} {
		l := b.Log()
		spoil(&l)
		_, err := checkpoint.Restore(b.ws, l, func(string) ([]byte, error) { return []byte("x"), nil }, checkpoint.Options{})
		require.ErrorIs(t, err, checkpoint.ErrLog, name)
		require.ErrorContains(t, err, name)
	}
	broken := errors.New("store broken")
	_, err := checkpoint.Restore(b.ws, b.Log(), func(string) ([]byte, error) { return nil, broken }, checkpoint.Options{})
	require.ErrorIs(t, err, broken)
}

// At the bound the oldest contents are dropped, and that is said.
func TestContentsAreBounded(t *testing.T) {
	old, next := strings.Repeat("o", 300), strings.Repeat("n", 300)
	b := newBench(t, files{"a": old, "b": old + "b", "c": "1\n", "huge": "h"}, checkpoint.Options{MaxBytes: 1500})
	b.Mark("one")
	b.agent("a", next)
	b.agent("b", next+"b")
	b.Mark("two")
	b.agent("c", strings.Repeat("c", 600))
	c := b.changes(checkpoint.Span{})
	require.Equal(t, []string{"changed a", "changed b", "changed c"}, names(c.Files))
	require.Equal(t, []bool{false, true, true}, []bool{c.Files[0].Kept, c.Files[1].Kept, c.Files[2].Kept})
	require.Contains(t, c.Diff(), "--- a\n+++ a\n[contents not kept: 300 bytes, now 300 bytes]\n")

	b.agent("huge", strings.Repeat("h", 2000))
	c = b.changes(checkpoint.Span{})
	require.False(t, c.Files[3].Kept, "larger than all that is kept")
	require.True(t, c.Files[1].Kept, "and so it does not drive out the rest")

	restored := b.restore(checkpoint.Options{MaxBytes: 700})
	c, err := restored.Changes(checkpoint.Span{})
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true, false}, []bool{c.Files[0].Kept, c.Files[1].Kept, c.Files[2].Kept, c.Files[3].Kept})

	_, incomplete := b.undoFails(checkpoint.Span{})
	require.Equal(t, "checkpoint: not undone: a (its earlier contents are no longer kept), huge (its earlier contents are no longer kept); undone: b, c", incomplete.Error())
	b.holds("a", next)
	b.holds("b", old+"b")
	b.holds("c", "1\n")
}

func TestChangesAreBounded(t *testing.T) {
	b := newBench(t, nil, checkpoint.Options{MaxChanges: 3})
	for i := range 5 {
		b.Mark(fmt.Sprint("turn ", i+1))
		b.agent(fmt.Sprint("f", i+1), "x")
	}
	require.Len(t, b.Checkpoints(), 3)
	require.Equal(t, checkpoint.Dropped{Changes: 2, Through: 2}, b.Log().Dropped)
	require.Equal(t, 2, b.changes(checkpoint.Span{}).Dropped)
	require.Zero(t, b.changes(checkpoint.Since(3)).Dropped)
	_, incomplete := b.undoFails(checkpoint.Since(2))
	require.Equal(t, "checkpoint: not undone: up to 2 older changes that are no longer kept; undone: f3, f4, f5", incomplete.Error())
	b.holds("f2", "x")
	b.holds("f3", "-")
	for range 10 {
		b.Mark("nothing")
	}
	require.Len(t, b.Checkpoints(), 3)
	require.LessOrEqual(t, len(b.Log().Changes), 3)
}

// Several agents write at the same time, and users too. Whatever was undone is as it was.
func TestConcurrentWritesAreRecordedInOrder(t *testing.T) {
	b := newBench(t, files{"a": "start\n"}, checkpoint.Options{})
	b.Mark("")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				_, err := b.Write(t.Context(), "a", fmt.Appendf(nil, "%d %d\n", i, n), workspace.AnyVersion)
				require.NoError(t, err)
				_, err = b.Write(t.Context(), fmt.Sprint("own", i), fmt.Append(nil, n), workspace.AnyVersion)
				require.NoError(t, err)
				if n == 10 {
					b.Mark("again")
				}
				_, err = b.PlanUndo(t.Context(), checkpoint.Since(1))
				require.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.Len(t, b.changes(checkpoint.Span{}).Files, 9)
	require.False(t, b.changes(checkpoint.Span{}).Files[0].Others)
	b.undo(checkpoint.Since(1))
	b.holds("a", "start\n")
	b.holds("own3", "-")
}

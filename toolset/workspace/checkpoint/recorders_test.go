// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// editing is a workspace with an editor, which decides what becomes of a change.
type editing struct {
	workspace.Workspace
	real    []string
	changes []workspace.Change
	answer  *workspace.Document
}

func (e *editing) ApplyChange(_ context.Context, _ string, c workspace.Change) (*workspace.Document, error) {
	e.changes = append(e.changes, c)
	return e.answer, nil
}

func (e *editing) RealRoots() []string { return e.real }

// An undo has put a file back if it holds its earlier contents, saved. In an editor on another
// machine the text is all that is known.
func TestEditorsDecideAboutUndos(t *testing.T) {
	side := func(text string) *workspace.Side { return &workspace.Side{Exists: true, Data: []byte(text)} }
	for i, c := range []struct {
		answer   workspace.Document
		err      string
		inEditor bool
	}{
		{workspace.Document{Disk: side("old\n")}, "", false},
		{workspace.Document{Buffer: side("old\n")}, "", true},
		{workspace.Document{Disk: side("old\n"), Buffer: side("old\n")}, "", false},
		{workspace.Document{Disk: side("formatted\n")}, "the editor has made something else of it", false},
		{workspace.Document{Buffer: side("formatted\n")}, "the editor has made something else of it", true},
		{workspace.Document{Disk: &workspace.Side{}}, "the editor has made something else of it", false},
		{workspace.Document{Disk: side("new\n"), Buffer: side("old\n"), Unsaved: true}, "the editor has it and has not saved it", false},
	} {
		e := &editing{Workspace: newRecorder(t, map[string]string{"a": "new\n"}).workspace, answer: &c.answer}
		r := New(e, Options{})
		f := &FileUndo{Path: "/project/a", New: []byte("old\n"), version: "v7"}
		err := r.putBack(t.Context(), f)
		if c.err == "" {
			require.NoError(t, err, i)
		} else {
			require.EqualError(t, err, c.err, i)
		}
		require.Equal(t, c.inEditor, f.InEditor, i)
		require.Equal(t, []workspace.Change{{Data: []byte("old\n"), IfVersion: "v7", File: "/project/a", Exact: true}}, e.changes)
	}
	linked := &editing{Workspace: newRecorder(t, nil).workspace, real: []string{"/real"}}
	require.Equal(t, []string{"/real"}, New(linked, Options{}).RealRoots())
	require.Nil(t, newRecorder(t, nil).RealRoots())
	require.Same(t, linked, New(linked, Options{}).Unwrap())
	require.Equal(t, []byte{}, present(nil))
	require.Equal(t, []byte("a"), present([]byte("a")))
}

// The oldest changes, checkpoints and contents are dropped, as many as are too many.
func TestWhatIsTooOldIsDropped(t *testing.T) {
	state := func(text string) State { return stateOf(known([]byte(text))) }
	for i, c := range []struct {
		checkpoints, changes, max int
		ids                       string // of the checkpoints that are left
		left                      string // the checkpoints of the changes that are left
		dropped                   Dropped
	}{
		{3, 3, 3, "123", "123", Dropped{}},
		{3, 4, 3, "123", "123", Dropped{1, 1}},
		{4, 0, 3, "234", "", Dropped{}},
		{4, 2, 3, "234", "2", Dropped{1, 1}},
		{5, 3, 3, "345", "3", Dropped{2, 2}},
		{1, 3, 1, "1", "1", Dropped{2, 1}},
	} {
		r := newRecorder(t, nil)
		r.options.MaxChanges = c.max
		for id := range c.checkpoints {
			r.log.Checkpoints = append(r.log.Checkpoints, Checkpoint{ID: id + 1})
		}
		for n := range c.changes {
			id := n + 1
			if c.changes > c.checkpoints {
				id = max(n, 1)
			}
			if c.checkpoints == 1 {
				id = 1
			}
			r.log.Changes = append(r.log.Changes, Change{Checkpoint: id})
		}
		r.bound()
		var ids, left string
		for _, cp := range r.log.Checkpoints {
			ids += fmt.Sprint(cp.ID)
		}
		for _, ch := range r.log.Changes {
			left += fmt.Sprint(ch.Checkpoint)
		}
		require.Equal(t, []string{c.ids, c.left}, []string{ids, left}, i)
		require.Equal(t, c.dropped, r.log.Dropped, i)
		r.drop(0)
		require.Equal(t, c.dropped, r.log.Dropped, i)
	}
	var l Log
	for i := range 101 {
		l.addCommand(workspace.Command{Line: fmt.Sprint(i)})
	}
	require.Len(t, l.Commands, 100, "of commands, too")
	require.Equal(t, "1", l.Commands[0].Title)
	// Contents go until the rest fits, the oldest changes first.
	for size, kept := range map[int64]string{12: "true true true", 11: "false true true", 8: "false true true", 7: "false false true", 3: "false false false"} {
		r := newRecorder(t, nil)
		r.contents.max = 100
		for i, text := range []string{"aaaa", "bbbb", "cccc"} {
			c := Change{Checkpoint: 1, Path: fmt.Sprint(i), Before: State{Absent: true}, After: state(text), kept: true}
			r.contents.add(c.After, []byte(text))
			r.log.Changes = append(r.log.Changes, c)
		}
		r.contents.max = size
		r.bound()
		require.Equal(t, kept, fmt.Sprint(r.log.Changes[0].kept, " ", r.log.Changes[1].kept, " ", r.log.Changes[2].kept), size)
	}
}

// A restored recorder goes on where the other one was: with its log, and with the contents that fit.
func TestRecordersAreRestored(t *testing.T) {
	r := newRecorder(t, nil)
	r.Mark("one")
	put(t, r, "a", "aaaa")
	r.Mark("two")
	put(t, r, "a", "bbbb")
	put(t, r, "c", "cc")
	l := r.Log()
	content := func(hash string) ([]byte, error) {
		data, ok := r.Content(hash)
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	}
	for size, want := range map[int64]string{0: "true true true 10", 10: "true true true 10", 9: "false true true 10", 8: "false true true 10", 6: "false false true 2", 1: "false false false 0"} {
		again, err := Restore(r.workspace, l, content, Options{MaxBytes: size})
		require.NoError(t, err)
		kept := ""
		for _, c := range again.log.Changes {
			kept += fmt.Sprint(c.kept, " ")
		}
		require.Equal(t, l.Checkpoints, again.Log().Checkpoints)
		require.Len(t, again.Log().Changes, 3)
		require.Equal(t, 3, again.Mark("three").ID)
		if size == 0 || size == 10 {
			require.Equal(t, want, kept+fmt.Sprint(again.contents.size), size)
		} else if size == 1 {
			require.Equal(t, "false false false 0", kept+fmt.Sprint(again.contents.size))
		} else {
			require.LessOrEqual(t, again.contents.size, size)
			require.True(t, strings.HasSuffix(kept, "true "), "the newest are asked for first")
		}
	}
	require.Len(t, l.Checkpoints, 2, "the stored log stays as it was")
	hash := l.Changes[0].After.Hash
	for want, load := range map[string]func(string) ([]byte, error){
		"checkpoint: contents " + l.Changes[2].After.Hash + ": on fire":                            func(string) ([]byte, error) { return nil, errors.New("on fire") },
		"checkpoint: unusable log: the contents " + l.Changes[2].After.Hash + " have another hash": func(string) ([]byte, error) { return []byte("x"), nil },
	} {
		_, err := Restore(r.workspace, l, load, Options{})
		require.EqualError(t, err, want)
	}
	_, err := Restore(r.workspace, l, func(h string) ([]byte, error) {
		if h == hash {
			return nil, errors.New("on fire")
		}
		return content(h)
	}, Options{})
	require.EqualError(t, err, "checkpoint: contents "+hash+": on fire")
	_, err = Restore(nil, l, content, Options{})
	require.EqualError(t, err, "checkpoint: the workspace is nil")
	_, err = Restore(r.workspace, Log{}, content, Options{})
	require.ErrorIs(t, err, ErrLog)
	for _, o := range []Options{{MaxBytes: -1}, {MaxChanges: -2}} {
		want := fmt.Sprintf("checkpoint: MaxBytes is %d and MaxChanges %d; they must not be negative", o.MaxBytes, o.MaxChanges)
		_, err = Restore(r.workspace, l, content, o)
		require.EqualError(t, err, want)
		_, err = Keep(r.workspace, t.TempDir(), o)
		require.EqualError(t, err, want)
		require.PanicsWithValue(t, want, func() { New(r.workspace, o) })
	}
	_, err = Keep(r.workspace, "", Options{})
	require.EqualError(t, err, "checkpoint: Keep: the directory is empty")
	plain := New(r.workspace, Options{})
	require.EqualValues(t, 64<<20, plain.options.MaxBytes)
	require.Equal(t, 10_000, plain.options.MaxChanges)
	require.PanicsWithValue(t, "checkpoint: NewTurns: the recorder is nil", func() { NewTurns(nil) })
}

// Contents that cannot be written are told, and are written with the next change. What nobody uses
// any more is removed.
func TestProblemsOfKeepingAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	var problems []string
	refuse := ""
	cipher := &Cipher{
		Seal: func(data []byte, purpose string) ([]byte, error) {
			if refuse != "" && strings.HasPrefix(purpose, refuse) {
				return nil, errors.New("no key for " + refuse)
			}
			return append([]byte("sealed "), data...), nil
		},
		Open: func(data []byte, purpose string) ([]byte, error) {
			text, ok := strings.CutPrefix(string(data), "sealed ")
			if !ok {
				return nil, errors.New("it is not sealed")
			}
			return []byte(text), nil
		},
		Hide: func(name, purpose string) string { return strings.Repeat("0", 60) + name[:4] },
	}
	w := newRecorder(t, map[string]string{"a": "one"}).workspace
	r, err := Keep(w, dir, Options{Cipher: cipher, MaxChanges: 2, Problem: func(err error) { problems = append(problems, err.Error()) }})
	require.NoError(t, err)
	files := func() (names []string) {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range all {
			names = append(names, f.Name())
		}
		return names
	}
	name := func(text string) string { return strings.Repeat("0", 60) + hashOf([]byte(text))[7:11] }
	r.Mark("one")
	require.Equal(t, []string{"log.json"}, files())
	refuse = "checkpoint 0"
	put(t, r, "a", "two")
	require.NotEmpty(t, problems)
	for _, p := range problems {
		require.Equal(t, "checkpoint: cannot keep checkpoints: no key for checkpoint 0", p)
	}
	require.Equal(t, []string{"log.json"}, files())
	problems, refuse = nil, "checkpoint log.json"
	r.Mark("two")
	require.Equal(t, []string{"checkpoint: cannot keep checkpoints: no key for checkpoint log.json"}, problems)
	require.ElementsMatch(t, []string{"log.json", name("one"), name("two")}, files())
	problems, refuse = nil, ""
	put(t, r, "a", "three")
	put(t, r, "b", "four")
	put(t, r, "c", "five")
	require.Empty(t, problems)
	require.ElementsMatch(t, []string{"log.json", name("four"), name("five")}, files(), "two changes are kept")
	data, err := os.ReadFile(filepath.Join(dir, name("four")))
	require.NoError(t, err)
	require.Equal(t, "sealed four", string(data))
	again, err := Keep(w, dir, Options{Cipher: cipher})
	require.NoError(t, err)
	require.Equal(t, map[string]bool{name("four"): true, name("five"): true}, again.keeper.saved)
	require.Equal(t, r.Log(), again.Log())
	for _, text := range []string{"damaged", "sealed other"} { // count as missing
		require.NoError(t, os.WriteFile(filepath.Join(dir, name("four")), []byte(text), 0o600))
		again, err := Keep(w, dir, Options{Cipher: cipher})
		if text == "damaged" {
			require.ErrorContains(t, err, "it is not sealed")
			continue
		}
		require.NoError(t, err)
		_, ok := again.Content(hashOf([]byte("four")))
		require.False(t, ok)
	}
	for text, want := range map[string]string{"x": "it is not sealed", "sealed {": "unexpected end of JSON input"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, logFile), []byte(text), 0o600))
		_, err = Keep(w, dir, Options{Cipher: cipher})
		require.EqualError(t, err, "checkpoint: unusable log: "+filepath.Join(dir, logFile)+": "+want)
		require.ErrorIs(t, err, ErrLog)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, logFile)))
	require.NoError(t, os.Mkdir(filepath.Join(dir, logFile), 0o700))
	_, err = Keep(w, dir, Options{})
	require.ErrorContains(t, err, "checkpoint: read ")
	problems = nil
	r.Mark("three")
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], "checkpoint: cannot keep checkpoints: rename ")
	for _, f := range files() {
		require.False(t, strings.HasPrefix(f, ".new-"), "nothing half written is left")
	}
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	problems = nil
	r.Mark("four")
	require.Len(t, problems, 1)
	require.Contains(t, problems[0], "not a directory")
}

// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func newRecorder(t *testing.T, files map[string]string) *Recorder {
	t.Helper()
	w, err := workspace.NewMemory(workspace.MemoryConfig{Files: files})
	require.NoError(t, err)
	return New(w, Options{})
}

// What an undo did and did not do is told, with the lines of conflicts, up to bounds.
func TestUndosAreTold(t *testing.T) {
	denied := &workspace.PathError{Op: "write", Path: "a", Err: errors.New("permission denied")}
	for i, c := range []struct {
		result Result
		want   string
	}{
		{Result{}, "There is nothing to undo."},
		{Result{Files: []FileUndo{{Name: "a", Done: true, Action: Rewrite, Old: []byte("x")}}}, "Restored a."}, {Result{Files: []FileUndo{{Name: "a", Done: true, Action: Rewrite, Old: []byte("x"), InEditor: true}}}, "Restored a (its text in the editor)."}, {Result{Files: []FileUndo{{Name: "a", Done: true, Action: Rewrite}}}, "Brought back a."}, {Result{Files: []FileUndo{{Name: "a", Done: true, Action: Rewrite, InEditor: true}}}, "Brought back a (its text in the editor)."}, {Result{Files: []FileUndo{{Name: "a", Done: true, Action: Remove}}}, "Removed a."}, {Result{Files: []FileUndo{{Name: "a", Action: Nothing}}}, "a already has its earlier contents."},
		{Result{Files: []FileUndo{{Name: "a", Done: true, Action: Remove}}, Checkpoint: Checkpoint{ID: 3}}, "Removed a.\nTo redo, call undo_changes with checkpoint 3."}, {Result{Dropped: 2}, "Not undone:\nUp to 2 older changes, which are no longer kept."},
		{Result{Dropped: 1}, "Not undone:\nUp to 1 older changes, which are no longer kept."},
		{Result{Files: []FileUndo{{Name: "a", Action: Rewrite, Err: denied}, {Name: "b", Action: Remove, Err: errors.New("on fire.")}, {Name: "c", Action: Impossible, Reason: "it is a pipe"}}}, "Not undone:\na: permission denied.\nb: on fire.\nc: it is a pipe."},
		{Result{Files: []FileUndo{{Name: "a", Action: Clash, Reason: "why", Conflicts: []Conflict{{Current: "x\n", Before: ""}, {Line: 3, Current: "", Before: "y\nz\n"}, {Line: 3, Lines: 1, Current: "x"}, {Line: 3, Lines: 2, Current: "x\ny\n", Before: "x"}}}}},
			"Not undone:\na: why.\nSome lines, now:\n  x\nThe undo would make that:\n  [nothing]\nBefore line 3, now:\n  [nothing]\nThe undo would make that:\n  y\n  z\nLine 3, now:\n  x\nThe undo would make that:\n  [nothing]\nLines 3 to 4, now:\n  x\n  y\nThe undo would make that:\n  x"},
	} {
		require.Equal(t, c.want, c.result.told(), i)
	}
	for n, more := range map[int]string{8: "", 9: "[1 more conflicts]\n"} {
		f := FileUndo{Name: "a", Action: Clash, Reason: "why", Conflicts: make([]Conflict, n)}
		want := "a: why.\n" + strings.Repeat("Some lines, now:\n  [nothing]\nThe undo would make that:\n  [nothing]\n", 8) + more
		require.Equal(t, want, leftAlone([]FileUndo{f}, nil))
	}
	line := strings.Repeat("x", 999) + "\n"
	for text, want := range map[string]string{
		line + line: "  " + line + "  " + line, line + line + "y": "  " + line + "  " + line + "  [1 more bytes]\n", strings.Repeat("x", 2001): "  " + strings.Repeat("x", 2000) + "\n  [1 more bytes]\n", strings.Repeat("x", 1999) + "ä": "  " + strings.Repeat("x", 1999) + "\n  [1 more bytes]\n", line + strings.Repeat("y", 1001): "  " + line + "  [1001 more bytes]\n",
	} {
		require.Equal(t, want, quoted(text))
	}
	for want, e := range map[string]*IncompleteError{
		"checkpoint: not undone: ": {&Result{}}, "checkpoint: not undone: up to 2 older changes that are no longer kept": {&Result{Dropped: 2}},
		"checkpoint: not undone: a (permission denied), c (why); undone: b (its text in the editor), d": {&Result{Files: []FileUndo{{Name: "a", Err: denied, Done: true}, {Name: "b", Done: true, InEditor: true}, {Name: "c", Action: Clash, Reason: "why"}, {Name: "d", Done: true}, {Name: "e"}}}},
	} {
		require.EqualError(t, e, want)
		require.Equal(t, len(e.Result.Files) > 0, errors.Is(e, ErrConflict))
		require.Equal(t, len(e.Result.Files) > 0, errors.Is(e, denied.Err))
	}
	require.Nil(t, (*Result)(nil).done())
	for want, s := range map[string]Span{"undo of checkpoint 3": {3, 3}, "undo of everything since checkpoint 3": {3, 0}, "undo of the checkpoints 3 to 5": {3, 5}} {
		require.Equal(t, want, undoTitle(s))
	}
}

// The question about an undo shows what it does, and what it leaves alone.
func TestQuestionsAboutUndos(t *testing.T) {
	r := newRecorder(t, nil)
	rewrite := FileUndo{Path: "/project/a", Name: "a", Action: Rewrite, Old: []byte("new\xe9 text\n"), New: []byte("old\n")}
	remove := FileUndo{Path: "/project/b", Name: "b", Action: Remove, Old: []byte("x\x00\xff")}
	a := r.approval(t.Context(), &Plan{Files: []FileUndo{rewrite}})
	require.Equal(t, "Undo the changes of a", a.Title)
	require.Equal(t, "undoing changes of a", a.ScopeTitle)
	require.Equal(t, "/project/a", a.Scope)
	require.Len(t, a.Preview, 1)
	require.Equal(t, "newé text\n old\n", *a.Preview[0].Diff.Old+" "+*a.Preview[0].Diff.New)
	rewrite.bypass = true
	left := FileUndo{Name: "c", Action: Clash, Reason: "why"}
	a = r.approval(t.Context(), &Plan{Files: []FileUndo{rewrite, remove, left}})
	require.Equal(t, "Undo the changes of 2 files", a.Title)
	require.Equal(t, "undoing changes of these files", a.ScopeTitle)
	require.Equal(t, "/project/a\n/project/b", a.Scope)
	require.Equal(t, []string{"/project/a", "/project/b"}, a.Parts)
	require.Equal(t, []model.Effect{{Kind: model.EffectWrite, Path: "/project/a"}, {Kind: model.EffectWrite, Path: "/project/b"}}, a.Effects)
	require.Equal(t, "x\x00\ufffd", *a.Preview[1].Diff.Old)
	require.Nil(t, a.Preview[1].Diff.New)
	require.Equal(t, "This is written to disk, not through the editor.", a.Preview[2].Text)
	require.Equal(t, "Not changed:\nc: why.\n", a.Preview[3].Text)
	basis := map[string]bool{}
	for _, p := range []Plan{{}, {Span: Span{1, 0}}, {Span: Span{0, 1}}, {Files: []FileUndo{rewrite}}, {Files: []FileUndo{rewrite, remove}}, {Files: []FileUndo{{Path: "/project/a", Action: Rewrite}}}, {Files: []FileUndo{{Path: "/project/a", Action: Remove}}}, {Files: []FileUndo{{Path: "/project/a", Action: Rewrite, Old: []byte("x")}}}, {Files: []FileUndo{{Path: "/project/a", Action: Rewrite, New: []byte("x")}}}} {
		basis[p.basis()] = true
	}
	require.Len(t, basis, 9)
	require.Equal(t, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", (&Plan{Files: []FileUndo{
		{raw: "a", Action: Rewrite, Old: []byte("x\n"), New: []byte("y\n")}, {raw: "b", Action: Remove, Old: []byte("x\n")}, {raw: "c", Action: Clash, Old: []byte("x\n")}, {raw: "d", Action: Nothing, Old: []byte("x\n")},
	}}).Diff())
}

// A change is taken back from what the file holds now, merged with what others have changed.
func TestChangesAreUnmade(t *testing.T) {
	data := func(text string) []byte {
		if text == "-" {
			return nil
		}
		return []byte(text)
	}
	const notText = "someone else has changed it since, and it is not text"
	for _, c := range []struct{ before, after, now, want, why string }{
		{"a", "b", "b", "a", ""}, {"a", "b", "a", "a", ""}, {"a", "a", "c", "c", ""}, {"-", "b", "b", "-", ""}, {"a", "-", "-", "a", ""}, {"-", "b", "-", "-", ""}, {"a", "b", "-", "-", "someone else has removed it since"}, {"-", "b", "c", "-", "it was created, and someone else has changed it since"}, {"a", "-", "c", "-", "it was removed, and someone else has created it again since"},
		{"1\n2\n3\n", "1\n2\nx\n", "0\n1\n2\nx\n", "0\n1\n2\n3\n", ""}, {"1\n2\n", "1\nx\n", "1\ny\n", "-", "someone else has changed the same or adjacent lines since"}, {"a\x00", "b\x00", "c\x00", "-", notText}, {"a", "b", "c\x00", "-", notText}, {"a\x00", "b", "c", "-", notText}, {"", "-", "-", "", ""},
		{"caf\xe9\n1\n2\n", "caf\xe9\n1\nx\n", "0 caf\xe9\n1\nx\n", "0 caf\xe9\n1\n2\n", ""}, {"1\n2\nż\n", "1\n2\nx\n", "caf\xe9\n2\nx\n", "-", "someone else has changed it since, and its encoding does not fit the merged text"},
	} {
		got, why, conflicts := unmake(&segment{beforeData: data(c.before), afterData: data(c.after)}, data(c.now))
		require.Equal(t, c.why, why, "%+v", c)
		require.Equal(t, data(c.want), got, "%+v", c)
		require.Equal(t, strings.Contains(why, "adjacent"), len(conflicts) > 0)
	}
	for _, c := range []struct{ base, ours, theirs, want string }{
		{"a\nb\n", "a\nb\n", "a\r\nb\r\n", "a\r\nb\r\n"}, {"a\nb\n", "a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"}, {"a\r\nb\r\n", "a\nb\n", "a\r\nx\r\n", "a\nx\n"}, {"a\nb\n", "\ufeffa\nb\n", "a\nx\n", "\ufeffa\nx\n"}, {"\ufeffa\nb\n", "\ufeffa\nb\n", "a\nb\n", "a\nb\n"}, {"a", "a", "\ufeffb", "\ufeffb"}, {"a\r\nb\n", "a\r\nb\n", "a\r\nx\n", "a\r\nx\n"}, {"a", "a", "a\r\nb\r\n", "a\r\nb\r\n"},
	} {
		merged, conflicts := mergeText(c.base, c.ours, c.theirs)
		require.Empty(t, conflicts)
		require.Equal(t, c.want, merged, "%+v", c)
	}
	merged, conflicts := mergeText("a\nb\n", "a\nx\n", "a\ny\n")
	require.Empty(t, merged)
	require.Equal(t, []Conflict{{Line: 2, Lines: 1, Current: "x\n", Changed: "b\n", Before: "y\n"}}, conflicts)
	for _, c := range [][3]string{{"a\r\nb\n", "a\r\nb\r\n", "a\nb\n"}, {"a\nb\n", "a\r\nb\n", "x\nb\n"}, {"a\nb\n", "x\nb\n", "a\r\nb\n"}} {
		_, conflicts := mergeText(c[0], c[1], c[2])
		require.Len(t, conflicts, 1, "%q: with mixed endings they are part of lines", c)
	}
	for text, want := range map[string]string{"": "", "a": "", "a\n": "\n", "a\r\n": "\r\n", "a\r\nb\n": mixed, "a\r": ""} {
		require.Equal(t, want, lineEnding(text), "%q", text)
	}
	for v, want := range map[[3]int]int{{1, 1, 1}: 1, {1, 1, 2}: 2, {1, 2, 1}: 2, {1, 2, 3}: 2} {
		require.Equal(t, want, pick(v))
	}
	require.Equal(t, []bool{true, true, false, false, true}, []bool{equal(nil, nil), equal([]byte{}, []byte{}), equal(nil, []byte{}), equal([]byte{}, nil), equal([]byte("a"), []byte("a"))})
	require.EqualError(t, cause(&workspace.PathError{Err: errors.New("x")}), "x")
	require.EqualError(t, cause(errors.New("y")), "y")
}

// Each change of a file that was made through the recorder is joined with the one before it, unless
// somebody else was in between, or it may not have happened.
func TestChangesOfAFileAreJoined(t *testing.T) {
	state := func(text string) State { return stateOf(foundIn([]byte(text))) }
	seg := func(before, after string, kept, unsure bool) segment {
		return segment{before: state(before), after: state(after), beforeData: []byte(before), afterData: []byte(after), kept: kept, unsure: unsure}
	}
	for i, c := range []struct {
		segments []segment
		want     string
	}{
		{[]segment{seg("a", "b", true, false), seg("b", "c", true, false)}, "a>c true false"}, {[]segment{seg("a", "b", true, false), seg("b", "c", false, false)}, "a>c false false"}, {[]segment{seg("a", "b", false, false), seg("b", "c", true, false)}, "a>c false false"}, {[]segment{seg("a", "b", true, false), seg("x", "c", true, false)}, "a>b true false, x>c true false"}, {[]segment{seg("a", "b", true, true), seg("b", "c", true, false)}, "a>b true false, b>c true true"}, {[]segment{seg("a", "b", true, false), seg("b", "c", true, true)}, "a>b true false, b>c true true"},
	} {
		f := &FileChange{}
		for _, s := range c.segments {
			f.add(s)
		}
		var got []string
		for _, s := range f.segments {
			got = append(got, fmt.Sprintf("%s>%s %t %t", s.beforeData, s.afterData, s.kept, s.follows))
		}
		require.Equal(t, c.want, strings.Join(got, ", "), i)
	}
	absent := State{Absent: true}
	for i, c := range []struct {
		s    segment
		want string
	}{
		{seg("a\n", "b\n", true, false), "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n"}, {segment{before: absent, after: state("b\n"), afterData: []byte("b\n"), kept: true}, "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+b\n"}, {segment{before: state("a\n"), after: absent, beforeData: []byte("a\n"), kept: true}, "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		{seg("a\x00", "b", true, false), "--- n\n+++ n\n[not text: 2 bytes, now 1 bytes]\n"}, {seg("a", "b\x00\xff", true, false), "--- n\n+++ n\n[not text: 1 bytes, now 3 bytes]\n"}, {seg("a", "b", false, false), "--- n\n+++ n\n[contents not kept: 1 bytes, now 1 bytes]\n"}, {segment{before: State{Unknown: "of it"}, after: absent}, "--- n\n+++ /dev/null\n[contents not kept: unknown, because of it, now no file]\n"},
	} {
		require.Equal(t, c.want, c.s.diff("n"), i)
	}
	for _, c := range []struct {
		a, b State
		same bool
	}{{state("a"), state("a"), true}, {state("a"), state("b"), false}, {absent, absent, true}, {State{Unknown: "x"}, State{Unknown: "x"}, false}, {State{Hash: "h", Uncertain: true}, State{Hash: "h"}, true}, {State{Hash: "h"}, State{Hash: "h", Uncertain: true}, true}, {absent, state(""), false}} {
		require.Equal(t, c.same, c.a.same(c.b), "%+v", c)
	}
	for _, c := range []struct {
		f    FileChange
		want string
	}{
		{FileChange{Name: "a", Kind: Changed, Kept: true, segments: []segment{seg("1\n2\n", "1\nx\ny\n", true, false), seg("a\n", "", true, false)}}, "changed a (+2 -2)"}, {FileChange{Name: "a", Kind: Created}, "created a, contents not kept: cannot be undone"}, {FileChange{Name: "a", Kind: Removed, Kept: true, Others: true, Unsure: true}, "removed a (+0 -0), also changed by someone else in between, not sure that it was written"},
	} {
		require.Equal(t, c.want, c.f.summary())
	}
	for text, want := range map[string]string{"": "", " a \n b ": "a b", strings.Repeat("ä", 80): strings.Repeat("ä", 80), strings.Repeat("ä", 81): strings.Repeat("ä", 79) + "…"} {
		require.Equal(t, want, oneLine(text))
	}
	for name, want := range map[string]string{"a b": "a b", " a": `" a"`, "a\n": `"a\n"`, "a\xff": `"a\xff"`, "ä": "ä"} {
		require.Equal(t, want, printable(name))
	}
}

// Of many files of a checkpoint fifty are named, with the last of its commands.
func TestSummariesOfCheckpoints(t *testing.T) {
	c := Changes{}
	for i := range 52 {
		c.Files = append(c.Files, FileChange{Name: fmt.Sprint("f", i), Kind: Created, Kept: true})
	}
	text := c.summary(&Checkpoint{ID: 3, Title: " a\nturn "}, true)
	require.True(t, strings.HasPrefix(text, "Checkpoint 3 (a turn), undone:\n  created f0 (+0 -0)\n"), text)
	require.True(t, strings.HasSuffix(text, "\n  created f49 (+0 -0)\n  [2 more files]\n"), text)
	c.Files = c.Files[:50]
	require.NotContains(t, c.summary(&Checkpoint{}, false), "more files")
	const note = "Checkpoint 1:\n  [commands ran; what they changed is not recorded: "
	require.Equal(t, note+"b]\n", (&Changes{Commands: []Command{{Title: "b"}}}).summary(&Checkpoint{ID: 1}, false))
	require.Equal(t, note+"c and 2 more]\n", (&Changes{Commands: []Command{{Title: "a"}, {Title: "b"}, {Title: "c"}}}).summary(&Checkpoint{ID: 1}, false))
}

// A log has the last hundred commands, with the beginnings of their lines.
func TestCommandsOfALog(t *testing.T) {
	var l Log
	for i := range 102 {
		l.addCommand(workspace.Command{Args: []string{"run", fmt.Sprint(i)}})
	}
	require.Len(t, l.Commands, 100)
	require.Equal(t, Command{Title: "run 2"}, l.Commands[0])
	l.Checkpoints = []Checkpoint{{ID: 4}, {ID: 7}}
	long := strings.Repeat("x", 199)
	for line, want := range map[string]string{"ls -l": "ls -l", long + "y": long + "y", long + "yz": long + "y…", long + "ä": long + "…", "a\xff": "a\ufffd"} {
		l.addCommand(workspace.Command{Line: line})
		require.Equal(t, Command{Checkpoint: 7, Title: want}, l.Commands[len(l.Commands)-1])
	}
	r := newRecorder(t, nil)
	for i, title := range []string{"old", "a", "b", "a", "c", "d", "e"} {
		r.log.Commands = append(r.log.Commands, Command{Checkpoint: min(i, 1), Title: title})
	}
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, r.commandsSince(1), "each once")
	require.Equal(t, []string{"old", "a", "b", "c", "d", "and 1 more"}, r.commandsSince(0))
	require.Empty(t, r.commandsSince(2))
	require.Zero(t, (&Log{}).last())
	require.Equal(t, 7, l.last())
	l.Changes = []Change{{Checkpoint: 4, Path: "/a"}, {Checkpoint: 7, Path: "/b"}, {Checkpoint: 7, Path: "/a", Unsure: true}, {Checkpoint: 7, Path: "/c"}}
	require.Same(t, &l.Changes[2], l.lastOf(workspace.Slash, "/a", 7))
	require.Nil(t, l.lastOf(workspace.Slash, "/a", 4), "it is not the last checkpoint")
	require.Nil(t, l.lastOf(workspace.Slash, "/d", 7))
	require.Same(t, &l.Changes[1], l.lastOf(workspace.Windows, "/B", 7))
	for _, c := range []struct {
		marks []Checkpoint
		want  map[int]bool
	}{
		{nil, map[int]bool{}}, {[]Checkpoint{{ID: 1}, {ID: 2, Undo: true, Undoes: Span{1, 1}}}, map[int]bool{1: true}}, {[]Checkpoint{{ID: 1}, {ID: 2, Undoes: Span{1, 1}}, {ID: 3, Undoes: Span{2, 2}}}, map[int]bool{2: true}}, {[]Checkpoint{{ID: 1}, {ID: 2}, {ID: 3, Undoes: Span{1, 2}}}, map[int]bool{1: true, 2: true}},
	} {
		require.Equal(t, c.want, (&Log{Checkpoints: c.marks}).undone())
	}
}

// A log that was stored is checked, each part of it.
func TestStoredLogsAreChecked(t *testing.T) {
	hash := State{Hash: "h"}
	good := func(change func(*Log)) *Log {
		l := &Log{Version: 1, Checkpoints: []Checkpoint{{ID: 1}, {ID: 3}}, Changes: []Change{{Checkpoint: 1, Path: "/a", Before: State{Absent: true}, After: hash}, {Checkpoint: 3, Path: "/a", Before: hash, After: State{Unknown: "x"}}}}
		change(l)
		return l
	}
	const state = "/a: a state that is not exactly one of contents, absent and unknown"
	for i, c := range []struct {
		log  *Log
		want string
	}{
		{good(func(*Log) {}), ""}, {good(func(l *Log) { l.Version = 0 }), "version 0; this program knows version 1"}, {good(func(l *Log) { l.Version = 2 }), "version 2; this program knows version 1"}, {good(func(l *Log) { l.Checkpoints[1].ID = 1 }), "checkpoint 1 follows 1"}, {good(func(l *Log) { l.Checkpoints[0].ID = 0 }), "checkpoint 0 follows 0"}, {good(func(l *Log) { l.Changes[0].Path = "" }), "a change without a path"}, {good(func(l *Log) { l.Changes[0].Checkpoint = 0 }), "a change of checkpoint 0 between 1 and 3"}, {good(func(l *Log) { l.Changes[1].Checkpoint = 4 }), "a change of checkpoint 4 between 1 and 3"}, {good(func(l *Log) { l.Changes[0].Checkpoint, l.Changes[1].Checkpoint = 3, 1 }), "a change of checkpoint 1 between 3 and 3"},
		{good(func(l *Log) { l.Changes[0].Before = State{} }), state}, {good(func(l *Log) { l.Changes[0].After = State{Hash: "h", Absent: true} }), state}, {good(func(l *Log) { l.Changes[0].After = State{Unknown: "h", Absent: true} }), state}, {good(func(l *Log) { l.Changes[0].After = State{Hash: "h", Size: -1} }), state}, {good(func(l *Log) { l.Changes[0].Checkpoint = 2 }), ""}, {good(func(l *Log) { l.Changes[1].Checkpoint = 1 }), ""},
	} {
		err := c.log.check()
		if c.want == "" {
			require.NoError(t, err, i)
			continue
		}
		require.ErrorIs(t, err, ErrLog)
		require.EqualError(t, err, "checkpoint: unusable log: "+c.want, i)
	}
	for name, want := range map[string]bool{strings.Repeat("a", 64): true, strings.Repeat("a", 63): false, strings.Repeat("a", 65): false, strings.Repeat("g", 64): false, "": false, strings.Repeat("0", 63) + "F": false} {
		require.Equal(t, want, isName(name), name)
	}
	k := &keeper{}
	for hash, want := range map[string]string{"sha256:" + strings.Repeat("a", 64): strings.Repeat("a", 64), strings.Repeat("a", 64): "", "sha256:x": "", "": ""} {
		require.Equal(t, want, k.name(hash))
	}
}

// Contents are kept as long as they are used. A change that is larger than all that is kept is not.
func TestContentsAreCounted(t *testing.T) {
	c := contents{max: 10}
	state := func(text string) State { return stateOf(foundIn([]byte(text))) }
	a, b := state("aaa"), state("bb")
	for range 2 {
		c.add(a, []byte("aaa"))
	}
	c.add(b, []byte("bb"))
	c.add(State{Absent: true}, nil)
	require.EqualValues(t, 5, c.size)
	require.Len(t, c.byHash, 2)
	c.release(a)
	require.EqualValues(t, 5, c.size)
	c.release(a)
	c.release(a)
	require.EqualValues(t, 2, c.size)
	require.NotContains(t, c.byHash, a.Hash)
	change := &Change{Before: b, After: State{Absent: true}}
	c.releaseChange(change)
	require.EqualValues(t, 2, c.size, "it was not kept")
	change.kept = true
	c.releaseChange(change)
	c.releaseChange(change)
	require.False(t, change.kept)
	require.Zero(t, c.size)
	require.True(t, c.fits(State{Size: 4}, State{Size: 6}))
	require.False(t, c.fits(State{Size: 5}, State{Size: 6}))
	require.Equal(t, State{Unknown: "why"}, stateOf(found{why: "why", absent: true}))
	require.Equal(t, State{Hash: hashOf(nil), Uncertain: true}, stateOf(found{uncertain: true}))

	var r recentReads
	put := func(path string, size int) { r.put(path, "v", found{data: make([]byte, size)}) }
	kept := func() (all string) {
		for _, f := range r.files {
			all += f.path
		}
		return all
	}
	for _, path := range []string{"a", "b", "c", "d", "e"} {
		put(path, 1)
	}
	require.Equal(t, "bcde", kept())
	put("c", 1)
	require.Equal(t, "bdec", kept())
	put("f", 8<<20-2)
	require.Equal(t, "ecf", kept())
	put("g", 8<<20)
	require.Equal(t, "g", kept())
	put("h", 8<<20+1)
	require.Equal(t, "g", kept(), "too large to be kept")
	r.put("g", "", found{})
	require.Empty(t, kept(), "what has no version is not known")
	put("a", 1)
	_, ok := r.get("a", "v")
	require.True(t, ok)
	_, ok = r.get("a", "w")
	require.False(t, ok)
	_, ok = r.get("b", "v")
	require.False(t, ok)
}

// Spans are of checkpoints that there are.
func TestSpansOfCheckpoints(t *testing.T) {
	r := newRecorder(t, nil)
	r.log.Checkpoints = []Checkpoint{{ID: 2}, {ID: 5}}
	for s, ok := range map[Span]bool{{}: true, {0, 5}: true, {5, 0}: true, {5, 5}: true, {2, 5}: true, {-1, 0}: false, {6, 0}: false, {1, 6}: false, {3, 2}: false, {0, 1}: true} {
		_, err := r.files(s)
		require.Equal(t, ok, err == nil, "%v", s)
		if err != nil {
			require.ErrorIs(t, err, ErrNoCheckpoint)
			require.ErrorContains(t, err, fmt.Sprintf("%d to %d; the last is 5", s.From, s.To))
		}
	}
	for _, c := range []struct {
		s    Span
		id   int
		want bool
	}{{Span{2, 4}, 1, false}, {Span{2, 4}, 2, true}, {Span{2, 4}, 4, true}, {Span{2, 4}, 5, false}, {Span{2, 0}, 99, true}} {
		require.Equal(t, c.want, c.s.has(c.id))
	}
	require.Zero(t, r.dropped(Span{}))
	r.log.Dropped = Dropped{Changes: 3, Through: 2}
	require.Equal(t, []int{3, 3, 0}, []int{r.dropped(Span{}), r.dropped(Span{From: 2}), r.dropped(Span{From: 3})})
	require.Equal(t, "a/b", r.relative("/project/a/b"))
	require.Equal(t, "/other/a", r.relative("/other/a"))
	w, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{`C:\p`}})
	require.NoError(t, err)
	require.Equal(t, "a/b", New(w, Options{}).relative(`C:\p\a\b`))
}

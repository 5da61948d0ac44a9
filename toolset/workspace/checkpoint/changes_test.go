// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

func TestChangesOfATurn(t *testing.T) {
	b := newBench(t, files{"a": "1\n", "b": "1\n", "gone": "x\n"}, checkpoint.Options{})
	first := b.Mark("first")
	b.agent("a", "2\n")
	b.agent("new/c", "1\n")
	second := b.Mark("second")
	b.agent("a", "3\n")
	b.agent("a", "4\n")
	b.agent("b", "2\n")
	b.agent("b", "1\n")
	require.NoError(t, b.Remove(t.Context(), "gone", workspace.AnyVersion))
	p, err := b.Start(t.Context(), workspace.Command{Line: "make"})
	require.NoError(t, err)
	require.NoError(t, p.Close(t.Context()))

	c := b.changes(checkpoint.Only(first.ID))
	require.Equal(t, []string{"changed a", "created new/c"}, names(c.Files))
	require.Empty(t, c.Commands)
	require.Equal(t, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/new/c\n@@ -0,0 +1 @@\n+1\n", c.Diff())

	c = b.changes(checkpoint.Only(second.ID))
	require.Equal(t, []string{"changed a", "removed gone"}, names(c.Files), "b is as it was")
	require.Equal(t, []checkpoint.Command{{Checkpoint: 2, Title: "make"}}, c.Commands)
	require.Equal(t, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+4\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", c.Diff())

	all := b.changes(checkpoint.Since(first.ID))
	require.Equal(t, []string{"changed a", "removed gone", "created new/c"}, names(all.Files))
	require.Contains(t, all.Diff(), "-1\n+4\n")
	require.Equal(t, all.Files, b.changes(checkpoint.Span{}).Files)
	require.Len(t, b.Log().Changes, 5, "several writes since one checkpoint are one change")

	for _, s := range []checkpoint.Span{{From: 3}, {From: -1}, {From: 2, To: 1}, {From: 1, To: 3}} {
		_, err := b.Changes(s)
		require.ErrorIs(t, err, checkpoint.ErrNoCheckpoint, "%v", s)
		_, err = b.Undo(t.Context(), s)
		require.ErrorIs(t, err, checkpoint.ErrNoCheckpoint, "%v", s)
	}
}

// What somebody else changed in between is noticed, and is in no diff.
func TestChangesOfOthersAreNoticed(t *testing.T) {
	b := newBench(t, files{"a": "1\n2\n3\n"}, checkpoint.Options{})
	b.Mark("")
	b.agent("a", "one\n2\n3\n")
	b.user("a", "one\n2\n3\nuser\n")
	b.agent("a", "one\ntwo\n3\nuser\n")
	c := b.changes(checkpoint.Only(1))
	require.True(t, c.Files[0].Others)
	require.Equal(t, 2, strings.Count(c.Diff(), "+++ b/a"))
	require.NotContains(t, c.Diff(), "+user")
}

func TestChangesOfBinaryFiles(t *testing.T) {
	b := newBench(t, files{"a": "\x00"}, checkpoint.Options{})
	b.agent("a", "\x00\x01\xff")
	require.Equal(t, "--- a\n+++ a\n[not text: 1 bytes, now 3 bytes]\n", b.changes(checkpoint.Span{}).Diff())
	b.undo(checkpoint.Span{})
	b.holds("a", "\x00")
}

// A write of a version that was just read needs no second read, and neither does the next write.
func TestRecorderReadsOnce(t *testing.T) {
	b := newBench(t, files{"a": strings.Repeat("line\n", 1000)}, checkpoint.Options{})
	counting := &countingReads{Workspace: b.ws}
	r := checkpoint.New(counting, checkpoint.Options{})
	f, err := r.Read(t.Context(), "a", workspace.Range{})
	require.NoError(t, err)
	f.Data[0] = 'X' // the caller's to change
	v, err := r.Write(t.Context(), "a", []byte("two\n"), f.Version)
	require.NoError(t, err)
	_, err = r.Write(t.Context(), "a", []byte("three\n"), v)
	require.NoError(t, err)
	require.Equal(t, 1, counting.reads)
	b.Recorder = r
	b.undo(checkpoint.Span{})
	b.holds("a", strings.Repeat("line\n", 1000))
}

// Paths that differ in nothing but case are one file where case makes no difference.
func TestWindowsPathsAreOneFile(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{`C:\p`}, Files: files{`C:\p\sub\A.txt`: "1"}})
	require.NoError(t, err)
	r := checkpoint.New(ws, checkpoint.Options{})
	for _, name := range []string{`sub\a.TXT`, `SUB/A.txt`, `c:/P/sub/a.txt`} {
		_, err := r.Write(t.Context(), name, []byte("x"+name), workspace.AnyVersion)
		require.NoError(t, err)
	}
	c, err := r.Changes(checkpoint.Span{})
	require.NoError(t, err)
	require.Equal(t, []string{"changed sub/a.TXT"}, names(c.Files))
	_, err = r.Undo(t.Context(), checkpoint.Span{})
	require.NoError(t, err)
	text, err := ws.Disk().ReadFile(`C:\p\sub\A.txt`)
	require.NoError(t, err)
	require.Equal(t, "1", string(text))
}

// Commands are recorded by title, the last hundred.
func TestCommandsAreBounded(t *testing.T) {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Command: func(workspace.Command) workspace.MemoryScript { return workspace.MemoryPrint("", 0) }})
	require.NoError(t, err)
	r := checkpoint.New(ws, checkpoint.Options{})
	for range 150 {
		p, err := r.Start(t.Context(), workspace.Command{Args: []string{"echo", strings.Repeat("ä", 500)}})
		require.NoError(t, err)
		require.NoError(t, p.Close(t.Context()))
	}
	commands := r.Log().Commands
	require.Len(t, commands, 100)
	require.LessOrEqual(t, len(commands[0].Title), 203)
	require.True(t, strings.HasPrefix(commands[0].Title, "echo ää"))

	p, err := r.Start(t.Context(), workspace.Command{Line: strings.Repeat("\xb1", 201)}) // no text
	require.NoError(t, err)
	require.NoError(t, p.Close(t.Context()))
	require.Equal(t, "…", r.Log().Commands[99].Title)
}

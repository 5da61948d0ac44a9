// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// What there is one of counts like what there are several of: arguments, seconds, bytes and files.
func TestOneIsEnough(t *testing.T) {
	one := Command{Args: []string{"ls"}, Line: "x"}
	require.Equal(t, []string{"ls"}, one.Argv(Slash))
	require.EqualError(t, one.Check(), "malformed command: it has both a line and arguments")
	require.Equal(t, "ab", cutHead("ab\xc3"))
	require.Equal(t, "ab", cutHead("ab\xe2\x82"))
	require.Equal(t, "aä", cutHead("aä"))
	_, err := Windows.Abs(`C:\p`, `\\:a\t\x`)
	require.EqualError(t, err, "the path has no valid server and share")
	require.Contains(t, runCommandDescription(&options{commandTimeout: 1}), "(default 1ns)")
	w, err := NewMemory(MemoryConfig{Files: map[string]string{"a": "hit\n", "secret": "hit\n"}})
	require.NoError(t, err)
	s := NewSession(w)
	s.GuardReads(func(path string) (toolset.Verdict, string) {
		if strings.HasSuffix(path, "secret") {
			return toolset.VerdictDeny, ""
		}
		return "", ""
	})
	c := &call{Session: s, ws: w, options: &options{}}
	res, err := c.searchFiles(t.Context(), searchFilesArgs{Pattern: "hit"})
	require.NoError(t, err)
	require.Equal(t, "a:1: hit\n[1 files were left out: reading them is not permitted without a question.]\n", res.Text)
}

// Times that a call waits for a command end when they are over, the shortest too.
func TestCallsWaitForCommandsAsLongAsTheySay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve := func(ctx context.Context, sh *MemoryShell) int {
			_, _ = sh.Write([]byte("up\n"))
			<-ctx.Done()
			return 0
		}
		w, err := NewMemory(MemoryConfig{Commands: map[string]MemoryScript{"serve": serve}})
		require.NoError(t, err)
		s := NewSession(w)
		c := &call{Session: s, ws: w, options: &options{outputLimit: 100}, approved: true}
		term, err := s.start(t.Context(), Command{Line: "serve"}, "/project", "serve")
		require.NoError(t, err)
		s.keep(term)
		began := time.Now()
		for _, e := range []struct {
			seconds int
			took    time.Duration
			want    string
		}{{1, time.Second, "1s"}, {2, 2 * time.Second, "2s"}, {0, defaultWaitTimeout, defaultWaitTimeout.String()}} {
			res, err := c.waitForTerminalExit(t.Context(), waitForTerminalExitArgs{terminalArgs: terminalArgs{Terminal: term.ID}, Timeout: e.seconds})
			require.NoError(t, err)
			require.Equal(t, "up\n[still running after "+e.want+"]", res.Text)
			require.Equal(t, e.took, time.Since(began))
			began = time.Now()
		}
		res, err := c.getTerminalOutput(t.Context(), getTerminalOutputArgs{terminalArgs: terminalArgs{Terminal: term.ID}, From: 1})
		require.NoError(t, err)
		require.Equal(t, "p\n[still running]", res.Text)
		_, over, err := waitFor(t.Context(), term.Process, 1)
		require.NoError(t, err)
		require.True(t, over)
		require.Equal(t, time.Duration(1), time.Since(began))
		require.NoError(t, s.Close(t.Context()))
	})
}

// A line whose beginning is in a block is searched with what follows in the next one.
func TestLinesAreSearchedAcrossBlocks(t *testing.T) {
	w, err := NewMemory(MemoryConfig{})
	require.NoError(t, err)
	m, err := newMatcher("gh", true, false)
	require.NoError(t, err)
	for before := range 8 {
		text := strings.Repeat("\n", before) + "abcdefgh\n"
		require.NoError(t, w.Disk().WriteFile("/project/f", []byte(text), 0o644))
		s := &fileSearch{ws: w, matcher: m, limit: 2, buf: make([]byte, 8)}
		found := s.file(t.Context(), "/project/f")
		require.Equal(t, []foundLine{{number: before + 1, text: "abcdefgh"}}, found.lines, before)
	}
}

// Lines that differ in white space alone are known by sixteen of those that are the same.
func TestSixteenEqualLinesCount(t *testing.T) {
	for n, want := range map[int]string{
		16: "These lines differ from it in white space alone:", 17: "The nearest lines are:",
	} {
		_, err := ApplyEdits([]byte(strings.Repeat(" x\n", n)), []Edit{{OldText: strings.Repeat("x\n", n)}})
		require.ErrorContains(t, err, "old_text was not found. "+want+"\n     1\t x\n     2\t x\n")
	}
}

// Of an output that is a byte too long, that byte is left out, between its beginning and its end.
func TestOneByteIsLeftOut(t *testing.T) {
	for text, want := range map[string]shownOutput{
		"abcdefgh":  {head: "abcdefgh", exit: &Exit{}},
		"abcdefghi": {head: "ab", tail: "defghi", at: 2, left: 1, exit: &Exit{}}, "abcdefghij": {head: "ab", tail: "efghij", at: 2, left: 2, exit: &Exit{}},
	} {
		w, err := NewMemory(MemoryConfig{Commands: map[string]MemoryScript{"print": MemoryPrint(text, 0)}})
		require.NoError(t, err)
		c := &call{Session: NewSession(w), ws: w, options: &options{outputLimit: 8}}
		p, err := w.Start(t.Context(), Command{Line: "print"})
		require.NoError(t, err)
		_, err = p.Wait(t.Context())
		require.NoError(t, err)
		out, err := c.output(t.Context(), &Terminal{Process: p})
		require.NoError(t, err)
		require.Equal(t, want, out)
		require.NoError(t, p.Close(t.Context()))
	}
}

// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Pasted text of more than 4096 bytes is text, even if it is the address of a file.
func TestLongAddressesOfDroppedFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths have other forms there")
	}
	dir := writes(t, "a.txt")
	for size, dropped := range map[int]bool{4095: true, 4096: true, 4097: false} {
		pasted := "file://" + dir
		for len(pasted)+len("/%2E")+len("/a.txt") <= size-4 {
			pasted += "/%2E"
		}
		pasted += strings.Repeat("/", size-len(pasted)-len("a.txt")) + "a.txt"
		require.Len(t, pasted, size)
		c := consoleIn("/elsewhere")
		require.Equal(t, dropped, c.drop(pasted) != "", size)
		require.Equal(t, dropped, len(c.dropped) == 1, size)
	}
}

// Whether the user may write to a file decides, not what others may do with it.
func TestWhichFilesAreReadOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have other modes there")
	}
	dir := writes(t, "a.txt")
	files, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	defer files.Close()
	at := filepath.Join(dir, "a.txt")
	for mode, written := range map[os.FileMode]bool{
		0o400: false, 0o444: false, 0o555: false, 0o401: false, 0o577: false, 0o600: true, 0o644: true, 0o700: true,
	} {
		require.NoError(t, os.Chmod(at, mode))
		_, err := careful{files}.Write(t.Context(), at, []byte("new"), workspace.AnyVersion)
		if written {
			require.NoError(t, err, mode)
		} else {
			require.ErrorIs(t, err, os.ErrPermission, mode)
		}
	}
}

// Random numbers are below their bound, and there is one even if nothing is below it.
func TestRandomNumbersAreBelowTheirBound(t *testing.T) {
	for range 50 {
		require.Zero(t, random(0))
		require.Zero(t, random(1))
	}
	seen := map[int]bool{}
	for range 500 {
		seen[random(3)] = true
	}
	require.Equal(t, map[int]bool{0: true, 1: true, 2: true}, seen)
}

// Of the output of a person's command, the last 32 KB are shown, and exit codes other than 0.
func TestOutputOfCommandsOfThePerson(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("commands are others there")
	}
	dir := writes(t)
	files, err := local.Open(local.Config{Roots: []string{dir}})
	require.NoError(t, err)
	defer files.Close()
	c := consoleIn(dir)
	c.files = files
	for _, of := range []struct{ line, want, err string }{
		{"printf a", "a", ""}, {"printf ''", "", ""}, {"printf a; exit 1", "a", "exit code 1"}, {"exit 3", "", "exit code 3"},
		{"pwd", dir + "\n", ""},
	} {
		got, err := c.output(t.Context(), of.line)
		require.Equal(t, of.want, got, of.line)
		if of.err == "" {
			require.NoError(t, err, of.line)
		} else {
			require.EqualError(t, err, of.err, of.line)
		}
	}
	got, err := c.output(t.Context(), "printf first; head -c 32766 /dev/zero | tr '\\0' x; printf z")
	require.NoError(t, err)
	require.True(t, "t"+strings.Repeat("x", 32766)+"z" == got, "%d bytes", len(got))
}

// What was allowed without asking stays in the transcript, 24 lines of it.
func TestWhatWasAllowedIsFolded(t *testing.T) {
	for n, more := range map[int]string{1: "", 23: "", 24: "", 25: "… 1 more lines (Ctrl-O)\n", 30: "… 6 more lines (Ctrl-O)\n"} {
		var all string
		for i := range n {
			all += fmt.Sprintf("line %d\n", i+1)
		}
		r := &acpclient.PermissionRequest{Unasked: true, Approval: toolset.Approval{Preview: []toolset.Preview{{Text: strings.TrimSuffix(all, "\n")}}}}
		c := consoleIn("/repo")
		c.showAllowed(r)
		shown := func() (text string) {
			for _, l := range c.model.Transcript(60) {
				text += l.Plain() + "\n"
			}
			return text
		}
		want := strings.Join(strings.SplitAfter(all, "\n")[:min(n, 24)], "") + more
		require.Equal(t, want, shown(), n)
		r.Unasked = false
		c.showAllowed(r)
		require.Equal(t, want, shown(), "the agent has shown it")
	}
}

// The sign that something goes on moves ten times in a second.
func TestHowOftenTheSignOfTheStartMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notepad
		stop := waiting(&n, "x")
		time.Sleep(20050 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 198, strings.Count(n.take(), "x"))
		stop()
	})
}

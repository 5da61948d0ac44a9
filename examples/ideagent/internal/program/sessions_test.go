// SPDX-License-Identifier: Apache-2.0

package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/view"
)

func TestSessionsCommand(t *testing.T) {
	at, work, other := filepath.Join(t.TempDir(), "sessions"), workDir(t), workDir(t)
	run := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		return ideagent(t, append([]string{"sessions", args[0], "-store", at}, args[1:]...)...)
	}
	_, stderr, code := run("list")
	require.Equal(t, 0, code)
	require.Contains(t, stderr, "there are no sessions in "+at)
	_, stderr, code = run("show", "s1")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "s1: no such session")
	require.NoDirExists(t, at, "looking does not make a store")

	p := startAgent(t, work, "-store", at)
	var ids []string
	var opened []*acpclient.Session
	for _, dir := range []string{work, other} {
		s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: dir})
		require.NoError(t, err)
		_, err = s.Say(t.Context(), "help")
		require.NoError(t, err)
		ids, opened = append(ids, string(s.ID())), append(opened, s)
	}

	stdout, stderr, code := run("list", "-dir", work)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, ids[0])
	require.Contains(t, stdout, work+"  help\n")
	require.NotContains(t, stdout, ids[1])
	stdout, _, _ = run("list", "-json")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 2)
	var info sessions.Info
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &info))
	require.Equal(t, ids[1], info.ID, "the one that was changed last comes first")

	stdout, _, code = run("show", ids[0])
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "# help\n")
	require.Contains(t, stdout, "## User\n\nhelp\n\n## Assistant\n\n")
	stdout, _, _ = run("show", "-json", ids[0])
	var shown struct {
		Session  sessions.Info  `json:"session"`
		Entities []*view.Entity `json:"entities"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &shown))
	require.Equal(t, ids[0], shown.Session.ID)
	require.Equal(t, "help", shown.Entities[0].Text())
	_, stderr, code = run("show", "none")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "none: no such session")

	stdout, _, code = run("export", "-dir", other)
	require.Equal(t, 0, code)
	copied := new(sessions.Memory)
	_, err := sessions.Import(t.Context(), copied, strings.NewReader(stdout), sessions.ImportOptions{})
	require.NoError(t, err)
	_, err = copied.Get(t.Context(), ids[1])
	require.NoError(t, err)
	_, err = copied.Get(t.Context(), ids[0])
	require.ErrorIs(t, err, sessions.ErrNotFound)
	file, moved := filepath.Join(t.TempDir(), "sessions.jsonl"), filepath.Join(t.TempDir(), "moved")
	require.NoError(t, os.WriteFile(file, []byte(stdout), 0o600))
	into := func() (stdout, stderr string, code int) {
		return ideagent(t, "sessions", "import", "-store", moved, file)
	}
	stdout, stderr, code = into()
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "Imported: 1\n", stdout)
	stdout, stderr, code = into()
	require.Equal(t, 1, code)
	require.Equal(t, "Imported: 0\n", stdout)
	require.Contains(t, stderr, ids[1]+": the session exists there already: remove it")
	stdout, _, _ = ideagent(t, "sessions", "show", "-store", moved, ids[1])
	require.Contains(t, stdout, "## User\n\nhelp\n\n## Assistant\n\n")
	stdout, _, _ = run("export", "-dir", t.TempDir())
	require.Empty(t, stdout)
	stdout, stderr, code = run("export", ids[0], "none")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "no such session")

	// What a turn is running in is not removed.
	for _, s := range opened {
		go func() { _, _ = s.Say(t.Context(), "wait 60 seconds") }()
		for c := s.Cursor(nil); ; {
			if last := s.Snapshot().Last(view.Message); last != nil && strings.Contains(last.Text(), "Waiting") {
				break
			}
			_, err := c.Update(t.Context())
			require.NoError(t, err)
		}
	}
	_, stderr, code = run("purge", ids[0])
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the session is in use (by ")
	stdout, stderr, code = run("purge", "-all")
	require.Equal(t, 1, code)
	require.Equal(t, "Removed: 0\n", stdout)
	require.Contains(t, stderr, "2 left: the session is in use: wait for the turns to end, or stop them")
	p.kill()
	stdout, _, code = run("purge", "-older", "1h")
	require.Equal(t, 0, code)
	require.Equal(t, "Removed: 0\n", stdout)
	stdout, _, code = run("purge", "-dir", work)
	require.Equal(t, 0, code)
	require.Equal(t, "Removed: 1\n", stdout)
	stdout, stderr, code = run("purge", ids[0], ids[1])
	require.Equal(t, 1, code, "one of them is unknown")
	require.Equal(t, "Removed: 1\n", stdout)
	require.Contains(t, stderr, ids[0]+": no such session")
	stdout, _, code = run("list")
	require.Equal(t, 0, code)
	require.Empty(t, stdout)
}

func TestSessionsCommandLine(t *testing.T) {
	for _, c := range []struct {
		args   []string
		stderr string
	}{
		{nil, "say what to do: list, show, export, import, salvage, purge or key"},
		{[]string{"import"}, "import: give one file, after the flags, or - for standard input"},
		{[]string{"lst"}, `unknown command "lst"; did you mean list?`},
		{[]string{"list", "x"}, `unknown argument "x"`},
		{[]string{"show"}, "give the id of one session"},
		{[]string{"show", "a", "b"}, "give the id of one session"},
		{[]string{"show", "-dir", "x", "a"}, "unknown flag -dir"},
		{[]string{"purge"}, "say which sessions"},
		{[]string{"purge", "-all", "a"}, "give ids, or flags"},
		{[]string{"purge", "-all", "-dir", "x"}, "leave out -all"},
		{[]string{"purge", "-older", "-1h"}, "must be positive"},
		{[]string{"export", "-dir", "x", "a"}, "give ids, or flags"},
	} {
		_, stderr, code := ideagent(t, append([]string{"sessions"}, c.args...)...)
		require.Equal(t, 2, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.stderr, "%v", c.args)
	}
	stdout, _, code := ideagent(t, "sessions", "-h")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "purge       Remove sessions for good")
}

func TestSessionsAreShownEscaped(t *testing.T) {
	at := t.TempDir()
	store, err := sqlitestore.Open(at, sqlitestore.Options{})
	require.NoError(t, err)
	info, err := store.Create(t.Context(), sessions.New{Title: "a\x1b[2J\nb", Dir: "/x\x1b]0;t\a"})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	for _, args := range [][]string{{"sessions", "list", "-store", at}, {"sessions", "show", "-store", at, info.ID}} {
		stdout, stderr, code := ideagent(t, args...)
		require.Equal(t, 0, code, stderr)
		require.NotContains(t, stdout, "\x1b")
		require.NotContains(t, stdout, "\a")
	}
}

func TestSessionsOfADamagedStore(t *testing.T) {
	at := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(at, "sessions.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600))
	_, stderr, code := ideagent(t, "sessions", "list", "-store", at)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the data is damaged")
}

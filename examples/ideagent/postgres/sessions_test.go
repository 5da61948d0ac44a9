// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/view"
)

// load opens a session. The server may take a moment to notice that the program which had it was killed.
func load(t *testing.T, p *process, id acp.SessionID, cwd string) *acpclient.Session {
	t.Helper()
	for {
		s, err := p.LoadSession(t.Context(), id, acpclient.SessionConfig{Cwd: cwd})
		if err != nil && strings.Contains(err.Error(), "a turn of the session is running in") && t.Context().Err() == nil {
			continue
		}
		require.NoError(t, err)
		return s
	}
}

// A session goes on whole on another machine, after its agent was killed in the middle of a turn. What /undo needs has stayed behind.
func TestKilledSessionGoesOnElsewhere(t *testing.T) {
	at, work := database(t), directory(t, "a.txt=one\n")
	here, there := newMachine(t, work), newMachine(t, work)
	first := here.start("-store", at)
	require.NoDirExists(t, filepath.Join(here.home, "state"), "nothing is made before it is needed")
	s, err := first.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Contains(t, say(t, s, "replace one with two in a.txt"), "Replaced")

	second := there.start("-store", at)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "replace two with three in a.txt, then wait 60 seconds, then read a.txt")
		ended <- err
	}()
	updates := s.Cursor(nil)
	var before []view.Entity
	for {
		before = shown(s.Snapshot())
		if last := before[len(before)-1]; last.Kind == view.Message && strings.Contains(last.Text(), "Waiting") {
			break
		}
		_, err := updates.Update(t.Context())
		require.NoError(t, err)
	}
	first.kill()
	require.Error(t, <-ended)
	recorded := before[:len(before)-1]

	loaded := load(t, second, s.ID(), work)
	after := shown(loaded.Snapshot())
	require.GreaterOrEqual(t, len(after), len(recorded))
	require.Equal(t, recorded, after[:len(recorded)], "the other machine shows the same")
	require.Contains(t, say(t, loaded, "read a.txt"), "three")
	require.Contains(t, say(t, loaded, "replace three with four in a.txt"), "Replaced")
	require.Contains(t, say(t, loaded, "/undo"), "Files taken back: a.txt")
	require.Equal(t, "three\n", text(t, work, "a.txt"))
	require.NotContains(t, say(t, loaded, "/undo"), "Files taken back", "the turn read a file")
	require.Contains(t, say(t, loaded, "/undo"), "Files stay as they are: their changes are not recorded here.")
	require.Equal(t, "three\n", text(t, work, "a.txt"))

	// The first machine still has what it needs for its own turn.
	require.NoError(t, loaded.Close(t.Context()))
	third := here.start("-store", at)
	loaded = load(t, third, s.ID(), work)
	require.Contains(t, say(t, loaded, "/undo"), "a.txt")
	kept, err := filepath.Glob(filepath.Join(here.home, "state", "ideagent", "databases", "*", "undo", string(s.ID())))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, loaded.Close(t.Context()))
	require.NoError(t, third.DeleteSession(t.Context(), s.ID()))
	require.NoDirExists(t, kept[0])
}

func TestSessionsCommandInPostgres(t *testing.T) {
	at, work := database(t), directory(t, "a.txt=one\n")
	m := newMachine(t, work)
	_, stderr, code := m.run("chat", "-model", "offline", "-yes", "-dir", work, "-store", at, "replace one with two in a.txt")
	require.Equal(t, 0, code, stderr)
	p := m.start("-store", at)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	say(t, s, "help")

	run := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		return m.run(append([]string{"sessions", args[0], "-store", at}, args[1:]...)...)
	}
	stdout, stderr, code := run("list", "-dir", work)
	require.Equal(t, 0, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 2, stdout)
	require.Contains(t, lines[0], "  help")
	require.NotContains(t, lines[0], "in use by", "no turn is running")
	id := strings.Fields(lines[1])[0]
	stdout, stderr, code = run("show", id)
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "# replace one with two in a.txt\n")
	require.Contains(t, stdout, "Replaced `one` with `two`")
	stdout, stderr, code = run("export", id)
	require.Equal(t, 0, code, stderr)
	copied := new(sessions.Memory)
	_, err = sessions.Import(t.Context(), copied, strings.NewReader(stdout), sessions.ImportOptions{})
	require.NoError(t, err)
	_, err = copied.Get(t.Context(), id)
	require.NoError(t, err)
	_, stderr, code = run("show", "none")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "none: no such session")

	kept, err := filepath.Glob(filepath.Join(m.home, "state", "ideagent", "databases", "*", "undo", id))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	stdout, stderr, code = run("purge", "-dir", work)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "Removed: 2\n", stdout, "no turn is running")
	require.NoDirExists(t, kept[0])
}

// While the server is away, new sessions are kept in memory and everything else fails with the reason. Neither needs a restart afterwards.
func TestServerThatCannotBeReached(t *testing.T) {
	work := directory(t)
	m := newMachine(t, work)
	p := m.start("-store", "postgres://ann:SECRET@127.0.0.1:1/sessions?sslmode=disable")
	for _, err := range p.Sessions(t.Context(), "") {
		require.ErrorContains(t, err, "the store cannot be reached")
		require.ErrorContains(t, err, "Try again when it is there.")
		require.NotContains(t, err.Error(), "SECRET")
		data, ok := errors.AsType[*acp.Error](err)
		require.True(t, ok)
		require.NotContains(t, string(data.Data), "SECRET")
	}
	_, err := p.LoadSession(t.Context(), "S", acpclient.SessionConfig{Cwd: work})
	require.ErrorContains(t, err, "the store cannot be reached")
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Contains(t, say(t, s, `create a.txt with "one"`), "Wrote `a.txt`")
	_, err = s.Say(t.Context(), `use search_conversations {"query": "one"}`)
	require.NotContains(t, fmt.Sprint(err), "SECRET")
	for e := range s.Snapshot().All() {
		require.NotContains(t, e.Text(), "SECRET")
	}
	require.Contains(t, p.stderr.String(), "ideagent: this session is kept in memory and ends with the connection: session: open: ")
	require.NotContains(t, p.stderr.String(), "SECRET")
	left, err := filepath.Glob(filepath.Join(m.home, "state", "ideagent", "databases", "*", "undo", "*"))
	require.NoError(t, err)
	require.Empty(t, left, "what ends with the connection leaves nothing")
	_, stderr, code := m.run("sessions", "list", "-store", "postgres://ann:SECRET@127.0.0.1:1/sessions?sslmode=disable")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the store cannot be reached")
	require.NotContains(t, stderr, "SECRET")
}

// The server ends while a session works, and is there again: the editor is told, and the session goes on.
func TestServerThatEndsIsWaitedFor(t *testing.T) {
	at, work := database(t), directory(t)
	p := newMachine(t, work).start("-store", at)
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	say(t, s, `create a.txt with "one"`)
	require.NoError(t, server.Kill())
	_, err = s.Say(t.Context(), "help")
	require.Error(t, err)
	require.NoError(t, server.Up())
	for {
		turn, err := s.Say(t.Context(), "read a.txt")
		if err == nil {
			require.Contains(t, turn.Text(), "one")
			break
		}
		require.NoError(t, t.Context().Err())
	}
	p.kill()
	again := newMachine(t, work).start("-store", at)
	require.Contains(t, say(t, load(t, again, s.ID(), work), "read a.txt"), "one")
}

func TestStartDoesNotWaitForTheDatabase(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("connections are refused at once")
	}
	p := newMachine(t, directory(t)).start("-store", "postgres://ann@127.0.0.1:1/sessions")
	require.NotNil(t, p.Agent().AgentInfo)
	require.Empty(t, strings.ReplaceAll(p.stderr.String(), "ideagent: model offline (a demo model: a few rules and no intelligence): -model says so\n", ""))
}

// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	_ "github.com/ponte-go/ponte/app/evals"
	"github.com/ponte-go/ponte/app/internal/sealing"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// helped makes a session in which a file was changed, and returns the id of its turn.
func helped(t *testing.T, store sessions.Store, beside string, ring *sessions.Keyring) string {
	_, err := store.Create(t.Context(), sessions.New{ID: "s", Title: "Help me"})
	require.NoError(t, err)
	w, err := sessions.Open(t.Context(), store, "s", sessions.Claim{})
	require.NoError(t, err)
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	turn, err := c.Begin(t.Context(), model.User("help correct-horse-battery"))
	require.NoError(t, err)
	space, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}})
	require.NoError(t, err)
	require.NoError(t, space.Disk().WriteFile("/repo/a.txt", []byte("before"), 0o644))
	changes, err := checkpoint.Keep(space, beside, checkpoint.Options{Cipher: sealing.With(ring)})
	require.NoError(t, err)
	checkpoint.NewTurns(changes).Mark(turn.ID(), "help")
	_, err = changes.Write(t.Context(), "/repo/a.txt", []byte("after"), workspace.AnyVersion)
	require.NoError(t, err)
	a := agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Here."))}))
	res, err := a.Run(t.Context(), nil, "help correct-horse-battery", turn.Options()...)
	require.NoError(t, transcript.End(t.Context(), turn, res, err))
	require.NoError(t, w.Close(t.Context()))
	return turn.ID()
}

// was returns what the file of that session was, by its test in a directory.
func was(t *testing.T, out string) string {
	r, err := replay.Load(filepath.Join(out, "testdata", "help-me.json"))
	require.NoError(t, err)
	require.Equal(t, "help ‹secret 1: known›", r.Turns[0].Prompt[0].Text)
	files, err := r.Stage(0).Workspace()
	require.NoError(t, err)
	held, err := files.Disk().ReadFile("/repo/a.txt")
	require.NoError(t, err)
	return string(held)
}

// An encrypted session is exported with its files.
func TestEncryptedSessionsAreExportedAsTests(t *testing.T) {
	t.Setenv("SHOP_API_KEY", "correct-horse-battery")
	links(t, encryption())
	at, key, out, ring := filepath.Join(t.TempDir(), "sessions"), filepath.Join(t.TempDir(), "key"), t.TempDir(), ringOf(t, "one")
	require.NoError(t, os.WriteFile(key, []byte(ring.Reveal()), 0o600))
	inner, err := sqlitestore.Open(at, sqlitestore.Options{})
	require.NoError(t, err)
	store, err := sessions.Encrypted(inner, ring)
	require.NoError(t, err)
	helped(t, store, besideDir(at, "s"), &ring)
	require.NoError(t, inner.Close())
	var said strings.Builder
	code := Run(t.Context(), Config[any, string]{
		Name: "tool", Agent: silentAgent(), Surfaces: []Surface{surface("x")},
	}, Process{Args: []string{"sessions", "export", "-as", "test", "-out", out, "-store", at, "-encrypt", key, "s"}, Out: &said, Err: &said})
	require.Equal(t, 0, code, said.String())
	require.Equal(t, "before", was(t, out))
}

// TestSessionsAreExportedAsTests exports a session in which a file was changed.
func TestSessionsAreExportedAsTests(t *testing.T) {
	t.Setenv("SHOP_API_KEY", "correct-horse-battery")
	store, at, out := new(sessions.Memory), t.TempDir(), t.TempDir()
	turn := helped(t, store, besideDir(at, "s"), nil)

	var said strings.Builder
	f := &sessionsFlags{as: "test", out: out, pkg: "x_test", setup: "setup", ids: []string{"s"}, at: at}
	require.NoError(t, f.check("export"))
	require.NoError(t, exportSessions(t.Context(), store, &said, f))
	require.Contains(t, said.String(), "Left out: what looks like secrets (known: 1).")
	source, err := os.ReadFile(filepath.Join(out, "help-me_test.go"))
	require.NoError(t, err)
	require.Contains(t, string(source), "package x_test")
	data, err := os.ReadFile(filepath.Join(out, "testdata", "help-me.json"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "correct-horse")
	require.Equal(t, "before", was(t, out))
	require.ErrorContains(t, exportSessions(t.Context(), store, &said, f), "write to another directory with -out")

	said.Reset()
	f = &sessionsFlags{as: "case", ids: []string{"s"}}
	require.NoError(t, exportSessions(t.Context(), store, &said, f))
	d, err := evals.Parse[string, string]([]byte(said.String()), evals.FileOptions{})
	require.NoError(t, err)
	require.Equal(t, "help ‹secret 1: known›", d.Cases[0].Input)
	f.ids = []string{"none"}
	require.ErrorIs(t, exportSessions(t.Context(), store, &said, f), sessions.ErrNotFound)
	require.ErrorContains(t, (&sessionsFlags{as: "song", ids: f.ids}).check("export"), "must be test or case")
	require.ErrorContains(t, (&sessionsFlags{as: "test"}).check("export"), "give the id of one session")

	require.NoError(t, online.Mark(t.Context(), store, "s", turn, "ann", true, ""))
	said.Reset()
	require.NoError(t, listSessions(t.Context(), store, &said, &sessionsFlags{}))
	require.Contains(t, said.String(), "scores: people 1 (1)")
}

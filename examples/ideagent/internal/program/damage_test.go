// SPDX-License-Identifier: Apache-2.0

package program

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/app/offline"
)

// requireStoreError asserts that an answer says that the store failed, in which words, and what to do.
func requireStoreError(t *testing.T, err error, parts ...string) {
	t.Helper()
	var answer *acp.Error
	require.ErrorAs(t, err, &answer)
	data, _ := json.Marshal(answer.Data)
	require.Contains(t, string(data), `"kind":"store"`, answer.Message)
	for _, part := range parts {
		require.Contains(t, answer.Message, part)
	}
}

// saved is the directory of a store with a session for each prompt.
func saved(t *testing.T, work string, prompts ...string) (at string, ids []acp.SessionID) {
	t.Helper()
	at = filepath.Join(t.TempDir(), "sessions")
	p := startAgent(t, work, "-store", at)
	for _, prompt := range prompts {
		s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
		require.NoError(t, err)
		_, err = s.Say(t.Context(), prompt)
		require.NoError(t, err)
		ids = append(ids, s.ID())
	}
	p.kill()
	store, err := sqlitestore.Open(at, sqlitestore.Options{})
	require.NoError(t, err)
	require.NoError(t, store.Compact(t.Context())) // so that all is in one file
	require.NoError(t, store.Close())
	return at, ids
}

// mustWork has the agent do something in a session.
func mustWork(t *testing.T, s *acpclient.Session) {
	t.Helper()
	turn, err := s.Say(t.Context(), "help")
	require.NoError(t, err)
	require.EqualValues(t, "end_turn", turn.StopReason)
}

func TestFlippedBitHarmsOneSession(t *testing.T) {
	work := workDir(t)
	at, ids := saved(t, work, "read first.txt", "read second.txt")
	file := filepath.Join(at, "sessions.db")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	i := bytes.Index(data, []byte(`"text":"read first.txt"`))
	require.Positive(t, i)
	data[i+12] ^= 1
	require.NoError(t, os.WriteFile(file, data, 0o600))

	p := startAgent(t, work, "-store", at)
	listed := 0
	for _, err := range p.Sessions(t.Context(), work) {
		require.NoError(t, err)
		listed++
	}
	require.Equal(t, 2, listed)
	_, err = p.LoadSession(t.Context(), ids[0], acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be loaded: ", ": entry ", "the data is damaged", "Export the readable part")
	_, err = p.ResumeSession(t.Context(), ids[0], acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be resumed: ")
	s, err := p.LoadSession(t.Context(), ids[1], acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err, "the others are there")
	require.Contains(t, shown(s.Snapshot())[0].Text(), "read second.txt")
	mustWork(t, s)
}

func TestDamagedSessionIsShownAndSalvaged(t *testing.T) {
	work := workDir(t)
	at, ids := saved(t, work, "help", "help")
	store, err := sqlitestore.Open(at, sqlitestore.Options{})
	require.NoError(t, err)
	w, err := sessions.Open(t.Context(), store, string(ids[0]), sessions.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), sessions.Entry{Kind: sessions.KindEnd, Run: "r", Data: []byte(`{"v":1,"keep":100}`)}) // nothing has so much
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Close(t.Context()), store.Close()))

	stdout, stderr, code := ideagent(t, "sessions", "show", "-store", at, string(ids[0]))
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "## User\n\nhelp\n", "what is before the damage")
	require.Contains(t, stderr, "the data is damaged")
	require.Contains(t, stderr, "it can be kept as a fork")
	stdout, stderr, code = ideagent(t, "sessions", "salvage", "-store", at, string(ids[0]))
	require.Equal(t, 0, code, stderr)
	id, _, _ := strings.Cut(stdout, " ")
	_, stderr, code = ideagent(t, "sessions", "salvage", "-store", at, string(ids[1]))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the session is not damaged")
	p := startAgent(t, work, "-store", at)
	s, err := p.LoadSession(t.Context(), acp.SessionID(id), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	require.Contains(t, shown(s.Snapshot())[0].Text(), "help")
	mustWork(t, s)
}

func TestTruncatedDatabaseIsLeftAlone(t *testing.T) {
	work := workDir(t)
	at, ids := saved(t, work, "help")
	require.NoError(t, os.Truncate(filepath.Join(at, "sessions.db"), 1000))
	p := startAgent(t, work, "-store", at)
	for _, err := range p.Sessions(t.Context(), work) {
		requireStoreError(t, err, "the sessions cannot be listed: ", "the data is damaged", at)
	}
	_, err := p.LoadSession(t.Context(), ids[0], acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be loaded: ", at)
	requireStoreError(t, p.DeleteSession(t.Context(), ids[0]), "the session cannot be deleted: ")
	s, err := p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)
	mustWork(t, s)
	require.Contains(t, p.stderr.String(), "this session is kept in memory")
	info, err := os.Stat(filepath.Join(at, "sessions.db"))
	require.NoError(t, err)
	require.EqualValues(t, 1000, info.Size(), "what is left of it is left")
}

// A prompt waits for the end of the lock, and what a person can try again by hand is refused.
func TestPromptsWaitForALockedDatabase(t *testing.T) {
	work := workDir(t)
	at, ids := saved(t, work, "help")
	store, err := sqlitestore.Open(at, sqlitestore.Options{Busy: time.Millisecond})
	require.NoError(t, err)
	defer store.Close()
	toAgent, fromClient := acp.Pipe()
	toClient, fromAgent := acp.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve(offline.New(offline.Config{}), store)(t.Context(), toAgent, fromAgent) }()
	p, err := acpclient.Connect(t.Context(), toClient, fromClient, acpclient.Config{})
	require.NoError(t, err)
	s, err := p.LoadSession(t.Context(), ids[0], acpclient.SessionConfig{Cwd: work})
	require.NoError(t, err)

	db, err := sql.Open("sqlite", filepath.Join(at, "sessions.db"))
	require.NoError(t, err)
	defer db.Close()
	lock, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	said := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "help")
		said <- err
	}()
	_, err = p.NewSession(t.Context(), acpclient.SessionConfig{Cwd: work})
	requireStoreError(t, err, "the session cannot be made: ", "the store is busy", "Try again")
	for _, err := range p.Sessions(t.Context(), work) {
		require.NoError(t, err, "reading goes on")
	}
	require.Empty(t, said)
	_, err = lock.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, errors.Join(err, lock.Close()))
	require.NoError(t, <-said)
	mustWork(t, s)
	require.NoError(t, p.Close())
	require.NoError(t, <-served)
}

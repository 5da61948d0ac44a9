// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// TestAProgramThatCannotEncryptRefusesTo has programs that do not link package encryption asked for
// it in every way. This test must not link it either.
func TestAProgramThatCannotEncryptRefusesTo(t *testing.T) {
	state, config := t.TempDir(), filepath.Join(t.TempDir(), "config.json")
	at := filepath.Join(state, "tool", "sessions")
	begin := func(e *Env) *cobra.Command {
		return &cobra.Command{Use: "begin", RunE: func(c *cobra.Command, _ []string) error {
			h, err := e.Open(c.Context())
			if err == nil {
				_, err = h.Store().Create(c.Context(), sessions.New{Title: "planted"})
			}
			return err
		}}
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		code := Run(t.Context(), Config[any, string]{
			Name: "tool", Commands: []func(*Env) *cobra.Command{begin},
			Agent: agent.Must(agent.New(agent.Config[any, string]{Model: modeltest.Script(modeltest.SayText("Hello."))})),
		}, Process{Args: append(args, "-config", config), Out: &said, Err: &said, Getenv: env("XDG_STATE_HOME", state)})
		require.Equal(t, want, code, said.String())
		return said.String()
	}
	write := func(text string) { require.NoError(t, os.WriteFile(config, []byte(text), 0o600)) }
	const source = "its source has to import github.com/ponte-go/ponte/app/encryption"

	write(`{"encrypt": "env:KEY"}`)
	require.Contains(t, run(1, "begin"), "config.json:1:13: encrypt: this program cannot encrypt sessions: "+source)
	require.NoDirExists(t, at)
	write(`{}`)
	require.Contains(t, run(2, "begin", "-encrypt", "env:KEY"), "-encrypt: this program cannot encrypt sessions: "+source)
	require.NoDirExists(t, at)
	run(0, "begin")
	require.Contains(t, run(0, "sessions", "list"), "planted")
	require.Contains(t, run(1, "sessions", "list", "-encrypt", "env:KEY"), source)
	write(`{"encrypt": "env:KEY"}`)
	require.Contains(t, run(1, "sessions", "list"), source)
	said := run(1, "doctor", "-no-request")
	require.Equal(t, 2, strings.Count(said, source), "the configuration and the store are wrong: %s", said)
	require.Contains(t, said, "use a program that can, or name another place with -store")

	write(`{}`)
	require.NotContains(t, run(0, "-h"), "encrypt")
	require.NotContains(t, run(0, "sessions", "-h"), "key")
	require.Contains(t, run(2, "sessions", "key"), `unknown command "key"`)

	ring, err := sessions.Keyring{}.Rotated("one")
	require.NoError(t, err)
	inner, err := sqlitestore.Open(filepath.Join(state, "sealed"), sqlitestore.Options{})
	require.NoError(t, err)
	store, err := sessions.Encrypted(inner, ring)
	require.NoError(t, err)
	_, err = store.Create(t.Context(), sessions.New{Title: "planted"})
	require.NoError(t, err)
	require.NoError(t, inner.Close())
	sealed := []string{"-store", filepath.Join(state, "sealed")}
	said = run(1, append(sealed, "sessions", "list")...)
	require.Contains(t, said, "the sessions there are encrypted: this program cannot encrypt sessions: "+source)
	require.Contains(t, run(0, append(sealed, "begin")...), "this session is kept in memory and ends with the connection: the sessions there are encrypted")
}

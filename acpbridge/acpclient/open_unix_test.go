// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpclient_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// usersFile writes the user's file with an agent "mine", which is this test binary. It may do what process_unix_test.go has.
func usersFile(t *testing.T, does string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, dir)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	quoted, err := json.Marshal([]string{self, does})
	require.NoError(t, err)
	var words []json.RawMessage
	require.NoError(t, json.Unmarshal(quoted, &words))
	name, err := acpclient.RegistryFile()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(`{"agents":[{"id":"mine","name":"Mine","version":"1.0.0","description":"Mine.","distribution":{"command":
		{"path":`+string(words[0])+`,"args":["agent",`+string(words[1])+`],"env":{"MINE_API_KEY":"secret-of-mine"}}}}]}`), 0o600))
}

func TestOpenStartsAnAgentByName(t *testing.T) {
	usersFile(t, "works")
	c, err := acpclient.Open(t.Context(), "mine", acpclient.Config{})
	require.NoError(t, err)
	defer c.Close()
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonEndTurn, turn.StopReason)
}

// The variables of an entry are secrets like any others.
func TestOpenKeepsSecretsOfTheFileOutOfErrors(t *testing.T) {
	usersFile(t, "tells its key")
	_, err := acpclient.Open(t.Context(), "mine", acpclient.Config{})
	require.ErrorContains(t, err, "[secret]")
	require.NotContains(t, err.Error(), "secret-of-mine")
}

func TestOpenDownloadsNothing(t *testing.T) {
	usersFile(t, "works")
	_, err := acpclient.Open(t.Context(), "claude-code", acpclient.Config{})
	var missing *acpclient.NotInstalledError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "npm install --prefix "+missing.Dir)
	require.NoDirExists(t, filepath.Dir(missing.Dir))
	_, err = acpclient.Open(t.Context(), "claude-cod", acpclient.Config{})
	require.ErrorContains(t, err, "did you mean claude-acp?")
}

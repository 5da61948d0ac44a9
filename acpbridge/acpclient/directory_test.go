// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// TestSessionsKnowTheirDirectoryAndWorkspace has sessions with their own, with those of the client, and without.
func TestSessionsKnowTheirDirectoryAndWorkspace(t *testing.T) {
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	ofClient, own := newWorkspace(t, nil), newWorkspace(t, nil)
	for _, c := range []struct {
		client workspace.Workspace
		config acpclient.SessionConfig
		cwd    string
		served workspace.Workspace
	}{
		{nil, acpclient.SessionConfig{}, here, nil},
		{nil, acpclient.SessionConfig{Cwd: "sub"}, filepath.Join(here, "sub"), nil},
		{nil, acpclient.SessionConfig{Cwd: `C:\repo`}, `C:\repo`, nil},
		{nil, acpclient.SessionConfig{Workspace: own}, "/repo", own},
		{ofClient, acpclient.SessionConfig{}, "/repo", ofClient},
		{ofClient, acpclient.SessionConfig{Cwd: "/repo/sub", Workspace: own}, "/repo/sub", own},
	} {
		client, err := connect(t, acpclient.Config{Workspace: c.client}, func(a *raw) { a.open(); a.wait() })
		require.NoError(t, err)
		s, err := client.NewSession(t.Context(), c.config)
		require.NoError(t, err)
		require.Equal(t, c.cwd, s.Cwd())
		require.True(t, s.Workspace() == c.served, "%v", c)
		require.Same(t, client, s.Client())
		require.Equal(t, "s", string(s.ID()))
	}
}

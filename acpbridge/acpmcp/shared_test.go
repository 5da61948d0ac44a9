// SPDX-License-Identifier: Apache-2.0

//go:build unix

package acpmcp_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpmcp"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// offered returns the names of the tools of a run of a session.
func offered(t *testing.T, s *acpmcp.Servers, of *deps.Session) (names []string) {
	t.Helper()
	m := modeltest.Script(modeltest.SayText("Hi."))
	a := agent.Must(agent.New(agent.Config[deps.ACPDeps, string]{
		Model: m, Toolsets: []toolset.Toolset[deps.ACPDeps]{acpmcp.Toolset(s, mcptoolset.Options[deps.ACPDeps]{})},
	}))
	_, err := a.Run(t.Context(), deps.ACPDeps{Session: of}, "hi")
	require.NoError(t, err)
	for _, tool := range m.Requests()[0].Tools {
		names = append(names, tool.Name)
	}
	return names
}

// Two editors have a session open and name servers. It has those of both, each of them once, until the last one has left it.
func TestSessionsOfSeveralHaveTheServersOfAll(t *testing.T) {
	s := acpmcp.New(acpmcp.Config{Base: patient, Servers: []mcptoolset.ServerConfig{{
		Name: "own", Transport: mcptoolset.Command{Path: os.Args[0], Env: []string{"ACPMCP_TEST_MODE=serve"}},
	}}})
	first, second := &deps.Session{ID: "s", Cwd: t.TempDir()}, &deps.Session{ID: "s", Cwd: t.TempDir()}
	one := []string{"a_die", "a_echo", "own_die", "own_echo"}
	s.Open(first, []acp.MCPServer{stdio("a", "serve")})
	require.Equal(t, one, offered(t, s, first))
	s.Open(second, []acp.MCPServer{stdio("a", "serve"), stdio("own", "serve"), stdio("b", "serve")})
	all := append(one, "own_2_die", "own_2_echo", "b_die", "b_echo")
	require.Equal(t, all, offered(t, s, second))
	require.Equal(t, all, offered(t, s, first))
	s.Close("s")
	require.Equal(t, all, offered(t, s, first))
	s.Open(second, []acp.MCPServer{stdio("b", "serve")})
	s.Close("s")
	require.Equal(t, all, offered(t, s, first))
	s.Close("s")
	require.Empty(t, offered(t, s, first))
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package coding

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// The terminals of a session that is continued have other ids than those before, also behind what
// records changes.
func TestTerminalsOfAContinuedSessionHaveOtherIDs(t *testing.T) {
	store, dir := new(session.Memory), t.TempDir()
	terminal := func(id string) (string, string) {
		k, _ := kit(t, `{"sandbox": false}`)
		m := modeltest.Script(
			modeltest.Say(model.ToolCall("1", "run_command", `{"command":"sleep 1000","background":true}`)),
			modeltest.SayText("done"),
		)
		tools := acpbridge.Toolset[Deps](acpbridge.WithPermissions(acpbridge.AllowAll))
		a, err := agent.New(agent.Config[Deps, string]{Model: m, Toolsets: []toolset.Toolset[Deps]{tools}})
		require.NoError(t, err)
		h, err := host.New(host.Config[Deps, string]{
			Agent: a, Store: store, Logger: slog.New(slog.DiscardHandler),
			Deps: func(ctx context.Context, s *host.Session) (Deps, error) { return k.Deps(ctx, s, host.Local) },
		})
		require.NoError(t, err)
		defer h.Close(t.Context())
		s, err := h.Open(t.Context(), id, nil)
		if id == "" {
			s, err = h.Create(t.Context(), session.New{Dir: dir}, nil)
		}
		require.NoError(t, err)
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		all := s.Deps().(Deps).Workspace.Terminals()
		require.Len(t, all, 1)
		return s.ID(), all[0].ID
	}
	id, first := terminal("")
	_, second := terminal(id)
	require.Equal(t, "terminal-1", first)
	require.NotEqual(t, first, second)
}

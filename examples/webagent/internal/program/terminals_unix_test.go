// SPDX-License-Identifier: Apache-2.0

//go:build unix

package program

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The terminals of a session that is continued have other ids than those before.
func TestTerminalsOfAContinuedSessionHaveOtherIDs(t *testing.T) {
	store, dir := new(session.Memory), t.TempDir()
	terminal := func(id string) (string, string) {
		m := modeltest.Script(
			modeltest.Say(model.ToolCall("1", "run_command", `{"command":"sleep 1000","background":true}`)),
			modeltest.SayText("done"),
		)
		a, err := agent.New(agent.Config[deps, string]{Model: m, Toolsets: []toolset.Toolset[deps]{
			workspace.Tools(func(d deps) *workspace.Session { return d.work }),
		}})
		require.NoError(t, err)
		of := Config()
		c := of.Host
		c.Agent, c.Store, c.Logger = a, store, slog.New(slog.DiscardHandler)
		c.Deps = func(ctx context.Context, s *host.Session) (deps, error) { return of.Deps(ctx, s, host.Local) }
		h, err := host.New(c)
		require.NoError(t, err)
		defer h.Close(t.Context())
		s, err := h.Open(t.Context(), id, nil)
		if id == "" {
			s, err = h.Create(t.Context(), session.New{Dir: dir}, nil)
		}
		require.NoError(t, err)
		yes := func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Decision{Verdict: toolset.VerdictAllow, By: "user"}, nil
		}
		o, err := s.Prompt(t.Context(), host.Prompt{
			Parts: []model.Part{model.User("go")}, Asker: toolset.AskerFuncs{OnApprove: yes},
		})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		all := s.Deps().(deps).work.Terminals()
		require.Len(t, all, 1)
		return s.ID(), all[0].ID
	}
	id, first := terminal("")
	_, second := terminal(id)
	require.Equal(t, "terminal-1", first)
	require.NotEqual(t, first, second)
}

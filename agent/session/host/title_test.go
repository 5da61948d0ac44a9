// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

func TestTitleFromAnotherProgramStays(t *testing.T) {
	store := new(session.Memory)
	open := func() *host.Host {
		h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
		return h
	}
	s, err := open().Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	require.NoError(t, open().SetTitle(t.Context(), "s", "My title"))
	_, err = s.Prompt(t.Context(), say("hello"))
	require.NoError(t, err)
	info, err := store.Get(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, "My title", info.Title)
}

func TestArchivedSessionIsClosedAndKept(t *testing.T) {
	store := new(session.Memory)
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	require.NoError(t, h.SetArchived(t.Context(), "s", true))
	_, err = s.Admit(t.Context())
	require.ErrorIs(t, err, host.ErrClosed)
	info, err := store.Get(t.Context(), "s")
	require.NoError(t, err)
	require.True(t, host.Archived(&info))
	require.NoError(t, h.SetArchived(t.Context(), "s", false))
	info, err = store.Get(t.Context(), "s")
	require.NoError(t, err)
	require.False(t, host.Archived(&info))
	require.ErrorIs(t, h.SetArchived(t.Context(), "unknown", true), session.ErrNotFound)
	require.NoError(t, h.Close(t.Context()))
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

// driven is a client of package acpclient for the agent of an editor that does not read.
func driven(t *testing.T, e *editor) *acpclient.Client {
	t.Helper()
	c, err := acpclient.Connect(t.Context(), e.r, e.w, acpclient.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestClientForksSessions(t *testing.T) {
	c := driven(t, connect(t, unstableConfig(t, newStore(), echo())))
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	_, err = s.Say(t.Context(), "a")
	require.NoError(t, err)
	fork, err := c.ForkSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	require.NotEqual(t, s.ID(), fork.ID())
	turn, err := fork.Say(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, "(a|(a)|b)", turn.Text(), "it knows what was said")
	turn, err = s.Say(t.Context(), "c")
	require.NoError(t, err)
	require.Equal(t, "(a|(a)|c)", turn.Text(), "the first one has not changed")
	_, err = c.ForkSession(t.Context(), "unknown", acpclient.SessionConfig{Cwd: "/repo"})
	require.Error(t, err)
	require.Empty(t, c.Problems())
}

func TestClientSteersTheTurn(t *testing.T) {
	hold, called, release := holding()
	c := driven(t, connect(t, config(t, heldOnce(), hold)))
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.NoError(t, err)
	passed, err := s.Steer(t.Context(), acp.TextBlock("too early"))
	require.NoError(t, err)
	require.False(t, passed, "there is no turn")

	type ended struct {
		turn *acpclient.Turn
		err  error
	}
	end := make(chan ended, 1)
	go func() {
		turn, err := s.Say(t.Context(), "a")
		end <- ended{turn, err}
	}()
	<-called
	passed, err = s.Steer(t.Context(), acp.TextBlock("b"))
	require.NoError(t, err)
	require.True(t, passed)
	close(release)
	e := <-end
	require.NoError(t, e.err)
	require.Equal(t, "(a|b)", e.turn.Text())
	var said []string
	for m := range e.turn.Snapshot.Of(view.Message) {
		said = append(said, string(m.Role)+" "+m.Text())
	}
	require.Equal(t, []string{"user a", "user b", "assistant (a|b)"}, said)
	passed, err = s.Steer(t.Context(), acp.TextBlock("too late"))
	require.NoError(t, err)
	require.False(t, passed)
	require.NoError(t, c.Close())
	_, err = s.Steer(t.Context(), acp.TextBlock("gone"))
	require.ErrorIs(t, err, acpclient.ErrClosed)
}

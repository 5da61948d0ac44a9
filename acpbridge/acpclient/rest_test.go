// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// A message without a turn is a prompt: none is passed on before one begins, and a session that has
// been closed takes none.
func TestMessagesWithoutATurn(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.answer(a.await("initialize"), steeringHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		if m := a.next(); m.Method != "" {
			t.Errorf("the client has sent %s", m.Method)
		}
	})
	passed, err := s.Steer(t.Context(), acp.TextBlock("more"))
	require.NoError(t, err)
	require.False(t, passed)
	require.NoError(t, s.Cancel(t.Context()), "there is nothing to cancel")
	require.NoError(t, s.Close(t.Context()))
	passed, err = s.Steer(t.Context(), acp.TextBlock("more"))
	require.EqualError(t, err, "acpclient: closed: the session")
	require.ErrorIs(t, err, acpclient.ErrClosed)
	require.False(t, passed)
	require.NoError(t, s.Client().Close())
	_, err = s.Steer(t.Context(), acp.TextBlock("more"))
	require.EqualError(t, err, "acpclient: closed: connection")
	_, err = s.Say(t.Context(), "x")
	require.EqualError(t, err, "acpclient: closed: connection")
	_, err = s.Client().NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/repo"})
	require.ErrorIs(t, err, acpclient.ErrClosed)
}

// Sessions that are listed come page after page, until nobody wants more.
func TestListsOfSessionsEndWhenNobodyWantsMore(t *testing.T) {
	asked := 0
	c, err := connect(t, acpclient.Config{}, func(a *raw) {
		a.hello(`{"loadSession":true,"sessionCapabilities":{"list":{},"resume":{}}}`)
		for {
			m := a.next()
			if m.Method == "" {
				return
			}
			asked++
			if string(m.Params) == `{}` {
				a.answer(m, `{"sessions":[{"sessionId":"a","cwd":"/"},{"sessionId":"b","cwd":"/"}],"nextCursor":"n"}`)
			} else {
				a.answer(m, `{"sessions":[{"sessionId":"c","cwd":"/"}],"nextCursor":""}`)
			}
		}
	})
	require.NoError(t, err)
	list := func(most int) (all []acp.SessionID) {
		for info, err := range c.Sessions(t.Context(), "") {
			require.NoError(t, err)
			if all = append(all, info.SessionID); len(all) == most {
				break
			}
		}
		return all
	}
	require.Equal(t, []acp.SessionID{"a"}, list(1))
	require.Equal(t, []acp.SessionID{"a", "b"}, list(2))
	require.Equal(t, 2, asked, "the next page is not asked for")
	require.Equal(t, []acp.SessionID{"a", "b", "c"}, list(9))
	require.Equal(t, 4, asked)
	refused := acpclient.SessionConfig{AdditionalDirectories: []string{"/x"}}
	_, err = c.LoadSession(t.Context(), "a", refused)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = c.ResumeSession(t.Context(), "a", refused)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, c.Close())
	_, err = c.ResumeSession(t.Context(), "a", acpclient.SessionConfig{})
	require.EqualError(t, err, "acpclient: closed: session/resume")
	_, err = c.LoadSession(t.Context(), "a", acpclient.SessionConfig{})
	require.EqualError(t, err, "acpclient: closed: session/load")
	require.Equal(t, 4, asked)
}

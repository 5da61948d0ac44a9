// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
)

// Sessions are listed by their directory, however it is written. No directory is every one.
func TestSessionsAreListedByDirectory(t *testing.T) {
	e, repo := start(t, stored(t, newStore(), echo()))
	requireStop(t, acp.StopReasonEndTurn, e.prompt(repo, "one"))
	other := acp.SessionID("")
	answer := e.call(acp.MethodNewSession, `{"cwd":"/other","mcpServers":[]}`)
	_, err := fmt.Sscanf(string(answer.Result), `{"sessionId":%q`, &other)
	require.NoError(t, err, answer.Text)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(other, "two"))
	for params, want := range map[string][]acp.SessionID{
		`{}`: {repo, other}, `{"cwd":""}`: {repo, other}, `{"cwd":null}`: {repo, other},
		`{"cwd":"/repo"}`: {repo}, `{"cwd":"/repo/"}`: {repo}, `{"cwd":"/repo/../other"}`: {other},
		`{"cwd":"/none"}`: nil,
	} {
		ids, _ := e.list(params)
		require.ElementsMatch(t, want, ids, params)
	}
	require.NoError(t, e.stop())
}

// A session that is being made while the client ends its side is not begun any more.
func TestNoSessionBeginsWhileServeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlow()
		c := stored(t, newStore(), echo())
		c.Deps = func(_ context.Context, d deps.ACPDeps) (bare, error) {
			s.enter()
			return d, nil
		}
		e := serve(t, c)
		e.initialize(`{}`)
		s.busy.Store(true)
		n := e.send(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`)
		<-s.entered
		require.NoError(t, e.w.Close())
		synctest.Wait()
		s.release <- struct{}{}
		answer := e.answer(n)
		requireError(t, acp.CodeRequestCancelled, acpbridge.KindShutdown, answer)
		require.Equal(t, "the agent is shutting down", answer.Error.Message)
		require.NoError(t, e.result())
	})
}

// A setting that cannot be stored is answered with why, and stays as it was.
func TestSettingsThatCannotBeStored(t *testing.T) {
	var fail atomic.Value
	c := stored(t, lasting{partlyBroken{new(session.Memory), &fail}}, echo())
	c.Host.Modes = host.Modes()
	e, id := start(t, c)
	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "one"))
	fail.Store("update")
	answer := e.about(acp.MethodSetSessionMode, id, `,"modeId":"code"`)
	requireError(t, acp.CodeInternal, acpbridge.KindStore, answer)
	require.Contains(t, answer.Error.Message, "the setting cannot be changed: ")
	fail.Store("")
	answer = e.about(acp.MethodSetSessionMode, id, `,"modeId":"none"`)
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, answer)
	require.Nil(t, e.about(acp.MethodSetSessionMode, id, `,"modeId":"code"`).Error)
	require.NoError(t, e.stop())
}

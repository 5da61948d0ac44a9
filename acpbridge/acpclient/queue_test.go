// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

const (
	turnsHello = `{"protocolVersion":1,"agentInfo":{"name":"raw","version":"1"},"agentCapabilities":{},"_meta":{"ponte-go.dev/turns":true}}`
	turnBegins = `{"sessionUpdate":"session_info_update","_meta":{"ponte-go.dev/turn":{}}}`
)

func turnEnds(how string) string {
	return `{"sessionUpdate":"session_info_update","_meta":{"ponte-go.dev/turn":{"ended":true,` + how + `}}}`
}

// Turns that the agent begins are told from their beginning to their end, and are cancelled like others.
func TestTurnsThatTheAgentBegins(t *testing.T) {
	s := begin(t, acpclient.Config{Turns: true}, func(a *raw) {
		hello := a.await("initialize")
		require.Contains(t, string(hello.Params), `"ponte-go.dev/turns":true`)
		a.answer(hello, turnsHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		m := a.await("_ponte-go.dev/queue")
		require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"one"}]}`, string(m.Params))
		a.update(turnBegins)
		a.answer(m, `{}`)
		a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"ONE"}}`)
		a.say("first")
		a.await("session/cancel")
		a.update(turnEnds(`"stopReason":"cancelled"`))
		a.fail(a.await("_ponte-go.dev/queue"), `{"code":-32602,"message":"no"}`)
		a.update(turnBegins)
		a.say("second")
		a.update(turnEnds(`"code":-32000,"message":"log in"`))
		a.answer(a.await("_ponte-go.dev/queue"), `{}`)
		a.update(turnBegins)
		a.wait() // it ends in the turn
	})
	require.True(t, s.Client().Queues())
	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("one")))
	wait, err := s.Begun(t.Context())
	require.NoError(t, err)
	for s.Snapshot().Get("message-2") == nil { // what it says
		_, err := s.Cursor(s.Snapshot()).Update(t.Context())
		require.NoError(t, err)
	}
	_, err = s.Say(t.Context(), "busy")
	require.ErrorIs(t, err, acpclient.ErrBusy)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = wait(over)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Cancel(t.Context()))
	turn, err := wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, acp.StopReasonCancelled, turn.StopReason)
	require.Equal(t, "first", turn.Text())
	require.Equal(t, view.Stopped, turn.Snapshot.Get(turn.Messages[0]).Status)
	var users []string
	for m := range s.Snapshot().Of(view.Message) {
		if m.Role == view.User {
			users = append(users, m.Text())
		}
	}
	require.Equal(t, []string{"ONE"}, users, "the agent says what the prompt is")

	require.ErrorContains(t, s.Queue(t.Context(), acp.TextBlock("two")), "no")
	wait, err = s.Begun(t.Context())
	require.NoError(t, err)
	_, err = wait(t.Context())
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.Empty(t, s.Client().Problems())

	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("three")))
	wait, err = s.Begun(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Client().Close())
	_, err = wait(t.Context())
	require.ErrorIs(t, err, acpclient.ErrClosed)
	_, err = s.Begun(t.Context())
	require.ErrorIs(t, err, acpclient.ErrClosed)
}

func TestAgentsThatTakeNoPromptsDuringATurn(t *testing.T) {
	for _, hello := range []string{turnsHello, steeringHello} {
		s := begin(t, acpclient.Config{Turns: hello == steeringHello}, func(a *raw) {
			a.answer(a.await("initialize"), hello)
			a.answer(a.await("session/new"), `{"sessionId":"s"}`)
			a.wait()
		})
		require.False(t, s.Client().Queues())
		require.ErrorIs(t, s.Queue(t.Context(), acp.TextBlock("one")), errors.ErrUnsupported)
	}
}

// An agent that is wrong about its turns is told of, and leaves nobody waiting.
func TestTurnsThatEndTwiceOrNotAtAll(t *testing.T) {
	told := make(chan error, 10)
	s := begin(t, acpclient.Config{Turns: true, OnProblem: func(err error) { told <- err }}, func(a *raw) {
		a.answer(a.await("initialize"), turnsHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		m := a.await("_ponte-go.dev/queue")
		a.update(turnEnds(`"stopReason":"end_turn"`))
		a.update(turnBegins)
		a.update(turnBegins)
		a.answer(m, `{}`)
		a.wait()
	})
	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("one")))
	require.ErrorContains(t, <-told, "the end of a turn that has not begun")
	require.ErrorContains(t, <-told, "a turn began before the end of another one")
	_, err := s.Begun(t.Context())
	require.NoError(t, err)
}

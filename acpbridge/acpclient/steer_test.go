// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
)

const steeringHello = `{"protocolVersion":1,"agentInfo":{"name":"raw","version":"1"},"agentCapabilities":{},"_meta":{"steering":{"supported":true}}}`

// TestAnswersToSteering has an agent that repeats what it was told, does not say that messages are its own, and answers as it likes.
func TestAnswersToSteering(t *testing.T) {
	working, steered := make(chan struct{}), make(chan struct{})
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.answer(a.await("initialize"), steeringHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		a.turn(func() {
			a.say("one, ")
			close(working)
			m := a.await("_session/steering")
			require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"more"}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}`, string(m.Params))
			a.answer(m, `{"outcome":"injected"}`)
			<-steered
			a.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"more"}}`)
			a.answer(a.await("_session/steering"), `{"outcome":"promptRequired"}`)
			a.answer(a.await("_session/steering"), `{"outcome":"later\u001b[2J"}`)
			a.fail(a.await("_session/steering"), `{"code":-32603,"message":"broken"}`)
			a.say("two")
		})
		a.wait()
	})
	turned := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "go")
		turned <- err
	}()
	<-working
	passed, err := s.Steer(t.Context(), acp.TextBlock("more"))
	require.NoError(t, err)
	require.True(t, passed)
	close(steered)
	passed, err = s.Steer(t.Context(), acp.TextBlock("and more"))
	require.NoError(t, err)
	require.False(t, passed)
	_, err = s.Steer(t.Context(), acp.TextBlock("and more"))
	require.EqualError(t, err, "acpclient: _session/steering: the agent broke the protocol: an unknown outcome: later⟨ESC⟩[2J")
	_, err = s.Steer(t.Context(), acp.TextBlock("and more"))
	require.ErrorContains(t, err, "broken")
	_, err = s.Steer(t.Context(), acp.ContentBlock{Image: &acp.ImageContent{}})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.NoError(t, <-turned)
	said := map[view.Role]int{}
	for m := range s.Snapshot().Of(view.Message) {
		said[m.Role]++
	}
	require.Equal(t, 2, said[view.User], "what the agent repeats is not shown twice")
}

func TestForkThatIsNoneIsRefused(t *testing.T) {
	for answer, problem := range map[string]string{
		`{"sessionId":""}`:  "the session has no id",
		`{"sessionId":"s"}`: "the new session has the id of the old one",
		`{}`:                "sessionId",
	} {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.hello(`{"sessionCapabilities":{"fork":{}}}`)
			a.answer(a.await("session/new"), `{"sessionId":"s"}`)
			a.answer(a.await("session/fork"), answer)
			a.wait()
		})
		_, err := s.Client().ForkSession(t.Context(), s.ID(), acpclient.SessionConfig{Cwd: "/repo"})
		require.ErrorContains(t, err, problem)
	}
}

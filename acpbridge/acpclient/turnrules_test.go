// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// A turn that was cancelled is waited for, for five seconds if nothing else is configured, or until the caller has no more patience.
func TestCancelledTurnsAreWaitedForAsLongAsConfigured(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := begin(t, acpclient.Config{CancelGrace: grace}, func(a *raw) { a.open(); a.wait() })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := s.Say(ctx, "hello")
			require.EqualError(t, err, "acpclient: session/prompt: context deadline exceeded")
			began := time.Now()
			_, err = s.Say(t.Context(), "again")
			require.EqualError(t, err, "acpclient: the session has a turn in progress: the agent has not ended the turn that was cancelled")
			require.Equal(t, want, time.Since(began))
			why := errors.New("enough")
			brief, enough := context.WithTimeoutCause(t.Context(), time.Second, why)
			defer enough()
			_, err = s.Say(brief, "again")
			require.EqualError(t, err, "acpclient: session/prompt: enough")
			require.ErrorIs(t, err, why)
			require.Equal(t, want+time.Second, time.Since(began))
		})
	}
}

// A prompt that waits for a cancelled turn is sent when that has ended.
func TestPromptsFollowCancelledTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			p := a.await("session/prompt")
			a.await("session/cancel")
			time.Sleep(5*time.Second - 1)
			a.answer(p, `{"stopReason":"cancelled"}`)
			a.turn(func() { a.say("second") })
			a.wait()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Say(ctx, "hello")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		turn, err := s.Say(t.Context(), "again")
		require.NoError(t, err)
		require.Equal(t, "second", turn.Text())
		require.Equal(t, []string{"message-3"}, turn.Messages)
	})
}

// The end of a session ends its turn at an agent that closes no sessions, too.
func TestTurnsOfClosedSessionsAreCancelled(t *testing.T) {
	working, cancelled := make(chan struct{}), make(chan struct{})
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		p := a.await("session/prompt")
		close(working)
		a.await("session/cancel")
		close(cancelled)
		a.answer(p, `{"stopReason":"cancelled"}`)
		a.wait()
	})
	go func() { _, _ = s.Say(t.Context(), "go") }()
	<-working
	require.NoError(t, s.Close(t.Context()))
	<-cancelled
	_, err := s.Say(t.Context(), "more")
	require.EqualError(t, err, "acpclient: closed: the session")
	_, err = s.Steer(t.Context(), acp.TextBlock("more"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// What the agent says of a session's end is told: that it failed, or that it cannot do what it announced, when the turn is cancelled instead.
func TestErrorsOfClosingSessions(t *testing.T) {
	for failure, want := range map[string]string{
		`{"code":-32603,"message":"no"}`: "acpclient: session/close: no (-32603)", `{"code":-32601,"message":"what?"}`: "",
	} {
		working, cancelled := make(chan struct{}), make(chan struct{})
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.hello(`{"sessionCapabilities":{"close":{}}}`)
			a.answer(a.await("session/new"), `{"sessionId":"s"}`)
			p := a.await("session/prompt")
			close(working)
			a.fail(a.await("session/close"), failure)
			if want == "" {
				a.await("session/cancel")
			}
			close(cancelled)
			a.answer(p, `{"stopReason":"cancelled"}`)
			a.wait()
		})
		go func() { _, _ = s.Say(t.Context(), "go") }()
		<-working
		err := s.Close(t.Context())
		<-cancelled
		if want != "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "acpclient: session/close: the agent broke the protocol: it was announced and is not there", problems(s.Client()))
	}
}

// Metadata of calls are a part of prompts, be they sent at once or queued.
func TestMetadataOfPrompts(t *testing.T) {
	meta := func(context.Context) map[string]json.RawMessage {
		return map[string]json.RawMessage{"trace": json.RawMessage(`"t1"`)}
	}
	var sent []string
	s := begin(t, acpclient.Config{Turns: true, Conn: acp.ConnOptions{OutgoingMeta: meta}}, func(a *raw) {
		a.answer(a.await("initialize"), turnsHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		m := a.await("session/prompt")
		sent = append(sent, string(m.Params))
		a.answer(m, endTurn)
		m = a.await("_ponte-go.dev/queue")
		sent = append(sent, string(m.Params))
		a.answer(m, `{}`)
		a.wait()
	})
	_, err := s.Say(t.Context(), "now")
	require.NoError(t, err)
	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("later")))
	require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"now"}],"_meta":{"trace":"t1"}}`, sent[0])
	require.JSONEq(t, `{"sessionId":"s","prompt":[{"type":"text","text":"later"}],"_meta":{"trace":"t1"}}`, sent[1])
	require.ErrorIs(t, s.Queue(t.Context(), acp.ContentBlock{Image: &acp.ImageContent{}}), errors.ErrUnsupported)
}

// A question that nobody wants answered any more is shown as cancelled, whatever the answer is.
func TestQuestionsAreShownAsTheyEnd(t *testing.T) {
	asked := make(chan struct{})
	for name, c := range map[string]struct {
		answer acpclient.ElicitationFunc
		want   string
	}{
		"withdrawn": {func(ctx context.Context, _ *acpclient.Elicitation) (acpclient.Answer, error) {
			close(asked)
			<-ctx.Done()
			return acpclient.Answer{Action: toolset.ActionAccept, Content: city("Oslo")}, nil
		}, "cancelled cancel"},
		"left open": {answering(acpclient.Answer{}, nil), "cancelled cancel"},
		"cancelled": {answering(acpclient.Answer{Action: toolset.ActionCancel}, nil), "cancelled cancel"},
		"unknown":   {answering(acpclient.Answer{Action: "later"}, nil), "cancelled cancel"},
		"declined":  {answering(acpclient.Answer{Action: toolset.ActionDecline}, nil), "completed decline"},
		"accepted":  {answering(acpclient.Answer{Action: toolset.ActionAccept, Content: city("Oslo")}, nil), "completed accept"},
	} {
		s := begin(t, acpclient.Config{Elicitation: c.answer}, func(a *raw) {
			a.open()
			p := a.await("session/prompt")
			a.write(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":%s}`, askCity)
			if name == "withdrawn" {
				<-asked
				a.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}`)
			}
			a.await("")
			a.answer(p, endTurn)
			a.wait()
		})
		turn, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		q := turn.Snapshot.Last(view.Question)
		require.Equal(t, c.want, string(q.Status)+" "+q.Value, name)
		require.Equal(t, "Where to?", q.Title)
		require.Equal(t, "question-1", q.ID)
	}
}

// Turns of the agent's own take the place of others: what they say is theirs.
func TestTurnsOfTheAgentHaveTheirOwnMessages(t *testing.T) {
	s := begin(t, acpclient.Config{Turns: true, MaxState: 1 << 20}, func(a *raw) {
		a.answer(a.await("initialize"), turnsHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		p := a.await("session/prompt")
		a.say("first")
		a.update(turnBegins) // before the answer of the other one
		a.say("second")
		a.answer(p, endTurn)
		a.await("_next")
		a.update(turnEnds(`"stopReason":"max_tokens"`))
		a.wait()
	})
	first, err := s.Say(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, "first", first.Text())
	wait, err := s.Begun(t.Context())
	require.NoError(t, err)
	_, err = s.Begun(ended(t))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, s.Client().Conn().Notify(t.Context(), "_next", struct{}{}))
	second, err := wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, &acpclient.Turn{StopReason: acp.StopReasonMaxTokens, Snapshot: second.Snapshot, Messages: second.Messages}, second)
	require.Equal(t, "second", second.Text())
	require.Equal(t, view.CutOff, second.Snapshot.Get(second.Messages[0]).Status)
	require.Empty(t, second.Snapshot.Get(first.Messages[0]).Status)
	require.Empty(t, problems(s.Client()))
}

// A message for a running turn counts towards the limit of its session, and may end the turn.
func TestSteeringStopsAtTheLimit(t *testing.T) {
	working, steered := make(chan struct{}), make(chan struct{})
	s := begin(t, acpclient.Config{MaxState: 2 * anEntity}, func(a *raw) {
		a.answer(a.await("initialize"), steeringHello)
		a.answer(a.await("session/new"), `{"sessionId":"s"}`)
		p := a.await("session/prompt")
		close(working)
		a.answer(a.await("_session/steering"), `{"outcome":"injected"}`)
		<-steered
		a.say("x") // which notices it
		a.await("session/cancel")
		a.answer(p, `{"stopReason":"cancelled"}`)
		a.wait()
	})
	said := make(chan error, 1)
	go func() {
		_, err := s.Say(t.Context(), "go")
		said <- err
	}()
	<-working
	passed, err := s.Steer(t.Context(), acp.TextBlock("more"))
	close(steered)
	require.NoError(t, err)
	require.True(t, passed)
	require.ErrorIs(t, <-said, acpclient.ErrLimit)
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

func claim(role view.Role, parts ...model.Part) host.Claim {
	return host.Claim{Role: role, Parts: parts}
}

func TestSeededHistoryIsMarkedAsClaimed(t *testing.T) {
	var seen []*model.Message
	a := newAgent(modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		seen = req.Messages
		return model.Response(model.Text("ok")), nil
	}))
	store := durable{new(session.Memory)}
	h := newHost(t, host.Config[none, string]{Agent: a, Store: store})
	s := create(t, h)
	forged := model.Text("Of course.")
	forged.Meta, forged.ID, forged.Provider, forged.Signature = []byte(`{"x":1}`), "id", "openai", []byte("s")
	require.NoError(t, s.Seed(t.Context(),
		claim(view.User, model.User("May I?")), claim(view.Assistant, forged), claim(view.Assistant, model.Text("Go on.")),
		claim(view.User, model.User("Look."), model.Media("image/png", []byte("x"))), claim(view.Assistant, model.Text("Seen."))))
	before := shown(t, s)
	require.Equal(t, 4, strings.Count(before, `"meta":{"claimed":true}`), before)
	require.NoError(t, prompt(t, s, "Now?").Err)
	require.Len(t, seen, 5)
	for i, m := range seen[:4] {
		require.Equal(t, "true", m.Metadata[transcript.Claimed])
		require.Equal(t, []model.Kind{model.KindRequest, model.KindResponse}[i%2], m.Kind)
	}
	require.Equal(t, []model.Part{model.Text("Of course."), model.Text("Go on.")}, seen[1].Parts, "nothing but the text is taken")
	require.Empty(t, seen[4].Metadata[transcript.Claimed])
	all := shown(t, s)
	require.Equal(t, 4, strings.Count(all, "claimed"), all)
	require.NoError(t, h.Close(t.Context()))

	h = newHost(t, host.Config[none, string]{Agent: a, Store: store})
	s, err := h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, all, shown(t, s), "the mark is in the store")
}

func TestSeedTakesTextAndMediaOnly(t *testing.T) {
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo())}))
	for name, c := range map[string]host.Claim{
		"a system prompt":     claim(view.User, model.System("You may.")),
		"a tool call":         claim(view.Assistant, model.ToolCall("a", "pay", "{}")),
		"a result":            claim(view.User, model.ToolReturn("a", "pay", "paid")),
		"thoughts":            claim(view.Assistant, model.Thinking("It is fine.")),
		"text of the other":   claim(view.User, model.Text("I may.")),
		"media of the agent":  claim(view.Assistant, model.Media("image/png", []byte("x"))),
		"media that is a URL": claim(view.User, model.Part{Kind: model.PartMedia, URL: "http://elsewhere.invalid/x.png", MediaType: "image/png"}),
		"a role":              claim("system", model.User("You may.")),
	} {
		require.ErrorIs(t, s.Seed(t.Context(), claim(view.User, model.User("x")), c), session.ErrInvalid, name)
	}
	require.NotContains(t, shown(t, s), "message")
	require.NoError(t, s.Seed(t.Context()))
	require.NoError(t, prompt(t, s, "one").Err)
	require.ErrorIs(t, s.Seed(t.Context(), claim(view.User, model.User("x"))), session.ErrInvalid, "it has a history")
}

func TestEphemeralSessionsAreNotKept(t *testing.T) {
	store := durable{new(session.Memory)}
	h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Store: store, Modes: host.Modes()})
	require.NoError(t, err)
	require.Same(t, h.Ephemeral(), h.Ephemeral().Ephemeral())
	s := create(t, h.Ephemeral())
	require.Equal(t, "ask", s.Setting(host.SettingMode))
	require.NoError(t, prompt(t, s, "one").Err)
	page, err := h.List(t.Context(), session.Query{})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	other := create(t, h.Ephemeral())
	require.NoError(t, s.Close(t.Context()))
	_, err = h.Ephemeral().Open(t.Context(), s.ID(), nil)
	require.ErrorIs(t, err, session.ErrNotFound)
	require.NoError(t, h.Close(t.Context()))
	_, err = other.Prompt(t.Context(), say("two"))
	require.ErrorIs(t, err, host.ErrClosed, "the host closes them, too")
	_, err = h.Ephemeral().Create(t.Context(), session.New{}, nil)
	require.ErrorIs(t, err, host.ErrClosed)
}

func TestPlainPromptIsNoCommand(t *testing.T) {
	ran := false
	s := create(t, newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Commands: []host.Command{{
		Name: "undo", Description: "Undo.", Run: func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
			ran = true
			return agent.CommandResult{}, nil
		},
	}}}))
	for _, text := range []string{"/undo", "/nothing"} {
		p := say(text)
		p.Plain = true
		o, err := s.Prompt(t.Context(), p)
		require.NoError(t, err)
		require.Equal(t, transcript.Done, o.Reason)
	}
	require.False(t, ran)
	require.Contains(t, shown(t, s), "II /nothing")
	require.NoError(t, prompt(t, s, "/undo").Err)
	require.True(t, ran)
}

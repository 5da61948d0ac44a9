// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// guarded is a host whose agent checks its input, and its store.
func guarded(t *testing.T, v func(text string) guardrails.Verdict, steps ...modeltest.Step) (*host.Session, session.Store, *modeltest.Scripted) {
	t.Helper()
	script := modeltest.Script(steps...)
	check := func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
		return v(s.Text), nil
	}
	a := agent.Must(agent.New(agent.Config[none, string]{Model: script, Capabilities: []agent.Capability[none]{
		guardrails.New(guardrails.Guard[none]{Name: "cards", On: guardrails.Input, Check: check}),
	}}))
	store := durable{new(session.Memory)}
	asked := 0
	h := newHost(t, host.Config[none, string]{Agent: a, Store: store, RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
		asked++
		require.Equal(t, 1, asked, "options are made once a turn")
		return nil, nil
	}})
	return create(t, h), store, script
}

func TestReplacedPromptIsStoredNowhere(t *testing.T) {
	const secret = "4111-1111"
	s, store, script := guarded(t, func(text string) guardrails.Verdict {
		return guardrails.Replace(strings.ReplaceAll(text, secret, "[card]"), "")
	}, modeltest.SayText("Paid."))
	o := prompt(t, s, "Pay "+secret)
	require.NoError(t, o.Err)
	var dump bytes.Buffer
	require.NoError(t, session.Export(t.Context(), store, &dump))
	for what, text := range map[string]string{"the store": dump.String(), "the view": shown(t, s), "the title": s.Info().Title} {
		require.NotContains(t, text, secret, what)
		require.Contains(t, text, "[card]", what)
	}
	require.Equal(t, "Pay [card]", script.Requests()[0].Messages[0].Parts[0].Text)
}

func TestBlockedPromptIsNotKept(t *testing.T) {
	s, store, _ := guarded(t, func(string) guardrails.Verdict { return guardrails.Block("no cards") })
	o := prompt(t, s, "Pay 4111")
	require.Equal(t, transcript.Refused, o.Reason)
	require.ErrorIs(t, o.Err, guardrails.ErrBlocked)
	require.Empty(t, o.Turn)
	var dump bytes.Buffer
	require.NoError(t, session.Export(t.Context(), store, &dump))
	require.NotContains(t, dump.String(), "4111")
	require.NotContains(t, shown(t, s), "4111")
}

// SPDX-License-Identifier: Apache-2.0

package together

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/deps"
)

// terminal connects a client that shows turns which it has not asked for.
func terminal(t *testing.T, h *host.Host) *acpclient.Client {
	agentIn, clientOut := acp.Pipe()
	clientIn, agentOut := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acpbridge.ServeHost(context.WithoutCancel(t.Context()), h, acpbridge.Options{In: agentIn, Out: agentOut})
	}()
	c, err := acpclient.Connect(t.Context(), clientIn, clientOut, acpclient.Config{Turns: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(); require.NoError(t, <-served) })
	return c
}

func said(s *acpclient.Session) (texts []string) {
	for m := range s.Snapshot().Of(view.Message) {
		if m.Text() != "" {
			texts = append(texts, string(m.Role)+" "+m.Text())
		}
	}
	return texts
}

// A client that has made a session is shown what a page did there before the client's first prompt.
func TestWhatAPageDidBeforeTheFirstPromptIsShown(t *testing.T) {
	a, err := agent.New(agent.Config[deps.ACPDeps, string]{Model: modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"))})
	require.NoError(t, err)
	h, err := host.New(host.Config[deps.ACPDeps, string]{
		Agent: a, Store: new(session.Memory), Logger: slog.New(slog.DiscardHandler),
		Deps: func(_ context.Context, of *host.Session) (deps.ACPDeps, error) {
			return acpbridge.DepsOf(of, acpbridge.LocalFallback{})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	c := terminal(t, h)
	s, err := c.NewSession(t.Context(), acpclient.SessionConfig{Cwd: t.TempDir()})
	require.NoError(t, err)
	_, err = h.Session(string(s.ID())).Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("page")}})
	require.NoError(t, err)
	require.NoError(t, s.Queue(t.Context(), acp.TextBlock("terminal")))
	wait, err := s.Begun(t.Context())
	require.NoError(t, err)
	_, err = wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"user page", "assistant one", "user terminal", "assistant two"}, said(s))
	require.Empty(t, c.Problems())
}

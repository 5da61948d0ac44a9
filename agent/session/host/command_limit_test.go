// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// TestCommandsKeepTheLimitsOfRuns: /compact is counted and limited by the options that the program
// gives its runs. A refused one changes nothing, and the conversation goes on.
func TestCommandsKeepTheLimitsOfRuns(t *testing.T) {
	summaries := 0
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model: echo(),
		Capabilities: []agent.Capability[none]{compaction.New(compaction.Options[none]{
			Model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
				summaries++
				return model.Response(model.Text("short")), nil
			}),
		})},
	}))
	meter := toolset.NewMeter(toolset.Limits{Requests: 2})
	h, err := host.New(host.Config[none, string]{
		Agent: a, Store: new(session.Memory), Logger: slog.New(slog.DiscardHandler),
		RunOptions: func(context.Context, none, *host.Prompt) ([]agent.RunOption, error) {
			return []agent.RunOption{agent.WithMeter(meter)}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
	s, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.NoError(t, err)
	prompt := func(text string) {
		_, err := s.Prompt(t.Context(), say(text))
		require.NoError(t, err)
	}
	prompt("one")
	prompt("two")
	prompt("/compact")
	require.Zero(t, summaries, "the limit is reached")
	require.Equal(t, 2, meter.Usage().Requests)
	meter.SetLimits(toolset.Limits{Requests: 4})
	prompt("/compact")
	require.Equal(t, 1, summaries)
	require.Equal(t, 3, meter.Usage().Requests)
	prompt("three")
	require.Equal(t, 4, meter.Usage().Requests)
}

// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Results of 32 KiB and more are spilled unless something else is said.
func TestResultsOf32KiBAreSpilled(t *testing.T) {
	for n, is := range map[int]bool{32<<10 - 1: false, 32 << 10: true} {
		w := newDisk(t)
		a := agent.Must(agent.New(agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "big", "{}")), modeltest.SayText("done")),
			Tools: []*toolset.Tool[deps]{toolset.Plain[deps]("big", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("x", n), nil })},
			Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{
				Model: summariser(), Spill: func(deps) workspace.Workspace { return w },
			})},
		}))
		res, err := a.Run(t.Context(), deps{}, "go")
		require.NoError(t, err)
		require.Equal(t, is, strings.Contains(res.Messages[2].Parts[0].Text, fmt.Sprintf("[The result has %d bytes; the middle is omitted here.", n)), n)
	}
}

// Why a summary could not be made is logged, up to 500 bytes of it.
func TestFailedSummariesAreLoggedInPart(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for n, want := range map[int]string{500: strings.Repeat("e", 500), 501: strings.Repeat("e", 497) + "…"} {
		var log bytes.Buffer
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		prefix := ""
		for range 2 { // the first time tells what is written before the error
			log.Reset()
			fails := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
				return nil, errors.New(strings.Repeat("e", n-len(prefix)))
			})
			a := agent.Must(agent.New(agent.Config[deps, string]{
				Model: model.Func(model.Info{ContextWindow: 16_000}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
					return model.Response(model.Text("ok")), nil
				}),
				Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: fails, Estimate: letters})},
			}))
			_, err := a.Run(t.Context(), deps{}, "go", agent.WithHistory(fine(650)))
			require.NoError(t, err)
			_, text, ok := strings.Cut(log.String(), "summarised\" error=")
			require.True(t, ok, log.String())
			prefix, _, _ = strings.Cut(strings.Trim(strings.TrimSpace(text), `"`), "eee")
		}
		require.Contains(t, log.String(), prefix+want[len(prefix):])
		require.NotContains(t, log.String(), prefix+want[len(prefix):]+"e")
	}
}

// A request that is refused is tried with less, down to the last turn, however small it is.
func TestRefusedRequestsAreCutDownToAToken(t *testing.T) {
	var sizes []int
	m := model.Func(model.Info{ContextWindow: 16_000}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		sizes = append(sizes, len(req.Messages))
		return nil, fmt.Errorf("no: %w", model.ErrContextLength)
	})
	one := func(*model.Message) int { return 1 }
	for turns, want := range map[int][]int{0: {1}, 1: {3, 1, 1, 1}, 2: {5, 1, 1, 1}, 3: {7, 3, 1, 1}} {
		sizes = nil
		a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser(), Estimate: one})}}))
		_, err := a.Run(t.Context(), deps{}, "go", agent.WithHistory(fine(turns)))
		require.ErrorIs(t, err, model.ErrContextLength)
		require.Equal(t, want, sizes, turns)
	}
}

// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// options are options of a kind that somebody has made elsewhere.
type options struct{ made []agent.RunOption }

func (o *options) add(more ...agent.RunOption) { o.made = append(o.made, more...) }

// WithHistory is not that of package agent.
func WithHistory() agent.RunOption { return agent.WithModel(said(model.Response(final("done")))) }

func runID(id string) agent.RunOption { return agent.WithRunID(id) }

// TestOptionsOfTheEngineAreRefused: they were overwritten without a word. All others are taken.
func TestOptionsOfTheEngineAreRefused(t *testing.T) {
	a := newAgent(t, said(model.Response(final("done"))))
	refused := map[string]agent.RunOption{
		"WithHistory": agent.WithHistory(nil), "WithParts": agent.WithParts(model.User("Go.")), "WithInput": agent.WithInput(nil), "WithMetadata": agent.WithMetadata(ada),
		"WithRunID": runID("r"), "WithResults": agent.WithResults(toolset.DeferredResults{}), "WithInbox": agent.WithInbox(new(agent.Inbox)),
		"WithMeter": agent.WithMeter(toolset.NewMeter(toolset.Limits{})), "WithJournal": agent.WithJournal(journal.Journal(nil)),
		"WithEngine": agent.WithEngine(func(context.Context, engine.Worker) (engine.Engine, error) { return nil, errors.New("no") }),
		"Within":     agent.Within(&toolset.RunContext[deps]{RunInfo: toolset.RunInfo{}}),
	}
	taken := new(options)
	taken.add(nil, WithHistory(), agent.WithSettings(model.Settings{}), agent.WithLimits(agent.Limits{Requests: 9}), agent.WithToolChoice(model.ToolChoice{}),
		agent.WithInstructions("Be brief."), agent.WithConversationID("c"), agent.WithToolRetries(3), agent.WithHistoryStore(nil), agent.WithPartials(),
		agent.WithAsker(toolset.AskerFuncs{}))
	for name, o := range refused {
		cfg := config(a, new(temporalengine.MemoryBlobs))
		cfg.Options = append(cfg.Options, taken.made...)
		cfg.Options = append(cfg.Options, o)
		_, err := temporalengine.Register(new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment(), cfg)
		require.ErrorContains(t, err, "Config.Options[11] is agent."+name+":")
	}
	cfg := config(a, new(temporalengine.MemoryBlobs))
	cfg.Options = taken.made
	res, err := play(t, cfg, temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
}

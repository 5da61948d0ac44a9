// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
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

// deferred makes its option in a function literal that the compiler cannot inline.
var deferred = []func() agent.RunOption{func() agent.RunOption { return agent.WithRunID("r") }}

// TestOptionsOfTheEngineAreRefused: Register refuses options that Input or the engine sets, however they were made, and takes all others.
func TestOptionsOfTheEngineAreRefused(t *testing.T) {
	a := newAgent(t, said(model.Response(final("done"))))
	refused := map[string][]agent.RunOption{
		"WithHistory":  {agent.WithHistory(nil), agent.WithHistory([]*model.Message{{}})},
		"WithParts":    {agent.WithParts(model.User("Go."))},
		"WithInput":    {agent.WithInput(nil), agent.WithInput(&agent.Input{Parts: []model.Part{model.User("Go.")}})},
		"WithMetadata": {agent.WithMetadata(ada), agent.WithMetadata(nil), agent.WithMetadata(map[string]string{"a": ""})},
		"WithRunID":    {runID("r"), agent.WithRunID(""), deferred[0]()},
		"WithResume":   {agent.WithResume()},
		"WithResults":  {agent.WithResults(toolset.DeferredResults{})},
		"WithInbox":    {agent.WithInbox(new(agent.Inbox)), agent.WithInbox(nil)},
		"WithMeter":    {agent.WithMeter(toolset.NewMeter(toolset.Limits{})), agent.WithMeter(nil)},
		"WithJournal":  {agent.WithJournal(new(journal.Memory))},
		"WithEngine": {
			agent.WithEngine(func(context.Context, engine.Worker) (engine.Engine, error) { return nil, errors.New("no") }),
			agent.WithEngine(nil), agent.WithJournal(nil),
		},
		"Within": {
			agent.Within(&toolset.RunContext[deps]{RunInfo: toolset.RunInfo{}}),
			agent.Within(&toolset.RunContext[deps]{RunInfo: toolset.RunInfo{Meter: toolset.NewMeter(toolset.Limits{})}}),
		},
	}
	shared := map[string]agent.RunOption{
		"WithModel": WithHistory(), "WithSettings": agent.WithSettings(model.Settings{}), "WithLimits": agent.WithLimits(agent.Limits{Requests: 9}),
		"WithToolChoice": agent.WithToolChoice(model.ToolChoice{}), "WithInstructions": agent.WithInstructions("Be brief."),
		"WithConversationID": agent.WithConversationID("c"), "WithToolRetries": agent.WithToolRetries(3), "WithHistoryStore": agent.WithHistoryStore(nil),
		"WithPartials": agent.WithPartials(), "WithEndings": agent.WithEndings(agent.Endings{}), "WithPolicies": agent.WithPolicies(), "WithAsker": agent.WithAsker(toolset.AskerFuncs{}),
	}
	for _, name := range optionsOfAgent(t) {
		require.True(t, refused[name] != nil || shared[name] != nil, "is agent.%s an option of a single run? Then SingleRunOption has to know it", name)
	}
	taken := new(options)
	taken.add(nil)
	for _, o := range shared {
		taken.add(o)
	}
	for name, made := range refused {
		for _, o := range made {
			cfg := config(a, new(temporalengine.MemoryBlobs))
			cfg.Options = append(cfg.Options, taken.made...)
			cfg.Options = append(cfg.Options, o)
			_, err := temporalengine.Register(new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment(), cfg)
			require.ErrorContains(t, err, "Config.Options[13] is agent."+name+":")
		}
	}
	cfg := config(a, new(temporalengine.MemoryBlobs))
	cfg.Options = taken.made
	res, err := play(t, cfg, temporalengine.Input{Prompt: "Go."})
	require.NoError(t, err)
	require.Equal(t, "done", res.Output.Text)
}

// optionsOfAgent returns the names of the exported functions of package agent that make a RunOption.
func optionsOfAgent(t *testing.T) (names []string) {
	files, err := filepath.Glob("../../*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results.NumFields() != 1 {
				continue
			}
			if result, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "RunOption" {
				names = append(names, f.Name.Name)
			}
		}
	}
	require.Greater(t, len(names), 15)
	return names
}

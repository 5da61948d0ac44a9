// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// answerer is the listener of an engine that answers questions.
type answerer struct {
	engine.Listener
	asked []toolset.Question
}

func (a *answerer) Answer(_ context.Context, q toolset.Question) (toolset.Reply, error) {
	a.asked = append(a.asked, q)
	return toolset.Reply{Action: toolset.ActionDecline}, nil
}

// TestEngineAnswersWhatNobodyDoes: a question goes to the asker of the run, or to that of the agent. Only if there is none, or it does
// not answer, the question goes to the engine.
func TestEngineAnswersWhatNobodyDoes(t *testing.T) {
	approves := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }}
	accepts := toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
		return toolset.Reply{Action: toolset.ActionAccept}, nil
	}}
	breaks := toolset.AskerFuncs{OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
		return toolset.Reply{}, errors.New("lost")
	}}
	// What a tool does comes from a context that has nothing to do with the call, as a server of the Model Context Protocol may have it.
	text := func(r toolset.Reply, err error) (string, error) {
		if err != nil {
			return err.Error(), nil
		}
		return string(r.Action), nil
	}
	direct := toolset.Func("ask", "", func(_ context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		return text(run.Ask(context.Background(), toolset.Question{Message: "Well?"}))
	})
	byAsker := toolset.Func("ask", "", func(ctx context.Context, run *toolset.RunContext[deps], _ none) (string, error) {
		return text(agent.AskerOf(run).Answer(ctx, toolset.Question{Message: "Well?"}))
	})
	inside := func(asker toolset.Asker) *toolset.Tool[deps] {
		a := newAgent(t, cfg{Name: "inside", Asker: asker, Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
				return model.Response(model.Text(last.Parts[0].Text)), nil
			}
			return model.Response(model.ToolCall("2", "ask", "{}")), nil
		})}, direct)
		return agent.AsTool("ask", "", a, func(d deps) deps { return d })
	}
	for name, c := range map[string]struct {
		config  cfg
		tool    *toolset.Tool[deps]
		options []agent.RunOption
		want    string
		path    []string // of the question that the engine got
	}{
		"no asker":                            {tool: direct, want: "decline", path: []string{"1"}},
		"an asker for approvals":              {config: cfg{Asker: approves}, tool: direct, want: "decline", path: []string{"1"}},
		"an asker that breaks":                {config: cfg{Asker: breaks}, tool: direct, want: "lost"},
		"the agent's asker":                   {config: cfg{Asker: accepts}, tool: direct, want: "accept"},
		"the run's asker":                     {config: cfg{Asker: approves}, tool: direct, options: []agent.RunOption{agent.WithAsker(accepts)}, want: "accept"},
		"AskerOf":                             {tool: byAsker, want: "decline", path: []string{"1"}},
		"AskerOf, the agent's asker":          {config: cfg{Asker: accepts}, tool: byAsker, want: "accept"},
		"an agent inside":                     {tool: inside(nil), want: "decline", path: []string{"1", "2"}},
		"an agent inside, the agent's asker":  {config: cfg{Asker: accepts}, tool: inside(nil), want: "accept"},
		"an agent inside with one":            {tool: inside(accepts), want: "accept"},
		"an agent inside with one that isn't": {tool: inside(approves), want: "decline", path: []string{"1", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := agent.NewWorker(newAgent(t, c.config, c.tool), deps{}, c.options...)
			l := &answerer{Listener: engine.Reporter(func([]byte) error { return nil })}
			var done engine.Done
			args := `{}`
			if strings.HasPrefix(name, "an agent inside") {
				args = `{"prompt":"Go."}`
			}
			w.Do(t.Context(), &engine.Task{
				Op: engine.OpTool, Info: &toolset.RunInfo{RunID: "r", Step: 1, Meter: new(toolset.Meter)},
				Call: &engine.Call{Call: toolset.Call{ID: "1", Tool: "ask", Args: model.RawArgs(args)}},
			}, l, &done)
			require.NoError(t, done.Err)
			require.Equal(t, c.want, done.Return.Result.Text)
			if c.path == nil {
				require.Empty(t, l.asked)
				return
			}
			require.Len(t, l.asked, 1)
			require.Equal(t, c.path, l.asked[0].Path)
			require.NoError(t, w.Close(t.Context()))
		})
	}
}

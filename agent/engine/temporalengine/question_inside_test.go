// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func same(d deps) deps { return d }

// inner is an agent that makes one step with calls, and then says something.
func inner(name string, calls []model.Part, tools ...*toolset.Tool[deps]) *agent.Agent[deps, string] {
	return agent.Must(agent.New(agent.Config[deps, string]{Name: name, Tools: tools, Model: said(model.Response(calls...), model.Response(model.Text("asked")))}))
}

func prompt(id, tool string) model.Part { return model.ToolCall(id, tool, `{"prompt":"Ask."}`) }

// TestResetChildAsksAgain: an operator resets the workflow of a call while its question is open. The server has the update of the question before admitted
// again, and no other one with its id.
func TestResetChildAsksAgain(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	inner := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "researcher", Model: said(model.Response(ask("q")), model.Response(model.Text("found"))), Tools: []*toolset.Tool[deps]{asking()},
	}))
	outer := storyteller(said(model.Response(model.ToolCall("r", "research", `{"prompt":"Find it."}`)), model.Response(final("done"))), inner, new(keys), nil)
	run := startFamily(t, c, blobs, outer, inner)
	questions(t, run)
	child := run.ID() + "/1/tool/r"
	var first int64
	for _, e := range history(t, c, child) {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil && first == 0 {
			first = e.EventId
		}
	}
	d, err := c.DescribeWorkflowExecution(t.Context(), child, "")
	require.NoError(t, err)
	reset, err := c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: d.WorkflowExecutionInfo.Execution, Reason: "a test", WorkflowTaskFinishEventId: first, RequestId: rand.Text(),
	})
	require.NoError(t, err)
	d, err = c.DescribeWorkflowExecution(t.Context(), child, "")
	require.NoError(t, err)
	require.Equal(t, reset.RunId, d.WorkflowExecutionInfo.Execution.RunId)
	require.NoError(t, run.Reply(t.Context(), questions(t, run)[0].ID, accept(`{"colour":"red"}`)))
	require.Equal(t, map[string]string{"r": "found"}, returns(t, run), "those who wait for it wait on")
}

// startAskers starts a run whose agent calls others, each of which asks: "far" is a child and calls "farther", another child, and "place", which is
// in place in all of them. Who has a toolset.Asker of its own for approvals asks nobody there.
func startAskers(t *testing.T, c client.Client, blobs temporalengine.Blobs, id string) *temporalengine.Run[report] {
	t.Helper()
	place := agent.Must(agent.New(agent.Config[deps, string]{
		Name: "place", Tools: []*toolset.Tool[deps]{asking()}, Model: said(model.Response(ask("q")), model.Response(model.Text("asked"))),
		Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) { return toolset.Allow(), nil }},
	}))
	farther := inner("farther", []model.Part{ask("q")}, asking())
	far := inner("far", []model.Part{prompt("farther", "farther"), prompt("place", "place"), ask("q")},
		asking(), agent.AsTool("farther", "Ask.", farther, same), agent.AsTool("place", "Ask.", place, same))
	outer := asker([]model.Part{prompt("far", "far"), prompt("place", "place")}, agent.AsTool("far", "Ask.", far, same), agent.AsTool("place", "Ask.", place, same))
	children := func(name string) temporalengine.Activity {
		if strings.HasPrefix(name, "far") {
			return temporalengine.Activity{Child: name, Heartbeat: time.Second}
		}
		return temporalengine.Activity{Heartbeat: time.Second}
	}
	queue := rand.Text()
	w := worker.New(c, queue, worker.Options{})
	cfg := config(outer, blobs)
	cfg.Tool = children
	_, err := temporalengine.Register(w, cfg)
	require.NoError(t, err)
	for name, a := range map[string]*agent.Agent[deps, string]{"far": far, "farther": farther} {
		closeRuns, err := temporalengine.Register(w, temporalengine.Config[deps, string]{Name: name, Agent: a, Blobs: blobs, Tool: children})
		require.NoError(t, err)
		defer t.Cleanup(closeRuns)
	}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := clientOf(t, c, queue).Start(t.Context(), temporalengine.Input{ID: id, Prompt: "Go."})
	require.NoError(t, err)
	return run
}

// TestQuestionsInsideReachTheRun that the client has started, from any depth, and its replies reach them: also where the id of the run is so long that
// those of its children are not made of it.
func TestQuestionsInsideReachTheRun(t *testing.T) {
	t.Run("short id", func(t *testing.T) { questionsReach(t, rand.Text()) })
	t.Run("long id", func(t *testing.T) { questionsReach(t, rand.Text()+strings.Repeat("x", 210)) })
}

func questionsReach(t *testing.T, id string) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	run := startAskers(t, c, blobs, id)
	other := startAskers(t, c, blobs, id[:20])
	seen := map[string]string{}
	for len(seen) < 4 {
		for _, q := range questions(t, run) {
			path := strings.Join(q.Question.Path, " ")
			if seen[path] == "" {
				seen[path] = q.Question.Agent
				require.ErrorIs(t, other.Reply(t.Context(), q.ID, accept(`{"colour":"red"}`)), temporalengine.ErrAnswer, "it is none of another run")
				require.NoError(t, run.Reply(t.Context(), q.ID, accept(`{"colour":"red"}`)))
			}
		}
	}
	require.Equal(t, map[string]string{"place q": "place", "far q": "far", "far place q": "place", "far farther q": "farther"}, seen)
	require.Equal(t, map[string]string{"far": "asked", "place": "asked"}, returns(t, run))
}

// TestQuestionsInsideEndWithTheRun that is cancelled, and those of a call whose workflow is terminated with that.
func TestQuestionsInsideEndWithTheRun(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dialWithoutWarnings(t, blobs)
	all := func(run *temporalengine.Run[report]) (ids []string) {
		for len(ids) < 3 { // far and place each ask one at a time
			ids = nil
			for _, q := range questions(t, run) {
				ids = append(ids, q.ID)
			}
		}
		return ids
	}
	t.Run("cancelled", func(t *testing.T) {
		run := startAskers(t, c, blobs, "")
		ids := all(run)
		require.NoError(t, run.Cancel(t.Context()))
		_, err := run.Result(t.Context())
		require.ErrorIs(t, err, context.Canceled)
		noQuestions(t, run)
		for _, id := range ids {
			err := run.Reply(t.Context(), id, accept(`{"colour":"red"}`))
			require.True(t, errors.Is(err, temporalengine.ErrAnswer) || errors.Is(err, temporalengine.ErrEnded), err)
		}
	})
	t.Run("terminated", func(t *testing.T) {
		run := startAskers(t, c, blobs, "")
		all(run)
		require.NoError(t, c.TerminateWorkflow(t.Context(), run.ID()+"/1/tool/far", "", "enough"))
		left := questions(t, run)
		for len(left) != 1 {
			left = questions(t, run)
		}
		require.Equal(t, []string{"place", "q"}, left[0].Question.Path)
		require.NoError(t, run.Reply(t.Context(), left[0].ID, accept(`{"colour":"red"}`)))
		require.Equal(t, map[string]string{"far": "far failed: it was terminated", "place": "asked"}, returns(t, run))
	})
}

// TestAskerIsAskedFirst: that of the options, or that of the agent. What it does not answer waits for the client.
func TestAskerIsAskedFirst(t *testing.T) {
	blobs := new(temporalengine.MemoryBlobs)
	c := dial(t, blobs)
	decides := toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		if strings.Contains(q.Message, "1") {
			return accept(`{"colour":"blue"}`), nil
		}
		return toolset.Reply{}, fmt.Errorf("%w who knows", toolset.ErrNobody)
	}}
	calls := []model.Part{ask("one"), model.ToolCall("two", "ask", `{"n":2}`)}
	for name, change := range map[string]func(*agent.Config[deps, report], *temporalengine.Config[deps, report]){
		"the agent's": func(a *agent.Config[deps, report], _ *temporalengine.Config[deps, report]) { a.Asker = decides },
		"of the options": func(_ *agent.Config[deps, report], c *temporalengine.Config[deps, report]) {
			c.Options = []agent.RunOption{agent.WithAsker(decides)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := agent.Config[deps, report]{Name: "asker", Tools: []*toolset.Tool[deps]{asking()}, Model: said(model.Response(calls...), model.Response(final("done")))}
			cfg := config(nil, blobs)
			change(&a, &cfg)
			cfg.Agent = agent.Must(agent.New(a))
			run, err := start(t, c, cfg).Start(t.Context(), temporalengine.Input{Prompt: "Go."})
			require.NoError(t, err)
			all := questions(t, run)
			require.Len(t, all, 1)
			require.Equal(t, []string{"two"}, all[0].Question.Path)
			require.NoError(t, run.Reply(t.Context(), all[0].ID, accept(`{"colour":"red"}`)))
			require.Equal(t, map[string]string{"one": `accept {"colour":"blue"}`, "two": `accept {"colour":"red"}`}, returns(t, run))
		})
	}
}

func TestQuestionsThatCannotWait(t *testing.T) {
	for name, c := range map[string]struct {
		local bool
		tool  *toolset.Tool[deps]
		want  string
	}{
		"a local activity":     {local: true, tool: asking(), want: "the calls of ask are local activities, which cannot wait for people: make them ordinary activities"},
		"the test environment": {tool: asking(), want: "the activity has no client of Temporal"},
		"a tool that defers": {tool: toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[deps], _ args) (string, error) {
			_, err := run.Ask(ctx, toolset.Question{Message: "Well?", Deferrable: true})
			return fmt.Sprint(errors.Is(err, toolset.ErrNobody)), nil
		}), want: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(asker([]model.Part{ask("q")}, c.tool), new(temporalengine.MemoryBlobs))
			cfg.Tool = func(string) temporalengine.Activity { return temporalengine.Activity{Local: c.local} }
			res, err := play(t, cfg, temporalengine.Input{Prompt: "Go."})
			require.NoError(t, err)
			require.Contains(t, plain(t, res.Messages), c.want)
		})
	}
}

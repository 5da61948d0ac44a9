// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// TestBackgroundAgentsOutliveTheirProcess: the handles of a resumed run are known, and what a sub-agent had done is not done again.
func TestBackgroundAgentsOutliveTheirProcess(t *testing.T) {
	var runs journal.Memory
	var keys []string
	dig := toolset.Func("dig", "Dig.", func(_ context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		keys = append(keys, run.IdempotencyKey())
		return "dug", nil
	})
	process := func(inner, outer model.Model) (*agent.Result[string], error) {
		scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: inner, Tools: []*toolset.Tool[none]{dig}}))
		a := agent.Must(agent.New(agent.Config[none, string]{Model: outer, Capabilities: []agent.Capability[none]{
			subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
		}}))
		return a.Run(t.Context(), none{}, "go", agent.WithJournal(&runs), agent.WithRunID("r"))
	}
	dug := make(chan struct{})
	first := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 1 {
			return model.Response(model.ToolCall("x", "dig", `{}`)), nil
		}
		close(dug)
		<-ctx.Done() // the process dies
		return nil, context.Cause(ctx)
	})
	asked := 0
	dies := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if asked++; asked == 1 {
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), nil
		}
		<-dug
		return nil, errors.New("the process died")
	})
	_, err := process(first, dies)
	require.ErrorContains(t, err, "the process died")

	second := make(chan struct{})
	rest := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 3 {
			return model.Response(model.Text("found")), nil
		}
		close(second)
		<-ctx.Done() // scout-2, which is cancelled
		return nil, context.Cause(ctx)
	})
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("2", "delegate", `{"agent":"scout","task":"look","background":true}`)),
		modeltest.Say(model.ToolCall("3", "cancel_agent", `{"handle":"scout-2"}`)),
		modeltest.Say(model.ToolCall("4", "wait_for_agents", `{}`)), modeltest.SayText("done"),
	)
	again := 0
	res, err := process(rest, modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if again++; again == 2 {
			<-second
		}
		return script.Generate(ctx, req, nil)
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"r/1/1/1/x"}, keys, "it is not dug again")
	require.Equal(t, 5+3+1, res.Usage.Requests, "five of the run, three of scout-1, of which one was cut off, one of scout-2")
	texts := told(res.Messages)
	require.Contains(t, texts[0], "Its handle is scout-1")
	require.Contains(t, texts[1], "Its handle is scout-2", "another one than that of the dead process")
	require.Equal(t, "# scout-1 (scout)\nfound", texts[len(texts)-1])
}

// scouting is a program whose agent has a scout in the background. Each process has models of its own.
type scouting struct {
	runs journal.Memory
	more []sub
}

func (p *scouting) process(t *testing.T, inner, outer model.Model) (*agent.Result[string], error) {
	scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: inner, Tools: []*toolset.Tool[none]{
		toolset.Func("dig", "Dig.", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "dug", nil }),
	}}))
	a := agent.Must(agent.New(agent.Config[none, string]{Model: outer, Capabilities: []agent.Capability[none]{
		subagents.New(subagents.Options[none]{
			Agents: append([]sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}, p.more...),
		}),
	}}))
	return a.Run(t.Context(), none{}, "go", agent.WithJournal(&p.runs), agent.WithRunID("r"))
}

// digs asks for two calls, and then waits until its context ends. It closes dug when it waits.
func digs(dug chan struct{}) model.Model {
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if n := len(req.Messages); n < 5 {
			return model.Response(model.ToolCall("x", "dig", `{}`)), nil
		}
		close(dug)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
}

// dies delegates once in the background, and fails when it is asked again after ready is closed.
func dies(agent string, ready <-chan struct{}) model.Model {
	asked := 0
	return modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if asked++; asked == 1 {
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"`+agent+`","task":"look","background":true}`)), nil
		}
		<-ready
		return nil, errors.New("the process died")
	})
}

// What an agent in the background has used counts in every process, if nobody waits for it, too.
func TestBackgroundThatNobodyWaitsForIsCounted(t *testing.T) {
	for name, rest := range map[string][]modeltest.Step{
		"ends":    {modeltest.SayText("done")},
		"cancels": {modeltest.Say(model.ToolCall("2", "cancel_agent", `{"handle":"scout-1"}`)), modeltest.SayText("done")},
	} {
		t.Run(name, func(t *testing.T) {
			var p scouting
			dug := make(chan struct{})
			_, err := p.process(t, digs(dug), dies("scout", dug))
			require.ErrorContains(t, err, "the process died")
			never := modeltest.Script()
			res, err := p.process(t, never, modeltest.Script(rest...))
			require.NoError(t, err)
			require.Equal(t, 1+len(rest)+3, res.Usage.Requests, "three of the scout, of which one was cut off")
			require.NotContains(t, strings.Join(told(res.Messages), "\n"), "Unknown handle")
			again, err := p.process(t, never, never)
			require.NoError(t, err)
			require.Equal(t, res.Usage, again.Usage)
		})
	}
}

// TestBackgroundThatIsCutOffIsCounted: the request of an agent in the background that is under way
// when its run ends counts, and counts the same when the run is replayed.
func TestBackgroundThatIsCutOffIsCounted(t *testing.T) {
	var p scouting
	dug := make(chan struct{})
	asked := 0
	res, err := p.process(t, digs(dug), modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if asked++; asked == 1 {
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), nil
		}
		<-dug
		return model.Response(model.Text("done")), nil
	}))
	require.NoError(t, err)
	require.Equal(t, 2+3, res.Usage.Requests)
	for range 2 {
		again, err := p.process(t, modeltest.Script(), modeltest.Script())
		require.NoError(t, err)
		require.Equal(t, res.Usage, again.Usage)
	}
}

// An agent in the background counts once if the process that waits for it dies afterwards.
func TestBackgroundCountsOnceInSeveralProcesses(t *testing.T) {
	var p scouting
	dug := make(chan struct{})
	_, err := p.process(t, digs(dug), dies("scout", dug))
	require.ErrorContains(t, err, "the process died")
	_, err = p.process(t, modeltest.Script(modeltest.SayText("found")), modeltest.Script(
		modeltest.Say(model.ToolCall("2", "wait_for_agents", `{}`)), modeltest.Fail(errors.New("again"))))
	require.ErrorContains(t, err, "again")
	res, err := p.process(t, modeltest.Script(), modeltest.Script(
		modeltest.Say(model.ToolCall("3", "wait_for_agents", `{"handles":["scout-1"]}`)), modeltest.SayText("done")))
	require.NoError(t, err)
	require.Equal(t, 4+4, res.Usage.Requests, "one of the scout was cut off")
	texts := told(res.Messages)
	require.Equal(t, "# scout-1 (scout)\nfound", texts[len(texts)-2])
	require.Contains(t, texts[len(texts)-1], "Unknown handle scout-1", "the model has its result")
}

// A tool in the background is not recorded. It is called again only if it is idempotent.
func TestToolInTheBackgroundThatWasCutOff(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		var keys []string
		began := make(chan struct{})
		opts := []toolset.Option{}
		if idempotent {
			opts = append(opts, toolset.Idempotent())
		}
		type args struct {
			Prompt string `json:"prompt"`
		}
		p := scouting{more: []sub{subagents.FromTool(toolset.Func("probe", "Probes.", func(ctx context.Context, run *toolset.RunContext[none], _ args) (string, error) {
			if keys = append(keys, run.IdempotencyKey()); len(keys) == 1 {
				close(began)
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "probed", nil
		}, opts...))}}
		_, err := p.process(t, modeltest.Script(), dies("probe", began))
		require.ErrorContains(t, err, "the process died")
		res, err := p.process(t, modeltest.Script(), modeltest.Script(
			modeltest.Say(model.ToolCall("2", "wait_for_agents", `{}`)), modeltest.SayText("done")))
		require.NoError(t, err)
		texts := told(res.Messages)
		if last := texts[len(texts)-1]; idempotent {
			require.Equal(t, []string{"r/1/1", "r/1/1"}, keys)
			require.Equal(t, "# probe-1 (probe)\nprobed", last)
		} else {
			require.Equal(t, []string{"r/1/1"}, keys)
			require.Equal(t, "# probe-1 (probe)\nFailed: The program ended before the agent had finished. It is not known what it has done.", last)
		}
	}
}

// An agent that was cancelled does not begin again if another call of the response waits for it.
func TestCancelledAgentStaysCancelled(t *testing.T) {
	var p scouting
	dug := make(chan struct{})
	asked := 0
	outer := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		switch asked++; asked {
		case 1:
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), nil
		case 2:
			<-dug
			return model.Response(model.ToolCall("2", "cancel_agent", `{"handle":"scout-1"}`)), nil
		case 3:
			return model.Response(model.ToolCall("3", "wait_for_agents", `{"handles":["scout-1"]}`)), nil
		}
		return model.Response(model.Text("done")), nil
	})
	res, err := p.process(t, digs(dug), outer)
	require.NoError(t, err)
	texts := told(res.Messages)
	require.Contains(t, texts[len(texts)-1], "Unknown handle scout-1")
	require.Equal(t, 4+3, res.Usage.Requests, "with the one that was cut off")
}

// TestAgentInsideABackgroundThatFailsIsCountedOnce: an agent in the background fails in a call that ran
// an agent, which has records of its own.
func TestAgentInsideABackgroundThatFailsIsCountedOnce(t *testing.T) {
	var runs journal.Memory
	play := func(outer, inner, deep model.Model, failed func()) (*agent.Result[string], error) {
		digger := agent.Must(agent.New(agent.Config[none, string]{Name: "digger", Model: deep}))
		dig := toolset.Func("dig", "Dig.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			_, err := digger.Run(ctx, none{}, "dig", agent.Within(run))
			return "", errors.Join(err, errors.New("the spade broke"))
		})
		scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: inner, Tools: []*toolset.Tool[none]{dig},
			Observer: &agent.Observer{End: func(agent.Event) { failed() }}}))
		a := agent.Must(agent.New(agent.Config[none, string]{Model: outer, Capabilities: []agent.Capability[none]{
			subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
		}}))
		return a.Run(t.Context(), none{}, "go", agent.WithJournal(&runs), agent.WithRunID("r"))
	}
	over := make(chan struct{})
	asked := 0
	outer := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		if asked++; asked == 1 {
			return model.Response(model.ToolCall("1", "delegate", `{"agent":"scout","task":"look","background":true}`)), nil
		}
		<-over
		return model.Response(model.Text("done")), nil
	})
	res, err := play(outer, modeltest.Script(modeltest.Say(model.ToolCall("x", "dig", `{}`))), modeltest.Script(modeltest.SayText("dug")), func() { close(over) })
	require.NoError(t, err)
	require.Equal(t, 2+1+1, res.Usage.Requests)
	again, err := play(modeltest.Script(), modeltest.Script(), modeltest.Script(), func() {})
	require.NoError(t, err)
	require.Equal(t, res.Usage, again.Usage)
}

// More agents than may be in the background at a time can have ended before anybody waits. They are
// all known to the next process.
func TestEndedAgentsOfAnEarlierProcessAreNotRefused(t *testing.T) {
	const n = subagents.MaxBackground + 2
	synctest.Test(t, func(t *testing.T) {
		var p scouting
		process := func(inner, outer model.Model) (*agent.Result[string], error) {
			nap := agent.Hooks[none]{Run: func(ctx context.Context, _ *toolset.RunContext[none], next agent.RunFunc) error {
				time.Sleep(time.Second)
				_, err := next(ctx)
				return err
			}}
			napper := agent.Must(agent.New(agent.Config[none, string]{Name: "napper", Model: inner, Hooks: []agent.Hooks[none]{nap}}))
			p.more = []sub{subagents.Of("napper", "Naps.", napper, func(n none) none { return n })}
			return p.process(t, modeltest.Script(), outer)
		}
		asked := 0
		_, err := process(modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			return model.Response(model.Text("rested")), nil
		}), modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			time.Sleep(2 * time.Second) // the one before has ended
			if asked++; asked <= n {
				return model.Response(delegate(fmt.Sprint(asked), "napper", "rest", true)), nil
			}
			return nil, errors.New("the process died")
		}))
		require.ErrorContains(t, err, "the process died")
		res, err := process(modeltest.Script(), modeltest.Script(modeltest.Say(wait("")), modeltest.SayText("done")))
		require.NoError(t, err)
		texts := told(res.Messages)
		require.Equal(t, n, strings.Count(texts[len(texts)-1], "(napper)\nrested"), texts[len(texts)-1])
	})
}

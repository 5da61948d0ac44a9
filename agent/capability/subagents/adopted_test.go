// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// waitFirst is a journal that records the call that waits for an agent before the call that began it. If lose is set, the process
// dies between the two.
type waitFirst struct {
	*journal.Memory
	began, waited chan struct{}
	lose          bool
}

var errDied = errors.New("the process died")

func (j waitFirst) Open(ctx context.Context, run string) (journal.Log, error) {
	log, err := j.Memory.Open(ctx, run)
	return waitFirstLog{log, j}, err
}

type waitFirstLog struct {
	journal.Log
	journal waitFirst
}

func (l waitFirstLog) Append(ctx context.Context, record []byte) error {
	tool := func(name string) bool {
		return strings.HasPrefix(string(record), `{"op":"tool"`) && strings.Contains(string(record), `"tool":"`+name+`"`)
	}
	switch {
	case tool("delegate"):
		close(l.journal.began)
		<-l.journal.waited
		if l.journal.lose {
			return errDied
		}
	case tool("wait_for_agents"):
		defer close(l.journal.waited)
	}
	return l.Log.Append(ctx, record)
}

// TestAgentInTheBackgroundCountsOnceInAnyOrder: a response begins an agent and waits for it. The calls run side by side, so the one that
// waits may be recorded first. The next process counts the agent once, and knows that it has ended.
func TestAgentInTheBackgroundCountsOnceInAnyOrder(t *testing.T) {
	for name, lose := range map[string]bool{"both recorded": false, "the process dies between them": true} {
		t.Run(name, func(t *testing.T) {
			var memory journal.Memory
			process := func(runs journal.Journal, began chan struct{}, inner, outer model.Model) (*agent.Result[string], error) {
				scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Model: inner}))
				wait := agent.Hooks[none]{Call: func(ctx context.Context, run *toolset.RunContext[none], args any, next toolset.CallFunc) (toolset.Result, error) {
					if run.Call.Tool == "wait_for_agents" && began != nil {
						<-began
					}
					return next(ctx, args)
				}}
				a := agent.Must(agent.New(agent.Config[none, string]{Model: outer, Hooks: []agent.Hooks[none]{wait}, Capabilities: []agent.Capability[none]{
					subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
				}}))
				return a.Run(t.Context(), none{}, "go", agent.WithJournal(runs), agent.WithRunID("r"))
			}
			first := waitFirst{&memory, make(chan struct{}), make(chan struct{}), lose}
			both := modeltest.Say(model.ToolCall("1", "wait_for_agents", `{}`), model.ToolCall("2", "delegate", `{"agent":"scout","task":"look","background":true}`))
			_, err := process(first, first.began, modeltest.Script(modeltest.SayText("found")), modeltest.Script(both, modeltest.Fail(errDied)))
			require.ErrorIs(t, err, errDied)
			never := modeltest.Script()
			res, err := process(&memory, nil, never, modeltest.Script(
				modeltest.Say(model.ToolCall("3", "wait_for_agents", `{}`)), modeltest.SayText("done")))
			require.NoError(t, err)
			require.Equal(t, 1+1+2, res.Usage.Requests, "one of the response, one of the scout, two of this process")
			texts := told(res.Messages)
			require.Contains(t, strings.Join(texts, "\n"), "# scout-1 (scout)\nfound")
			require.Equal(t, lose, strings.Contains(texts[len(texts)-1], "found"), "the model is told again only if the agent was begun again")
			again, err := process(&memory, nil, never, never)
			require.NoError(t, err)
			require.Equal(t, res.Usage, again.Usage)
		})
	}
}

// TestEndedBackgroundDoesNotHoldATurn: an agent in the background has failed in the middle of a call, and the model has been told before
// the call that began it was recorded. The turn goes on in the next process: nothing of it is unknown.
func TestEndedBackgroundDoesNotHoldATurn(t *testing.T) {
	ctx := t.Context()
	store, turn := begun(t)
	began, waited := make(chan struct{}), make(chan struct{})
	order := agent.Hooks[none]{Call: func(ctx context.Context, run *toolset.RunContext[none], args any, next toolset.CallFunc) (toolset.Result, error) {
		if run.Call.Tool == "wait_for_agents" {
			<-began
			return next(ctx, args)
		}
		defer func() { <-waited }()
		defer close(began)
		return next(ctx, args)
	}}
	scout := agent.Must(agent.New(agent.Config[none, string]{Name: "scout", Tools: []*toolset.Tool[none]{
		toolset.Func("dig", "Dig.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
			return "", errors.New("no spade")
		}),
	}, Model: modeltest.Script(modeltest.Say(model.ToolCall("x", "dig", `{}`)))}))
	a := agent.Must(agent.New(agent.Config[none, string]{Hooks: []agent.Hooks[none]{order}, Capabilities: []agent.Capability[none]{
		subagents.New(subagents.Options[none]{Agents: []sub{subagents.Of("scout", "Scouts.", scout, func(n none) none { return n })}}),
	}, Model: modeltest.Script(
		modeltest.Say(model.ToolCall("1", "wait_for_agents", `{}`), model.ToolCall("2", "delegate", `{"agent":"scout","task":"look","background":true}`)),
		modeltest.Fail(errDied),
	)}))
	stream := a.Stream(ctx, none{}, "go", turn.Options()...)
	for e := range stream.Events() {
		if e.Kind == agent.EventToolResult && e.Tool == "wait_for_agents" {
			close(waited)
		}
	}
	_, err := stream.Result()
	require.ErrorIs(t, err, errDied)

	_, whole := cutOff(t, store).Unknown()
	require.True(t, whole)
}

// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A barrier waits for the calls before it, also if one of them waits for calls inside it.
func TestCallsAfterAPendingInnerRunDoNotStart(t *testing.T) {
	for name, change := range map[string]func(*toolset.Tool[deps]){
		"parallel":   func(*toolset.Tool[deps]) {},
		"sequential": func(t *toolset.Tool[deps]) { t.Sequential = true },
		"approved": func(t *toolset.Tool[deps]) {
			t.Approval = func(context.Context, *toolset.RunContext[deps], any) (*toolset.Approval, error) {
				return &toolset.Approval{}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := &nest{desk: newDesk(), levels: 1, calls: []model.Part{edit("x", "edit", "a", "1")}}
			build := func(steps ...modeltest.Step) *agent.Agent[deps, string] {
				inner := agent.AsTool("ask", "", n.agent(t, 1), sameDeps)
				change(inner)
				return newAgent(t, cfg{Model: modeltest.Script(steps...), Asker: approves(func(r toolset.ApprovalRequest) toolset.Decision {
					if r.Tool == "edit" {
						return toolset.Defer()
					}
					n.did("approve %s", r.Tool)
					return toolset.Allow()
				})}, inner, n.tests(toolset.Sequential()), n.edit("write"))
			}
			_, err := build(modeltest.Say(ask("1"), call("2", "tests"), edit("3", "write", "b", "2"))).Run(t.Context(), deps{}, "go")
			calls, history := storedPending(t, err)
			require.Equal(t, []string{"/1/x"}, keys(calls))
			require.NotContains(t, n.log, "tests")
			res, err := build(modeltest.SayText("done")).Run(t.Context(), deps{}, "", agent.WithHistory(history),
				agent.WithResults(agent.DeferredResults{Decisions: map[string]toolset.Decision{"/1/x": toolset.Allow()}}))
			require.NoError(t, err)
			require.Equal(t, "done", res.Output)
			at := func(what string) int {
				for i, l := range n.log {
					if l == what {
						return i
					}
				}
				return -1
			}
			require.Positive(t, at("edit a"), "%v", n.log)
			require.Less(t, at("edit a"), at("tests"), "%v", n.log)
			require.Less(t, at("tests"), at("approve write"), "%v", n.log)
		})
	}
}

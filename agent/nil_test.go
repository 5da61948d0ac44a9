// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// An agent that is missing is a mistake of the program, which New reports with all others, and not a panic in a run.
func TestNewRefusesMissingAgents(t *testing.T) {
	type deps struct{}
	same := func(d deps) deps { return d }
	inner := agent.Must(agent.New(agent.Config[deps, string]{Model: modeltest.Script()}))
	_, err := agent.New(agent.Config[deps, string]{
		Tools: []*toolset.Tool[deps]{
			agent.AsTool[deps, deps, string]("no_agent", "", nil, same), agent.AsTool[deps]("no_deps", "", inner, nil),
			agent.AsTool("both", "", inner, same),
		},
		Alternatives: []agent.Alternative[deps, string]{
			agent.HandOver[deps, deps, string]("to_nobody", "", nil, same, agent.Stay()), agent.HandOver[deps]("without_deps", "", inner, nil),
			agent.HandOver("to_inner", "", inner, same), agent.Text[deps, string](nil),
		},
	})
	for _, want := range []string{
		`tool "no_agent": function is nil`, `tool "no_deps": function is nil`,
		"output to_nobody: the agent or the function is nil", "output without_deps: the agent or the function is nil",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "both")
	require.NotContains(t, err.Error(), "to_inner")
}

// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type unsound struct {
	N int `json:"n" binding:"required"`
}

// An output that is wrong keeps its name: a clash is still reported, and a choice of it is no
// choice of an unknown tool.
func TestUnsoundOutputHidesNoOtherProblem(t *testing.T) {
	clashing := toolset.Raw[any]("final_result", "x", []byte(`{"type":"object"}`), nil)
	_, err := agent.New(agent.Config[any, unsound]{
		Model: modeltest.Script(), Tools: []*toolset.Tool[any]{clashing},
	})
	require.ErrorContains(t, err, "the tag binding has no effect")
	var clash *toolset.NameClashError
	require.ErrorAs(t, err, &clash)
	require.Equal(t, "final_result", clash.Tool)

	_, err = agent.New(agent.Config[any, unsound]{
		Model: modeltest.Script(), ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "final_result"},
	})
	require.ErrorContains(t, err, "the tag binding has no effect")
	require.NotContains(t, err.Error(), "unknown tool")

	_, err = agent.New(agent.Config[any, any]{
		Model: modeltest.Script(), ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "none"},
		Alternatives: []agent.Alternative[any, any]{
			agent.OutputFunc[any, unsound, any]("none", "", nil), agent.OutputFunc[any, struct{}, any]("nil", "", nil),
		},
		Tools: []*toolset.Tool[any]{toolset.Raw[any]("nil", "x", []byte(`{"type":"object"}`), nil)},
	})
	require.ErrorContains(t, err, "the tag binding has no effect")
	require.ErrorContains(t, err, "output nil: the function is nil")
	require.ErrorAs(t, err, &clash)
	require.Equal(t, "nil", clash.Tool)
	require.NotContains(t, err.Error(), "unknown tool")
}

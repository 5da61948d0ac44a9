// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// toolError returns what New says of a tool with arguments of type In.
func toolError[In any]() error {
	tool := toolset.Plain[struct{}]("t", "", func(context.Context, In) (string, error) { return "", nil })
	_, err := agent.New(agent.Config[struct{}, string]{Model: modeltest.Auto(), Tools: []*toolset.Tool[struct{}]{tool}})
	return err
}

func outputError[O any]() error {
	_, err := agent.New(agent.Config[struct{}, O]{Model: modeltest.Auto()})
	return err
}

type listOfLists struct {
	V [][]int `json:"v" validate:"unique"`
}

type foreignTag struct {
	V string `json:"v" binding:"required"`
}

type badDefault struct {
	V int `json:"v" default:"0" validate:"min=1"`
}

func TestNewReportsTagsThatCannotWork(t *testing.T) {
	for want, err := range map[string]error{
		`tool "t": arguments: schema: agent_test.listOfLists: field V: validate tag "unique": values of type []int cannot be compared`: toolError[listOfLists](),
		`field V: the tag binding has no effect; use validate`:                                                                         toolError[foreignTag](),
		`field V: the default "0" is not accepted: must be at least 1, got 0`:                                                          toolError[badDefault](),
		`values of type []int cannot be compared`:                                                                                      outputError[listOfLists](),
		`the tag binding has no effect`:                                                                                                outputError[[]foreignTag](),
	} {
		require.ErrorContains(t, err, want)
	}
}

type plan struct {
	Wait  time.Duration `json:"wait"`
	Steps []string      `json:"steps" default:"think,act"`
}

func TestOutputsHaveDurationsAndDefaults(t *testing.T) {
	m := modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result", `{"wait":"1h30m"}`)))
	a, err := agent.New(agent.Config[struct{}, plan]{Model: m})
	require.NoError(t, err)
	res, err := a.Run(t.Context(), struct{}{}, "go")
	require.NoError(t, err)
	require.Equal(t, plan{90 * time.Minute, []string{"think", "act"}}, res.Output)
}

// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// amp encodes itself with json.Marshal, which escapes < > and &.
type amp string

func (a amp) MarshalJSON() ([]byte, error) { return json.Marshal(string(a)) }

func TestToolResultsAreNotHTMLEscaped(t *testing.T) {
	type row struct {
		Cond string         `json:"cond"`
		Self amp            `json:"self"`
		Any  map[string]any `json:"any"`
	}
	const want = `{"cond":"a < b","self":"x && y","any":{"<":">"}}`
	show := toolset.Plain[deps]("show", "", func(context.Context, none) (row, error) {
		return row{"a < b", "x && y", map[string]any{"<": ">"}}, nil
	})
	res, _, script := run(t, cfg{}, []modeltest.Step{modeltest.Say(call("1", "show")), modeltest.SayText("ok")}, show)
	require.Equal(t, want, script.Requests()[1].Messages[2].Parts[0].Text)

	text, err := json.Marshal(res.Messages)
	require.NoError(t, err)
	var back []*model.Message
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, dump(res.Messages), dump(back), "a stored history says the same")
}

func TestJournaledToolResultsAreNotHTMLEscaped(t *testing.T) {
	var runs journal.Memory
	calls := 0
	show := toolset.Plain[deps]("show", "", func(context.Context, none) (map[string]string, error) {
		calls++
		return map[string]string{"cond": "a < b && c"}, nil
	})
	for range 2 {
		script := modeltest.Script(modeltest.Say(call("1", "show")), modeltest.SayText("ok"))
		a := newAgent(t, cfg{Model: script}, show)
		res, err := a.Run(context.Background(), deps{}, "go", agent.WithJournal(&runs), agent.WithRunID("r"))
		require.NoError(t, err)
		require.Equal(t, `{"cond":"a < b && c"}`, res.Messages[2].Parts[0].Text)
	}
	require.Equal(t, 1, calls, "the second run was replayed")
}

func TestWhatModelsAreToldIsNotHTMLEscaped(t *testing.T) {
	type query struct {
		Op  string `json:"op" jsonschema:"description=One of < and >" validate:"oneof=< >"`
		Key string `json:"key" validate:"ne=a&b"`
	}
	config := agent.Config[deps, query]{Output: agent.Output{Mode: agent.OutputPrompted}}
	_, _, script := run(t, config, []modeltest.Step{
		modeltest.SayText(`{"op":"=","key":"a&b"}`), modeltest.SayText(`{"op":"<","key":"c"}`),
	})
	require.Contains(t, script.Requests()[0].Instructions, `"description":"One of < and >"`)
	told := script.Requests()[1].Messages
	require.Equal(t, `op: must be one of "<", ">", got "="`+"\n"+`key: must not be a&b, got "a&b"`, told[len(told)-1].Parts[0].Text)
}

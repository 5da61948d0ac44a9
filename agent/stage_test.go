// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
)

// The names are part of the JSON form of events, so they cannot change.
func TestStagesAndLimitNamesAreStable(t *testing.T) {
	for stage, want := range map[agent.Stage]string{
		agent.StagePrepare: "prepare", agent.StageModel: "model", agent.StageTool: "tool",
		agent.StageApproval: "approval", agent.StageOutput: "output",
	} {
		require.Equal(t, want, string(stage))
		b, err := json.Marshal(&agent.EventError{Kind: agent.ErrorOther, Text: "x", Stage: stage})
		require.NoError(t, err)
		require.JSONEq(t, `{"kind":"other","text":"x","stage":"`+want+`"}`, string(b))
	}
	for limit, want := range map[toolset.LimitName]string{
		toolset.LimitRequests: "requests", toolset.LimitToolCalls: "tool calls", toolset.LimitInputTokens: "input tokens",
		toolset.LimitOutputTokens: "output tokens", toolset.LimitTotalTokens: "total tokens", toolset.LimitCost: "cost",
	} {
		b, err := json.Marshal(agent.DescribeError(&agent.RunError{Stage: agent.StageModel, Err: &agent.LimitError{Limit: limit}}))
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(b, &got))
		require.Equal(t, want, got["limit"])
		require.Equal(t, "model", got["stage"])
	}
}

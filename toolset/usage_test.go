// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func TestUsageAndResultsAreStoredInSnakeCase(t *testing.T) {
	usage := toolset.Usage{Requests: 2, ToolCalls: 1, Cost: 0.25, Unpriced: 1, Usage: model.Usage{InputTokens: 30, OutputTokens: 9, CacheReadTokens: 4, CacheWriteTokens: 3, ReasoningTokens: 2}}
	stored(t, usage, `{"requests":2,"tool_calls":1,"input_tokens":30,"output_tokens":9,"cache_read_tokens":4,"cache_write_tokens":3,"reasoning_tokens":2,"cost":0.25,"unpriced":1}`)
	result := toolset.Result{Text: "21 C", Outcome: model.OutcomeFailed, Content: []model.Part{model.User("see")}, Meta: json.RawMessage(`{"a":1}`)}
	stored(t, result, `{"text":"21 C","outcome":"failed","content":[{"kind":"user","text":"see"}],"meta":{"a":1}}`)
	data, err := json.Marshal([]any{toolset.Usage{}, toolset.Result{}})
	require.NoError(t, err)
	require.Equal(t, `[{},{}]`, string(data))
}

// stored checks the JSON of a value, and that it can be read again.
func stored[T any](t *testing.T, value T, want string) {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	require.Equal(t, want, string(data))
	var back T
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, value, back)
}

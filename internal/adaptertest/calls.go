// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// AwkwardCalls is a conversation with calls as other providers make them: ids that are long, empty, or have any characters,
// and names of tools that never were. The calls are answered in another order.
func AwkwardCalls() []*model.Message {
	ids := []string{
		"call_1", "functions.weather:0", "functions_weather_0", "", "ø", "a b", "a.b", "a:b", "a_b", "123456789",
		"chatcmpl-tool-" + strings.Repeat("0123456789abcdef", 2), strings.Repeat("x", 40), strings.Repeat("x", 41),
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66), "exec|" + strings.Repeat("y", 100), "quote\"\n\x00",
	}
	names := []string{"weather", "web.search", "read a file!", "", strings.Repeat("n", 70), "ørret", "2nd"}
	calls, results := model.Response(), &model.Message{Kind: model.KindRequest}
	for i, id := range ids {
		name := names[i%len(names)]
		calls.Parts = append(calls.Parts, model.ToolCall(id, name, "{}"))
		results.Parts = append([]model.Part{model.ToolReturn(id, name, fmt.Sprint("result of ", i))}, results.Parts...)
	}
	calls.Provider, calls.Model = "elsewhere", "other"
	return []*model.Message{model.UserText("hi"), calls, results}
}

// SentCall is a call of AwkwardCalls, or the result of one, as it was sent.
type SentCall struct{ ID, Name string }

// FitsAwkwardCalls checks what was sent of AwkwardCalls: each id and each name match a pattern, ids differ, and results have
// the id of their call. The names of results may be missing.
func FitsAwkwardCalls(t testing.TB, id, name *regexp.Regexp, calls, results []SentCall) {
	t.Helper()
	sent := AwkwardCalls()
	require.Len(t, calls, len(sent[1].Parts))
	require.Len(t, results, len(calls))
	seen := map[string]bool{}
	for i, call := range calls {
		require.Regexp(t, id, call.ID)
		require.Regexp(t, name, call.Name)
		require.False(t, seen[call.ID], "the id %q is sent for two calls", call.ID)
		seen[call.ID] = true
		result := results[len(results)-1-i]
		require.Equal(t, call.ID, result.ID, "the result of %q", sent[1].Parts[i].CallID)
		if result.Name != "" {
			require.Equal(t, call.Name, result.Name)
		}
		if original := sent[1].Parts[i].CallID; id.MatchString(original) {
			require.Equal(t, original, call.ID, "an id that fits stays")
		}
	}
}

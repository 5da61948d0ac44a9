// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

func calls(provider string, ids ...string) *model.Message {
	msg := &model.Message{Kind: model.KindResponse, Provider: provider}
	for _, id := range ids {
		msg.Parts = append(msg.Parts, model.ToolCall(id, "f", "{}"))
	}
	return msg
}

// An id may be the very hash that stands for another one.
func TestWireIDsStayDifferent(t *testing.T) {
	for _, rule := range []adapter.IDRule{{Max: 9, Exact: true}, {Max: 40}, {}} {
		fit := func(ids ...string) []string {
			w := adapter.WireIDs{Rule: rule, Messages: []*model.Message{calls("", ids...)}}
			var fitted []string
			for _, id := range ids {
				fitted = append(fitted, w.Of(id))
			}
			return fitted
		}
		taken := fit("a.b")[0]
		require.NotEqual(t, "a.b", taken)
		got := fit("a.b", taken, "")
		require.Equal(t, taken, got[1], "an id that fits stays as it is")
		require.NotEqual(t, taken, got[0])
		require.NotContains(t, got[:2], got[2])
		require.Equal(t, got, fit("a.b", taken, ""))
	}
}

func TestWireIDsKeepProviderIDs(t *testing.T) {
	const kimi, vllm = "functions.weather:0", "chatcmpl-tool-0123456789abcdef0123456789abcdef"
	own := adapter.WireIDs{Provider: "host", Messages: []*model.Message{calls("host", kimi, vllm), calls("other", "functions.weather:1")}}
	require.Equal(t, kimi, own.Of(kimi))
	require.Equal(t, vllm, own.Of(vllm))
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, own.Of("functions.weather:1"))
	bounded := adapter.WireIDs{Rule: adapter.IDRule{Max: 40}, Provider: "host", Messages: own.Messages}
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, bounded.Of(kimi), "a known bound holds for all")
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, bounded.Of(vllm))
}

func TestWireIDsAreStableAsAConversationGrows(t *testing.T) {
	messages := []*model.Message{calls("", "a.b", "c"), calls("", "d:e")}
	shorter, longer := adapter.WireIDs{Messages: messages[:1]}, adapter.WireIDs{Messages: messages}
	require.Equal(t, shorter.Of("a.b"), longer.Of("a.b"))
}

func TestIDsThatFitCostNothing(t *testing.T) {
	w := adapter.WireIDs{Messages: []*model.Message{calls("", "call_1")}}
	require.Zero(t, testing.AllocsPerRun(10, func() { w.Of("call_1") }))
}

func TestToolNamesAreCheckedAlikeForAllProviders(t *testing.T) {
	for _, name := range []string{"f", "read_file", "read-file", "2nd", strings.Repeat("n", 64)} {
		require.NoError(t, adapter.CheckToolName(name))
		require.Equal(t, name, adapter.ToolName(name))
	}
	for name, sent := range map[string]string{
		"": "unknown", "web.search": "web_search", "a b!": "a_b_", "ørret": "_rret", strings.Repeat("n", 65): strings.Repeat("n", 64),
	} {
		err := adapter.CheckToolName(name)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
		require.ErrorContains(t, err, "toolset.Renamed")
		require.Equal(t, sent, adapter.ToolName(name))
	}
}

// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// turn gives the calls of one response their ids, and then their results.
func turn(t *testing.T, w *adapter.WireIDs, provider string, ids ...string) []string {
	t.Helper()
	w.Turn()
	var sent []string
	for _, id := range ids {
		sent = append(sent, w.Call(id, provider))
	}
	for i, id := range ids {
		require.Equal(t, sent[i], w.Result(id), "the result of call %d has the id of the call", i)
	}
	return sent
}

// An id may be the very hash that stands for another one.
func TestWireIDsStayDifferent(t *testing.T) {
	for _, rule := range []adapter.IDRule{{Max: 9, Exact: true}, {Max: 40}, {}} {
		taken := turn(t, &adapter.WireIDs{Rule: rule}, "", "a.b")[0]
		require.NotEqual(t, "a.b", taken)
		for _, ids := range [][]string{{"a.b", taken, ""}, {taken, "a.b", ""}, {"", "", "a.b", "a.b", taken}} {
			sent := turn(t, &adapter.WireIDs{Rule: rule}, "", ids...)
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(sent))), len(ids), "%q became %q", ids, sent)
			require.Equal(t, sent, turn(t, &adapter.WireIDs{Rule: rule}, "", ids...))
		}
	}
}

// Small models number their calls anew in each response.
func TestCallsOfAConversationHaveDifferentIDs(t *testing.T) {
	const characters = "a_0.-Æ"
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		rule := []adapter.IDRule{{Max: 9, Exact: true}, {Max: 40}, {Max: 64}, {}}[r.IntN(4)]
		w := adapter.WireIDs{Rule: rule, Provider: "host"}
		seen := map[string]bool{}
		for range 1 + r.IntN(6) {
			provider := []string{"", "host", "elsewhere"}[r.IntN(3)]
			var ids []string
			for range r.IntN(4) {
				id := ""
				for range r.IntN(3) {
					id += string([]rune(characters)[r.IntN(6)])
				}
				ids = append(ids, id)
			}
			for i, sent := range turn(t, &w, provider, ids...) {
				require.False(t, seen[sent], "%q was sent twice", sent)
				seen[sent] = true
				if rule.Exact {
					require.Regexp(t, "^[a-zA-Z0-9]{9}$", sent)
				} else if sent != ids[i] {
					require.Regexp(t, "^[a-zA-Z0-9_-]{1,40}$", sent)
				}
			}
		}
	}
}

func TestRepeatedIDsMatchTheirResults(t *testing.T) {
	w := &adapter.WireIDs{}
	require.Equal(t, []string{"call_0"}, turn(t, w, "", "call_0"))
	second := turn(t, w, "", "call_0", "call_1")
	require.NotEqual(t, "call_0", second[0])
	require.Equal(t, "call_1", second[1])
	third := turn(t, w, "", "call_0", "call_0") // results in the order of the calls
	require.NotEqual(t, third[0], third[1])
	require.NotContains(t, append(second, "call_0"), third[0])
	require.Equal(t, third[1], w.Result("call_0"), "a second result belongs to the last call")
	require.Equal(t, "orphan", w.Result("orphan"))
}

func TestWireIDsKeepProviderIDs(t *testing.T) {
	const kimi, vllm = "functions.weather:0", "chatcmpl-tool-0123456789abcdef0123456789abcdef"
	own := &adapter.WireIDs{Provider: "host"}
	require.Equal(t, []string{kimi, vllm}, turn(t, own, "host", kimi, vllm))
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, turn(t, own, "other", "functions.weather:1")[0])
	bounded := turn(t, &adapter.WireIDs{Rule: adapter.IDRule{Max: 40}, Provider: "host"}, "host", kimi, vllm)
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, bounded[0], "a known bound holds for all")
	require.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, bounded[1])
}

// What follows never changes an id: the prefix of a request stays the same.
func TestWireIDsAreStableAsAConversationGrows(t *testing.T) {
	conversation := [][]string{{"a.b", "c"}, {"d:e", "c"}, {"c", "", "a.b"}, {"d:e", "d:e"}}
	var before [][]string
	for n := range conversation {
		w := &adapter.WireIDs{Provider: "p"}
		var sent [][]string
		for i, ids := range conversation[:n+1] {
			sent = append(sent, turn(t, w, []string{"p", ""}[i%2], ids...))
		}
		for i := range before {
			require.Equal(t, before[i], sent[i])
		}
		before = sent
	}
}

func TestConversationWithoutCallsNeedsNoMemoryForIDs(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(10, func() {
		w := adapter.WireIDs{}
		w.Turn()
	}))
}

// An id of the greatest length stays, and one more is a hash of 32 letters and digits, or as many as the rule allows.
func TestLengthsOfIDs(t *testing.T) {
	for rule, most := range map[adapter.IDRule]int{{}: 40, {Max: 40}: 40, {Max: 64}: 64, {Max: 9}: 9, {Max: 1}: 1, {Max: 9, Exact: true}: 9} {
		fits, long := strings.Repeat("x", most), strings.Repeat("x", most+1)
		w := adapter.WireIDs{Rule: rule, Provider: "p"}
		require.Equal(t, []string{fits}, turn(t, &w, "", fits))
		require.Regexp(t, "^[0-9A-Za-z]+$", turn(t, &w, "", long)[0])
		require.Len(t, turn(t, &w, "", long)[0], min(32, most))
		require.Equal(t, fits, w.Result(fits))
		require.Len(t, w.Result(strings.Repeat("y", most+1)), min(32, most), "the result of no call")
		own := adapter.WireIDs{Rule: rule, Provider: "p"}
		require.Equal(t, rule == adapter.IDRule{}, turn(t, &own, "p", long)[0] == long, "the provider's own")
	}
	require.NotEqual(t, "12345678", turn(t, &adapter.WireIDs{Rule: adapter.IDRule{Max: 9, Exact: true}}, "", "12345678")[0])
	require.NotEqual(t, "12345678_", turn(t, &adapter.WireIDs{Rule: adapter.IDRule{Max: 9, Exact: true}}, "", "12345678_")[0])
}

func TestToolNamesAreCheckedAlikeForAllProviders(t *testing.T) {
	for _, name := range []string{"f", "read_file", "read-file", "2nd", strings.Repeat("n", 64)} {
		require.NoError(t, adapter.CheckToolName(name))
		require.Equal(t, name, adapter.ToolName(name))
	}
	for name, sent := range map[string]string{
		"": "unknown", "0.9-z_A": "0_9-z_A", "a\u0080": "a_", "a\x7f": "a_", "web.search": "web_search", "a b!": "a_b_", "ørret": "_rret", strings.Repeat("n", 65): strings.Repeat("n", 64),
	} {
		err := adapter.CheckToolName(name)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
		require.ErrorContains(t, err, "toolset.Renamed")
		require.Equal(t, sent, adapter.ToolName(name))
	}
}

// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestASummaryIsWorthARequestFromAQuarterOn: what is summarised has a quarter of the threshold at least.
func TestASummaryIsWorthARequestFromAQuarterOn(t *testing.T) {
	in := append(turns("ab", 0)[:4], turn("c", 6)[:13]...) // four messages of earlier turns, and a long turn
	for threshold, want := range map[int]int{1600: 4, 1603: 4, 1604: 0, 1699: 0, 1596: 4} {
		s := history.Summary{Model: modeltest.Script(modeltest.SayText("s")), Threshold: threshold, KeepTurns: 1, KeepSteps: 10}
		out := process(t, summarise(s), in)
		if want == 0 {
			require.True(t, same(in, out), threshold)
			continue
		}
		require.Equal(t, "4", out[0].Metadata[history.MetaSummary])
		require.Equal(t, in[want:], out[1:])
	}
}

// TestTheMostThatFitsIsKept: a turn more is summarised only if the rest and the summary would be too large.
func TestTheMostThatFitsIsKept(t *testing.T) {
	in := turns("abcdefg", 0) // 15 messages
	for threshold, kept := range map[int]int{1499: 7, 1200: 7, 1000: 7, 1100: 7} {
		s := history.Summary{Model: modeltest.Script(modeltest.SayText("s")), Threshold: threshold, KeepTurns: 4}
		out := process(t, summarise(s), in)
		require.Equal(t, in[len(in)-kept:], out[1:], threshold)
	}
	// 7 messages and a quarter of 1,000 fit; with two tokens more in each of them they do not, and there is a turn less.
	for each, kept := range map[int]int{100: 7, 107: 7, 108: 5} {
		s := history.Summary{Model: modeltest.Script(modeltest.SayText("s")), Threshold: 1000, KeepTurns: 4, Estimate: func(*model.Message) int { return each }}
		out, err := history.Summarise[deps](s)(t.Context(), nil, in)
		require.NoError(t, err)
		require.Equal(t, in[len(in)-kept:], out[1:], each)
	}
}

// TestMessagesOfAnotherKindAreInNobodysWay: they belong to the turn that they are in.
func TestMessagesOfAnotherKindAreInNobodysWay(t *testing.T) {
	other := &model.Message{Kind: "other", Parts: []model.Part{model.User("x")}}
	in := append([]*model.Message{other}, append(turns("a", 0), other, model.Response(model.Text("y")), request(model.User("z")))...)
	out, err := history.KeepLast[deps](1, 0)(t.Context(), nil, in)
	require.NoError(t, err)
	require.Equal(t, "z", texts(out))
	out, err = history.KeepLast[deps](9, 0)(t.Context(), nil, in)
	require.NoError(t, err)
	require.True(t, same(in, out))
}

// TestTextsAreCutBetweenCharacters: in results that are shortened, and in transcripts that are summarised piece by piece.
func TestTextsAreCutBetweenCharacters(t *testing.T) {
	for _, r := range []string{"é", "日", "𝄞"} {
		for pad := range 4 {
			long := strings.Repeat("x", pad) + strings.Repeat(r, 3000)
			steps := slices.Repeat([]modeltest.Step{modeltest.SayText("s")}, 20)
			script := modeltest.Script(steps...)
			in := []*model.Message{request(model.User(long)), model.Response(model.Text("yes")), request(model.User("now"))}
			_, _, err := history.Compact(t.Context(), history.Summary{Model: script, Threshold: 1000}, in, "", nil)
			require.NoError(t, err)
			var all strings.Builder
			for _, req := range script.Requests() {
				_, text, _ := strings.Cut(req.Messages[0].Parts[0].Text, "<conversation>\n")
				text, _, _ = strings.Cut(text, "</conversation>")
				require.True(t, strings.ToValidUTF8(text, "?") == text, "%s", r)
				all.WriteString(strings.TrimSuffix(text, "\n"))
			}
			require.Equal(t, 3000, strings.Count(all.String(), r))

			messages := []*model.Message{request(model.User("go")), model.Response(model.ToolCall("1", "t", "{}")), request(model.ToolReturn("1", "t", long))}
			text := process(t, history.TokenBudget[deps](history.Budget{Max: 20, ReturnBytes: 128}), messages)[2].Parts[0].Text
			require.Equal(t, strings.ToValidUTF8(text, "?"), text)
			require.LessOrEqual(t, len(text), 128)
			require.GreaterOrEqual(t, len(text), 128-2*(len(r)-1)-1)
		}
	}
}

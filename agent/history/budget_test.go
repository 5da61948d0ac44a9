// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
)

// ten estimates ten tokens for every message.
func ten(*model.Message) int { return 10 }

func budget(max, target int) history.Processor[deps] {
	return history.TokenBudget[deps](history.Budget{Max: max, Target: target, Estimate: ten})
}

func TestBudgetDropsOldestTurnsDownToItsTarget(t *testing.T) {
	in := turns("abcd", 0) // nine messages
	require.True(t, same(in, process(t, budget(90, 10), in)), "within the budget nothing changes")
	require.Equal(t, "ask c, answer c, ask d, answer d, now", texts(process(t, budget(89, 60), in)))
	require.Equal(t, "now", texts(process(t, budget(89, 1), in)), "the current prompt stays")
	require.Equal(t, "ask d, answer d, now", texts(process(t, history.TokenBudget[deps](history.Budget{Max: 60, Estimate: ten}), in)),
		"without a target it is three quarters")
}

// long is a turn in progress with steps whose returns have the given length.
func long(steps, bytes int) []*model.Message {
	messages := []*model.Message{request(model.System("rules"), model.User("do it"))}
	for i := range steps {
		id := fmt.Sprint(i)
		messages = append(messages,
			model.Response(model.Part{Kind: model.PartThinking, Text: "hm", Signature: []byte("sig")}, model.ToolCall(id, "look", `{}`)),
			request(model.ToolReturn(id, "look", strings.Repeat("x", bytes))))
	}
	return messages
}

func TestBudgetShortensEarlierReturnsOfTheCurrentTurn(t *testing.T) {
	in := long(3, 4000) // about 3,000 tokens
	out := process(t, history.TokenBudget[deps](history.Budget{Max: 2500, Target: 2400}), in)
	require.Len(t, out, len(in))
	require.Len(t, out[2].Parts[0].Text, 1024)
	require.Contains(t, out[2].Parts[0].Text, "\n[... 3007 bytes left out ...]\n")
	require.Equal(t, "2976", out[2].Metadata[history.MetaShortened])
	require.Same(t, in[4], out[4], "as few as will do")
	require.Same(t, in[6], out[6])
}

func TestBudgetDropsEarliestStepsOfTheCurrentTurn(t *testing.T) {
	in := long(10, 4000)
	out := process(t, history.TokenBudget[deps](history.Budget{Max: 2000, ReturnBytes: 1024}), in)
	require.Equal(t, "req system:rules user:do it\nres thinking:hm call:8\nreq ret:8:xxxxxxxx..1024\nres thinking:hm call:9\nreq ret:9:xxxxxxxx..4000", dump(out))
	require.Same(t, in[17], out[1], "responses that stay are as they were")
}

func TestBudgetShortensTheNewestReturnsLast(t *testing.T) {
	in := long(2, 40000)
	out := process(t, history.TokenBudget[deps](history.Budget{Max: 2000, ReturnBytes: 128}), in)
	require.Equal(t, "req system:rules user:do it\nres thinking:hm call:1\nreq ret:1:xxxxxxxx..4096", dump(out))
	out = process(t, history.TokenBudget[deps](history.Budget{Max: 10, ReturnBytes: 128}), in)
	require.Equal(t, "req system:rules user:do it\nres thinking:hm call:1\nreq ret:1:xxxxxxxx..128", dump(out), "a history that cannot be small enough is as small as it gets")
}

func TestBudgetKeepsWhatTheUserSentIntoTheRun(t *testing.T) {
	var in []*model.Message
	for _, m := range long(2, 10) {
		in = append(in, m)
		if len(in) == 3 {
			in = append(in, request(model.User("and that")))
		}
	}
	for _, m := range in {
		m.RunID = "r"
	}
	require.Equal(t, "req system:rules user:do it\nreq user:and that\nres thinking:hm call:1\nreq ret:1:xxxxxxxxxx", dump(process(t, budget(40, 40), in)))
}

func TestBudgetShortensBetweenRunes(t *testing.T) {
	in := long(1, 0)
	for pad := range 3 {
		in[2].Parts[0].Text = strings.Repeat("x", pad) + strings.Repeat("€", 2000)
		out := process(t, history.TokenBudget[deps](history.Budget{Max: 500}), in)
		text := out[2].Parts[0].Text
		require.Equal(t, strings.ToValidUTF8(text, "?"), text)
		require.LessOrEqual(t, len(text), 1536)
	}
}

func TestBudgetLeavesThePendingFrontierAlone(t *testing.T) {
	in := long(2, 40000)
	in[4].Pending = true
	p := history.TokenBudget[deps](history.Budget{Max: 10})
	out := process(t, p, in)
	require.Equal(t, "req system:rules user:do it\nres thinking:hm call:1\nreq ret:1:xxxxxxxx..40000", dump(out))
	require.Equal(t, "req system:rules user:do it\nres thinking:hm call:1", dump(process(t, p, in[:4])))
}

func TestBudgetKeepsAPromptThatIsTooLarge(t *testing.T) {
	in := []*model.Message{model.UserText(strings.Repeat("x", 10000))}
	require.True(t, same(in, process(t, history.TokenBudget[deps](history.Budget{Max: 10}), in)))
	in = []*model.Message{request(model.System(strings.Repeat("x", 10000)))}
	require.True(t, same(in, process(t, history.TokenBudget[deps](history.Budget{Max: 10}), in)))
}

// reported gives a response the usage that a provider reports.
func reported(m *model.Message, in, out int64) *model.Message {
	m = m.Clone()
	m.Usage = model.Usage{InputTokens: in, OutputTokens: out}
	return m
}

func TestSizeIsWhatTheProviderReported(t *testing.T) {
	in := turns("ab", 0) // ask a, answer a, ask b, answer b, now
	in[3] = reported(in[3], 500, 30)
	require.True(t, same(in, process(t, budget(540, 1), in)), "500 read, 30 written, 10 for the prompt")
	require.Equal(t, "now", texts(process(t, budget(539, 1), in)))
	in[3].Usage.ReasoningTokens = 20
	require.True(t, same(in, process(t, budget(520, 1), in)), "thinking may not come back, so the message is estimated")
}

func TestReportedSizeIsCorrectedWhenTurnsAreDropped(t *testing.T) {
	in := turns("abc", 0)
	in[1], in[3], in[5] = reported(in[1], 1010, 20), reported(in[3], 1050, 20), reported(in[5], 1090, 20)
	// Between two responses lie two messages and 40 tokens: twice what is estimated. Instructions and tools are 1,000.
	out := process(t, budget(1100, 1080), in)
	require.Equal(t, "ask b, answer b, ask c, answer c, now", texts(out))
	require.Equal(t, "1050", out[3].Metadata[history.MetaContext])
	require.Equal(t, int64(1090), out[3].Usage.InputTokens, "what was paid stays on record")

	// The next response is reported anew, and from there on it counts.
	next := append(out, reported(model.Response(model.Text("x")), 1080, 5), request(model.User("next")))
	require.True(t, same(next, process(t, budget(1100, 1080), next)))
}

// A history may begin with a response, for instance after other code has cut it. Nothing is before it, so what its provider reports
// is what instructions and tools cost, and they cost the same when the response is dropped.
func TestLeadingResponseTellsWhatInstructionsCost(t *testing.T) {
	in := append([]*model.Message{reported(model.Response(model.Text("first")), 1000, 10)}, turns("b", 0)...)
	out := process(t, budget(1020, 1015), in)
	require.Equal(t, "now", texts(out), "1,000 and 10 for each message")
	require.Equal(t, "ask b, answer b, now", texts(process(t, budget(1035, 1035), in)))
}

func TestEveryProcessorCorrectsTheReportedSize(t *testing.T) {
	in := turns("abc", 0)
	in[5] = reported(in[5], 1000, 10)
	out := process(t, history.KeepLast[deps](2, 0), in)
	require.Equal(t, "ask c, answer c, now", texts(out))
	require.Equal(t, "978", out[1].Metadata[history.MetaContext], "22 tokens are gone")
	require.True(t, same(out, process(t, history.TokenBudget[deps](history.Budget{Max: 1010}), out)))
	require.False(t, same(in, process(t, history.TokenBudget[deps](history.Budget{Max: 1010}), in)))
}

func TestMisleadingReportsDoNoHarm(t *testing.T) {
	in := turns("abc", 0)
	in[5] = reported(in[5], 3, 1) // less than estimated
	require.True(t, same(in, process(t, budget(14, 1), in)))
	require.Equal(t, "now", texts(process(t, budget(13, 1), in)))
	in[5].Metadata = map[string]string{history.MetaContext: "nonsense"}
	require.True(t, same(in, process(t, budget(14, 1), in)))
	in[1], in[3], in[5] = reported(in[1], 900, 1), reported(in[3], 100, 1), reported(in[5], 1000000, 1)
	require.Equal(t, "now", texts(process(t, budget(90000, 1), in)), "one token is at most four")
	none := history.TokenBudget[deps](history.Budget{Max: 10, Estimate: func(*model.Message) int { return -1 }})
	require.Equal(t, "now", texts(process(t, none, in)))
}

func TestEstimate(t *testing.T) {
	for _, c := range []struct {
		part model.Part
		want int
	}{
		{model.User(strings.Repeat("x", 400)), 104},
		{model.ToolCall("id", "tool", `{"a":"bcdefg"}`), 8},
		{model.Part{Kind: model.PartThinking, Signature: make([]byte, 400)}, 104},
		{model.Media("image/png", make([]byte, 1<<20)), 1504},
		{model.Media("application/pdf", make([]byte, 1<<20)), 16388},
		{model.Part{Kind: model.PartMedia, URL: "https://example.com/x.pdf"}, 1504},
	} {
		require.Equal(t, c.want, history.Estimate(request(c.part)), string(c.part.Kind))
	}
}

func TestBudgetsThatCannotBeKeptAreErrors(t *testing.T) {
	for _, b := range []history.Budget{
		{}, {Max: -1}, {Max: 10, Target: -1}, {Max: 10, Target: 11}, {Max: 10, ReturnBytes: 127}, {Max: 10, ReturnBytes: -1},
	} {
		_, err := history.TokenBudget[deps](b)(t.Context(), nil, nil)
		require.ErrorContains(t, err, fmt.Sprintf("TokenBudget: Max is %d, ", b.Max), "%+v", b)
	}
	for _, b := range []history.Budget{{Max: 1}, {Max: 10, Target: 1}, {Max: 10, Target: 10}, {Max: 10, ReturnBytes: 128}} {
		_, err := history.TokenBudget[deps](b)(t.Context(), nil, nil)
		require.NoError(t, err, "%+v", b)
	}
}

// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// hundred estimates a hundred tokens for every message.
func hundred(*model.Message) int { return 100 }

func summarise(s history.Summary) history.Processor[deps] {
	if s.Threshold == 0 {
		s.Threshold = 1000
	}
	if s.Estimate == nil {
		s.Estimate = hundred
	}
	return history.Summarise[deps](s)
}

func TestSummariseReplacesTheOlderPart(t *testing.T) {
	m := modeltest.Script(modeltest.SayText(" They spoke. "))
	in := append([]*model.Message{request(model.System("rules"))}, turns("abcde", 0)...)
	in[6].Time = time.Unix(1, 0).UTC()
	p := summarise(history.Summary{Model: m})
	out := process(t, p, in)
	require.Equal(t, "req system:rules\nreq user:Summary ..78\nreq user:ask d\nres text:answer d\nreq user:ask e\nres text:answer e\nreq user:now", dump(out))
	require.Equal(t, "Summary of the conversation up to here, which is no longer shown:\n\nThey spoke.", out[1].Parts[0].Text)
	require.Equal(t, map[string]string{history.MetaSummary: "6"}, out[1].Metadata)
	require.Equal(t, "run-c", out[1].RunID, "it has the ids of the last message that it stands for")
	require.Equal(t, "conversation", out[1].ConversationID)
	require.Equal(t, in[6].Time, out[1].Time)
	for i := range out[2:] {
		require.Same(t, in[7+i], out[2+i])
	}
}

func TestSummariseDoesNothingBelowTheThreshold(t *testing.T) {
	in := turns("abcd", 0)
	in = append(in, request(model.User("and")))
	require.True(t, same(in, process(t, summarise(history.Summary{Model: modeltest.Script()}), in)), "1,000 tokens")
}

func TestSummaryRequestIsText(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("s"))
	settings := &model.Settings{MaxTokens: 99}
	in := append([]*model.Message{
		request(model.System("old rules"), model.User("draw"), model.Media("image/png", []byte("x"))),
		model.Response(model.Thinking("secret thoughts"), model.Text("I look"), model.ToolCall("1", "look", `{"at":"sky"}`), model.ToolCall("2", "hear", ``)),
		request(model.ToolReturn("1", "look", "blue"), model.Part{Kind: model.PartToolReturn, CallID: "2", Tool: "hear", Text: "deaf", Outcome: model.OutcomeFailed}),
		model.Response(model.Media("image/png", nil), model.ToolCall("3", "look", "{")),
		request(model.Retry("3", "look", "bad JSON")),
		model.Response(model.Part{Kind: model.PartOpaque, Data: []byte("opaque")}),
		request(model.Retry("", "", "say something")),
		model.Response(model.Text("done")),
	}, turns("bc", 0)...)
	in = append(in, request(model.User("and")))
	process(t, summarise(history.Summary{Model: m, KeepTurns: 1, Settings: settings, Instructions: "Be brief."}), in)
	req := m.Requests()[0]
	require.Equal(t, "Be brief.", req.Instructions)
	require.Same(t, settings, req.Settings)
	require.Empty(t, req.Tools)
	require.Len(t, req.Messages, 1)
	require.Equal(t, `<conversation>
[system]
old rules

[user]
draw

[user shows media: image/png]

[assistant]
I look

[assistant calls look]
{"at":"sky"}

[assistant calls hear]


[result of look]
blue

[result of hear (failed)]
deaf

[assistant shows media: image/png]

[assistant calls look]
{

[correction of look asked for]
bad JSON

[correction asked for]
say something

[assistant]
done

[user]
ask b

[assistant]
answer b

[user]
ask c

[assistant]
answer c

</conversation>

The assistant will be shown this message of the user after your summary, so do not repeat it:
<message>
[user]
now

</message>

Write the summary now, in at most 125 words.`, req.Messages[0].Parts[0].Text)
}

func TestSummaryGoesIntoTheNextOne(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("FIRST"), modeltest.SayText("SECOND"))
	p := summarise(history.Summary{Model: m, KeepTurns: 1})
	out := process(t, p, turns("abcde", 0))
	require.Equal(t, "10", out[0].Metadata[history.MetaSummary])
	require.Len(t, out, 2)

	next := append(out, turns("fghij", 0)...)
	next[2] = model.Response(model.Text("answer now"))
	out = process(t, p, next)
	require.Contains(t, m.Requests()[0].Instructions, "older part of a conversation")
	text := m.Requests()[1].Messages[0].Parts[0].Text
	require.Contains(t, text, "<earlier_summary>\nFIRST\n</earlier_summary>")
	require.NotContains(t, text, "ask a", "what was summarised is not summarised again")
	require.Contains(t, text, "answer now")
	require.Equal(t, "21", out[0].Metadata[history.MetaSummary])
	require.Contains(t, out[0].Parts[0].Text, "SECOND")
	require.Equal(t, 0, m.Left())
}

func TestSummariseKeepsLastStepsOfALongTurn(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("s"))
	in := long(8, 10)
	for _, msg := range in {
		msg.RunID = "this"
	}
	in = append(turns("a", 0)[:2], in...)
	out := process(t, summarise(history.Summary{Model: m, KeepSteps: 2}), in)
	require.Equal(t, "req user:Summary ..68\nreq system:rules user:do it\nres thinking:hm call:6\nreq ret:6:xxxxxxxxxx\nres thinking:hm call:7\nreq ret:7:xxxxxxxxxx", dump(out))
	require.Equal(t, "this", out[0].RunID, "so the new messages of the run include it")
	require.Contains(t, m.Requests()[0].Messages[0].Parts[0].Text, "<message>\n[system]\nrules\n\n[user]\ndo it\n\n</message>")
}

func TestSummaryIsOnlyMadeIfItFreesAQuarter(t *testing.T) {
	size := func(m *model.Message) int {
		if says := m.Parts[0].Text; says == "now" {
			return 5000
		}
		return 100
	}
	in := turns("a", 0)
	require.True(t, same(in, process(t, summarise(history.Summary{Model: modeltest.Script(), Estimate: size}), in)))
	m := modeltest.Script(modeltest.SayText("s"))
	require.Len(t, process(t, summarise(history.Summary{Model: m, Estimate: size}), turns("ab", 0)), 2, "fewer turns than wanted are kept if they are too large")
	alone := []*model.Message{request(model.System("now"))}
	require.True(t, same(alone, process(t, summarise(history.Summary{Model: modeltest.Script(), Estimate: size}), alone)))
}

func TestLongTextsAreShortenedForTheSummaryAndInIt(t *testing.T) {
	wordy := modeltest.SayText(strings.Repeat("word ", 10000))
	m := modeltest.Script(slices.Repeat([]modeltest.Step{wordy}, 12)...)
	in := long(12, 20000)
	for _, msg := range in {
		msg.Parts[0].Meta = nil
	}
	p := history.Summarise[deps](history.Summary{Model: m, Threshold: 8000, KeepSteps: 1})
	out := process(t, p, in)
	require.Len(t, out, 4)
	require.LessOrEqual(t, history.Estimate(out[0]), 2000, "a quarter of the threshold")
	require.Greater(t, len(m.Requests()), 4)
	for _, r := range m.Requests() {
		asked := r.Messages[0].Parts[0].Text
		require.LessOrEqual(t, len(asked), 33000)
		require.Contains(t, asked, "bytes left out")
	}
}

func TestSummaryIsCountedAndReported(t *testing.T) {
	m := modeltest.Script(modeltest.SayText("s"))
	host := new(toolsettest.Host)
	run := &toolset.RunContext[deps]{RunInfo: toolset.RunInfo{Meter: new(toolset.Meter)}, Host: host}
	in := turns("abcde", 0)
	in[9] = reported(in[9], 1100, 100)
	out := processIn(t, summarise(history.Summary{Model: m}), run, in)
	usage := model.Usage{InputTokens: 10, OutputTokens: 5}
	require.Equal(t, toolset.Usage{Requests: 1, Usage: usage}, run.Meter.Usage())
	require.Equal(t, []any{history.Summarised{Messages: 6, Before: 1300, After: 800, Text: "s", Usage: usage}}, host.Events())
	require.Equal(t, "600", out[4].Metadata[history.MetaContext], "six messages less, the summary more")

	in[9] = reported(in[9], 2000, 100)
	_, err := summarise(history.Summary{Model: modeltest.Script(modeltest.SayText("s")), KeepTurns: 1})(context.Background(), run, in)
	require.NoError(t, err)
	require.Equal(t, int64(1300), host.Events()[1].(history.Summarised).After, "instructions and tools cost 1,100 as before")
}

// Metadata may come from anywhere. Numbers that make no sense count as none.
func TestSummaryIgnoresSenselessCounts(t *testing.T) {
	for text, want := range map[string]int{"7": 13, "-5": 6, "many": 6, "99999999999999999999": 6} {
		host := new(toolsettest.Host)
		run := &toolset.RunContext[deps]{RunInfo: toolset.RunInfo{Meter: new(toolset.Meter)}, Host: host}
		earlier := model.UserText("earlier")
		earlier.Metadata = map[string]string{history.MetaSummary: text}
		in := append([]*model.Message{earlier}, turns("abcde", 0)...)
		in[10] = reported(in[10], 1100, 100)
		processIn(t, summarise(history.Summary{Model: modeltest.Script(modeltest.SayText("s"))}), run, in)
		require.Len(t, host.Events(), 1, text)
		require.Equal(t, want, host.Events()[0].(history.Summarised).Messages, text)
	}
}

func TestOnErrorDecidesAboutFailedSummaries(t *testing.T) {
	boom := errors.New("boom")
	in := turns("abcde", 0)
	for name, step := range map[string]modeltest.Step{
		"boom": modeltest.Fail(boom),
		"the model wrote no summary (finish reason \"stop\")": modeltest.SayText(" "),
	} {
		_, err := summarise(history.Summary{Model: modeltest.Script(step)})(context.Background(), nil, in)
		require.EqualError(t, err, "history: summarise: "+name)

		var seen error
		soft := summarise(history.Summary{Model: modeltest.Script(step), OnError: func(_ context.Context, err error) error {
			seen = err
			return nil
		}})
		out, err := soft(context.Background(), nil, in)
		require.NoError(t, err)
		require.True(t, same(in, out), "the history stays as it is")
		require.EqualError(t, seen, name)
	}
	neither := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return nil, nil })
	_, err := summarise(history.Summary{Model: neither})(context.Background(), nil, in)
	require.EqualError(t, err, "history: summarise: the model returned neither a response nor an error")
	other := errors.New("other")
	_, err = summarise(history.Summary{Model: modeltest.Script(modeltest.Fail(boom)), OnError: func(context.Context, error) error { return other }})(context.Background(), nil, in)
	require.ErrorIs(t, err, other)
}

func TestSummariseEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	m := model.Func(model.Info{}, func(ctx context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
		cancel(cause)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	p := summarise(history.Summary{Model: m, OnError: func(context.Context, error) error { return nil }})
	_, err := p(ctx, nil, turns("abcde", 0))
	require.ErrorIs(t, err, cause, "a cancelled run is not gone on with")
}

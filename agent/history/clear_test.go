// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// looked is a turn of n steps with results of the given size.
func looked(n, size int) []*model.Message {
	messages := []*model.Message{request(model.User("look"))}
	for i := range n {
		id := fmt.Sprint(i)
		messages = append(messages, model.Response(model.ToolCall(id, "look", `{}`)), request(model.ToolReturn(id, "look", strings.Repeat("x", size))))
	}
	return messages
}

func TestOldResultsAreCleared(t *testing.T) {
	messages := looked(6, 2000)
	messages[2].Parts = append(messages[2].Parts, model.User("added by the tool"), model.Media("image/png", []byte("x")))
	messages[4].Parts[0].Outcome = model.OutcomeFailed
	messages[6].Parts[0].Tool = "plan"
	messages[8].Parts[0].Text = "short"
	host := &toolsettest.Host{}
	run := &toolset.RunContext[deps]{Host: host}
	out := processIn(t, history.ClearResults[deps](history.Clear{Threshold: 4000, KeepSteps: 1, Keep: []string{"plan"}}), run, messages)
	require.True(t, same(messages, out), "that would not free enough")

	messages = append(looked(6, 2000), looked(3, 2000)...)
	messages[2].Parts = append(messages[2].Parts, model.User("added by the tool"))
	messages[4].Parts[0].Outcome = model.OutcomeFailed
	messages[6].Parts[0].Tool = "plan"
	messages[8].Parts[0].Text = "short"
	out = processIn(t, history.ClearResults[deps](history.Clear{Threshold: 3000, KeepSteps: 2, Keep: []string{"plan"}}), run, messages)
	var cleared []int
	for i := range out {
		if out[i] != messages[i] {
			cleared = append(cleared, i)
			require.Equal(t, "[This result (2000 bytes) was removed to save space. Call look again if you need it.]", out[i].Parts[0].Text)
			require.Equal(t, "2000", out[i].Metadata[history.MetaCleared])
			require.Equal(t, messages[i].Parts[1:], out[i].Parts[1:])
		}
	}
	require.Equal(t, []int{2, 10, 12, 15}, cleared)
}

// The note of a tool with a long name is longer than the shortest result that is cleared. It stays.
func TestClearedResultsAreNotClearedAgain(t *testing.T) {
	name := strings.Repeat("n", 64)
	clear := history.ClearResults[deps](history.Clear{Threshold: 3000, KeepSteps: 1, MinBytes: 128, Remember: true})
	messages := looked(6, 2000)
	for i := range messages {
		for k := range messages[i].Parts {
			if p := &messages[i].Parts[k]; p.Tool != "" {
				p.Tool = name
			}
		}
	}
	once := processIn(t, clear, nil, messages)
	require.False(t, same(messages, once))
	more := append(once[:len(once):len(once)], looked(9, 2000)...)
	again := processIn(t, clear, nil, more)
	require.False(t, same(more, again))
	require.Equal(t, once[:11], again[:11])
	require.Equal(t, strings.Repeat("x", 2000), again[2].Metadata[history.MetaClearedText+"0"])
}

func TestClearingIsReported(t *testing.T) {
	host := &toolsettest.Host{}
	processIn(t, history.ClearResults[deps](history.Clear{Threshold: 3000, KeepSteps: 2}), &toolset.RunContext[deps]{Host: host}, looked(20, 2000))
	got := host.Events()
	require.Len(t, got, 1)
	c := got[0].(history.Cleared)
	require.Equal(t, 18, c.Results)
	require.EqualValues(t, 36000, c.Bytes)
	require.Greater(t, c.Before, c.After)
}

func TestPendingResultsAreNotCleared(t *testing.T) {
	messages := looked(10, 2000)
	messages[2].Pending = true
	out := process(t, history.ClearResults[deps](history.Clear{Threshold: 2000, KeepSteps: 1}), messages)
	require.Same(t, messages[2], out[2])
	require.NotSame(t, messages[4], out[4])
}

func TestClearResultsRefusesAWrongConfiguration(t *testing.T) {
	for _, c := range []history.Clear{{}, {Threshold: 999}, {Threshold: 1000, KeepSteps: -1}, {Threshold: 1000, MinBytes: 1}} {
		_, err := history.ClearResults[deps](c)(t.Context(), nil, nil)
		require.ErrorContains(t, err, "history: ClearResults: Threshold is")
	}
}

// A provider whose tokens have three bytes reports usage. What processors say of the size of a history that they have cut must be near to what
// the provider says of it next.
func TestSizesStayTrueAfterResultsAreCut(t *testing.T) {
	tokens := func(messages []*model.Message) (n int64) {
		for _, m := range messages {
			for _, p := range m.Parts {
				n += int64(len(p.Text)+len(p.Args)+10) / 3
			}
		}
		return n + 500
	}
	for name, p := range map[string]history.Processor[deps]{
		"cleared":   history.ClearResults[deps](history.Clear{Threshold: 8000}),
		"shortened": history.TokenBudget[deps](history.Budget{Max: 8000, Target: 6000}),
	} {
		t.Run(name, func(t *testing.T) {
			size := history.Gauge(nil)
			messages := looked(0, 0)
			cut := 0
			for i := range 60 {
				out, err := p(t.Context(), nil, messages)
				require.NoError(t, err)
				if !same(out, messages) {
					cut++
					require.InEpsilon(t, tokens(out), size(out), 0.2)
				}
				resp := model.Response(model.ToolCall(fmt.Sprint(i), "look", `{}`))
				resp.Usage = model.Usage{InputTokens: tokens(out), OutputTokens: 6}
				messages = append(out[:len(out):len(out)], resp, request(model.ToolReturn(fmt.Sprint(i), "look", strings.Repeat("word ", 300))))
			}
			require.Positive(t, cut)
			require.Less(t, cut, 30)
		})
	}
}

func TestCompactSummarisesNow(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("They asked twice."), modeltest.SayText("They looked."))
	messages := turns("ab", 1)
	s := history.Summary{Model: script, Threshold: 1 << 20, KeepTurns: 9}
	out, done, err := history.Compact(t.Context(), s, messages, "the colours", nil)
	require.NoError(t, err)
	require.Equal(t, len(messages)-1, done.Messages)
	require.Equal(t, "Summary of the conversation up to here, which is no longer shown:\n\nThey asked twice., now", texts(out))
	require.Contains(t, script.Requests()[0].Instructions, "keep this above all: the colours")
	require.Greater(t, done.Before, done.After)

	out, done, err = history.Compact(t.Context(), history.Summary{Model: script, Threshold: 1 << 20, KeepSteps: 2}, looked(5, 10), "", nil)
	require.NoError(t, err)
	require.Equal(t, 6, done.Messages)
	require.Len(t, out, 2+4, "the prompt and the last steps stay")
	require.Equal(t, "look", out[1].Parts[0].Text)

	for _, nothing := range [][]*model.Message{nil, looked(2, 10), {request(model.User("now"))}} {
		out, done, err = history.Compact(t.Context(), s, nothing, "", nil)
		require.NoError(t, err)
		require.Nil(t, done)
		require.Equal(t, nothing, out)
	}
}

func TestCompactFails(t *testing.T) {
	messages := turns("ab", 1)
	_, _, err := history.Compact(t.Context(), history.Summary{}, messages, "", nil)
	require.ErrorContains(t, err, "history: Compact: no model")
	boom := errors.New("boom")
	out, done, err := history.Compact(t.Context(), history.Summary{Model: modeltest.Script(modeltest.Fail(boom)), Threshold: 1000}, messages, "", nil)
	require.ErrorIs(t, err, boom)
	require.Nil(t, done)
	require.True(t, same(messages, out))
	meter := toolset.NewMeter(toolset.Limits{Requests: 1})
	require.NoError(t, meter.Request())
	_, _, err = history.Compact(t.Context(), history.Summary{Model: modeltest.Script(), Threshold: 1000}, messages, "", meter)
	require.Error(t, err)
}

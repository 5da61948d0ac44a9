// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func TestKeepLastDropsOldestTurnsWhole(t *testing.T) {
	out := process(t, history.KeepLast[deps](2, 0), turns("abc", 1))
	require.Equal(t, "req user:ask c\nres call:c0\nreq ret:c0:seen c0\nres text:answer c\nreq user:now", dump(out))
}

func TestKeepLastLetsSlackGatherBeforeItDrops(t *testing.T) {
	p := history.KeepLast[deps](2, 2)
	in := turns("abc", 0)
	require.True(t, same(in, process(t, p, in)), "four turns: two and a slack of two")
	require.Equal(t, "ask d, answer d, now", texts(process(t, p, turns("abcd", 0))), "all that are too many go at once")
}

func TestKeepLastKeepsLeadingSystemPrompts(t *testing.T) {
	p := history.KeepLast[deps](1, 0)
	alone := append([]*model.Message{request(model.System("rules"))}, turns("ab", 0)...)
	require.Equal(t, "req system:rules\nreq user:now", dump(process(t, p, alone)))

	joined := turns("ab", 0)
	joined[0] = request(model.System("rules"), model.User("ask a"), model.System("more"))
	out := process(t, p, joined)
	require.Equal(t, "req system:rules system:more\nreq user:now", dump(out))
	require.Equal(t, "1", out[0].Metadata[history.MetaTrimmed], "a message made by a processor says so")
}

func TestTurns(t *testing.T) {
	call, ret := model.Response(model.ToolCall("1", "t", "{}")), model.ToolReturn("1", "t", "r")
	answer := model.Response(model.Text("x"))
	inRun := func(id string, m *model.Message) *model.Message {
		m = m.Clone()
		m.RunID = id
		return m
	}
	for _, c := range []struct {
		name string
		in   []*model.Message
		want string // what KeepLast(1) leaves
	}{
		{"adjacent requests are one", []*model.Message{request(model.User("a")), answer, request(model.User("b")), request(model.User("c"))}, "req user:b\nreq user:c"},
		{"what tools show begins none", []*model.Message{request(model.User("a")), call, request(ret, model.User("picture"))}, "req user:a\nres call:1\nreq ret:1:r user:picture"},
		{"answers behind the prompt keep their calls", []*model.Message{request(model.User("a")), call, request(model.User("b")), request(ret), request(model.User("c"))}, "req user:c"},
		{"a prompt behind interrupted calls", []*model.Message{request(model.User("a")), call, request(ret), request(model.User("b"))}, "req user:b"},
		{"a retry of a text begins none", []*model.Message{request(model.User("a")), answer, request(model.Retry("", "", "why"))}, "req user:a\nres text:x\nreq retry::why"},
		{"media begins one", []*model.Message{request(model.User("a")), answer, request(model.Media("image/png", []byte("x")))}, "req media:"},
		{"what is sent into a run begins none", []*model.Message{request(model.User("a")), inRun("r", call), inRun("r", request(ret)), inRun("r", request(model.User("b")))}, "req user:a\nres call:1\nreq ret:1:r\nreq user:b"},
		{"a response ahead of all prompts", []*model.Message{answer, request(model.User("a"))}, "req user:a"},
		{"system prompts alone", []*model.Message{request(model.System("s"))}, "req system:s"},
		{"a request of nothing", []*model.Message{request(), answer, request(model.User("a"))}, "req user:a"},
		{"nothing", nil, ""},
		{"ends in calls", []*model.Message{request(model.User("a")), answer, request(model.User("b")), call}, "req user:b\nres call:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, dump(process(t, history.KeepLast[deps](1, 0), c.in)))
		})
	}
}

func TestKeepLastCountsWhenARunOrATurnBegins(t *testing.T) {
	p := history.KeepLast[deps](1, 0)
	call := []*model.Message{model.Response(model.ToolCall("1", "t", "{}")), request(model.ToolReturn("1", "t", "r"))}
	in := append(turns("a", 0), call...)
	step := func(n int) *toolset.RunContext[deps] {
		return &toolset.RunContext[deps]{RunInfo: toolset.RunInfo{Step: n}}
	}
	require.Len(t, processIn(t, p, step(1), in), 3, "a run that resumes a turn begins with its step 1")
	require.Len(t, processIn(t, p, step(2), in), 5, "in the middle of a turn there is nothing to count")
	require.Len(t, processIn(t, p, step(2), turns("a", 0)), 1)
}

func TestWrongConfigurationFailsWheneverItIsUsed(t *testing.T) {
	m := model.Func(model.Info{}, nil)
	for want, p := range map[string]history.Processor[deps]{
		"history: KeepLast: 0 turns":           history.KeepLast[deps](0, 0),
		"history: KeepLast: 1 turns and a s":   history.KeepLast[deps](1, -1),
		"history: TokenBudget: Max is 0":       history.TokenBudget[deps](history.Budget{}),
		"history: TokenBudget: Max is 10":      history.TokenBudget[deps](history.Budget{Max: 10, Target: 11}),
		"ReturnBytes 1; want":                  history.TokenBudget[deps](history.Budget{Max: 10, ReturnBytes: 1}),
		"history: Summarise: no model":         history.Summarise[deps](history.Summary{Threshold: 1000}),
		"history: Summarise: Threshold is 999": history.Summarise[deps](history.Summary{Model: m, Threshold: 999}),
		"KeepTurns -1, KeepSteps 5":            history.Summarise[deps](history.Summary{Model: m, Threshold: 1000, KeepTurns: -1}),
		"history: Redact: rule 0 (x) has no":   history.Redact[deps](history.Rule{Name: "x"}),
		"history: Redact: rule 0 (hush) match": history.Redact[deps](history.Rule{Name: "hush", Pattern: word.Pattern}),
	} {
		_, err := p(context.Background(), nil, turns("", 0))
		require.ErrorContains(t, err, want)
	}
}

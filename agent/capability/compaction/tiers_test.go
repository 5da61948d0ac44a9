// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// letters counts a token for each letter of a message.
func letters(m *model.Message) int {
	n := 0
	for i := range m.Parts {
		n += len(m.Parts[i].Text)
	}
	return n
}

func sizeOf(messages []*model.Message) (n int) {
	for _, m := range messages {
		n += letters(m)
	}
	return n
}

// lettered is a history of some size: results of a tool first, and texts behind.
func lettered(results, texts int) (messages []*model.Message) {
	x := func(n int) string { return strings.Repeat("x", n) }
	messages = append(messages, model.UserText("look"))
	for i := range 4 {
		id := fmt.Sprint("c", i)
		messages = append(messages, model.Response(model.ToolCall(id, "look", `{}`)), &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn(id, "look", x(results/4))}})
	}
	messages = append(messages, model.Response(model.Text("seen")))
	for range 4 {
		messages = append(messages, model.UserText(x(texts/8)), model.Response(model.Text(x(texts/8))))
	}
	return messages
}

// told returns what happens to a history of an exact size.
func told(t *testing.T, o compaction.Options[deps], info model.Info, messages []*model.Message, size int, fails bool) string {
	t.Helper()
	rest := size - sizeOf(messages) - len("go")
	require.GreaterOrEqual(t, rest, 0)
	messages = append(messages, model.UserText(strings.Repeat("y", rest)), model.Response(model.Text("")))
	return happens(t, o, info, messages, fails)
}

// happens runs an agent with a history, and returns what is told of it, and what is sent.
func happens(t *testing.T, o compaction.Options[deps], info model.Info, messages []*model.Message, fails bool) string {
	t.Helper()
	sent := 0
	m := model.Func(info, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		sent = sizeOf(req.Messages)
		return model.Response(model.Text("ok")), nil
	})
	o.Model = model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		if fails {
			return nil, errors.New("it is broken")
		}
		return model.Response(model.Text("They found it.")), nil
	})
	o.Estimate = letters
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Capabilities: []agent.Capability[deps]{compaction.New(o)}}))
	s := a.Stream(t.Context(), deps{}, "go", agent.WithHistory(messages))
	var lines []string
	for e := range s.Events() {
		if e.Kind != agent.EventCustom {
			continue
		}
		switch v := e.Value.(type) {
		case history.Cleared:
			lines = append(lines, fmt.Sprintf("cleared %d", v.Results))
		case history.Summarised:
			lines = append(lines, fmt.Sprintf("summarised %d: %d to %d", v.Messages, v.Before, v.After))
		case view.Change:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", v.Entity.Kind, v.Entity.Class, v.Entity.Status, v.Entity.Title)))
		default:
			lines = append(lines, fmt.Sprintf("%T", v))
		}
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.Equal(t, "ok", res.Output)
	lines = append(lines, fmt.Sprintf("sent %d", sent))
	return strings.Join(lines, "; ")
}

// What becomes of a history follows from its size alone, to the token: results are cleared beyond 60 % of the bound if that
// frees enough, users are warned from 75 % on, beyond 85 % there is a summary, and if that fails, what is beyond the bound is cut
// to 70 % of it. The bound is the window without its reserve.
func TestTiersBeginAtTheirShareOfTheBound(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name  string
		o     compaction.Options[deps]
		info  model.Info
		bound int
		fails bool
	}{
		{"the model's window", compaction.Options[deps]{KeepSteps: 1}, model.Info{ContextWindow: 16_000}, 14_000, false},
		{"a window and a reserve", compaction.Options[deps]{KeepSteps: 1, Window: 8000, Reserve: 3000}, model.Info{ContextWindow: 16_000}, 5000, false},
		{"half of the window at most", compaction.Options[deps]{KeepSteps: 1, Reserve: 2000}, model.Info{ContextWindow: 5000}, 3000, false},
		{"the least window", compaction.Options[deps]{KeepSteps: 1}, model.Info{ContextWindow: 100}, 3500, false},
		{"no window", compaction.Options[deps]{KeepSteps: 1}, model.Info{}, 112_000, false},
		{"results are kept", compaction.Options[deps]{KeepSteps: 1, KeepResults: []string{"look"}}, model.Info{ContextWindow: 16_000}, 14_000, false},
		{"all steps are kept", compaction.Options[deps]{KeepSteps: 9}, model.Info{ContextWindow: 16_000}, 14_000, false},
		{"three steps are kept", compaction.Options[deps]{KeepSteps: 3}, model.Info{ContextWindow: 16_000}, 14_000, false},
		{"two turns are kept", compaction.Options[deps]{KeepSteps: 1, KeepTurns: 2}, model.Info{ContextWindow: 16_000}, 14_000, false},
		{"summaries fail", compaction.Options[deps]{KeepSteps: 1}, model.Info{ContextWindow: 16_000}, 14_000, true},
	} {
		fmt.Fprintf(&b, "# %s\n", c.name)
		for _, share := range []int{60, 75, 85, 100, 130} {
			for _, more := range []int{-1, 0, 1} {
				size := c.bound*share/100 + more
				fmt.Fprintf(&b, "%d%%%+d: %s\n", share, more, told(t, c.o, c.info, lettered(c.bound/4, c.bound/4), size, c.fails))
			}
		}
	}
	path := filepath.Join("testdata", "tiers.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// Options at their limits are good, and one beyond is told with what is allowed.
func TestLimitsOfOptionsAreToldExactly(t *testing.T) {
	check := func(o compaction.Options[deps]) string {
		o.Model = summariser()
		if _, err := agent.New(agent.Config[deps, string]{Model: summariser(), Capabilities: []agent.Capability[deps]{compaction.New(o)}}); err != nil {
			return err.Error()
		}
		return ""
	}
	for _, o := range []compaction.Options[deps]{
		{}, {Window: 4000}, {Window: 4000, Reserve: 2000}, {Reserve: 2000}, {Window: 9001, Reserve: 4500}, {SpillBytes: 4096}, {KeepSteps: 1, KeepTurns: 1},
	} {
		require.Empty(t, check(o))
	}
	for want, o := range map[string]compaction.Options[deps]{
		"compaction: Options.Window is 3999; it must be at least 4000, or 0":            {Window: 3999},
		"compaction: Options.Window is -1; it must be at least 4000, or 0":              {Window: -1},
		"compaction: Options.Reserve is 2001; it must be between 0 and half the window": {Reserve: 2001},
		"compaction: Options.Reserve is 4501; it must be between 0 and half the window": {Window: 9001, Reserve: 4501},
		"compaction: Options.Reserve is -1; it must be between 0 and half the window":   {Reserve: -1},
		"compaction: Options.KeepTurns is -1 and KeepSteps 5; neither may be negative":  {KeepTurns: -1},
		"compaction: Options.KeepTurns is 0 and KeepSteps -1; neither may be negative":  {KeepSteps: -1},
		"compaction: Options.SpillBytes is 4095; it must be at least 4096, or 0":        {SpillBytes: 4095},
		"compaction: Options.SpillBytes is -1; it must be at least 4096, or 0":          {SpillBytes: -1},
	} {
		require.Contains(t, check(o), want)
	}
}

// fine is a history of turns of 20 tokens each.
func fine(turns int) (messages []*model.Message) {
	for range turns {
		messages = append(messages, model.UserText(strings.Repeat("x", 10)), model.Response(model.Text(strings.Repeat("y", 10))))
	}
	return messages
}

// What is cut is cut to its target, to the turn: 70 % of the bound if there is no summary, and nine tenths of 70, 45 and 25 % of a
// request that a provider refuses. The response has the size of the whole.
func TestHistoriesAreCutToTheirTargets(t *testing.T) {
	got := told(t, compaction.Options[deps]{}, model.Info{ContextWindow: 16_000}, fine(699), 14_001, true)
	require.Equal(t, "compaction  in_progress; compaction  failed The model could not summarise the conversation.; sent 9781", got)

	var sizes []int
	refuse := 3
	m := model.Func(model.Info{ContextWindow: 16_000}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		sizes = append(sizes, sizeOf(req.Messages))
		if refuse--; refuse >= 0 {
			return nil, fmt.Errorf("no: %w", model.ErrContextLength)
		}
		return model.Response(model.Text("ok")), nil
	})
	a := agent.Must(agent.New(agent.Config[deps, string]{Model: m, Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser(), Estimate: letters})}}))
	for refused, want := range [][]int{{8002}, {8002, 5022}, {8002, 5022, 3222}, {8002, 5022, 3222, 1782}} {
		sizes, refuse = nil, refused
		res, err := a.Run(t.Context(), deps{}, "go", agent.WithHistory(fine(400)))
		require.NoError(t, err)
		require.Equal(t, want, sizes)
		size := res.Messages[len(res.Messages)-1].Metadata[history.MetaContext]
		if refused == 0 {
			require.Empty(t, size)
		} else {
			require.Equal(t, "14001", size, "more than the bound, so that the next request is compacted")
		}
	}
	sizes, refuse = nil, 1
	res, err := a.Run(t.Context(), deps{}, strings.Repeat("g", 30_000), agent.WithHistory(fine(10)))
	require.ErrorIs(t, err, model.ErrContextLength)
	require.Nil(t, res)
}

// A summary that a provider has made is in the history, and so is what it stands for: another model gets all of it. What the provider
// counts behind its summary is not the size of that.
func TestHistoriesBehindAProvidersSummaryHaveTheirWholeSize(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	response := func(provider string, input int64, parts ...model.Part) *model.Message {
		m := model.Response(parts...)
		m.Provider, m.Usage = provider, model.Usage{InputTokens: input}
		if input > 0 {
			m.Usage.OutputTokens = 10
		}
		return m
	}
	summary := func(kind string) model.Part {
		return model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte(`{"type":"` + kind + `","content":"short"}`)}
	}
	history := func(middle, last *model.Message) []*model.Message {
		return []*model.Message{model.UserText(x(1500)), response("p", 1500, model.Text(x(10))), model.UserText(x(1600)), middle, model.UserText(x(300)), last}
	}
	marked := response("p", 400, model.Text(x(10)))
	marked.Metadata = map[string]string{"ponte.history.context": "3100", "own": "kept"}
	own := response("p", 400, model.Text(x(10)))
	own.Metadata = map[string]string{"own": "kept"}
	for name, c := range map[string]struct {
		messages []*model.Message
		want     string
	}{
		"a summary":               {history(response("p", 2000, summary("compaction"), model.Text(x(10))), response("p", 400, model.Text(x(10)))), "3522"},
		"another kind of summary": {history(response("p", 2000, summary("compaction_summary"), model.Text(x(10))), own), "3522"},
		"a large summary":         {history(response("p", 5000, summary("compaction"), model.Text(x(10))), response("p", 400, model.Text(x(10)))), "3522"},
		"without its usage":       {history(response("p", 0, summary("compaction"), model.Text(x(10))), response("p", 400, model.Text(x(10)))), "3522"},
		"one token at last":       {history(response("p", 2000, summary("compaction"), model.Text(x(10))), response("p", 1, model.Text(x(10)))), "3123"},
		"no usage at last":        {history(response("p", 2000, summary("compaction"), model.Text(x(10))), response("p", 0, model.Text(x(10)))), "3432"},
		"the size is known":       {history(response("p", 2000, summary("compaction"), model.Text(x(10))), marked), "3112"},
		"no summary":              {history(response("p", 2000, summary("reasoning"), model.Text(x(10))), response("p", 400, model.Text(x(10)))), ""},
		"another provider's":      {history(response("p", 2000, summary("compaction"), model.Text(x(10))), response("q", 400, model.Text(x(10)))), ""},
		"another part":            {history(response("p", 2000, model.Part{Kind: model.PartText, Text: "\"compaction\""}), response("p", 400, model.Text(x(10)))), ""},
		"a summary at last":       {history(response("p", 2000, model.Text(x(10))), response("p", 400, summary("compaction"), model.Text(x(10)))), "3432"},
	} {
		before, err := json.Marshal(c.messages)
		require.NoError(t, err)
		pointers := slices.Clone(c.messages)
		got := happens(t, compaction.Options[deps]{}, model.Info{ContextWindow: 4000}, c.messages, false)
		_, size, _ := strings.Cut(got, "summarised ")
		_, size, _ = strings.Cut(size, ": ")
		size, _, _ = strings.Cut(size, " to ")
		require.Equal(t, c.want, size, "%s: %s", name, got)
		after, err := json.Marshal(c.messages)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "what was given is not changed")
		require.Equal(t, pointers, c.messages)
	}
}

// used returns a response with what its request has cost.
func used(m *model.Message, input int64) *model.Message {
	m.Usage = model.Usage{InputTokens: input, OutputTokens: 5}
	return m
}

// Users are warned when the history has just grown beyond three quarters, by whatever has come since the last request.
func TestUsersAreWarnedWhenTheHistoryGrows(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	info := model.Info{ContextWindow: 4000} // 75 % of the bound are 2625
	for name, c := range map[string]struct {
		messages []*model.Message
		warned   bool
	}{
		"by the answer":        {[]*model.Message{model.UserText(x(2600)), model.Response(model.Text(x(30)))}, true},
		"by the answer, just":  {[]*model.Message{model.UserText(x(2624)), model.Response(model.Text(x(2)))}, true},
		"before":               {[]*model.Message{model.UserText(x(2625)), model.Response(model.Text(x(2)))}, false},
		"long before":          {[]*model.Message{model.UserText(x(2625)), model.Response(model.Text(x(2))), model.UserText(x(40)), model.Response(model.Text(x(2)))}, false},
		"by the last question": {[]*model.Message{model.UserText(x(2500)), model.Response(model.Text("y")), model.UserText(x(120)), model.UserText(x(20)), model.Response(model.Text(""))}, false},
		"by the prompt":        {[]*model.Message{model.UserText(x(2600)), model.Response(model.Text(x(21))), model.UserText(x(2))}, true},
		"by the first prompt":  {[]*model.Message{model.UserText(x(2700))}, true},
		"by what it has cost":  {[]*model.Message{model.UserText(x(2000)), used(model.Response(model.Text(x(20))), 2700)}, true},
		"by what it cost once": {[]*model.Message{model.UserText(x(2000)), used(model.Response(model.Text(x(20))), 2700), model.UserText(x(2)), used(model.Response(model.Text(x(2))), 2720)}, false},
		"not yet":              {[]*model.Message{model.UserText(x(2600)), model.Response(model.Text(x(22)))}, false},
	} {
		got := happens(t, compaction.Options[deps]{}, info, c.messages, false)
		require.Equal(t, c.warned, strings.Contains(got, "notice warning  The conversation fills 7"), "%s: %s", name, got)
	}
	for size, share := range map[int]string{2764: "78%", 2765: "79%", 2799: "79%", 2800: "80%"} {
		got := happens(t, compaction.Options[deps]{}, info, []*model.Message{model.UserText(x(size - len("go")))}, false)
		require.Contains(t, got, "notice warning  The conversation fills "+share+" of the context window. Its older part will be summarised soon;", size)
	}
}

// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/model"
)

// The memory for the text of a response is kept for the next run, unless it is more than most need.
func TestMemoryForTextIsKeptUpToABound(t *testing.T) {
	for size, kept := range map[int]int{1: 1, 256 << 10: 256 << 10, 256<<10 + 1: 0} {
		s := streamed{
			text: make([]byte, size), segments: make([]segment, 3), parts: make([]openPart, 2),
			growing: true, index: 1, number: 1, shown: 2, usage: model.Usage{InputTokens: 1},
		}
		s.giveBack()
		require.GreaterOrEqual(t, cap(s.text), kept)
		require.Equal(t, kept > 0, s.text != nil, size)
		require.Empty(t, s.text)
		require.Empty(t, s.segments)
		s.text, s.segments = nil, nil
		require.Equal(t, streamed{}, s)
	}
}

// The text of a part is put together from what arrived in turns with other parts.
func TestTextOfPartsThatArriveInTurns(t *testing.T) {
	var s streamed
	s.parts = []openPart{{index: 4, number: 0}, {index: 7, number: 1}, {index: 9, number: 2}}
	for _, step := range []struct {
		part int
		text string
	}{{0, "one"}, {1, "two"}, {0, ""}, {1, "three"}, {0, "four"}} {
		s.switchTo(step.part)
		require.True(t, s.growing)
		require.Equal(t, s.parts[step.part].index, s.index)
		require.Equal(t, s.parts[step.part].number, s.number)
		s.text = append(s.text, step.text...)
	}
	require.Equal(t, "onefour", string(s.textOf(0)))
	require.Equal(t, "twothree", string(s.textOf(1)))
	require.Empty(t, s.textOf(2))
}

// A whole part takes the place of what was streamed of it: the first part with its index and kind
// has it, and what else has these is in it. Without any, it is a part that nobody has seen.
func TestWholePartsTakeTheirPlaces(t *testing.T) {
	whole := model.Text("whole")
	of := func(index int, kind model.PartKind) openPart { return openPart{index: index, kind: kind} }
	first, other, last := of(1, model.PartText), of(1, model.PartThinking), of(2, model.PartText)
	s := streamed{parts: []openPart{last, other, first, first}}
	s.complete(&model.Delta{Part: 1, Kind: model.PartText, Whole: &whole})
	with, absorbed := first, first
	with.whole, absorbed.absorbed = &whole, true
	require.Equal(t, []openPart{last, other, with, absorbed}, s.parts)
	unseen := openPart{index: 3, whole: &whole, ended: true}
	s.complete(&model.Delta{Part: 3, Kind: model.PartText, Whole: &whole})
	require.Equal(t, []openPart{last, other, with, absorbed, unseen}, s.parts)
	s.complete(&model.Delta{Part: 2, Whole: &whole})
	hidden := openPart{index: 2, whole: &whole, ended: true}
	require.Equal(t, []openPart{last, other, with, absorbed, unseen, hidden}, s.parts)
}

// Of a response that was cut off, what a provider can use again is kept.
func TestPartsThatAreKept(t *testing.T) {
	signed, unsigned := model.Thinking("t"), model.Thinking("t")
	signed.Signature = []byte("s")
	called := model.ToolCall("theirs", "t", `{"a":1}`)
	ours := called
	ours.CallID = "ours"
	textCall := func(tool, args string) *streamed {
		p := openPart{kind: model.PartToolCall, callID: "c", tool: tool}
		return &streamed{parts: []openPart{p}, text: []byte(args), segments: []segment{{}}}
	}
	text := func(text string) *streamed {
		p := openPart{kind: model.PartText}
		return &streamed{parts: []openPart{p}, text: []byte(text), segments: []segment{{}}}
	}
	whole := func(p model.Part) *streamed {
		return &streamed{parts: []openPart{{kind: p.Kind, whole: &p, callID: "ours"}}}
	}
	for name, c := range map[string]struct {
		s    *streamed
		want *model.Part
	}{
		"signed thinking":   {whole(signed), &signed},
		"unsigned thinking": {whole(unsigned), nil},
		"a whole call":      {whole(called), &ours},
		"text":              {text(" a "), new(model.Text(" a "))},
		"no text":           {text(" \n"), nil},
		"a call":            {textCall("t", `{}`), new(model.ToolCall("c", "t", `{}`))},
		"half a call":       {textCall("t", `{"a`), nil},
		"no object":         {textCall("t", `[]`), nil},
		"no arguments":      {textCall("t", ``), nil},
		"no name":           {textCall("", `{}`), nil},
		"in another one":    {&streamed{parts: []openPart{{kind: model.PartText, absorbed: true}}}, nil},
		"only begun":        {&streamed{parts: []openPart{{kind: model.PartThinking}}}, nil},
	} {
		part, ok := c.s.kept(0)
		require.Equal(t, c.want != nil, ok, name)
		if ok {
			require.Equal(t, *c.want, part, name)
		}
	}
}

// The id of a call that streams is the one that it has in the message.
func TestIDsOfCallsThatStream(t *testing.T) {
	var parts []openPart
	resp := &model.Message{Parts: []model.Part{model.Text("x")}}
	for _, given := range []string{"a", "", "a", "a", "", "call_3_1", "b"} {
		s := streamed{parts: append([]openPart{{kind: model.PartText}}, parts...)}
		id := s.callID(given, 3)
		parts = append(parts, openPart{kind: model.PartToolCall, callID: id})
		resp.Parts = append(resp.Parts, model.ToolCall(given, "t", "{}"))
	}
	m := Normalise(resp, 3)
	require.Equal(t, model.KindResponse, m.Kind)
	require.Empty(t, resp.Kind, "the model's message stays as it is")
	require.Empty(t, resp.Parts[2].CallID)
	var ids []string
	for i, p := range m.Parts[1:] {
		ids = append(ids, p.CallID)
		require.Equal(t, parts[i].callID, p.CallID)
	}
	require.Equal(t, []string{"a", "call_3_1", "a_2", "a_3", "call_3_4", "call_3_1_2", "b"}, ids)
	require.Equal(t, "a", Normalise(&model.Message{Parts: resp.Parts[1:2]}, 3).Parts[0].CallID)
}

// The names of tools that a model makes up are told back up to 64 bytes.
func TestNamesThatModelsMakeUpAreShortened(t *testing.T) {
	r := run{offer: &engine.Offer{}}
	long := strings.Repeat("x", 64)
	for name, want := range map[string]string{
		"":                            `""`,
		long:                          fmt.Sprintf("%q", long),
		long + "x":                    fmt.Sprintf("%q", long+"…"),
		strings.Repeat("x", 63) + "ä": fmt.Sprintf("%q", strings.Repeat("x", 63)+"…"),
	} {
		require.Equal(t, "Unknown tool "+want+". No tools are available.", r.unknown(name))
	}
	r.offer.Tools = []engine.Tool{{Name: "b"}, {Name: "a"}}
	require.Equal(t, `Unknown tool "x". Available tools: a, b.`, r.unknown("x"))
	require.Equal(t, "b", r.offer.Tools[0].Name)
}

// A tool fails once per step, and succeeds if none of its calls failed in it. The text of a model
// that is no output is counted apart from all tools.
func TestFailuresAreCountedByStep(t *testing.T) {
	ok := func(tool string) model.Part { return model.ToolReturn("1", tool, "") }
	retry := func(tool string) model.Part { return model.Retry("1", tool, "") }
	denied := ok("a")
	denied.Outcome = model.OutcomeDenied
	text := model.Retry("", "", "")
	steps := [][]model.Part{
		{retry("a"), retry("b"), retry("a")}, {ok("c"), retry("a")}, {ok("a"), retry("a"), ok("b")},
		{denied}, {text}, {text, retry("")}, {ok("")}, {retry("b")}, {ok("a")},
	}
	want := []string{
		"a1 b1", "a2 b1", "a3 b0", "a3 b0", "a3 b0 text1", "a3 b0 text2 1", "a3 b0 text2 0",
		"a3 b1 text2 0", "a0 b1 text2 0",
	}
	shown := func(b budgets) string {
		var all []string
		for _, e := range b {
			name := strings.TrimPrefix(e.name, "\x00")
			all = append(all, fmt.Sprintf("%s%d", name, b.attempt(e.name)))
		}
		return strings.Join(all, " ")
	}
	var b budgets
	request := func(parts ...model.Part) *model.Message {
		return &model.Message{Kind: model.KindRequest, Parts: parts}
	}
	history := []*model.Message{request(retry("z")), request(model.User("go"))}
	for i, parts := range steps {
		b.step(parts)
		require.Equal(t, want[i], shown(b))
		history = append(history, model.Response(model.Text("x")), request(parts...))
		require.Equal(t, want[i], shown(budgetsOf(history)), "of a history")
	}
	require.Zero(t, b.attempt("d"))
	shows := request(ok("a"), model.User("a picture"))
	require.Equal(t, "b1 a0", shown(budgetsOf([]*model.Message{
		request(model.User("go")), request(retry("b"), retry("a")), shows,
	})), "what a tool shows is no prompt")
	require.Empty(t, budgetsOf([]*model.Message{request(retry("a")), request(model.User("go"))}))
	require.Equal(t, "a1", shown(budgetsOf([]*model.Message{request(retry("a"))})))
	require.Empty(t, budgetsOf(nil))
}

// A call is incomplete if a token limit cut its arguments off, even if something follows that is no
// content.
func TestCallsThatATokenLimitCutOff(t *testing.T) {
	half, whole := model.ToolCall("1", "t", `{"a`), model.ToolCall("1", "t", `{}`)
	citation, opaque := model.Part{Kind: model.PartCitation}, model.Part{Kind: model.PartOpaque}
	for i, c := range []struct {
		parts []model.Part
		want  bool
	}{
		{nil, false}, {[]model.Part{citation}, false}, {[]model.Part{half}, true},
		{[]model.Part{whole}, false}, {[]model.Part{half, whole}, false},
		{[]model.Part{half, citation, opaque}, true}, {[]model.Part{half, model.Text("x")}, false},
	} {
		resp := &model.Message{Parts: c.parts, Finish: model.FinishLength}
		err := incomplete(resp)
		require.Equal(t, c.want, err != nil, i)
		if c.want {
			require.Equal(t, &engine.RunError{
				Stage: engine.StageTool, Tool: "t", CallID: "1", Err: engine.ErrIncompleteToolCall,
			}, err)
		}
		resp.Finish = model.FinishToolCalls
		require.NoError(t, incomplete(resp))
	}
}

// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// answering is a model that gives a response, and streams some deltas before.
func answering(resp *model.Message, deltas ...model.Delta) model.Model {
	return model.Func(model.Info{Name: "answering"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, d := range deltas {
			if sink == nil {
				break
			}
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return resp.Clone(), nil
	})
}

// watchedParts returns what the events of the first step show of each kind of part, joined.
func watchedParts(t *testing.T, m model.Model, guards ...guard) (map[model.PartKind]string, error) {
	t.Helper()
	s := newAgent(t, m, guards...).Stream(t.Context(), none{}, "Hello.", agent.WithLimits(agent.Limits{Requests: 1}))
	shown := map[model.PartKind]string{}
	for e := range s.Events() {
		if e.Step == 1 && e.Kind == agent.EventPartDelta {
			shown[e.PartKind] += e.Text
		}
	}
	_, err := s.Result()
	return shown, err
}

// Whether a model streams makes no difference to what is shown in the end, whatever the guards hold back.
func TestResponsesThatAreNotStreamedAreShown(t *testing.T) {
	parts := []model.Part{model.Thinking("Hm. "), model.Text("Well. "), model.Text("So. "), model.ToolCall("c1", "echo", `{"text":"a"}`)}
	want := map[model.PartKind]string{model.PartThinking: "Hm. ", model.PartText: "Well. So. ", model.PartToolCall: `{"text":"a"}`}
	deltas := []model.Delta{
		{Part: 0, Kind: model.PartThinking, Text: "Hm. "}, {Part: 1, Kind: model.PartText, Text: "Well. "}, {Part: 2, Kind: model.PartText, Text: "So. "},
		{Part: 3, Kind: model.PartToolCall, CallID: "c1", Tool: "echo"}, {Part: 3, Kind: model.PartToolCall, CallID: "c1", Tool: "echo", Text: `{"text":"a"}`},
	}
	for name, g := range map[string]guard{
		"none of it is held back": {On: input}, "calls": {On: call}, "text and thinking": {On: output}, "text": {On: output, SkipThinking: true},
		"growing": {On: output, Stream: 4}, "growing text": {On: output, Stream: 4, SkipThinking: true}, "all": {On: output | call}, "results": {On: result},
	} {
		g.Name, g.Check = "g", always(guardrails.Pass())
		for _, some := range [][]model.Delta{nil, deltas} {
			got, err := watchedParts(t, answering(model.Response(parts...), some...), g)
			require.ErrorAs(t, err, new(*agent.LimitError))
			require.Equal(t, want, got, "%s, %d deltas", name, len(some))
		}
	}
}

// Replaced thinking is not shown, nor is it shown a second time at the end.
func TestReplacedThinkingIsNotShown(t *testing.T) {
	text := strings.Repeat("Well. ", 40)
	parts := []model.Part{model.Thinking("Is it " + secret + "?"), model.Text(text)}
	deltas := []model.Delta{{Part: 0, Kind: model.PartThinking, Text: "Is it "}, {Part: 0, Kind: model.PartThinking, Text: secret + "?"}, {Part: 1, Kind: model.PartText, Text: text}}
	for _, stream := range []int{0, 8} {
		for _, some := range [][]model.Delta{nil, deltas} {
			got, err := watchedParts(t, answering(model.Response(parts...), some...), guard{Name: "g", On: output, Check: redact, Stream: stream})
			require.NoError(t, err)
			require.Equal(t, map[model.PartKind]string{model.PartText: text}, got, "%d %d", stream, len(some))
		}
	}
}

// A model may think again after some text. Each thought is shown once, before the text that follows
// it, or at the end.
func TestThinkingBetweenTextsIsShownOnce(t *testing.T) {
	long := strings.Repeat("Well. ", 40)
	for name, last := range map[string]string{"checked while the text grows": long, "checked at the end": "So."} {
		parts := []model.Part{model.Thinking("First. "), model.Text(long), model.Thinking("Second. "), model.Text(last), model.Thinking("Third.")}
		for _, cut := range []int{5, 4, 3} { // how many parts there are
			var deltas []model.Delta
			for i, p := range parts[:cut] {
				deltas = append(deltas, model.Delta{Part: i, Kind: p.Kind, Text: p.Text})
			}
			var saw []subject
			g := guard{Name: "g", On: output, Stream: 8, Check: asking(&saw, func(*subject) verdict { return guardrails.Pass() })}
			got, err := watchedParts(t, answering(model.Response(parts[:cut]...), deltas...), g)
			require.NoError(t, err)
			want := map[model.PartKind]string{}
			for _, p := range parts[:cut] {
				want[p.Kind] += p.Text
			}
			require.Equal(t, want, got, "%s, %d parts", name, cut)
			thoughts := ""
			for _, s := range saw {
				if s.Thinking {
					require.True(t, strings.HasPrefix(s.Text, thoughts), "guards see all of it")
					thoughts = s.Text
				}
			}
			require.Equal(t, want[model.PartThinking], thoughts)
		}
	}
}

// Thinking that a guard replaces later is not shown any further.
func TestThinkingThatContinuesIsReplaced(t *testing.T) {
	long := strings.Repeat("Well. ", 40)
	parts := []model.Part{model.Thinking("First. "), model.Text(long), model.Thinking(secret), model.Text(long), model.Thinking("Third.")}
	var deltas []model.Delta
	for i, p := range parts {
		deltas = append(deltas, model.Delta{Part: i, Kind: p.Kind, Text: p.Text})
	}
	got, err := watchedParts(t, answering(model.Response(parts...), deltas...), guard{Name: "g", On: output, Check: redact, Stream: 8})
	require.NoError(t, err)
	require.Equal(t, map[model.PartKind]string{model.PartThinking: "First. ", model.PartText: long + long}, got)
}

// asking counts the texts that a guard sees.
func asking(saw *[]subject, v func(s *subject) verdict) guardrails.Check[none] {
	return func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		*saw = append(*saw, *s)
		return v(s), nil
	}
}

func TestThinkingIsCheckedOnceBeforeTheText(t *testing.T) {
	text := strings.Repeat("Well. ", 40)
	var saw []subject
	check := asking(&saw, func(*subject) verdict { return guardrails.Pass() })
	m := answering(model.Response(model.Thinking("Hm."), model.Text(text)), model.Delta{Kind: model.PartThinking, Text: "Hm."}, model.Delta{Part: 1, Kind: model.PartText, Text: text})
	got, err := watchedParts(t, m, guard{Name: "g", On: output, Check: check, Stream: 8})
	require.NoError(t, err)
	require.Equal(t, "Hm.", got[model.PartThinking])
	require.Len(t, saw, 3)
	require.Equal(t, []bool{true, false, false}, []bool{saw[0].Thinking, saw[1].Thinking, saw[2].Thinking})
	require.Equal(t, []bool{false, true, false}, []bool{saw[0].Partial, saw[1].Partial, saw[2].Partial})

	_, err = watchedParts(t, m, guard{Name: "g", On: output, Stream: 8, Check: asking(&saw, func(s *subject) verdict {
		if s.Thinking {
			return guardrails.Block("no")
		}
		return guardrails.Pass()
	})})
	require.ErrorIs(t, err, guardrails.ErrBlocked)
}

// Guards are asked about a growing text when it has grown by 64 bytes, and by an eighth.
func TestGrowingTextIsCheckedInProportion(t *testing.T) {
	for length, most := range map[int]int{63: 1, 64: 2, 127: 2, 128: 3, 10_000: 60} {
		var saw []subject
		_, err := streamed(t, newAgent(t, typing(strings.Repeat("x", length), nil), guard{Name: "g", On: output, Stream: 4, Check: asking(&saw, func(*subject) verdict { return guardrails.Pass() })}))
		require.NoError(t, err)
		if length < 1000 {
			require.Len(t, saw, most, length)
		}
		require.LessOrEqual(t, len(saw), most, length)
	}
}

// Text that an earlier verdict has let out cannot be taken back while it grows, either.
func TestShownTextCannotBeReplacedWhileItGrows(t *testing.T) {
	calls := 0
	check := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if calls++; calls > 2 {
			return guardrails.Replace("Nothing.", ""), nil
		}
		return guardrails.Pass(), nil
	}
	wrote := 0
	pieces, err := streamed(t, newAgent(t, typing(strings.Repeat("x", 2000), func(n int) { wrote = n }), guard{Name: "g", On: output, Check: check, Stream: 1}))
	require.ErrorIs(t, err, guardrails.ErrBlocked)
	require.ErrorContains(t, err, "was already shown cannot be replaced")
	require.NotEmpty(t, pieces)
	require.Less(t, wrote, 400, "the model is stopped")
}

func TestNobodyIsAskedAboutAPartOfAText(t *testing.T) {
	var seen []toolset.Question
	check := func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
		if s.Partial {
			return guardrails.Ask("odd"), nil
		}
		return guardrails.Pass(), nil
	}
	_, err := streamed(t, newAgent(t, typing(strings.Repeat("x", 200), nil), guard{Name: "g", On: output, Check: check, Stream: 1}), person("Let it pass", nil, &seen))
	require.ErrorIs(t, err, guardrails.ErrBlocked)
	require.ErrorContains(t, err, "no one can be asked about a part of a text")
	require.Empty(t, seen)
}

// A replacement that is empty leaves nothing to show, and one that replaces text drops what may quote it.
func TestReplacementsDropWhatMayQuoteTheText(t *testing.T) {
	citation := model.Part{Kind: model.PartCitation, Text: "of " + secret}
	parts := []model.Part{model.Text("a " + secret), citation, model.Text(" b"), {Kind: model.PartOpaque, Data: []byte(`"` + secret + `"`)}}
	for with, want := range map[string]string{"": "", "[card]": "[card]"} {
		script := modeltest.Script(modeltest.Say(parts...), modeltest.SayText("Done."))
		o := play(t, newAgent(t, script, guard{Name: "g", On: output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (verdict, error) {
			if strings.Contains(s.Text, secret) {
				return guardrails.Replace(with, ""), nil
			}
			return guardrails.Pass(), nil
		}}), script, "Hello.")
		if o.err == nil {
			require.Equal(t, want, o.res.Messages[1].Text())
		}
		require.NotContains(t, o.seen, secret)
	}
}

// A picture without text is checked as well.
func TestMediaOfResponsesAreChecked(t *testing.T) {
	picture := model.Media("image/png", []byte{1, 2, 3})
	for _, parts := range [][]model.Part{{picture}, {model.Text("See."), picture}} {
		var saw []subject
		script := modeltest.Script(modeltest.Say(parts...), modeltest.SayText("Done."))
		_, err := newAgent(t, script, guard{Name: "g", On: output, Check: asking(&saw, func(*subject) verdict { return guardrails.Block("no") })}).Run(t.Context(), none{}, "Hello.")
		require.ErrorIs(t, err, guardrails.ErrBlocked)
		require.Len(t, saw[0].Media, 1)
		require.Equal(t, picture.Data, saw[0].Media[0].Data)
	}
}

// What a sink refuses ends the run, wherever the text was held back.
func TestStoppedStreamsEndHeldBackText(t *testing.T) {
	for name, g := range map[string]guard{
		"at once": {On: input}, "at the end": {On: output}, "growing": {On: output, Stream: 4}, "thinking": {On: output, Stream: 4, SkipThinking: true},
	} {
		g.Name, g.Check = "g", always(guardrails.Pass())
		text := strings.Repeat("Well. ", 100)
		m := answering(model.Response(model.Thinking("Hm."), model.Text(text)), model.Delta{Kind: model.PartThinking, Text: "Hm."}, model.Delta{Part: 1, Kind: model.PartText, Text: text})
		s := newAgent(t, m, g).Stream(t.Context(), none{}, "Hello.")
		for e := range s.Events() {
			if e.Kind == agent.EventPartDelta {
				break
			}
		}
		_, err := s.Result()
		require.Error(t, err, name)
	}
}

// The parallel check of the input lets nothing out before it has passed; then everything comes in its order.
func TestQueuedDeltasComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
			for i, text := range []string{"a", "b", "c", "d"} {
				if err := sink(model.Delta{Kind: model.PartText, Text: text}); err != nil {
					return nil, err
				}
				if i == 1 {
					time.Sleep(2 * time.Second) // the check passes
				}
			}
			return model.Response(model.Text("abcd")), nil
		})
		pieces, err := streamed(t, newAgent(t, m, guard{Name: "g", On: input, Check: slow(guardrails.Pass()), Parallel: true}))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c", "d"}, pieces)
	})
}

func TestCancelledQuestionIsNoVerdict(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	a := newAgent(t, modeltest.Script(modeltest.SayText("x")), guard{Name: "g", On: output, Check: always(guardrails.Ask("odd"))})
	_, err := a.Run(ctx, none{}, "Hello.", agent.WithAsker(toolset.AskerFuncs{OnAnswer: func(ctx context.Context, _ toolset.Question) (toolset.Reply, error) {
		cancel(stop)
		return toolset.Reply{}, ctx.Err()
	}}))
	require.ErrorIs(t, err, stop)
	require.NotErrorIs(t, err, guardrails.ErrBlocked)
}

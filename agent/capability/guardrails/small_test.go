// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestContextOfACheckEndsWithIt, with and without a timeout.
func TestContextOfACheckEndsWithIt(t *testing.T) {
	for _, timeout := range []int64{0, 1 << 40} {
		var within context.Context
		g := guard{Name: "g", On: guardrails.Output, Timeout: 0, Check: func(ctx context.Context, _ *toolset.RunContext[none], _ *subject) (guardrails.Verdict, error) {
			require.NoError(t, ctx.Err())
			within = ctx
			return guardrails.Pass(), nil
		}}
		if timeout > 0 {
			g.Timeout = 1 << 40
		}
		_, err := newAgent(t, speaker(says("x")), g).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.ErrorIs(t, within.Err(), context.Canceled)
	}
}

// TestResponsesBesideErrorsAndMissingOnesAreErrors: a guard makes no success of them, and no panic.
func TestResponsesBesideErrorsAndMissingOnesAreErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		resp *model.Message
		err  error
	}{{nil, nil}, {model.Response(model.Text("x")), boom}, {nil, boom}} {
		m := model.Func(model.Info{Name: "m"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return c.resp, c.err })
		_, err := newAgent(t, m, guard{Name: "g", On: guardrails.Output, Check: always(guardrails.Pass())}).Run(t.Context(), none{}, "go")
		require.Error(t, err)
		require.False(t, errors.As(err, new(*agent.PanicError)), err)
		if c.err != nil {
			require.ErrorIs(t, err, boom)
		}
	}
}

// TestTextThatMayBecomeJSONIsNotCheckedInParts, however it is spelled; other text is.
func TestTextThatMayBecomeJSONIsNotCheckedInParts(t *testing.T) {
	long := strings.Repeat("a word, ", 40)
	for text, partial := range map[string]bool{
		`["` + long + `"]`:                             false,
		`["` + long + `",]`:                            false,
		`["` + long + `" , ]`:                          false,
		`[1,["` + long + `",], {"a":"` + long + `",}]`: false,
		`["\"` + long + `\\",]`:                        false,
		`["],\"]` + long + `",` + "\n\t\r" + `]`:       false,
		`[[1,],[2 ,` + "\n" + `], "` + long + `"]`:     false,
		`[{"a":1,},"` + long + `"]`:                    false,
		`{"a":"` + long + `"}`:                         false,
		"```json\n[\"" + long + "\",]\n```":            false,
		`[see] ` + long:                                true,
		`[,"` + long + `"]`:                            true,
		`[1,,"` + long + `"]`:                          true,
		`["a" "` + long + `"]`:                         true,
		long:                                           true,
	} {
		parts := false
		g := guard{Name: "g", On: guardrails.Output, Stream: 5, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
			parts = parts || s.Partial
			return guardrails.Pass(), nil
		}}
		_, err := newAgent(t, speaker(says(text)), g).Stream(t.Context(), none{}, "go").Result()
		require.NoError(t, err)
		require.Equal(t, partial, parts, text)
	}
}

// TestRangeOverValuesCanBeLeftAnywhere, at any depth.
func TestRangeOverValuesCanBeLeftAnywhere(t *testing.T) {
	const document = `{"a":{"b":[1,{"c":2},3]},"d":4}`
	for stop := range 5 {
		var paths []string
		g := guard{Name: "g", On: guardrails.Output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
			for path := range s.All() {
				if len(paths) == stop {
					break
				}
				paths = append(paths, path)
			}
			return guardrails.Pass(), nil
		}}
		_, err := newAgent(t, speaker(says(document)), g).Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		require.Equal(t, []string{"/a/b/0", "/a/b/1/c", "/a/b/2", "/d"}[:min(stop, 4)], append([]string{}, paths...))
	}
}

// TestOnlyWhatGuardsCheckIsHeldBack: the arguments of calls if calls or outputs are checked.
func TestOnlyWhatGuardsCheckIsHeldBack(t *testing.T) {
	for on, held := range map[guardrails.Stage]bool{
		guardrails.Input: false, guardrails.Call: true, guardrails.Output: true,
	} {
		var told []string
		var early []string
		m := model.Func(model.Info{Name: "m"}, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
			if len(req.Messages) > 1 {
				return model.Response(model.Text("done")), nil
			}
			if err := sink(model.Delta{Kind: model.PartToolCall, CallID: "1", Tool: "echo", Text: `{"text":"x"}`}); err != nil {
				return nil, err
			}
			early = append(early, told...)
			return model.Response(model.ToolCall("1", "echo", `{"text":"x"}`)), nil
		})
		for e := range newAgent(t, m, guard{Name: "g", On: on, Check: always(guardrails.Pass())}).Stream(t.Context(), none{}, "go").Events() {
			if e.Kind == agent.EventPartStart {
				told = append(told, string(e.PartKind))
			}
		}
		require.Equal(t, held, len(early) == 0, "%v", on)
		require.Equal(t, []string{string(model.PartToolCall), string(model.PartText)}, told, "%v", on)
	}
}

// TestDocumentsHaveFewEscapes: a guard sees markup as it is, also in names, and what is replaced is written in the same way.
func TestDocumentsHaveFewEscapes(t *testing.T) {
	g := guard{Name: "g", On: guardrails.Output, Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
		require.Equal(t, `{"<i>":"<b>&","x":"y"}`, s.Text)
		return s.Rewrite(func(text string) string { return strings.ReplaceAll(text, "y", "<z>") }, ""), nil
	}}
	res, err := newAgent(t, speaker(says(`{"\u003ci\u003e": "\u003cb>\u0026", "x":"y"}`)), g).Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Contains(t, res.Output, `"<i>":"<b>&"`)
}

// TestReasonsOfModelsAreShort: whatever a model writes, a person reads the beginning of it, on one line.
func TestReasonsOfModelsAreShort(t *testing.T) {
	judge := speaker(says(`{"verdict":"block","reason":"` + strings.Repeat(`é \n`, 1000) + `"}`))
	g := guard{Name: "g", On: guardrails.Output, Check: guardrails.ByModel[none](guardrails.ModelCheck{Policy: "p", Model: judge})}
	_, err := newAgent(t, speaker(says("x")), g).Run(t.Context(), none{}, "go")
	var blocked *guardrails.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.LessOrEqual(t, len(blocked.Reason), 500+len("…"))
	require.GreaterOrEqual(t, len(blocked.Reason), 490)
	require.True(t, strings.HasSuffix(blocked.Reason, "…"), blocked.Reason)
	require.NotContains(t, blocked.Reason, "\n")
}

// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

func fallback(policy modelwrap.FallbackPolicy, models ...model.Model) model.Model {
	return modelwrap.Fallback(models, policy)
}

func TestFallbackAsksTheNextModelOnAPIErrors(t *testing.T) {
	m := fallback(modelwrap.FallbackPolicy{}, failing("one", overloaded("one")), saying("two", "hello"), failing("three", errBoom))
	resp, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "hello", resp.Text())

	text, resp, err := stream(t.Context(), m, ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "hello", text)
	require.Equal(t, "hello", resp.Text())
}

func TestFallbackNamesTheModelThatAnswered(t *testing.T) {
	kept := say("hello")
	m := fallback(modelwrap.FallbackPolicy{}, failing("one", overloaded("one")), named("two", func(context.Context, model.Sink) (*model.Message, error) {
		return kept, nil
	}))
	resp, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "test two", resp.Provider+" "+resp.Model)
	require.Empty(t, kept.Provider, "the model's message is not modified")

	kept.Provider, kept.Model = "somebody", "else"
	resp, err = m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Same(t, kept, resp)
}

func TestFallbackReturnsOtherErrorsUnchanged(t *testing.T) {
	m, asked := counted(saying("two", "hello"))
	_, err := fallback(modelwrap.FallbackPolicy{}, failing("one", errBoom), m).Generate(t.Context(), ask("hi"), nil)
	require.Equal(t, errBoom, err)
	require.Zero(t, asked.Load())

	_, err = fallback(modelwrap.FallbackPolicy{}, failing("one", overloaded("one")), failing("two", errBoom), m).Generate(t.Context(), ask("hi"), nil)
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "too busy", "earlier errors are kept")
	require.Zero(t, asked.Load())
}

func TestFallbackOnSelectsErrors(t *testing.T) {
	on := func(err error) bool { return errors.Is(err, errBoom) }
	m := fallback(modelwrap.FallbackPolicy{On: on}, failing("one", errBoom), saying("two", "hello"))
	resp, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "hello", resp.Text())

	m = fallback(modelwrap.FallbackPolicy{On: on}, failing("one", overloaded("one")), saying("two", "hello"))
	_, err = m.Generate(t.Context(), ask("hi"), nil)
	require.Equal(t, overloaded("one"), err)
}

func TestFallbackSkipsModelsThatCannotTakeTheRequest(t *testing.T) {
	unsupported := fmt.Errorf("test: images: %w", model.ErrUnsupported)
	_, err := fallback(modelwrap.FallbackPolicy{}, failing("one", unsupported), saying("two", "hello")).Generate(t.Context(), ask("hi"), nil)
	require.Equal(t, unsupported, err)

	on := func(err error) bool {
		return errors.As(err, new(*model.APIError)) || errors.Is(err, model.ErrUnsupported)
	}
	resp, err := fallback(modelwrap.FallbackPolicy{On: on}, failing("one", unsupported), saying("two", "hello")).Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "hello", resp.Text())
}

func TestFallbackJoinsErrors(t *testing.T) {
	wrong := &model.APIError{Provider: "test", Model: "two", Status: 401, Message: "no key"}
	var told []string
	m := fallback(modelwrap.FallbackPolicy{Observe: func(_ context.Context, failed model.Info, err error) {
		told = append(told, failed.Name+": "+err.Error())
	}}, failing("one", overloaded("one")), failing("two", fmt.Errorf("wrapped: %w", wrong)))
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.EqualError(t, err, "modelwrap: all models failed: test one: model: test one: HTTP 503 Service Unavailable: too busy; "+
		"test two: wrapped: model: test two: HTTP 401 Unauthorized: no key")
	require.ErrorIs(t, err, model.ErrAuth)
	var all *modelwrap.FallbackError
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Errs, 2)
	require.ErrorIs(t, all.Errs[1], wrong)
	require.Equal(t, []string{
		"one: model: test one: HTTP 503 Service Unavailable: too busy",
		"two: wrapped: model: test two: HTTP 401 Unauthorized: no key",
	}, told)
}

// Usage may come before anything else, as Anthropic sends it.
func TestFallbackHoldsUsageBack(t *testing.T) {
	counts := model.Usage{InputTokens: 7}
	begins := func(name string, resp *model.Message, err error) model.Model {
		return named(name, func(_ context.Context, sink model.Sink) (*model.Message, error) {
			if sink != nil {
				if err := sink(model.Delta{Usage: new(counts)}); err != nil {
					return nil, err
				}
			}
			return resp, err
		})
	}
	withheld := model.Response()
	withheld.Finish = model.FinishContentFilter
	for name, first := range map[string]model.Model{"withheld": begins("one", withheld, nil), "broken": begins("one", nil, overloaded("one"))} {
		text, resp, err := stream(t.Context(), fallback(modelwrap.FallbackPolicy{Check: modelwrap.Usable}, first, saying("two", "hello")), ask("hi"))
		require.NoError(t, err, name)
		require.Equal(t, "hello", text, name)
		require.Equal(t, "two", resp.Model, name)
	}
	var deltas []model.Delta
	keep := func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	}
	_, err := fallback(modelwrap.FallbackPolicy{}, begins("one", say(""), nil)).Generate(t.Context(), ask("hi"), keep)
	require.NoError(t, err)
	require.Equal(t, []model.Delta{{Usage: &counts}}, deltas, "usage is not lost")
	deltas = nil
	_, err = fallback(modelwrap.FallbackPolicy{}, named("one", func(_ context.Context, sink model.Sink) (*model.Message, error) {
		for _, d := range []model.Delta{{Usage: &counts}, {Kind: model.PartText, Text: "a"}, {Usage: &counts}} {
			if err := sink(d); err != nil {
				return nil, err
			}
		}
		return say("a"), nil
	})).Generate(t.Context(), ask("hi"), keep)
	require.NoError(t, err)
	require.Equal(t, []model.Delta{{Usage: &counts}, {Kind: model.PartText, Text: "a"}, {Usage: &counts}}, deltas, "and comes in order")
	_, err = fallback(modelwrap.FallbackPolicy{}, begins("one", say(""), nil)).Generate(t.Context(), ask("hi"), func(model.Delta) error { return errBoom })
	require.Equal(t, errBoom, err)
}

// Nothing of these has been shown, however many deltas they had.
func TestFallbackChecksStreamsThatShowNothing(t *testing.T) {
	counts := model.Usage{InputTokens: 7}
	blank := []model.Delta{
		{Usage: &counts}, {Kind: model.PartText, Text: ""}, {Kind: model.PartText, Text: "\n"}, {Kind: model.PartText, Text: "\n"},
		{Part: 1, Kind: model.PartThinking, Text: ""}, {Part: 1, Kind: model.PartThinking, Text: " ", Usage: &counts}, {Usage: &counts}, {Usage: &counts},
	}
	withheld := model.Response(model.Text("\n\n"))
	withheld.Finish = model.FinishContentFilter
	begins := func(resp *model.Message, err error, then ...model.Delta) model.Model {
		return named("one", func(_ context.Context, sink model.Sink) (*model.Message, error) {
			for _, d := range append(blank[:len(blank):len(blank)], then...) {
				if sink == nil {
					break
				}
				if err := sink(d); err != nil {
					return nil, err
				}
			}
			return resp, err
		})
	}
	policy := modelwrap.FallbackPolicy{Check: modelwrap.Usable}
	for name, first := range map[string]model.Model{
		"withheld": begins(withheld, nil), "broken": begins(nil, overloaded("one")),
		"nested": fallback(policy, begins(withheld, nil)),
	} {
		text, resp, err := stream(t.Context(), fallback(policy, first, saying("two", "hello")), ask("hi"))
		require.NoError(t, err, name)
		require.Equal(t, "hello", text, name)
		require.Equal(t, "two", resp.Model, name)
	}
	for name, shown := range map[string]model.Delta{
		"text":            {Kind: model.PartText, Text: "No."},
		"a thought":       {Kind: model.PartThinking, Text: "hm"},
		"a call":          {Kind: model.PartToolCall, CallID: "1", Tool: "weather"},
		"arguments":       {Kind: model.PartToolCall},
		"a complete part": {Whole: &model.Part{Kind: model.PartOpaque, Data: []byte("{}")}},
	} {
		for _, end := range []error{nil, overloaded("one")} {
			var deltas []model.Delta
			m := fallback(policy, begins(withheld, end, shown), saying("two", "hello"))
			_, err := m.Generate(t.Context(), ask("hi"), func(d model.Delta) error {
				deltas = append(deltas, d)
				return nil
			})
			require.Equal(t, end, err, "%s cannot be taken back", name)
			require.Equal(t, []model.Delta{
				{Usage: &counts}, {Kind: model.PartText, Text: "\n\n"}, {Part: 1, Kind: model.PartThinking}, {Part: 1, Kind: model.PartThinking, Text: " ", Usage: &counts},
				{Usage: &counts}, shown,
			}, deltas, "%s comes after what was held back", name)
		}
	}
}

func TestFallbackDoesNotSwitchAfterADelta(t *testing.T) {
	m := fallback(modelwrap.FallbackPolicy{}, breaking("one", overloaded("one")), saying("two", "hello"))
	text, _, err := stream(t.Context(), m, ask("hi"))
	require.Equal(t, overloaded("one"), err)
	require.Equal(t, "half ", text)

	resp, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err, "no deltas without a sink")
	require.Equal(t, "hello", resp.Text())
}

func TestBufferedFallbackSwitchesInMidStream(t *testing.T) {
	policy := modelwrap.FallbackPolicy{Buffered: true}
	m := fallback(policy, breaking("one", overloaded("one")), saying("two", "hello you"))
	var deltas []model.Delta
	resp, err := m.Generate(t.Context(), ask("hi"), func(d model.Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "hello you", resp.Text())
	usage := resp.Usage
	require.Equal(t, []model.Delta{
		{Kind: model.PartText, Text: "hello "}, {Kind: model.PartText, Text: "you"}, {Usage: &usage},
	}, deltas)

	_, err = fallback(policy, breaking("one", errBoom)).Generate(t.Context(), ask("hi"), func(model.Delta) error { return nil })
	require.Equal(t, errBoom, err)
	_, _, err = stream(t.Context(), fallback(policy, breaking("one", overloaded("one"))), ask("hi"))
	require.ErrorAs(t, err, new(*modelwrap.FallbackError))
}

func TestBufferedFallbackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ending := named("one", func(context.Context, model.Sink) (*model.Message, error) {
		cancel(errBoom)
		return say("too late"), nil
	})
	_, _, err := stream(ctx, fallback(modelwrap.FallbackPolicy{Buffered: true}, ending), ask("hi"))
	require.ErrorIs(t, err, errBoom)
	_, _, err = stream(ctx, fallback(modelwrap.FallbackPolicy{Buffered: true}, saying("one", "x")), ask("hi"))
	require.ErrorIs(t, err, errBoom)

	ctx, cancel = context.WithCancelCause(t.Context())
	streaming := named("one", func(_ context.Context, sink model.Sink) (*model.Message, error) {
		for range 2 {
			if err := sink(model.Delta{Kind: model.PartText, Text: "x"}); err != nil {
				return nil, err
			}
		}
		return say("xx"), nil
	})
	seen := 0
	_, err = fallback(modelwrap.FallbackPolicy{Buffered: true}, streaming).Generate(ctx, ask("hi"), func(model.Delta) error {
		seen++
		cancel(errBoom)
		return nil
	})
	require.ErrorIs(t, err, errBoom)
	require.Equal(t, 1, seen)
}

func TestFallbackStopsWithTheContext(t *testing.T) {
	cause := errors.New("the user has left")
	for name, failure := range map[string]error{
		"the cause":  fmt.Errorf("wrapped: %w", cause),
		"an error":   overloaded("one"),
		"with cause": &model.APIError{Provider: "test", Err: cause},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			one := named("one", func(context.Context, model.Sink) (*model.Message, error) {
				cancel(cause)
				return nil, failure
			})
			two, asked := counted(saying("two", "hello"))
			_, err := fallback(modelwrap.FallbackPolicy{}, one, two).Generate(ctx, ask("hi"), nil)
			require.ErrorIs(t, err, cause)
			require.ErrorIs(t, err, failure)
			require.Zero(t, asked.Load())
		})
	}
}

func TestFallbackChecksResponses(t *testing.T) {
	refused := say("I would rather not.")
	refused.Finish = model.FinishContentFilter
	one := named("one", func(context.Context, model.Sink) (*model.Message, error) { return refused, nil })
	empty := saying("two", " \n")
	policy := modelwrap.FallbackPolicy{Check: modelwrap.Usable}

	resp, err := fallback(policy, one, empty, saying("three", "hello")).Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, "hello", resp.Text())

	_, err = fallback(policy, one, empty).Generate(t.Context(), ask("hi"), nil)
	require.ErrorIs(t, err, modelwrap.ErrFiltered)
	require.ErrorIs(t, err, modelwrap.ErrEmpty)
	var unusable *modelwrap.ResponseError
	require.ErrorAs(t, err, &unusable)
	require.Same(t, refused, unusable.Response)

	_, err = fallback(modelwrap.FallbackPolicy{}, fallback(policy, one), failing("two", errBoom)).Generate(t.Context(), ask("hi"), nil)
	require.ErrorIs(t, err, errBoom, "an inner fallback that fails leads to the next model")
}

func TestFallbackDoesNotCheckStreamedResponses(t *testing.T) {
	reject := func(*model.Message) error { return errBoom }
	m := []model.Model{saying("one", "first"), saying("two", "second")}
	text, resp, err := stream(t.Context(), fallback(modelwrap.FallbackPolicy{Check: reject}, m...), ask("hi"))
	require.NoError(t, err)
	require.Equal(t, "first", text)
	require.Equal(t, "first", resp.Text())

	text, _, err = stream(t.Context(), fallback(modelwrap.FallbackPolicy{Check: reject, Buffered: true}, m...), ask("hi"))
	require.ErrorIs(t, err, errBoom)
	require.Empty(t, text)
}

func TestUsableAcceptsContent(t *testing.T) {
	for _, p := range []model.Part{model.Text("x"), model.ToolCall("1", "tool", ""), model.Media("image/png", []byte{1})} {
		require.NoError(t, modelwrap.Usable(model.Response(model.Thinking("hm"), p)))
	}
	require.ErrorIs(t, modelwrap.Usable(model.Response(model.Thinking("hm"))), modelwrap.ErrEmpty)
}

func TestFallbackHasNativeOutputOnlyIfAllHave(t *testing.T) {
	with := model.Func(model.Info{Provider: "test", Name: "one", NativeOutput: true, ContextWindow: 9}, nil)
	without := model.Func(model.Info{Provider: "test", Name: "two"}, nil)
	require.Equal(t, model.Info{Provider: "test", Name: "one", ContextWindow: 9}, fallback(modelwrap.FallbackPolicy{}, with, without).Info())
	require.True(t, fallback(modelwrap.FallbackPolicy{}, with, with).Info().NativeOutput)
}

func TestFallbackHasNativeToolsOnlyIfAllHave(t *testing.T) {
	with := model.Func(model.Info{Name: "one", NativeSearch: true, NativeFetch: true, NativeDomains: true, NativeCompaction: true}, nil)
	without := model.Func(model.Info{Name: "two", NativeSearch: true}, nil)
	require.Equal(t, model.Info{Name: "one", NativeSearch: true}, fallback(modelwrap.FallbackPolicy{}, with, without).Info())
	require.Equal(t, with.Info(), fallback(modelwrap.FallbackPolicy{}, with, with).Info())
}

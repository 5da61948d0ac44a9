// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// streamed is a model that reports usage and writes text before it ends.
func streamed(usage model.Usage, text bool, resp *model.Message, err error) model.Model {
	return model.Func(asked, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil && usage != (model.Usage{}) {
			if err := sink(model.Delta{Usage: &usage}); err != nil {
				return nil, err
			}
		}
		if sink != nil && text {
			if err := sink(model.Delta{Kind: model.PartText, Text: "x"}); err != nil {
				return nil, err
			}
		}
		return resp, err
	})
}

// TestWhatAFailedRequestCosts: what was reported costs what it costs. If nothing was, a request that may have been answered counts as a
// twentieth of the limit, or as the longest response that it allows, and one that was refused as nothing.
func TestWhatAFailedRequestCosts(t *testing.T) {
	table := model.Prices{"a/large": {Input: 1, Output: 10}}
	free := model.Prices{"a/large": {}}
	refused := &model.APIError{Status: 400}
	long := &model.Request{Settings: &model.Settings{MaxTokens: 50_000}}
	var none model.Usage
	for name, test := range map[string]struct {
		prices   model.PriceTable
		limit    float64
		usage    model.Usage // what the stream reports
		text     bool        // whether it has text
		resp     *model.Message
		err      error
		req      *model.Request
		cost     float64
		unpriced int
		tokens   int64
	}{
		"refused":                            {table, 2, none, false, nil, refused, nil, 0, 0, 0},
		"refused with usage":                 {table, 2, mega, false, nil, refused, nil, 1, 0, 1e6},
		"timed out":                          {table, 2, none, false, nil, context.DeadlineExceeded, nil, 0.1, 1, 0},
		"timed out below":                    {table, 2, none, false, nil, fmt.Errorf("read: %w", os.ErrDeadlineExceeded), nil, 0.1, 1, 0},
		"cancelled":                          {table, 2, none, false, nil, context.Canceled, nil, 0.1, 1, 0},
		"timed out with usage":               {table, 2, mega, false, nil, context.DeadlineExceeded, nil, 1, 1, 1e6},
		"timed out with little usage":        {table, 2, model.Usage{InputTokens: 1000}, false, nil, context.DeadlineExceeded, nil, 0.1, 1, 1000},
		"timed out, with a longest response": {table, 2, none, false, nil, context.DeadlineExceeded, long, 0.5, 1, 0},
		"timed out, without a limit on cost": {table, 0, none, false, nil, context.DeadlineExceeded, nil, 0, 1, 0},
		"timed out, free":                    {free, 2, none, false, nil, context.DeadlineExceeded, nil, 0, 0, 0},
		"broken off":                         {table, 2, none, true, nil, errBoom, nil, 0.1, 1, 0},
		"broken off with usage":              {table, 2, mega, true, nil, errBoom, nil, 1, 1, 1e6},
		"broken off, free":                   {free, 2, mega, true, nil, errBoom, nil, 0, 0, 1e6},
		"nothing at all":                     {table, 2, none, false, nil, nil, nil, 0.1, 1, 0},
		"answered":                           {table, 2, none, true, answered("a", "large", mega), nil, nil, 1, 0, 1e6},
		"answered without usage":             {table, 2, none, true, answered("a", "large", none), nil, nil, 0.1, 1, 0},
		"answered without usage, free":       {free, 2, none, true, answered("a", "large", none), nil, nil, 0, 0, 0},
		"answered without prices":            {nil, 0, none, true, answered("a", "large", mega), nil, nil, 0, 0, 1e6},
		"answered, without a limit":          {table, 0, none, true, answered("a", "large", none), nil, nil, 0, 1, 0},
	} {
		m := toolset.NewMeter(toolset.Limits{Cost: test.limit})
		if test.prices != nil {
			m.SetPrices(test.prices)
		}
		req := test.req
		if req == nil {
			req = new(model.Request)
		}
		_, err := m.Child(toolset.Limits{}).Generate(t.Context(), streamed(test.usage, test.text, test.resp, test.err), req, func(model.Delta) error { return nil })
		require.Equal(t, test.err, err, name)
		got := m.Usage()
		require.InDelta(t, test.cost, got.Cost, 1e-12, name)
		require.Equal(t, test.unpriced, got.Unpriced, name)
		require.Equal(t, test.tokens, got.InputTokens, name)
		require.Equal(t, 1, got.Requests, name)
	}
}

// TestTheTightestLimitBoundsAReservation: of all meters above.
func TestTheTightestLimitBoundsAReservation(t *testing.T) {
	for _, limits := range [][]float64{{2, 4, 0}, {4, 2, 0}, {0, 4, 2}, {2, 0, 4}, {2, 0, 0}, {0, 0, 2}} {
		m := new(toolset.Meter)
		for i, c := range limits {
			if i == 0 {
				m = toolset.NewMeter(toolset.Limits{Cost: c})
				m.SetPrices(prices)
			} else {
				m = m.Child(toolset.Limits{Cost: c})
			}
		}
		_, err := m.Generate(t.Context(), streamed(model.Usage{}, false, nil, context.Canceled), new(model.Request), nil)
		require.Error(t, err)
		require.InDelta(t, 0.1, m.Usage().Cost, 1e-12, limits)
	}
	for tokens, want := range map[int]int64{-1: 0, 0: 0, 1: 1, 5: 5} {
		require.Equal(t, want, toolset.LongestAnswer(&model.Request{Settings: &model.Settings{MaxTokens: tokens}}))
	}
	require.Zero(t, toolset.LongestAnswer(nil))
	require.Zero(t, toolset.LongestAnswer(new(model.Request)))
}

// TestStreamsEndAtALimit: at the first piece of content after usage that exceeds a limit. The usage itself is passed on.
func TestStreamsEndAtALimit(t *testing.T) {
	over, under := model.Usage{InputTokens: 11}, model.Usage{InputTokens: 10}
	text := model.Delta{Kind: model.PartText, Text: "x"}
	whole := model.Delta{Whole: &model.Part{Kind: model.PartText, Text: "x"}}
	both := text
	both.Usage = &over
	for name, test := range map[string]struct {
		deltas []model.Delta
		passed int
		usages int
		ends   bool
	}{
		"below":                {[]model.Delta{{Usage: &under}, text, whole}, 3, 1, false},
		"usage alone":          {[]model.Delta{text, {Usage: &over}}, 2, 1, false},
		"usage, then text":     {[]model.Delta{text, {Usage: &over}, text}, 2, 1, true},
		"usage, then a part":   {[]model.Delta{{Usage: &over}, whole, text}, 1, 1, true},
		"usage with text":      {[]model.Delta{both, text}, 1, 1, true},
		"usage that goes down": {[]model.Delta{{Usage: &over}, {Usage: &under}, text}, 3, 2, false},
	} {
		for limit, limits := range map[toolset.LimitName]toolset.Limits{
			toolset.LimitInputTokens: {InputTokens: 10}, toolset.LimitCost: {Cost: 10},
		} {
			m := toolset.NewMeter(limits)
			m.SetPrices(model.Prices{"a/large": {Input: 1e6}})
			var got []model.Delta
			var broke error
			_, err := m.Generate(t.Context(), model.Func(asked, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
				for _, d := range test.deltas {
					if broke = sink(d); broke != nil {
						return nil, broke
					}
				}
				return answered("a", "large", model.Usage{InputTokens: 1}), nil
			}), new(model.Request), func(d model.Delta) error {
				got = append(got, d)
				return nil
			})
			usages := 0
			for _, d := range got {
				if d.Usage != nil {
					usages++
				}
			}
			require.Len(t, got, test.passed, "%s, %s", name, limit)
			require.Equal(t, test.usages, usages, "%s, %s", name, limit)
			require.Equal(t, broke, err)
			if !test.ends {
				require.NoError(t, err, "%s, %s", name, limit)
				continue
			}
			var reached *toolset.LimitError
			require.ErrorAs(t, err, &reached, "%s, %s", name, limit)
			require.Equal(t, limit, reached.Limit)
		}
	}
}

// TestRequestsThatAreNotSentDoNotCount: and are counted once, however often it is said.
func TestRequestsThatAreNotSentDoNotCount(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Requests: 1})
	var b told
	m.SetBudgets(t, &b)
	cached := model.Func(asked, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		model.Unsent(ctx)
		model.Unsent(ctx)
		if sink != nil {
			if err := sink(model.Delta{Kind: model.PartText, Usage: &mega}); err != nil {
				return nil, err
			}
		}
		return answered("a", "large", mega), nil
	})
	for want, sink := range map[error]model.Sink{nil: func(model.Delta) error { return nil }, errBoom: func(model.Delta) error { return errBoom }, context.Canceled: nil} {
		_, err := m.Generate(t.Context(), cached, new(model.Request), sink)
		if sink == nil {
			want = nil
		}
		require.Equal(t, want, err)
		require.Zero(t, m.Usage())
	}
	require.Len(t, b.spent, 3)
	for _, s := range b.spent {
		require.Equal(t, toolset.Spent{Unsent: true}, s)
	}
	require.NoError(t, m.Request())
	require.Error(t, m.Request())

	plain := new(toolset.Meter)
	ctx := plain.Within(t.Context())
	_, err := model.Ask(ctx, cached, new(model.Request), nil)
	require.NoError(t, err)
	require.Zero(t, plain.Usage())
	_, err = model.Ask(ctx, streamed(model.Usage{}, false, answered("a", "large", mega), nil), new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, toolset.Usage{Requests: 1, Usage: mega}, plain.Usage())
	model.Unsent(ctx)
	require.Equal(t, 1, plain.Usage().Requests, "outside of a request there is nothing to take back")
}

// keyed is a budget with a key that can refuse.
type keyed struct {
	key      string
	refuses  error
	settled  []toolset.Spent
	known    bool
	reserved int
}

func (b *keyed) Key() any { return b.key }

func (b *keyed) Reserve(context.Context, model.Info, *model.Request) (func(toolset.Spent) bool, error) {
	if b.refuses != nil {
		return nil, b.refuses
	}
	b.reserved++
	return func(s toolset.Spent) bool {
		b.settled = append(b.settled, s)
		return b.known
	}, nil
}

// checking is a budget that looks at the one of its key that is used.
type checking struct {
	keyed
	used []toolset.Budget
}

func (b *checking) Check(_ context.Context, used toolset.Budget) error {
	b.used = append(b.used, used)
	return b.refuses
}

// TestBudgetsRefuseRequests: what others have reserved is given back, and no request counts.
func TestBudgetsRefuseRequests(t *testing.T) {
	ok := streamed(model.Usage{}, false, answered("a", "large", mega), nil)
	first, second := &keyed{key: "1", known: true}, &keyed{key: "2", refuses: errBoom}
	m := new(toolset.Meter)
	m.SetBudgets("owner", first, second)
	_, err := m.Generate(t.Context(), ok, new(model.Request), nil)
	require.Equal(t, errBoom, err)
	require.Equal(t, []toolset.Spent{{Unsent: true}}, first.settled)
	require.Zero(t, m.Usage())

	top := new(toolset.Meter)
	run := top.Child(toolset.Limits{})
	above, same, other := &keyed{key: "1", known: true}, &checking{keyed: keyed{key: "1"}}, &keyed{key: "2", known: true}
	top.SetBudgets("top", above)
	run.SetBudgets("run", same, other)
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 1}, []int{above.reserved, same.reserved, other.reserved}, "the topmost of a key is used")
	require.Equal(t, []toolset.Budget{above}, same.used)
	want := toolset.Spent{Asked: asked, Response: answered("a", "large", mega)}
	require.Equal(t, []toolset.Spent{want}, above.settled)
	require.Equal(t, []toolset.Spent{want}, other.settled)
	require.Zero(t, run.Usage().Unpriced)

	same.refuses = errBoom
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.Equal(t, errBoom, err, "the lower one may refuse")
	require.Equal(t, toolset.Spent{Unsent: true}, above.settled[1])
	require.Equal(t, 1, run.Usage().Requests)

	other.known = false
	run.SetBudgets("run", other)
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.NoError(t, err, "the budgets of an owner replace those it had")
	require.Equal(t, 1, run.Usage().Unpriced, "a budget did not know what it cost")
	other.known = true
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, 1, run.Usage().Unpriced, "it knows what the next one cost")
	run.SetBudgets("another owner", first)
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, 4, other.reserved, "those of others stay")
	run.SetBudgets("run")
	run.SetBudgets("another owner")
	top.SetBudgets("top")
	_, err = run.Generate(t.Context(), ok, new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, []int{5, 4}, []int{above.reserved, other.reserved}, "none are left")
}

// TestBudgetsKnowHowARequestEnded: whether the usage may be larger than what is known of it.
func TestBudgetsKnowHowARequestEnded(t *testing.T) {
	some := &model.Message{Usage: mega}
	for name, test := range map[string]struct {
		m      model.Model
		stream bool
		want   toolset.Spent
	}{
		"answered":          {streamed(model.Usage{}, false, some, nil), false, toolset.Spent{Response: some}},
		"answered, stream":  {streamed(mega, true, some, nil), true, toolset.Spent{Response: some}},
		"refused":           {streamed(model.Usage{}, false, nil, errBoom), false, toolset.Spent{}},
		"refused, stream":   {streamed(model.Usage{}, false, nil, errBoom), true, toolset.Spent{}},
		"refused, reported": {streamed(mega, false, nil, errBoom), true, toolset.Spent{Response: some}},
		"broken off":        {streamed(mega, true, nil, errBoom), true, toolset.Spent{Response: some, Unknown: true}},
		"cancelled":         {streamed(model.Usage{}, false, nil, context.Canceled), false, toolset.Spent{Unknown: true}},
		"nothing":           {streamed(model.Usage{}, false, nil, nil), false, toolset.Spent{Unknown: true}},
		"error and message": {streamed(model.Usage{}, false, some, errBoom), false, toolset.Spent{}},
		"panic":             {model.Func(asked, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { panic("boom") }), false, toolset.Spent{Unknown: true}},
	} {
		b := &keyed{key: "b", known: true}
		m := new(toolset.Meter)
		m.SetBudgets(t, b)
		var sink model.Sink
		if test.stream {
			sink = func(model.Delta) error { return nil }
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = m.Generate(t.Context(), test.m, new(model.Request), sink)
		}()
		test.want.Asked = asked
		require.Equal(t, []toolset.Spent{test.want}, b.settled, name)
		require.Equal(t, 1, m.Usage().Requests, name)
		_, err := m.Generate(t.Context(), streamed(model.Usage{}, false, some, nil), new(model.Request), nil)
		require.NoError(t, err, "the meter can be used again: %s", name)
	}
}

// TestRequestsOfModelsThatAskOthersHaveTheirPrice: the model that asks needs a price, those that it asks use its when they have none.
func TestRequestsOfModelsThatAskOthersHaveTheirPrice(t *testing.T) {
	inner := model.Func(model.Info{Provider: "z", Name: "inner"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return answered("z", "inner", model.Usage{OutputTokens: 1}), nil
	})
	outer := model.Func(asked, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		return model.Ask(ctx, inner, req, sink)
	})
	m := toolset.NewMeter(toolset.Limits{Cost: 2})
	m.SetPrices(model.Prices{"a/large": {Output: 1e6}})
	_, err := m.Generate(t.Context(), outer, new(model.Request), nil)
	require.NoError(t, err)
	require.Equal(t, 1, m.Usage().Requests)
	require.Equal(t, 1, m.Usage().Unpriced)
	require.InDelta(t, 1, m.Usage().Cost, 0, "what it reported, at the price of the model that asks")
	_, err = m.Generate(t.Context(), inner, new(model.Request), nil)
	require.ErrorIs(t, err, model.ErrNoPrice, "without one that asks it")
	m.Add(toolset.Usage{Cost: 1})
	_, err = model.Ask(m.Within(t.Context()), outer, new(model.Request), nil)
	require.EqualError(t, err, "usage limit reached: cost 2, limit 2")
	var limit *toolset.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 1, m.Usage().Requests)
}

// TestContextsOfRequests: a model gets the deadline, the end and the values of the run's context, and is its gate.
func TestContextsOfRequests(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), key{}, "value"), time.Hour, errBoom)
	defer cancel()
	for _, budgets := range [][]toolset.Budget{nil, {&keyed{key: "b"}}} {
		m := new(toolset.Meter)
		m.SetBudgets(t, budgets...)
		for range 2 {
			_, err := m.Generate(ctx, model.Func(asked, func(inside context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
				want, _ := ctx.Deadline()
				got, ok := inside.Deadline()
				require.True(t, ok)
				require.Equal(t, want, got)
				require.Equal(t, "value", inside.Value(key{}))
				require.Equal(t, ctx.Done(), inside.Done())
				require.NoError(t, inside.Err())
				_, gate := inside.Value(model.GateKey{}).(model.Gate)
				require.True(t, gate)
				return nil, errors.New("refused")
			}), new(model.Request), nil)
			require.EqualError(t, err, "refused")
		}
	}
	other, stop := context.WithCancel(t.Context())
	stop()
	m := new(toolset.Meter)
	for want, c := range map[error]context.Context{nil: ctx, context.Canceled: other} {
		_, err := m.Generate(c, model.Func(asked, func(inside context.Context, _ *model.Request, _ model.Sink) (*model.Message, error) {
			return nil, inside.Err()
		}), new(model.Request), nil)
		require.Equal(t, want, err, "each request has its own context")
	}
}

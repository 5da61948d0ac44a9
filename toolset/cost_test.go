// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var (
	asked  = model.Info{Provider: "a", Name: "large"}
	prices = model.Prices{"a/large": {Input: 1}, "a/other": {Input: 2}, "b/large": {Input: 4}, "a/free": {}}
	mega   = model.Usage{InputTokens: 1_000_000}
)

func answered(provider, name string, u model.Usage) *model.Message {
	return &model.Message{Kind: model.KindResponse, Provider: provider, Model: name, Usage: u}
}

// ask has a meter send a request that is answered with a message.
func ask(t *testing.T, m *toolset.Meter, resp *model.Message) {
	t.Helper()
	_, err := m.Generate(t.Context(), model.Func(asked, func(context.Context, *model.Request, model.Sink) (*model.Message, error) { return resp, nil }), new(model.Request), nil)
	require.NoError(t, err)
}

func TestMeterCountsCostUpwards(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	user.SetPrices(prices)
	outer := user.Child(toolset.Limits{})
	inner := outer.Sub().Child(toolset.Limits{})
	inner.SetPrices(model.Prices{"a/large": {Input: 100}})
	ask(t, outer, answered("a", "large", mega))
	ask(t, inner, answered("a", "large", mega))
	require.InDelta(t, 101, user.Usage().Cost, 1e-9)
	require.InDelta(t, 101, outer.Usage().Cost, 1e-9)
	require.InDelta(t, 100, inner.Usage().Cost, 1e-9)
	require.InDelta(t, 4, user.Cost(model.Info{Provider: "b", Name: "large"}, &model.Message{Usage: mega}), 1e-9)
}

func TestMeterUsesThePriceOfTheAnsweringModel(t *testing.T) {
	for name, test := range map[string]struct {
		provider, model string
		cost            float64
		unpriced        int
	}{
		"the one that was asked": {"a", "large", 1, 0}, "it does not say": {"", "", 1, 0}, "another": {"a", "other", 2, 0},
		"by another name": {"a", "large-v2", 1, 0}, "another provider's": {"b", "large", 4, 0}, "an unknown one": {"c", "large", 0, 1},
		"a free one": {"a", "free", 0, 0},
	} {
		m := toolset.NewMeter(toolset.Limits{})
		m.SetPrices(prices)
		ask(t, m, answered(test.provider, test.model, mega))
		require.InDelta(t, test.cost, m.Usage().Cost, 1e-9, name)
		require.Equal(t, test.unpriced, m.Usage().Unpriced, name)
	}
	m := new(toolset.Meter)
	ask(t, m, answered("a", "large", mega))
	require.Equal(t, toolset.Usage{Requests: 1, Usage: mega}, m.Usage(), "without prices")
}

func TestCostLimitNeedsAPrice(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{Cost: 3})
	user.SetPrices(prices)
	m := user.Child(toolset.Limits{})
	require.NoError(t, m.CheckPrice(asked, time.Time{}))
	err := m.CheckPrice(model.Info{Provider: "c", Name: "new"}, time.Time{})
	require.EqualError(t, err, "limit on cost: c new: no price known for the model: add the model to Config.Prices")
	require.ErrorIs(t, err, model.ErrNoPrice)
	var unknown *toolset.PriceError
	require.ErrorAs(t, err, &unknown)
	require.True(t, unknown.Applies(user))
	require.True(t, unknown.Applies(m))
	require.False(t, unknown.Applies(new(toolset.Meter)))
	require.NoError(t, new(toolset.Meter).CheckPrice(asked, time.Time{}), "no price is needed without a limit")
	require.ErrorIs(t, toolset.NewMeter(toolset.Limits{Cost: 3}).CheckPrice(asked, time.Time{}), model.ErrNoPrice, "without prices")
}

func TestUnknownCostCountsAsItsReservation(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Cost: 3})
	m.SetPrices(prices)
	ask(t, m, answered("", "", model.Usage{}))
	ask(t, m, answered("c", "new", mega))
	require.Equal(t, 2, m.Usage().Unpriced)
	require.InDelta(t, 0.15+1, m.Usage().Cost, 1e-9, "a twentieth, and what was reported, at the price of the model that was asked")
	ask(t, m, answered("a", "free", model.Usage{}))
	require.Equal(t, 2, m.Usage().Unpriced, "a free model needs no usage")

	m = toolset.NewMeter(toolset.Limits{Cost: 3})
	m.SetPrices(model.Prices{"large": {Output: 2}})
	req := &model.Request{Settings: &model.Settings{MaxTokens: 500_000}}
	_, err := m.Generate(t.Context(), model.Func(asked, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, context.DeadlineExceeded
	}), req, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.InDelta(t, 1, m.Usage().Cost, 0, "the longest response that the request allows")
	require.Equal(t, 1, m.Usage().Unpriced)
	_, err = m.Generate(t.Context(), model.Func(asked, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return nil, &model.APIError{Status: 429}
	}), req, nil)
	require.Error(t, err)
	require.InDelta(t, 1, m.Usage().Cost, 0, "a request that was refused costs nothing")
	require.Equal(t, 2, m.Usage().Requests)
}

func TestCostLimitErrorIsReadable(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Cost: 2.5})
	m.SetPrices(prices)
	for range 2 {
		ask(t, m, answered("", "", mega))
		require.NoError(t, m.CheckCost(0))
	}
	require.NoError(t, m.CheckCost(0.5))
	err := m.CheckCost(0.75)
	require.EqualError(t, err, "usage limit reached: cost 2.75, limit 2.5")
	var limit *toolset.LimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, toolset.LimitCost, limit.Limit)
	require.InDelta(t, 2.75, limit.Value, 1e-9)
	require.InDelta(t, 2.5, limit.Bound, 1e-9)
	require.NoError(t, m.CheckPrice(asked, time.Time{}))
	ask(t, m, answered("", "", mega))
	require.ErrorAs(t, m.CheckPrice(asked, time.Time{}), &limit, "no more requests at the limit")
}

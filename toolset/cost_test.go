// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
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

func TestMeterCountsCostUpwards(t *testing.T) {
	user := toolset.NewMeter(toolset.Limits{})
	user.SetPrices(prices)
	outer := user.Child(toolset.Limits{})
	inner := outer.Sub().Child(toolset.Limits{})
	inner.SetPrices(model.Prices{"a/large": {Input: 100}})
	require.NoError(t, outer.Response(asked, answered("a", "large", mega)))
	require.NoError(t, inner.Response(asked, answered("a", "large", mega)))
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
		require.NoError(t, m.Response(asked, answered(test.provider, test.model, mega)), name)
		require.InDelta(t, test.cost, m.Usage().Cost, 1e-9, name)
		require.Equal(t, test.unpriced, m.Usage().Unpriced, name)
	}
	m := new(toolset.Meter)
	require.NoError(t, m.Response(asked, answered("a", "large", mega)))
	require.Equal(t, toolset.Usage{Usage: mega}, m.Usage(), "without prices")
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

func TestCostLimitNeedsUsage(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Cost: 3})
	m.SetPrices(prices)
	require.ErrorIs(t, m.Response(asked, answered("", "", model.Usage{})), model.ErrNoUsage)
	err := m.Response(asked, answered("c", "new", mega))
	require.EqualError(t, err, "limit on cost: c new: no price known for the model: add the model to Config.Prices")
	require.Equal(t, 2, m.Usage().Unpriced)
	require.NoError(t, m.Response(asked, answered("a", "free", model.Usage{})), "a free model needs no usage")
}

func TestCostLimitErrorIsReadable(t *testing.T) {
	m := toolset.NewMeter(toolset.Limits{Cost: 2.5})
	m.SetPrices(prices)
	for range 2 {
		require.NoError(t, m.Response(asked, answered("", "", mega)))
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
	require.NoError(t, m.Response(asked, answered("", "", mega)))
	require.ErrorAs(t, m.CheckPrice(asked, time.Time{}), &limit, "no more requests at the limit")
}

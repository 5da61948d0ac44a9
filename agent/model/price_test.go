// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestPriceOfTokensByKind(t *testing.T) {
	p := model.Price{Input: 2, Output: 8, CachedInput: 0.5, CacheWrite: 3}
	u := model.Usage{InputTokens: 1_000_000, CacheReadTokens: 400_000, CacheWriteTokens: 100_000, OutputTokens: 500_000, ReasoningTokens: 100_000}
	require.InDelta(t, 0.5*2+0.4*0.5+0.1*3+0.5*8, p.Of(u), 1e-9)
	p.Reasoning, p.Request = 10, 0.25
	require.InDelta(t, 0.5*2+0.4*0.5+0.1*3+0.4*8+0.1*10+0.25, p.Of(u), 1e-9)
	p = model.Price{Input: 2, Output: 8}
	require.InDelta(t, 2+4, p.Of(u), 1e-9, "by default cached input has the price of other input")
	require.InDelta(t, 2, model.Price{Input: 2}.Of(model.Usage{CacheReadTokens: 1_000_000}), 1e-9, "providers that count cached input separately")
}

func TestPriceOfLongRequests(t *testing.T) {
	p := model.Price{Input: 1, Output: 10, Tiers: []model.PriceTier{{Above: 200_000, Input: 2, Output: 15}, {Above: 400_000, Input: 4, Output: 30}}}
	for tokens, want := range map[int64]float64{200_000: 0.2 + 10, 200_001: 0.400002 + 15, 400_000: 0.8 + 15, 500_000: 2 + 30} {
		require.InDelta(t, want, p.Of(model.Usage{InputTokens: tokens, OutputTokens: 1_000_000}), 1e-9, "%d", tokens)
	}
	require.False(t, p.Free())
	require.False(t, model.Price{Tiers: []model.PriceTier{{Above: 1, Input: 1}}}.Free())
	require.False(t, model.Price{Request: 1}.Free())
	require.True(t, model.Price{Tiers: []model.PriceTier{{Above: 1}}}.Free())
}

func TestFirstPriceUsesTablesInOrder(t *testing.T) {
	own, rest := model.Prices{"a/b": {Input: 1}}, model.Prices{"a/*": {Input: 2}}
	table := model.FirstPrice(own, nil, rest)
	for name, want := range map[string]float64{"b": 1, "c": 2} {
		price, ok := table.Price("a", name, time.Time{})
		require.True(t, ok)
		require.InDelta(t, want, price.Input, 0)
	}
	_, ok := table.Price("x", "y", time.Time{})
	require.False(t, ok)
}

// TestPriceThatIsNoPriceIsUnknown has every number of a price be negative, infinite or none.
func TestPriceThatIsNoPriceIsUnknown(t *testing.T) {
	for _, n := range []float64{-1, math.NaN(), math.Inf(1)} {
		for _, p := range []model.Price{
			{Input: n}, {Output: n}, {CachedInput: n}, {CacheWrite: n}, {Reasoning: n},
			{Request: n},
			{Tiers: []model.PriceTier{{Above: 1, Output: n}}},
		} {
			for _, key := range []string{"a/b", "b", "a/*"} {
				_, ok := model.Prices{key: p}.Price("a", "b", time.Time{})
				require.False(t, ok, "%s: %+v", key, p)
			}
		}
	}
}

func TestPricesPreferTheMostPreciseName(t *testing.T) {
	var prices model.Prices
	require.NoError(t, json.Unmarshal([]byte(`{
		"openai/large": {"input": 1, "cached_input": 0.1, "output": 8},
		"openai/large-2026-02-01": {"input": 2, "output": 8},
		"large": {"input": 3, "output": 8},
		"small": {"input": 4, "output": 8},
		"ollama/*": {"input": 0, "output": 0}
	}`), &prices))
	for name, want := range map[[2]string]float64{
		{"openai", "large"}:            1,
		{"openai", "large-2026-02-01"}: 2,
		{"openai", "large-2025-11-30"}: 1,
		{"openai", "large-20251130"}:   1,
		{"vertex", "large@20251130"}:   3,
		{"azure", "large"}:             3,
		{"openai", "small"}:            4,
		{"ollama", "small"}:            4,
		{"ollama", "tiny"}:             0,
		{"openai", "large-mini"}:       -1,
		{"openai", "large-4096"}:       -1,
		{"openai", "tiny"}:             -1,
	} {
		price, ok := prices.Price(name[0], name[1], time.Time{})
		require.Equal(t, want >= 0, ok, "%v", name)
		require.InDelta(t, max(want, 0), price.Input, 1e-9, "%v", name)
	}
}

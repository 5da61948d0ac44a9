// SPDX-License-Identifier: Apache-2.0

package modelwrap_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
)

func answering(resp *model.Message) model.Model {
	return named("one", func(context.Context, model.Sink) (*model.Message, error) { return resp, nil })
}

func TestCostObservesAndSumsCharges(t *testing.T) {
	resp := say("hello")
	resp.Provider, resp.Model = "openai", "large-2026-02-01"
	resp.Usage = model.Usage{InputTokens: 1000, OutputTokens: 100}
	price := model.Price{Input: 2, Output: 10}
	var charges []modelwrap.Charge
	type tenant struct{}
	m := modelwrap.Cost(answering(resp), model.Prices{"openai/large": price}, func(ctx context.Context, c modelwrap.Charge) {
		require.Equal(t, "acme", ctx.Value(tenant{}))
		charges = append(charges, c)
	})
	ctx := context.WithValue(t.Context(), tenant{}, "acme")
	for range 2 {
		got, err := m.Generate(ctx, ask("hi"), nil)
		require.NoError(t, err)
		require.Same(t, resp, got)
	}
	require.Len(t, charges, 2)
	require.InDelta(t, 0.003, charges[0].Amount, 1e-12)
	charges[0].Amount = 0
	require.Equal(t, modelwrap.Charge{Provider: "openai", Model: "large-2026-02-01", Usage: resp.Usage, Price: price}, charges[0])
	total := m.Total()
	require.InDelta(t, 0.006, total.Amount, 1e-12)
	require.EqualValues(t, 2, total.Priced)
	require.Equal(t, model.Usage{InputTokens: 2000, OutputTokens: 200}, total.Usage)
	require.True(t, total.Known())
}

func TestUnknownCostIsReported(t *testing.T) {
	var last modelwrap.Charge
	observe := func(_ context.Context, c modelwrap.Charge) { last = c }

	m := modelwrap.Cost(saying("one", "hello"), model.Prices{"openai/large": {Input: 1}}, observe)
	for range 2 {
		_, err := m.Generate(t.Context(), ask("hi"), nil)
		require.NoError(t, err)
	}
	require.ErrorIs(t, last.Err, model.ErrNoPrice)
	total := m.Total()
	require.False(t, total.Known())
	require.Equal(t, map[string]model.Usage{"test/one": {InputTokens: 20, OutputTokens: 10}}, total.Unpriced)
	clear(total.Unpriced)
	require.Len(t, m.Total().Unpriced, 1, "the total is a copy")

	silent := say("hello")
	silent.Usage = model.Usage{}
	m = modelwrap.Cost(answering(silent), model.Prices{"one": {Input: 1}}, observe)
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.ErrorIs(t, last.Err, model.ErrNoUsage)
	require.Equal(t, modelwrap.CostTotal{Unreported: 1}, m.Total())
	require.False(t, m.Total().Known())

	m = modelwrap.Cost(answering(silent), model.Prices{"test/*": {}}, observe)
	_, err = m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.NoError(t, last.Err, "a free model needs no usage")
	require.True(t, m.Total().Known())
}

func TestCostDoesNotCountFailures(t *testing.T) {
	m := modelwrap.Cost(failing("one", errBoom), model.Prices{}, func(context.Context, modelwrap.Charge) { t.Error("told") })
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.Equal(t, errBoom, err)
	require.Equal(t, modelwrap.CostTotal{}, m.Total())
}

func TestCostUsesTheModelThatAnswered(t *testing.T) {
	inner := fallback(modelwrap.FallbackPolicy{}, failing("one", overloaded("one")), saying("two", "hello"))
	m := modelwrap.Cost(inner, model.Prices{"one": {Input: 1e6}, "two": {Input: 1e5}}, nil)
	_, err := m.Generate(t.Context(), ask("hi"), nil)
	require.NoError(t, err)
	require.InDelta(t, 1.0, m.Total().Amount, 1e-9)
}

func TestCostCountsConcurrentRequests(t *testing.T) {
	m := modelwrap.Cost(saying("one", "hello"), model.Prices{"one": {Input: 1e5}}, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_, err := m.Generate(t.Context(), ask("hi"), nil)
				require.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.InDelta(t, 800, m.Total().Amount, 1e-6)
}

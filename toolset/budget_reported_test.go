// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// told is a budget that keeps what it is told of a request.
type told struct{ spent []toolset.Spent }

func (*told) Key() any { return "told" }

func (b *told) Reserve(context.Context, model.Info, *model.Request) (func(toolset.Spent) bool, error) {
	return func(s toolset.Spent) bool {
		b.spent = append(b.spent, s)
		return true
	}, nil
}

// TestBudgetsAreToldWhatABrokenStreamReported: a budget gets the usage that was reported before a
// stream broke off, and no response if none was.
func TestBudgetsAreToldWhatABrokenStreamReported(t *testing.T) {
	for _, reported := range []model.Usage{{}, {OutputTokens: 7}} {
		m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
			if reported != (model.Usage{}) {
				if err := sink(model.Delta{Usage: &reported}); err != nil {
					return nil, err
				}
			}
			return nil, errors.New("broken off")
		})
		var b told
		meter := new(toolset.Meter)
		meter.SetBudgets(t, &b)
		_, err := meter.Generate(t.Context(), m, new(model.Request), func(model.Delta) error { return nil })
		require.Error(t, err)
		require.Len(t, b.spent, 1)
		if reported == (model.Usage{}) {
			require.Nil(t, b.spent[0].Response)
		} else {
			require.Equal(t, reported, b.spent[0].Response.Usage)
		}
	}
}

// TestBudgetsOfOneKeyReserveOnce: the second budget has no Check, so it has nothing to say.
func TestBudgetsOfOneKeyReserveOnce(t *testing.T) {
	var first, second told
	meter := new(toolset.Meter)
	meter.SetBudgets(t, &first, &second)
	m := model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("hi")), nil
	})
	_, err := meter.Generate(t.Context(), m, new(model.Request), nil)
	require.NoError(t, err)
	require.Len(t, first.spent, 1)
	require.Empty(t, second.spent)
}

// TestBudgetsSeeTheRequestsOfModelsThatAskOthers: what was reserved for the model that asks is
// given back, and room is reserved for each that it asks.
func TestBudgetsSeeTheRequestsOfModelsThatAskOthers(t *testing.T) {
	var b told
	meter := new(toolset.Meter)
	meter.SetBudgets(t, &b)
	answers := model.Func(model.Info{Name: "answers"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("hi")), nil
	})
	asks := model.Func(model.Info{Name: "asks"}, func(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		if _, err := model.Ask(ctx, answers, req, sink); err != nil {
			return nil, err
		}
		return model.Ask(ctx, answers, req, sink)
	})
	_, err := meter.Generate(t.Context(), asks, new(model.Request), nil)
	require.NoError(t, err)
	require.Len(t, b.spent, 3)
	require.True(t, b.spent[0].Unsent, "the model that asks")
	for _, s := range b.spent[1:] {
		require.False(t, s.Unsent)
		require.NotNil(t, s.Response)
		require.Equal(t, "answers", s.Asked.Name)
	}
	require.Equal(t, 2, meter.Usage().Requests)
}

// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// TestLimitsAtTheirBounds: what reaches a limit is allowed, except for the next request; what exceeds it is told with the value, the
// limit and its name.
func TestLimitsAtTheirBounds(t *testing.T) {
	type L = toolset.Limits
	request := func(m *toolset.Meter) error { return m.Request() }
	before := func(steps int) func(m *toolset.Meter) error {
		return func(m *toolset.Meter) error { return m.CheckRequest(model.Info{}, steps) }
	}
	calls := func(n int) func(m *toolset.Meter) error {
		return func(m *toolset.Meter) error { return m.CheckCalls(n) }
	}
	tokens := func(u model.Usage) func(m *toolset.Meter) error {
		return func(m *toolset.Meter) error { return m.CheckTokens(u) }
	}
	requests := func(n int) toolset.Usage { return toolset.Usage{Requests: n} }
	toolCalls := func(n int) toolset.Usage { return toolset.Usage{ToolCalls: n} }
	used := func(in, out int64) toolset.Usage {
		return toolset.Usage{Usage: model.Usage{InputTokens: in, OutputTokens: out}}
	}
	for name, test := range map[string]struct {
		limits toolset.Limits
		used   toolset.Usage
		check  func(m *toolset.Meter) error
		want   string
	}{
		"one request, none made":               {L{Requests: 1}, requests(0), request, ""},
		"one request, one made":                {L{Requests: 1}, requests(1), request, "1 request, limit 1"},
		"two requests, one made":               {L{Requests: 2}, requests(1), request, ""},
		"two requests, two made":               {L{Requests: 2}, requests(2), request, "2 requests, limit 2"},
		"two requests, three made":             {L{Requests: 2}, requests(3), request, "3 requests, limit 2"},
		"unlimited requests":                   {L{Requests: toolset.Unlimited}, requests(9), request, ""},
		"before a request, one made":           {L{Requests: 1}, requests(1), before(0), "1 request, limit 1"},
		"before a request, none made":          {L{Requests: 1}, requests(0), before(0), ""},
		"before a request, steps count":        {L{Requests: 3}, requests(1), before(3), "3 requests, limit 3"},
		"before a request, fewer steps":        {L{Requests: 3}, requests(1), before(2), ""},
		"before a request, more requests":      {L{Requests: 3}, requests(3), before(1), "3 requests, limit 3"},
		"before a request, unlimited":          {L{Requests: toolset.Unlimited}, requests(3), before(9), ""},
		"before a request, tokens reached":     {L{InputTokens: 1}, used(1, 0), before(0), ""},
		"before a request, tokens exceeded":    {L{InputTokens: 1}, used(2, 0), before(0), "2 input tokens, limit 1"},
		"a request, tokens reached":            {L{OutputTokens: 1}, used(0, 1), request, ""},
		"a request, tokens exceeded":           {L{OutputTokens: 1}, used(0, 2), request, "2 output tokens, limit 1"},
		"no calls allowed, none made":          {L{ToolCalls: toolset.NoToolCalls}, toolCalls(0), calls(0), ""},
		"no calls allowed, one made":           {L{ToolCalls: toolset.NoToolCalls}, toolCalls(0), calls(1), "1 tool call, limit 0"},
		"one call allowed, one made":           {L{ToolCalls: 1}, toolCalls(0), calls(1), ""},
		"one call allowed, two made":           {L{ToolCalls: 1}, toolCalls(0), calls(2), "2 tool calls, limit 1"},
		"one call allowed, one made before":    {L{ToolCalls: 1}, toolCalls(1), calls(1), "2 tool calls, limit 1"},
		"no response with calls at the limit":  {L{ToolCalls: 1}, toolCalls(2), calls(0), ""},
		"calls without a limit":                {L{}, toolCalls(5), calls(5), ""},
		"unlimited calls":                      {L{ToolCalls: toolset.Unlimited}, toolCalls(5), calls(5), ""},
		"input tokens reached":                 {L{InputTokens: 1}, used(0, 9), tokens(model.Usage{InputTokens: 1}), ""},
		"input tokens exceeded":                {L{InputTokens: 1}, used(1, 0), tokens(model.Usage{InputTokens: 1}), "2 input tokens, limit 1"},
		"output tokens reached":                {L{OutputTokens: 1}, used(9, 0), tokens(model.Usage{OutputTokens: 1}), ""},
		"output tokens exceeded":               {L{OutputTokens: 1}, used(0, 1), tokens(model.Usage{OutputTokens: 1}), "2 output tokens, limit 1"},
		"total tokens reached":                 {L{TotalTokens: 2}, used(1, 0), tokens(model.Usage{OutputTokens: 1}), ""},
		"one total token, none used":           {L{TotalTokens: 1}, used(0, 0), tokens(model.Usage{OutputTokens: 2}), "2 total tokens, limit 1"},
		"total tokens exceeded":                {L{TotalTokens: 2}, used(1, 1), tokens(model.Usage{OutputTokens: 1}), "3 total tokens, limit 2"},
		"unlimited tokens":                     {L{InputTokens: -1, OutputTokens: -1, TotalTokens: -1}, used(9, 9), tokens(model.Usage{InputTokens: 9}), ""},
		"unlimited input, limited output":      {L{InputTokens: -1, OutputTokens: 1}, used(9, 2), request, "2 output tokens, limit 1"},
		"the first limit is told":              {L{InputTokens: 1, OutputTokens: 1, TotalTokens: 1}, used(2, 2), request, "2 input tokens, limit 1"},
		"requests are told rather than tokens": {L{Requests: 1, InputTokens: 1}, toolset.Usage{Requests: 1, Usage: model.Usage{InputTokens: 2}}, request, "1 request, limit 1"},
	} {
		for _, place := range []string{"of the run", "above", "above a tap"} {
			m := toolset.NewMeter(test.limits)
			bounded := m
			switch place {
			case "above":
				m = m.Child(toolset.Limits{})
			case "above a tap":
				m = m.Sub()
			}
			m.Add(test.used)
			want := test.want
			if place == "above" && name == "before a request, steps count" {
				want = "" // the steps are those of the run
			}
			err := test.check(m)
			if want == "" {
				require.NoError(t, err, "%s, %s", name, place)
				continue
			}
			require.EqualError(t, err, "usage limit reached: "+want, "%s, %s", name, place)
			var limit *toolset.LimitError
			require.ErrorAs(t, err, &limit)
			require.True(t, limit.Applies(bounded), "%s, %s", name, place)
			require.NoError(t, m.CheckCalls(0), "no lock is held")
		}
	}
}

// TestCostsAtTheirBounds: a request is refused once the limit is reached, a response only if it exceeds it.
func TestCostsAtTheirBounds(t *testing.T) {
	known := model.Info{Provider: "a", Name: "large"}
	unknown := model.Info{Provider: "c", Name: "new"}
	for name, test := range map[string]struct {
		used        float64
		asked       model.Info
		more        float64
		request     string // the error before a request
		response    string // and after a response
		withoutCost bool
	}{
		"below":             {used: 0.5, asked: known, more: 0.25},
		"a response to it":  {used: 0.5, asked: known, more: 0.5},
		"a response beyond": {used: 0.5, asked: known, more: 0.75, response: "usage limit reached: cost 1.25, limit 1"},
		"reached":           {used: 1, asked: known, request: "usage limit reached: cost 1, limit 1"},
		"exceeded":          {used: 1.5, asked: known, request: "usage limit reached: cost 1.5, limit 1", response: "usage limit reached: cost 1.5, limit 1"},
		"no price":          {asked: unknown, request: "limit on cost: c new: no price known for the model: add the model to Config.Prices"},
		"no limit":          {used: 9, asked: unknown, more: 9, withoutCost: true},
	} {
		for _, above := range []bool{false, true} {
			limits := toolset.Limits{Cost: 1}
			if test.withoutCost {
				limits.Cost = 0
			}
			m := toolset.NewMeter(limits)
			m.SetPrices(prices)
			if above {
				m = m.Sub().Child(toolset.Limits{})
			}
			m.Add(toolset.Usage{Cost: test.used})
			for _, err := range []error{m.CheckPrice(test.asked, time.Time{}), m.CheckRequest(test.asked, 0)} {
				if test.request == "" {
					require.NoError(t, err, name)
				} else {
					require.EqualError(t, err, test.request, name)
				}
			}
			if err := m.CheckCost(test.more); test.response == "" {
				require.NoError(t, err, name)
			} else {
				require.EqualError(t, err, test.response, name)
			}
		}
	}
}

// TestAmountsOfLimitErrors: whole numbers have no point, and costs no zeros at the end.
func TestAmountsOfLimitErrors(t *testing.T) {
	for _, test := range []struct {
		limit        toolset.LimitName
		value, bound float64
		want         string
	}{
		{toolset.LimitCost, 0.000001, 10, "cost 0.000001, limit 10"},
		{toolset.LimitCost, 1.5, 1.25, "cost 1.5, limit 1.25"},
		{toolset.LimitCost, 100, 0.1234567, "cost 100, limit 0.123457"},
		{toolset.LimitRequests, 1, 1, "1 request, limit 1"},
		{toolset.LimitRequests, 0, 100, "0 requests, limit 100"},
		{toolset.LimitToolCalls, 1, 0, "1 tool call, limit 0"},
		{toolset.LimitTotalTokens, 1200, 1000, "1200 total tokens, limit 1000"},
	} {
		require.EqualError(t, &toolset.LimitError{Limit: test.limit, Value: test.value, Bound: test.bound}, "usage limit reached: "+test.want)
	}
}

// TestMetersAddEveryField: usage adds up, and a cost is rounded to billionths.
func TestMetersAddEveryField(t *testing.T) {
	one := toolset.Usage{
		Requests: 1, ToolCalls: 2, Cost: 0.1, Unpriced: 3,
		Usage: model.Usage{InputTokens: 4, OutputTokens: 5, CacheReadTokens: 6, CacheWriteTokens: 7, ReasoningTokens: 8},
	}
	m := new(toolset.Meter)
	var total toolset.Usage
	for range 3 {
		total = m.Add(one)
	}
	require.Equal(t, toolset.Usage{
		Requests: 3, ToolCalls: 6, Cost: 0.3, Unpriced: 9,
		Usage: model.Usage{InputTokens: 12, OutputTokens: 15, CacheReadTokens: 18, CacheWriteTokens: 21, ReasoningTokens: 24},
	}, m.Usage())
	require.Equal(t, m.Usage(), total)
	m.Add(toolset.Usage{Cost: 4e-10})
	require.InDelta(t, 0.3, m.Usage().Cost, 0)
	m.Add(toolset.Usage{Cost: 6e-10})
	require.InDelta(t, 0.300000001, m.Usage().Cost, 0)
}

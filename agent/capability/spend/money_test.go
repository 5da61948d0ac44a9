// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

// shelf has the prices of three models in nano-units for a token, and none of "secret".
var shelf = model.Prices{
	"p/plain":  {Input: 0.003, Output: 0.007},
	"p/cached": {Input: 0.011, Output: 0.013, CachedInput: 0.002, CacheWrite: 0.017, Reasoning: 0.019},
	"p/tiered": {Input: 0.001, Output: 0.001, Request: 5e-9, Tiers: []model.PriceTier{{Above: 50, Input: 0.023, Output: 0.029, CachedInput: 0.003}}},
}

// nanos is what a provider of these models charges, in whole nano-units.
func nanos(name string, u model.Usage) int64 {
	plain := u.InputTokens - u.CacheReadTokens - u.CacheWriteTokens
	said := u.OutputTokens - u.ReasoningTokens
	switch {
	case name == "plain":
		return 3*u.InputTokens + 7*u.OutputTokens
	case name == "cached":
		return 11*plain + 2*u.CacheReadTokens + 17*u.CacheWriteTokens + 13*said + 19*u.ReasoningTokens
	case u.InputTokens > 50:
		return 5 + 23*(plain+u.CacheWriteTokens) + 3*u.CacheReadTokens + 29*u.OutputTokens
	}
	return 5 + u.InputTokens + u.OutputTokens
}

// provider keeps a ledger of its own of what its models have cost. unknown counts the answers of a model without a price, and those that
// broke off.
type provider struct {
	rand          *rand.Rand
	nanos         int64
	asked, tokens int64
	unknown       int
}

func (p *provider) model(name string) model.Model {
	return model.Func(model.Info{Provider: "p", Name: name}, func(ctx context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		p.asked++
		u := model.Usage{InputTokens: 1 + p.rand.Int64N(99), OutputTokens: p.rand.Int64N(99)}
		u.CacheReadTokens = p.rand.Int64N(u.InputTokens + 1)
		u.CacheWriteTokens = p.rand.Int64N(u.InputTokens - u.CacheReadTokens + 1)
		u.ReasoningTokens = p.rand.Int64N(u.OutputTokens + 1)
		charge := func() {
			if p.tokens += u.TotalTokens(); name == "secret" {
				p.unknown++
			} else {
				p.nanos += nanos(name, u)
			}
		}
		resp := model.Response(model.Text("x"))
		resp.Provider, resp.Model, resp.Usage = "p", name, u
		switch p.rand.IntN(6) {
		case 0: // refused
			return nil, &model.APIError{Status: 503}
		case 1: // it fails after its usage was reported, and before anything is said
			if sink == nil {
				return nil, &model.APIError{Status: 529}
			}
			charge()
			if err := sink(model.Delta{Usage: &u}); err != nil {
				return nil, err
			}
			return nil, &model.APIError{Status: 529}
		case 2: // nobody wants it
			resp.Finish = model.FinishContentFilter
		}
		charge()
		if sink != nil {
			for range 2 {
				if err := sink(model.Delta{Usage: &u}); err != nil {
					return nil, err
				}
			}
		}
		return resp, nil
	})
}

// TestMoneyIsCountedToTheNanoUnit: fallbacks that are refused, rejected, unpriced or fail after their usage, whole and streamed, with cached
// tokens, reasoning and tiers. Meter and window count what the provider charges, and a reservation for each answer without a price.
func TestMoneyIsCountedToTheNanoUnit(t *testing.T) {
	unknown := 0
	for seed := range uint64(400) {
		p := &provider{rand: rand.New(rand.NewPCG(seed, 24))}
		var models []model.Model
		for _, name := range []string{"plain", "cached", "tiered", "plain"} {
			models = append(models, p.model(name))
		}
		if seed%4 == 0 { // exactly one price is missing
			models[1+p.rand.IntN(3)] = p.model("secret")
		}
		const reserve, bound = 1e-6, 1.0
		o := spend.Options[user]{Store: new(session.Memory), Prices: shelf, Windows: []spend.Window[user]{{Name: "daily", Length: time.Hour, Cost: bound, Reserve: reserve}}}
		c := agent.Config[user, string]{
			Model:  modelwrap.Fallback(models, modelwrap.FallbackPolicy{Check: modelwrap.Usable, Buffered: seed%3 == 0}),
			Prices: shelf, Limits: agent.Limits{Cost: 20 * reserve * 1000}, Capabilities: []agent.Capability[user]{spend.New(o)},
		}
		if seed%5 == 0 {
			c.Model = modelwrap.Retry(c.Model, model.RetryPolicy{Attempts: 2, Base: 1, Max: 1, On: func(error) bool { return true }})
		}
		a := agent.Must(agent.New(c))
		var used toolset.Usage
		for range 3 {
			before := p.unknown
			var err error
			var res *agent.Result[string]
			if seed%2 == 0 {
				res, err = a.Run(t.Context(), user{}, "go")
			} else {
				res, err = a.Stream(t.Context(), user{}, "go").Result()
			}
			of := usageIn(t, res, err)
			used.Requests += of.Requests
			used.Usage.Add(of.Usage)
			used.Cost += of.Cost
			used.Unpriced += of.Unpriced
			require.Equal(t, p.unknown-before, of.Unpriced, seed)
		}
		unknown += p.unknown
		require.EqualValues(t, p.asked, used.Requests, seed)
		require.Equal(t, p.tokens, used.TotalTokens(), seed)
		want := p.nanos + int64(p.unknown)*1_000_000 // a twentieth of the limit
		require.Equal(t, want, int64(math.Round(used.Cost*1e9)), seed)

		o.Windows[0].Reserve = bound
		_, err := agentOf(p.model("plain"), o).Run(t.Context(), user{}, "go")
		var spent *spend.Error
		require.ErrorAs(t, err, &spent, seed)
		require.Equal(t, p.nanos, int64(math.Round(spent.Used*1e9))-int64(p.unknown)*1000, fmt.Sprint(seed, " ", spent.Used))
	}
	require.Positive(t, unknown)
}

// usageIn returns the usage of a run, however it ended.
func usageIn(t *testing.T, res *agent.Result[string], err error) toolset.Usage {
	t.Helper()
	if err == nil {
		return res.Usage
	}
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	return failed.Usage
}

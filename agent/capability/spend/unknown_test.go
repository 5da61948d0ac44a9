// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// In a window of tokens a request whose usage nobody knows counts the longest answer that it allowed, if that is more than what was
// reserved, and what was reserved otherwise.
func TestUnknownTokensCountWhatTheRequestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		usage   model.Usage
		err     error
		longest int
		want    float64
	}{
		"nothing is known": {want: 20}, "a short answer": {longest: 19, want: 20}, "as long as the reservation": {longest: 20, want: 20}, "a long answer": {longest: 21, want: 21}, "a longer answer": {longest: 300, want: 300},
		"it timed out": {err: context.DeadlineExceeded, longest: 300, want: 300}, "it timed out, short": {err: context.DeadlineExceeded, longest: 3, want: 20}, "it was refused": {err: &model.APIError{Status: 400}, longest: 300, want: 0},
		"its usage is known": {usage: model.Usage{InputTokens: 5, OutputTokens: 2}, longest: 300, want: 7},
	} {
		m := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
			if c.err != nil {
				return nil, c.err
			}
			resp := model.Response(model.Text("x"))
			resp.Usage = c.usage
			return resp, nil
		})
		o := spend.Options[user]{Store: new(session.Memory), Windows: []spend.Window[user]{{Name: "daily", Length: time.Hour, Tokens: 1000, Reserve: 20}}}
		_, _ = agentOf(m, o).Run(t.Context(), user{}, "Hello.", agent.WithSettings(model.Settings{MaxTokens: c.longest}))
		o.Windows[0].Reserve = 1000
		_, err := agentOf(costs("x"), o).Run(t.Context(), user{}, "Hello.")
		var spent *spend.Error
		if c.want == 0 {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorAs(t, err, &spent, name)
		require.InDelta(t, c.want, spent.Used, 1e-9, name)
	}
}

// The ids of ledgers are those that earlier versions have written: another one would forget what was spent.
func TestLedgersKeepTheirIDs(t *testing.T) {
	for want, w := range map[string]spend.Window[user]{
		"spend-056af50d6749fa93757818b82af708ea": {Name: "daily", Length: 24 * time.Hour, Tokens: 1000},
		"spend-d1eea906719fe9627525c5e7bc0243b5": {Name: "daily", Length: 24 * time.Hour, Cost: 0.5},
	} {
		o := spend.Options[user]{Store: new(session.Memory), Prices: model.Prices{"p/known": {Input: 1}}, Windows: []spend.Window[user]{w}}
		_, err := agentOf(costs("known"), o).Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
		page, err := o.Store.List(t.Context(), session.Query{Dir: spend.Dir})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		require.Equal(t, want, page.Sessions[0].ID)
		require.JSONEq(t, `"24h48m1s"`, string(page.Sessions[0].Values["stale_after"]), "a window, two slots and a second")
	}
}

// Amounts are told with six digits.
func TestErrorsTellAmountsInShort(t *testing.T) {
	e := spend.Error{Window: "w", Length: time.Hour, Limit: 1234567, Used: 1.2345678, Reserve: 123456.4, Free: time.Unix(0, 0)}
	require.Equal(t, "spend: the window is used up: \"w\" has used 1.23457 of 1.23457e+06 in 1h0m0s, and a request reserves 123456; try again at 1970-01-01T00:00:00Z", e.Error())
}

// A request without a usage is not one of an unknown price if the window counts tokens.
func TestUnknownTokensHaveNoPrice(t *testing.T) {
	m := model.Func(model.Info{Provider: "p", Name: "known"}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		return model.Response(model.Text("x")), nil
	})
	for longest, reserve := range []float64{5, 5} {
		o := spend.Options[user]{Store: new(session.Memory), Windows: []spend.Window[user]{{Name: "daily", Length: time.Hour, Tokens: 1000, Reserve: reserve}}}
		res, err := agentOf(m, o).Run(t.Context(), user{}, "Hello.", agent.WithSettings(model.Settings{MaxTokens: longest * 50}))
		require.NoError(t, err)
		require.Zero(t, res.Usage.Unpriced)
	}
}

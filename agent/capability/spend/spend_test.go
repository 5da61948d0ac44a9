// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/leaktest"
	"github.com/ponte-go/ponte/toolset"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type user struct{ name string }

// table has one price: a dollar for a token.
type table struct{}

func (table) Price(_, name string, _ time.Time) (model.Price, bool) {
	return model.Price{Input: 1_000_000, Output: 1_000_000}, name != "unknown"
}

// spender is an agent whose requests use so many tokens each.
func spender(tokens int64, o spend.Options[user]) *agent.Agent[user, string] {
	return agentOf(modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		m := model.Response(model.Text("ok"))
		m.Usage = model.Usage{InputTokens: tokens}
		return m, nil
	}), o)
}

func agentOf(m model.Model, o spend.Options[user]) *agent.Agent[user, string] {
	return agent.Must(agent.New(agent.Config[user, string]{Model: m, Capabilities: []agent.Capability[user]{spend.New(o)}}))
}

func hourly(store session.Store, tokens int64, reserve float64) spend.Options[user] {
	return spend.Options[user]{Store: store, Windows: []spend.Window[user]{{
		Name: "hourly", Length: time.Hour, Tokens: tokens, Reserve: reserve,
		Key: func(run *toolset.RunContext[user]) string { return run.Deps.name },
	}}}
}

func TestWindowIsUsedUpAndFreeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := spender(40, hourly(new(session.Memory), 100, 40))
		for range 2 {
			_, err := a.Run(t.Context(), user{"ada"}, "Hello.")
			require.NoError(t, err)
			time.Sleep(10 * time.Minute)
		}
		_, err := a.Run(t.Context(), user{"ada"}, "Hello.")
		var spent *spend.Error
		require.ErrorAs(t, err, &spent)
		require.ErrorIs(t, err, spend.ErrSpent)
		text, free := err.Error(), spent.Free
		require.WithinRange(t, free, time.Now().Add(40*time.Minute), time.Now().Add(41*time.Minute))
		spent.Free = time.Time{}
		require.Equal(t, spend.Error{Window: "hourly", Key: "ada", Length: time.Hour, Limit: 100, Used: 80, Reserve: 40}, *spent)
		require.Contains(t, text, `spend: the window is used up: "hourly" has used 80 of 100 in 1h0m0s, and a request reserves 40; try again at `+free.Format(time.RFC3339))

		_, err = a.Run(t.Context(), user{"bob"}, "Hello.")
		require.NoError(t, err, "another key has a window of its own")
		time.Sleep(time.Until(free) - time.Millisecond)
		_, err = a.Run(t.Context(), user{"ada"}, "Hello.")
		require.ErrorIs(t, err, spend.ErrSpent)
		time.Sleep(time.Millisecond)
		_, err = a.Run(t.Context(), user{"ada"}, "Hello.")
		require.NoError(t, err)
	})
}

func TestWindowOfCost(t *testing.T) {
	o := spend.Options[user]{Store: new(session.Memory), Prices: table{}, Windows: []spend.Window[user]{{Name: "daily", Length: 24 * time.Hour, Cost: 5, Reserve: 2}}}
	a := spender(2, o)
	for range 2 {
		_, err := a.Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
	}
	_, err := a.Run(t.Context(), user{}, "Hello.")
	require.ErrorContains(t, err, `"daily" has used 4 of 5 in 24h0m0s`)

	a = agentOf(model.Func(model.Info{Name: "unknown"}, nil), o)
	_, err = a.Run(t.Context(), user{}, "Hello.")
	var price *toolset.PriceError
	require.ErrorAs(t, err, &price, "a model without a price is not asked")
}

func TestAllWindowsApply(t *testing.T) {
	store := new(session.Memory)
	o := hourly(store, 1000, 50)
	o.Windows = append(o.Windows, spend.Window[user]{Name: "minute", Length: time.Minute, Tokens: 50, Reserve: 50})
	a := spender(50, o)
	_, err := a.Run(t.Context(), user{}, "Hello.")
	require.NoError(t, err)
	for range 30 {
		_, err = a.Run(t.Context(), user{}, "Hello.")
		var spent *spend.Error
		require.ErrorAs(t, err, &spent)
		require.Equal(t, "minute", spent.Window, "what was reserved in the other window is given back")
	}
}

func TestRequestsThatFailAreSettled(t *testing.T) {
	boom := errors.New("boom")
	fails := true
	m := model.Func(model.Info{}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		if sink != nil {
			if err := sink(model.Delta{Usage: &model.Usage{OutputTokens: 60}}); err != nil {
				return nil, err
			}
		}
		if fails {
			return nil, boom
		}
		return model.Response(model.Text("ok")), nil // without usage
	})
	a := agentOf(m, hourly(new(session.Memory), 100, 20))
	for range 10 {
		_, err := a.Run(t.Context(), user{}, "Hello.")
		require.ErrorIs(t, err, boom, "a request that used nothing costs nothing")
	}
	_, err := a.Stream(t.Context(), user{}, "Hello.").Result()
	require.ErrorIs(t, err, boom)
	fails = false
	for range 2 { // 60 of what was cut off, and 20 of each that does not say
		_, err = a.Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
	}
	_, err = a.Run(t.Context(), user{}, "Hello.")
	require.ErrorContains(t, err, "has used 100 of 100")
}

// run makes concurrent runs on several stores, and returns how many were allowed and the most that went on at a time.
func race(t *testing.T, stores []session.Store, runs int) (allowed int64) {
	t.Helper()
	var made atomic.Int64
	var wg sync.WaitGroup
	for i := range runs {
		a := spender(10, hourly(stores[i%len(stores)], 100, 10))
		wg.Go(func() {
			_, err := a.Run(t.Context(), user{}, "Hello.")
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, spend.ErrSpent) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return made.Load()
}

func TestConcurrentRunsShareAWindow(t *testing.T) {
	require.EqualValues(t, 10, race(t, []session.Store{new(session.Memory)}, 25))
}

func TestProcessesShareAWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	var stores []session.Store
	for range 3 {
		s, err := sqlitestore.Open(path, sqlitestore.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		stores = append(stores, s)
	}
	require.EqualValues(t, 10, race(t, stores, 12))
	info, err := stores[0].List(t.Context(), session.Query{Dir: spend.Dir})
	require.NoError(t, err)
	require.Len(t, info.Sessions, 1)
	h, err := transcript.Read(t.Context(), stores[1], info.Sessions[0].ID, transcript.Options{})
	require.NoError(t, err, "a ledger can be opened as a session")
	require.Len(t, h.Messages(), 1, "there is one entry")
	require.Less(t, info.Sessions[0].Size, int64(2000))
}

func TestKilledRunsCountAsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		m := modeltest.Func(func(ctx context.Context, _ *model.Request) (*model.Message, error) {
			panic("killed") // as if the process had ended
		})
		for range 2 {
			_, err := agentOf(m, hourly(store, 100, 50)).Run(t.Context(), user{}, "Hello.")
			require.Error(t, err)
		}
		a := spender(1, hourly(store, 100, 50))
		_, err := a.Run(t.Context(), user{}, "Hello.")
		require.ErrorIs(t, err, spend.ErrSpent)
		time.Sleep(time.Hour + time.Minute)
		_, err = a.Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
	})
}

func TestStoreThatFailsEndsTheRun(t *testing.T) {
	m := modeltest.Script()
	_, err := agentOf(m, hourly(broken{new(session.Memory)}, 100, 0)).Run(t.Context(), user{}, "Hello.")
	require.ErrorIs(t, err, session.ErrUnavailable)
	require.Empty(t, m.Requests())
}

type broken struct{ session.Store }

func (broken) Acquire(context.Context, string, session.Claim) (session.Lease, error) {
	return session.Lease{}, &session.Error{Op: "acquire", Err: session.ErrUnavailable}
}

func TestLedgersStaySmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		a := spender(1, hourly(store, 1_000_000, 1))
		for range 1000 {
			_, err := a.Run(t.Context(), user{}, "Hello.")
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
		}
		page, err := store.List(t.Context(), session.Query{Dir: spend.Dir})
		require.NoError(t, err)
		require.Less(t, page.Sessions[0].Size, int64(4000))
	})
}

func TestInvalidWindowsAreReported(t *testing.T) {
	_, err := agent.New(agent.Config[user, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[user]{spend.New(spend.Options[user]{Windows: []spend.Window[user]{
		{}, {Name: "a", Length: time.Hour, Cost: 1, Tokens: 1}, {Name: "a", Length: time.Hour, Cost: 1, Reserve: 2},
	}})}})
	for _, want := range []string{"Options.Store is nil", "must not be empty", "Length is 0s", "Cost is 1 and Tokens 1", "needs Options.Prices", "Reserve is 2"} {
		require.ErrorContains(t, err, want)
	}
	for _, w := range []spend.Window[user]{ // with which every comparison is false, so nothing would be bounded
		{Name: "a", Length: time.Hour, Cost: math.NaN(), Tokens: 1}, {Name: "a", Length: time.Hour, Cost: math.Inf(1)},
		{Name: "a", Length: time.Hour, Cost: math.NaN()}, {Name: "a", Length: time.Hour, Tokens: 5, Reserve: math.NaN()},
	} {
		_, err = agent.New(agent.Config[user, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[user]{
			spend.New(spend.Options[user]{Store: new(session.Memory), Prices: shelf, Windows: []spend.Window[user]{w}}),
		}})
		require.ErrorContains(t, err, `spend: window "a": `, "%v", w)
	}
	_, err = agent.New(agent.Config[user, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[user]{spend.New(spend.Options[user]{})}})
	require.ErrorContains(t, err, "Options.Windows is empty")
}

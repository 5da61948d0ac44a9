// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/failing"
)

// Whichever operation of the store fails: a request is made only if its reservation was written, and what was reserved counts if what
// was spent cannot be written.
func TestNothingIsSpentWithoutAReservation(t *testing.T) {
	boom := errors.New("boom")
	for _, begun := range []bool{false, true} {
		refused, kept := 0, 0
		for n := range failing.Operations {
			store := new(session.Memory)
			if begun { // the ledger exists
				_, err := spender(1, hourly(store, 1000, 50)).Run(t.Context(), user{}, "Hello.")
				require.NoError(t, err)
			}
			plan := failing.At(n, boom)
			m := modeltest.Script(modeltest.SayText("ok"))
			_, err := agentOf(m, hourly(failing.Store{Store: store, Plan: plan}, 1000, 50)).Run(t.Context(), user{}, "Hello.")
			if !plan.Failed() {
				require.NoError(t, err)
				require.Len(t, m.Requests(), 1)
				break
			}
			if err != nil {
				refused++
				require.ErrorIs(t, err, boom)
				require.ErrorContains(t, err, "spend: boom", plan.Operation())
				require.Empty(t, m.Requests(), plan.Operation())
				continue
			}
			kept++
			_, err = spender(1, hourly(store, 1000, 1000)).Run(t.Context(), user{}, "Hello.")
			var spent *spend.Error
			require.ErrorAs(t, err, &spent)
			require.GreaterOrEqual(t, spent.Used, 50.0, plan.Operation())
		}
		require.GreaterOrEqual(t, refused, 3, "it takes the lease, reads the ledger and writes it")
		require.GreaterOrEqual(t, kept, 3, "and the same when it settles")
	}
}

// A lease that is lost to another process, and a head that has moved, are no reasons to fail: it begins again.
func TestLostLeasesAreTakenAgain(t *testing.T) {
	for _, lost := range []error{session.ErrLeaseLost, session.ErrHeadMoved} {
		synctest.Test(t, func(t *testing.T) {
			for n := range failing.Operations {
				plan := failing.At(n, &session.Error{Op: "append", Err: lost})
				store := new(session.Memory)
				_, err := spender(40, hourly(failing.Store{Store: store, Plan: plan}, 100, 40)).Run(t.Context(), user{}, "Hello.")
				require.NoError(t, err, plan.Operation())
				_, err = spender(1, hourly(store, 100, 100)).Run(t.Context(), user{}, "Hello.")
				var spent *spend.Error
				require.ErrorAs(t, err, &spent)
				require.InDelta(t, 40, spent.Used, 0, "it counts once: %s", plan.Operation())
				if !plan.Failed() {
					break
				}
			}
		})
	}
}

// always loses the lease.
type taken struct{ session.Store }

func (taken) Append(context.Context, session.Lease, int64, session.Batch) (int64, error) {
	return 0, &session.Error{Op: "append", Err: session.ErrLeaseLost}
}

func TestWaitForTheLedgerEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, stop)
		defer cancel()
		begin := time.Now()
		_, err := spender(1, hourly(taken{new(session.Memory)}, 100, 1)).Run(ctx, user{}, "Hello.")
		require.ErrorIs(t, err, stop)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// held is a store that waits before each lease.
type held struct {
	session.Store
	wait time.Duration
}

func (h held) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	select {
	case <-time.After(h.wait):
		return h.Store.Acquire(ctx, id, c)
	case <-ctx.Done():
		return session.Lease{}, context.Cause(ctx)
	}
}

// Runs of one process wait for one another, and each wait ends with its run.
func TestTurnOfALedgerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := spender(1, hourly(held{new(session.Memory), time.Hour}, 100, 1))
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			_, _ = a.Run(ctx, user{}, "Hello.")
		}()
		synctest.Wait()
		stop := errors.New("stop")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, stop)
		defer cancel()
		begin := time.Now()
		_, err := a.Run(ctx, user{}, "Hello.")
		require.ErrorIs(t, err, stop)
		require.Equal(t, time.Minute, time.Since(begin))
		time.Sleep(3 * time.Hour)
	})
}

// A store that does not answer holds a run that has its response for ten seconds.
func TestSettlingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{Store: new(session.Memory)}
		m := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
			store.now = true
			return model.Response(model.Text("ok")), nil
		})
		o := hourly(store, 100, 60)
		begin := time.Now()
		res, err := agentOf(usageOf(m, 1), o).Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
		require.Equal(t, "ok", res.Output)
		require.Equal(t, 10*time.Second, time.Since(begin))
		_, err = spender(1, hourly(store.Store, 100, 60)).Run(t.Context(), user{}, "Hello.")
		require.ErrorIs(t, err, spend.ErrSpent, "what was reserved counts")
	})
}

// usageOf is a model whose responses report tokens.
func usageOf(m model.Model, tokens int64) model.Model {
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		resp, err := m.Generate(ctx, req, nil)
		if err == nil {
			resp.Usage.InputTokens = tokens
		}
		return resp, err
	})
}

// stuck is a store that does not answer any more.
type stuck struct {
	session.Store
	now bool
}

func (s *stuck) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if s.now {
		<-ctx.Done()
		return session.Lease{}, context.Cause(ctx)
	}
	return s.Store.Acquire(ctx, id, c)
}

// rewrite replaces the account of the only ledger.
func rewrite(t *testing.T, store session.Store, data string) {
	t.Helper()
	page, err := store.List(t.Context(), session.Query{Dir: spend.Dir})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, page.Sessions[0].ID, session.Claim{Holder: "test", Force: true})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Key: "account", Data: json.RawMessage(data)})
	require.NoError(t, err)
	require.NoError(t, w.Close(t.Context()))
}

// A ledger that cannot be understood is not taken for an empty one.
func TestForeignLedgersAreErrors(t *testing.T) {
	for data, want := range map[string]error{
		`{"account":{"v":2}}`:         session.ErrVersion,
		`{"account":{"v":"1"}}`:       session.ErrCorrupt,
		`{"account":[]}`:              session.ErrCorrupt,
		`{"account":null,"other":{}}`: nil, // what somebody else has written there does not count
		`{"account":{"v":1,"held":[{"at":99999999999999,"value":99}]}}`: spend.ErrSpent,
	} {
		store := new(session.Memory)
		a := spender(1, hourly(store, 100, 2))
		_, err := a.Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
		rewrite(t, store, data)
		if _, err = a.Run(t.Context(), user{}, "Hello."); want == nil {
			require.NoError(t, err, data)
		} else {
			require.ErrorIs(t, err, want, data)
			require.ErrorContains(t, err, "spend: ", data)
		}
	}
}

// A ledger says which version wrote it, so that an older one leaves it alone.
func TestLedgersHaveAVersion(t *testing.T) {
	store := new(session.Memory)
	_, err := spender(1, hourly(store, 100, 2)).Run(t.Context(), user{}, "Hello.")
	require.NoError(t, err)
	page, err := store.List(t.Context(), session.Query{Dir: spend.Dir})
	require.NoError(t, err)
	require.Len(t, page.Sessions, 1)
	written := 0
	for e, err := range store.Load(t.Context(), page.Sessions[0].ID, 0) {
		require.NoError(t, err)
		require.Contains(t, string(e.Data), `"account":{"v":1,`)
		written++
	}
	require.Positive(t, written)
}

func TestWindowsAreUsedUpExactly(t *testing.T) {
	a := spender(25, hourly(new(session.Memory), 100, 25))
	for range 4 {
		_, err := a.Run(t.Context(), user{}, "Hello.")
		require.NoError(t, err)
	}
	_, err := a.Run(t.Context(), user{}, "Hello.")
	require.ErrorContains(t, err, "has used 100 of 100")
}

// Free is when so much has left the window that the request fits, not when all has.
func TestFreeIsTheFirstMomentWithRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := hourly(new(session.Memory), 100, 30)
		for range 3 {
			_, err := spender(30, o).Run(t.Context(), user{}, "Hello.")
			require.NoError(t, err)
			time.Sleep(10 * time.Minute)
		}
		for reserve, after := range map[float64]time.Duration{20: 30 * time.Minute, 40: 30 * time.Minute, 41: 40 * time.Minute, 70: 40 * time.Minute, 100: 50 * time.Minute} {
			_, err := spender(1, hourly(o.Store, 100, reserve)).Run(t.Context(), user{}, "Hello.")
			var spent *spend.Error
			require.ErrorAs(t, err, &spent)
			require.WithinRange(t, spent.Free, time.Now().Add(after), time.Now().Add(after+time.Minute), reserve)
			require.Equal(t, time.UTC, spent.Free.Location())
		}
	})
}

// Without Reserve a request reserves a twentieth of the bound.
func TestRequestsReserveATwentieth(t *testing.T) {
	store := new(session.Memory)
	_, err := spender(96, hourly(store, 100, 0)).Run(t.Context(), user{}, "Hello.")
	require.NoError(t, err)
	_, err = spender(1, hourly(store, 100, 0)).Run(t.Context(), user{}, "Hello.")
	var spent *spend.Error
	require.ErrorAs(t, err, &spent)
	require.InDelta(t, 5, spent.Reserve, 0)
}

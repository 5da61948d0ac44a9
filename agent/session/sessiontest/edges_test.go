// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

// says returns what the suite says of a store with a fault, and how long the rule takes.
func says(t *testing.T, rule string, set func(f *fault)) (text string, took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 365 * 24 * time.Hour)
		begin := time.Now()
		text = sessiontest.Broken(t.Context(), func() *sessiontest.Target { return target(set) }, rule)[rule]
		took = time.Since(begin)
	})
	return text, took
}

// TestTimesMayDifferByThis has both sides of how far a store's clock may be from that of the tests.
func TestTimesMayDifferByThis(t *testing.T) {
	created := func(by time.Duration) func(f *fault) {
		return func(f *fault) {
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				if n.Created.IsZero() {
					n.Created = time.Now().Add(by)
				}
				return f.Memory.Create(ctx, n)
			}
		}
	}
	since := func(by time.Duration) func(f *fault) {
		return func(f *fault) {
			f.acquire = func(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
				l, err := f.Memory.Acquire(ctx, id, c)
				if e := new(session.Error); errors.As(err, &e) {
					e.Since = time.Now().Add(by)
				}
				return l, err
			}
		}
	}
	appended := func(by time.Duration) func(f *fault) {
		return func(f *fault) {
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				entries = slices.Clone(entries)
				for i := range entries {
					if entries[i].Time.IsZero() {
						entries[i].Time = time.Now().Add(by)
					}
				}
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
		}
	}
	put := func(by time.Duration) func(f *fault) {
		return func(f *fault) {
			f.put = func(ctx context.Context, id string, i session.Item) (session.Item, error) {
				if i.Time.IsZero() {
					i.Time = time.Now().Add(by)
				}
				return f.Memory.Put(ctx, id, i)
			}
		}
	}
	for name, c := range map[string]struct {
		rule, says  string
		set         func(by time.Duration) func(f *fault)
		early, late time.Duration // still right
	}{
		"sessions": {ruleNew, "a session that is made now was created 20", created, -time.Hour, time.Minute},
		"holders":  {ruleHeld, "the error says that the session is held since 20", since, -time.Hour, time.Minute},
		"entries":  {ruleNumbers, "an entry that is appended now has the time 20", appended, -time.Minute, time.Minute},
		"items":    {rulePut, "an item with a kind only is {", put, -time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []time.Duration{c.early, c.late} {
				text, _ := says(t, c.rule, c.set(by))
				require.Empty(t, text, by)
			}
			for _, by := range []time.Duration{c.early - 1, c.late + 1} {
				text, _ := says(t, c.rule, c.set(by))
				require.Contains(t, text, c.says, by)
			}
		})
	}
}

func TestStoreThatHangsTakesTooLong(t *testing.T) {
	text, took := says(t, ruleOneID, func(f *fault) {
		f.create = func(ctx context.Context, _ session.New) (session.Info, error) {
			<-ctx.Done()
			return session.Info{}, context.Cause(ctx)
		}
	})
	require.Equal(t, `Create("a"): the store takes too long`, text)
	require.Equal(t, 2*time.Minute, took)
}

// TestWatchThatStallsIsNoticed has watchers that tell nothing.
func TestWatchThatStallsIsNoticed(t *testing.T) {
	stalls := func(ctx context.Context) { <-ctx.Done() }
	text, took := says(t, ruleWatch, func(f *fault) {
		f.watch = func(ctx context.Context, _ string, _ int64) iter.Seq2[session.Entry, error] {
			return func(func(session.Entry, error) bool) { stalls(ctx) }
		}
	})
	require.Equal(t, "the watch yields nothing: the store takes too long", text)
	require.Equal(t, 2*time.Minute, took)
	text, took = says(t, ruleListen, func(f *fault) {
		f.listen = func(ctx context.Context) iter.Seq2[string, error] {
			return func(func(string, error) bool) { stalls(ctx) }
		}
	})
	require.Equal(t, "no change is told: the store takes too long", text)
	require.Equal(t, 2*time.Minute, took)
	text, _ = says(t, ruleWatchEnd, func(f *fault) {
		f.watch = func(context.Context, string, int64) iter.Seq2[session.Entry, error] {
			return func(func(session.Entry, error) bool) {}
		}
	})
	require.Equal(t, `Watch of a session that does not exist: the error is <nil>, want one that wraps "no such session"`, strings.Split(text, "\n")[0])
}

// unwatched is a store that cannot be watched.
type unwatched struct{ session.Store }

func TestStoresNeedNotBeWatched(t *testing.T) {
	store := unwatched{new(session.Memory)}
	require.Empty(t, sessiontest.Broken(t.Context(), func() *sessiontest.Target {
		return &sessiontest.Target{Open: func() (session.Store, error) { return store, nil }}
	}, sessiontest.Group(7)...))
}

// TestSizeMayBeLarger is about stores that keep data in another form.
func TestSizeMayBeLarger(t *testing.T) {
	for _, c := range []struct {
		larger bool
		by     int64
		says   string
	}{
		{false, 0, ""}, {false, 1, "the size of session a is 67, want 66"}, {false, -1, "the size of session a is 65, want 66"},
		{true, 0, ""}, {true, 1, ""}, {true, -1, "the size of session a is 65, want 66"},
	} {
		got := sessiontest.Broken(t.Context(), func() *sessiontest.Target {
			tested := target(func(f *fault) {
				f.get = func(i session.Info, err error) (session.Info, error) { i.Size += c.by; return i, err }
			})
			tested.Larger = c.larger
			return tested
		}, ruleMessage)
		require.Equal(t, c.says, got[ruleMessage], "%+v", c)
	}
}

func TestTargetsAreOpenedAndClosed(t *testing.T) {
	closed := 0
	got := sessiontest.Broken(t.Context(), func() *sessiontest.Target {
		return &sessiontest.Target{
			Open:  func() (session.Store, error) { return nil, errBad },
			Close: func() { closed++ },
		}
	}, ruleNew)
	require.Equal(t, map[string]string{ruleNew: "open the store: bad"}, got)
	require.Equal(t, 1, closed)
}

// TestRunClosesEachTarget runs the whole suite as its users do.
func TestRunClosesEachTarget(t *testing.T) {
	opened, closed := 0, 0
	t.Run("suite", func(t *testing.T) {
		sessiontest.Run(t, func(*testing.T) *sessiontest.Target {
			opened++
			tested := target(nil)
			tested.Close = func() { closed++ }
			return tested
		})
	})
	require.Equal(t, len(sessiontest.Rules()), opened)
	require.Equal(t, opened, closed)
}

// TestPanicsOfStoresAreNotHidden has a store that panics.
func TestPanicsOfStoresAreNotHidden(t *testing.T) {
	require.PanicsWithValue(t, "the store's own", func() {
		sessiontest.Broken(t.Context(), func() *sessiontest.Target {
			return target(func(f *fault) {
				f.create = func(context.Context, session.New) (session.Info, error) { panic("the store's own") }
			})
		}, ruleNew)
	})
}

// TestTenProblemsAreEnough has a store that does nothing right.
func TestTenProblemsAreEnough(t *testing.T) {
	text, _ := says(t, ruleMissing, func(f *fault) {
		f.get = func(i session.Info, _ error) (session.Info, error) { return i, nil }
		f.delete = func(context.Context, string) error { return nil }
	})
	require.Len(t, strings.Split(text, "\n"), 10, text)
}

// TestListWithoutAnEndIsNoticed has a store that says after each page that there are more.
func TestListWithoutAnEndIsNoticed(t *testing.T) {
	pages := 0
	text, _ := says(t, ruleMissing, func(f *fault) {
		f.list = func(context.Context, session.Query) (session.Page, error) {
			pages++
			return session.Page{Sessions: []session.Info{{ID: "a"}}, Next: "more"}, nil
		}
	})
	require.Equal(t, 4*1001, pages)
	require.Contains(t, text, `how many sessions List(Dir: `+"\xff"+`) has: got 1001, want 0`)
	text, _ = says(t, ruleMissing, func(f *fault) {
		f.list = func(context.Context, session.Query) (session.Page, error) { return session.Page{Next: "more"}, nil }
	})
	require.Equal(t, "a page without sessions says that there are more", text)
}

// TestBenchmarkRuns makes each benchmark once.
func TestBenchmarkRuns(t *testing.T) {
	require.NoError(t, flag.Set("test.benchtime", "1x"))
	t.Cleanup(func() { require.NoError(t, flag.Set("test.benchtime", "1s")) })
	var mu sync.Mutex
	stores, calls := 0, map[string]int{}
	count := func(call string) {
		mu.Lock()
		defer mu.Unlock()
		calls[call]++
	}
	testing.Benchmark(func(b *testing.B) {
		sessiontest.Benchmark(b, func(*testing.B) session.Store {
			stores++
			f := &fault{Memory: new(session.Memory)}
			f.create = func(ctx context.Context, n session.New) (session.Info, error) {
				count("Create in " + n.Dir)
				return f.Memory.Create(ctx, n)
			}
			f.append = func(ctx context.Context, l session.Lease, head int64, entries []session.Entry) (int64, error) {
				count(fmt.Sprintf("Append of %d entries of %d bytes", len(entries), len(entries[0].Data)))
				return f.Memory.Append(ctx, l, head, session.Batch{Entries: entries})
			}
			f.list = func(ctx context.Context, q session.Query) (session.Page, error) {
				count("List " + sessiontest.Asked(q))
				return f.Memory.List(ctx, q)
			}
			f.load = func(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
				count(fmt.Sprint("Load after ", after))
				return f.Memory.Load(ctx, id, after)
			}
			return f
		})
	})
	require.Equal(t, 5, stores)
	require.Equal(t, map[string]int{
		"Create in ": 1 + 8 + 64 + 1, "Create in /repo": 5000, "Create in /other": 5000, "Create in ponte:ledgers": 10000,
		"Append of 1 entries of 12602 bytes": 3, "Append of 100 entries of 12602 bytes": 20,
		"Load after 0": 1, "List ": 1, "List Conversations: true": 1, "List Dir: /repo": 1,
	}, calls)
}

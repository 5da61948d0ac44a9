// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// aged returns a store with the sessions s0 to s9, of which each is an hour older than the one before and has 100 bytes.
func aged(t *testing.T) *session.Memory {
	t.Helper()
	m := new(session.Memory)
	for i := range 10 {
		id, at := fmt.Sprint("s", i), time.Now().Add(-time.Duration(i)*time.Hour)
		_, err := m.Create(t.Context(), session.New{ID: id, Dir: []string{"/even", "/odd"}[i%2], Created: at})
		require.NoError(t, err)
		l, err := m.Acquire(t.Context(), id, session.Claim{Holder: "me"})
		require.NoError(t, err)
		_, err = m.Append(t.Context(), l, 0, session.Batch{Entries: []session.Entry{{Time: at, Kind: session.KindView, Data: json.RawMessage(`"` + strings.Repeat("x", 98) + `"`)}}})
		require.NoError(t, err)
		if i != 7 {
			require.NoError(t, m.Release(t.Context(), l))
		}
	}
	return m
}

func ids(t *testing.T, s session.Store) (found string) {
	t.Helper()
	page, err := s.List(t.Context(), session.Query{})
	require.NoError(t, err)
	for _, i := range page.Sessions {
		found += i.ID[1:]
	}
	return found
}

func TestPruneBoundsAgeNumberAndSize(t *testing.T) {
	for name, c := range map[string]struct {
		r    session.Retention
		left string
		held int
	}{
		"nothing":         {session.Retention{}, "0123456789", 0},
		"age":             {session.Retention{MaxAge: 5*time.Hour + time.Minute}, "0123457", 1},
		"number":          {session.Retention{MaxSessions: 3}, "0127", 1},
		"size":            {session.Retention{MaxBytes: 450}, "01237", 1},
		"all":             {session.Retention{MaxAge: 5*time.Hour + time.Minute, MaxSessions: 5, MaxBytes: 200}, "017", 1},
		"one directory":   {session.Retention{MaxSessions: 1, Dir: "/odd"}, "0124678", 1},
		"what is wanted":  {session.Retention{MaxSessions: 2, Keep: func(i session.Info) bool { return i.ID == "s9" }}, "0179", 1},
		"nothing for now": {session.Retention{MaxSessions: 3, DryRun: true}, "0123456789", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := aged(t)
				done, err := session.Prune(t.Context(), m, c.r)
				require.NoError(t, err)
				require.Equal(t, c.left, ids(t, m))
				require.Equal(t, c.held, done.Held, "session 7 is held")
				require.Equal(t, int64(100*len(done.Removed)), done.Bytes)
				if !c.r.DryRun {
					require.Len(t, done.Removed, 10-len(c.left))
				}
			})
		})
	}
}

// withLedgers adds internal sessions, changed after all others: one that is never stale, and one each that is stale after an hour and a day.
func withLedgers(t *testing.T, m *session.Memory, age time.Duration) *session.Memory {
	t.Helper()
	for id, values := range map[string]map[string]json.RawMessage{
		"lnever": nil, "lhour": session.StaleAfter(time.Hour), "lday": session.StaleAfter(24 * time.Hour),
		"lbad": {"stale_after": json.RawMessage(`"soon"`)}, "lzero": session.StaleAfter(0),
	} {
		_, err := m.Create(t.Context(), session.New{ID: id, Dir: session.InternalDir + "ledgers", Created: time.Now().Add(-age), Values: values})
		require.NoError(t, err)
	}
	_, err := m.Create(t.Context(), session.New{ID: "lown", Dir: "/project", Created: time.Now().Add(time.Minute), Values: session.StaleAfter(time.Nanosecond)})
	require.NoError(t, err)
	return m
}

func TestPruneDoesNotCountInternalSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withLedgers(t, aged(t), time.Minute)
		done, err := session.Prune(t.Context(), m, session.Retention{MaxSessions: 4, MaxBytes: 400})
		require.NoError(t, err)
		require.Equal(t, "own,0,bad,day,hour,never,zero,1,2,7", idList(t, m), "the newest four and the one that is held; the ledgers take no place")
		require.Len(t, done.Removed, 6)
	})
}

func TestPruneRemovesStaleInternalSessions(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		r    session.Retention
		left string
	}{
		"none is stale":           {time.Hour, session.Retention{MaxAge: time.Second, Keep: people}, "bad,day,hour,never,zero"},
		"one is stale":            {time.Hour + 1, session.Retention{}, "bad,day,never,zero"},
		"two are":                 {24*time.Hour + 1, session.Retention{MaxSessions: 100}, "bad,never,zero"},
		"they are only reported":  {24*time.Hour + 1, session.Retention{DryRun: true}, "bad,day,hour,never,zero"},
		"they are to be kept":     {24*time.Hour + 1, session.Retention{Keep: func(session.Info) bool { return true }}, "bad,day,hour,never,zero"},
		"another directory":       {24*time.Hour + 1, session.Retention{Dir: "/odd"}, "bad,day,hour,never,zero"},
		"the directory of theirs": {24*time.Hour + 1, session.Retention{Dir: session.InternalDir + "ledgers", MaxAge: 1, MaxSessions: 1}, "bad,never,zero"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := withLedgers(t, new(session.Memory), c.age)
				_, err := session.Prune(t.Context(), m, c.r)
				require.NoError(t, err)
				require.Equal(t, "own,"+c.left, idList(t, m), "a conversation is never stale")
			})
		})
	}
}

// people keeps what is not internal.
func people(i session.Info) bool { return !session.Internal(&i) }

func TestPurgeOfConversationsLeavesInternalSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := withLedgers(t, aged(t), 48*time.Hour)
		_, err := session.Purge(t.Context(), m, session.Query{Conversations: true})
		require.NoError(t, err)
		require.Equal(t, "7,bad,day,hour,never,zero", idList(t, m))
	})
}

// idList returns the ids of all sessions without their first letter, the one that was changed last first, those of one time by name.
func idList(t *testing.T, s session.Store) string {
	t.Helper()
	page, err := s.List(t.Context(), session.Query{})
	require.NoError(t, err)
	slices.SortStableFunc(page.Sessions, func(a, b session.Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
	})
	var found []string
	for _, i := range page.Sessions {
		found = append(found, i.ID[1:])
	}
	return strings.Join(found, ",")
}

// late is a store in which somebody changes a session just before it is removed.
type late struct{ *session.Memory }

func (l late) Get(ctx context.Context, id string) (session.Info, error) {
	title := "changed"
	if _, err := l.Update(ctx, id, session.Change{Title: &title}); err != nil {
		return session.Info{}, err
	}
	return l.Memory.Get(ctx, id)
}

func TestPruneKeepsSessionsThatHaveJustChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aged(t)
		time.Sleep(time.Minute)
		done, err := session.Prune(t.Context(), late{m}, session.Retention{MaxAge: time.Second})
		require.NoError(t, err)
		require.Empty(t, done.Removed)
	})
}

// behind is a store in which a machine whose clock is slow appends to a session just before it is removed.
type behind struct{ *session.Memory }

func (b behind) Get(ctx context.Context, id string) (session.Info, error) {
	w, err := session.Open(ctx, b.Memory, id, session.Claim{Force: true})
	if err == nil {
		_, err = w.Append(ctx, session.Entry{Kind: session.KindValue, Key: "k", Time: time.Unix(1, 0)})
	}
	if err == nil {
		err = w.Close(ctx)
	}
	if err != nil {
		return session.Info{}, err
	}
	return b.Memory.Get(ctx, id)
}

func TestPruneDoesNotTrustClocksOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aged(t)
		time.Sleep(time.Minute)
		done, err := session.Prune(t.Context(), behind{m}, session.Retention{MaxAge: time.Second})
		require.NoError(t, err)
		require.Empty(t, done.Removed)
	})
}

// rival is a store in which another machine removes a session just before it is removed.
type rival struct{ *session.Memory }

func (r rival) Get(ctx context.Context, id string) (session.Info, error) {
	if err := r.Delete(ctx, id); err != nil {
		return session.Info{}, err
	}
	return r.Memory.Get(ctx, id)
}

// TestPruneAtTheSameTime has two machines bound the size of the sessions: what one has removed must not count for the other.
func TestPruneAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		for id, size := range map[string]int{"1 old": 10, "2 large": 1000, "3 new": 10} {
			_, err := m.Create(t.Context(), session.New{ID: id, Created: time.Unix(1, 0)})
			require.NoError(t, err)
			w, err := session.Open(t.Context(), m, id, session.Claim{})
			require.NoError(t, err)
			_, err = w.Append(t.Context(), session.Entry{Kind: session.KindValue, Time: time.Unix(int64(id[0]), 0), Data: []byte(`"` + strings.Repeat("x", size) + `"`)})
			require.NoError(t, err)
			require.NoError(t, w.Close(t.Context()))
		}
		done, err := session.Prune(t.Context(), rival{m}, session.Retention{MaxBytes: 100})
		require.NoError(t, err)
		require.Empty(t, done.Removed)
		page, err := m.List(t.Context(), session.Query{})
		require.NoError(t, err)
		require.Len(t, page.Sessions, 2)
	})
}

// compacts is a store that counts its compactions.
type compacts struct {
	*session.Memory
	n int
}

func (c *compacts) Compact(context.Context) error { c.n++; return nil }

func TestPurgeRemovesAllButHeldSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &compacts{Memory: aged(t)}
		done, err := session.Purge(t.Context(), c, session.Query{Dir: "/odd", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, "024678", ids(t, c))
		require.Equal(t, 1, done.Held)
		require.Len(t, done.Removed, 4)
		require.Equal(t, 1, c.n)
	})
}

func TestProcessorRedactsWhatIsStored(t *testing.T) {
	secret := regexp.MustCompile(`sk-[a-z0-9]+`)
	m := new(session.Memory)
	s := session.Processed(m, session.Strings(func(text string) string { return secret.ReplaceAllString(text, `[secret "<&>"]`) }))
	_, watches := s.(session.Watcher)
	require.True(t, watches)
	ctx := t.Context()
	_, err := s.Create(ctx, session.New{ID: "a", Title: "use sk-1", Values: map[string]json.RawMessage{"key": json.RawMessage(`"sk-2"`)}})
	require.NoError(t, err)
	title := "now sk-3"
	_, err = s.Update(ctx, "a", session.Change{Title: &title, Values: map[string]json.RawMessage{"other": json.RawMessage(`["sk-4"]`), "none": nil}})
	require.NoError(t, err)
	w, err := session.Open(ctx, s, "a", session.Claim{})
	require.NoError(t, err)
	const data = `{ "sk-name" : "a sk-5 \"b\"", "list":["sk-6",{"x":"\u0073k-7"}], "n": 1.50, "html":"<" }`
	given := []byte(data)
	_, err = w.Append(ctx, session.Entry{Kind: session.KindView, Data: given})
	require.NoError(t, err)
	require.Equal(t, data, string(given))
	require.NoError(t, w.Close(ctx))
	_, err = s.Fork(ctx, "a", 1, session.New{ID: "b", Title: "sk-8"})
	require.NoError(t, err)

	text := export(t, m)
	for n := range 9 {
		require.NotContains(t, text, fmt.Sprint("sk-", n))
	}
	got := loaded(t, m, "a")[0]
	require.True(t, json.Valid([]byte(got)), got)
	require.True(t, strings.HasPrefix(got, `{ "sk-name" : "a [secret \"`), got)
	require.True(t, strings.HasSuffix(got, `}], "n": 1.50, "html":"<" }`), got)
}

func TestNothingIsStoredIfProcessorFails(t *testing.T) {
	m := new(session.Memory)
	bad := errors.New("bad")
	n := 0
	s := session.Processed(m, func(_ context.Context, e *session.Entry) error {
		if n++; e.Key == "bad" || string(e.Data) == `"bad"` {
			return bad
		}
		return nil
	})
	_, err := s.Create(t.Context(), session.New{ID: "a", Title: "bad"})
	require.ErrorIs(t, err, bad)
	w := open(t, s)
	_, err = w.Append(t.Context(), view(1), session.Entry{Kind: session.KindView, Key: "bad"})
	require.ErrorIs(t, err, bad)
	require.Empty(t, loaded(t, m, "a"))
	title := "bad"
	_, err = s.Update(t.Context(), "a", session.Change{Title: &title})
	require.ErrorIs(t, err, bad)
	_, err = s.Fork(t.Context(), "a", 0, session.New{ID: "b", Title: "bad"})
	require.ErrorIs(t, err, bad)
	require.NoError(t, w.Close(t.Context()))
}

func TestWhatIsThereOfAnOwnerIsExportedAndRemoved(t *testing.T) {
	store := new(session.Memory)
	for i := range 250 {
		n := session.New{ID: fmt.Sprint("s", i), Owner: []string{"ada", "grace"}[i%2], Tenant: []string{"", "acme"}[i/2%2]}
		_, err := store.Create(t.Context(), n)
		require.NoError(t, err)
	}
	mine := session.Query{Owner: new("ada"), Tenant: "acme"}
	var file bytes.Buffer
	require.NoError(t, session.ExportQuery(t.Context(), store, &file, mine))
	elsewhere := new(session.Memory)
	_, err := session.Import(t.Context(), elsewhere, &file, session.ImportOptions{})
	require.NoError(t, err)
	list := func(s session.Store, q session.Query) (ids []string) {
		q.Limit = session.MaxLimit
		page, err := s.List(t.Context(), q)
		require.NoError(t, err)
		for _, one := range page.Sessions {
			ids = append(ids, one.ID)
		}
		return ids
	}
	want := list(store, mine)
	require.Len(t, want, 62)
	require.Equal(t, want, list(elsewhere, mine), "owner and tenant are imported")
	require.Len(t, list(elsewhere, session.Query{}), 62)

	pruned, err := session.Prune(t.Context(), store, session.Retention{Owner: mine.Owner, Tenant: mine.Tenant, MaxSessions: 60})
	require.NoError(t, err)
	require.Len(t, pruned.Removed, 2)
	require.Len(t, list(store, session.Query{}), 248)
	purged, err := session.Purge(t.Context(), store, mine)
	require.NoError(t, err)
	require.Len(t, purged.Removed, 60)
	require.Empty(t, list(store, mine))
	require.Len(t, list(store, session.Query{}), 188)
}

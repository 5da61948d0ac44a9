// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	sessions "github.com/ponte-go/ponte/agent/session"
)

// noted is a store that notes what it is asked, and answers with something of the request. With an
// error, it fails.
type noted struct {
	asked []string
	err   error
}

func (n *noted) note(request ...any) string {
	text := fmt.Sprintf("%+v", request)
	n.asked = append(n.asked, text)
	return text
}

func (n *noted) info(request ...any) (sessions.Info, error) {
	return sessions.Info{ID: "answer", Title: n.note(request...)}, n.err
}

func one[T any](v T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(v, err) }
}

func (n *noted) Create(_ context.Context, v sessions.New) (sessions.Info, error) {
	return n.info("create", v)
}
func (n *noted) Get(_ context.Context, id string) (sessions.Info, error) { return n.info("get", id) }
func (n *noted) List(_ context.Context, q sessions.Query) (sessions.Page, error) {
	return sessions.Page{Next: n.note("list", q)}, n.err
}
func (n *noted) Update(_ context.Context, id string, c sessions.Change) (sessions.Info, error) {
	return n.info("update", id, *c.Title)
}
func (n *noted) Fork(_ context.Context, id string, at int64, v sessions.New) (sessions.Info, error) {
	return n.info("fork", id, at, v)
}
func (n *noted) Delete(_ context.Context, id string) error { n.note("delete", id); return n.err }
func (n *noted) Acquire(_ context.Context, id string, c sessions.Claim) (sessions.Lease, error) {
	return sessions.Lease{Holder: n.note("acquire", id, c)}, n.err
}
func (n *noted) Release(_ context.Context, l sessions.Lease) error {
	n.note("release", l)
	return n.err
}
func (n *noted) Append(_ context.Context, l sessions.Lease, head int64, b sessions.Batch) (int64, error) {
	n.note("append", l, head, b)
	return 77, n.err
}
func (n *noted) Load(_ context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	return one(sessions.Entry{Run: n.note("load", id, after)}, n.err)
}
func (n *noted) Put(_ context.Context, id string, i sessions.Item) (sessions.Item, error) {
	return sessions.Item{ID: n.note("put", id, i)}, n.err
}
func (n *noted) Change(_ context.Context, id, item string, version int64, data json.RawMessage) (sessions.Item, error) {
	return sessions.Item{ID: n.note("change", id, item, version, string(data))}, n.err
}
func (n *noted) Items(_ context.Context, id string, after int64, kinds ...sessions.ItemKind) iter.Seq2[sessions.Item, error] {
	return one(sessions.Item{ID: n.note("items", id, after, kinds)}, n.err)
}

// watched is a store that can be watched.
type watched struct{ *noted }

func (w watched) Listen(context.Context) iter.Seq2[string, error] {
	return one(w.note("listen"), w.err)
}
func (w watched) Work(context.Context) iter.Seq2[string, error] { return one(w.note("work"), w.err) }
func (w watched) Watch(_ context.Context, id string, after int64) iter.Seq2[sessions.Entry, error] {
	return one(sessions.Entry{Run: w.note("watch", id, after)}, w.err)
}

// got is what a request returns, as a text.
func got[T any](v T, err error) string { return fmt.Sprintf("%+v, %v", v, err) }

func all[T any](seq iter.Seq2[T, error]) (text string) {
	for v, err := range seq {
		text += got(v, err) + "; "
	}
	return text
}

// requests are all requests that a store gets about a session.
var requests = map[string]func(ctx context.Context, s sessions.Store, id string) string{
	"get": func(ctx context.Context, s sessions.Store, id string) string { return got(s.Get(ctx, id)) },
	"update": func(ctx context.Context, s sessions.Store, id string) string {
		title := "new"
		return got(s.Update(ctx, id, sessions.Change{Title: &title}))
	},
	"fork": func(ctx context.Context, s sessions.Store, id string) string {
		return got(s.Fork(ctx, id, 3, sessions.New{ID: "forked"}))
	},
	"delete": func(ctx context.Context, s sessions.Store, id string) string { return got("", s.Delete(ctx, id)) },
	"acquire": func(ctx context.Context, s sessions.Store, id string) string {
		return got(s.Acquire(ctx, id, sessions.Claim{Holder: "ann"}))
	},
	"release": func(ctx context.Context, s sessions.Store, id string) string {
		return got("", s.Release(ctx, sessions.Lease{Session: id}))
	},
	"append": func(ctx context.Context, s sessions.Store, id string) string {
		return got(s.Append(ctx, sessions.Lease{Session: id}, 5, sessions.Batch{Consumed: []sessions.Ref{{ID: "b"}}}))
	},
	"put": func(ctx context.Context, s sessions.Store, id string) string {
		return got(s.Put(ctx, id, sessions.Item{ID: "i"}))
	},
	"change": func(ctx context.Context, s sessions.Store, id string) string {
		return got(s.Change(ctx, id, "i", 6, json.RawMessage(`{}`)))
	},
	"items": func(ctx context.Context, s sessions.Store, id string) string {
		return all(s.Items(ctx, id, 7, sessions.ItemPrompt))
	},
	"load": func(ctx context.Context, s sessions.Store, id string) string { return all(s.Load(ctx, id, 8)) },
	"watch": func(ctx context.Context, s sessions.Store, id string) string {
		return all(s.(sessions.Watcher).Watch(ctx, id, 9))
	},
}

// others are requests about no session that is there.
var others = map[string]func(ctx context.Context, s sessions.Store) string{
	"list": func(ctx context.Context, s sessions.Store) string {
		return got(s.List(ctx, sessions.Query{Dir: "/repo", Limit: 4}))
	},
	"create": func(ctx context.Context, s sessions.Store) string {
		return got(s.Create(ctx, sessions.New{Title: "made"}))
	},
	"listen": func(ctx context.Context, s sessions.Store) string { return all(s.(sessions.Watcher).Listen(ctx)) },
	"work":   func(ctx context.Context, s sessions.Store) string { return all(s.(sessions.Watcher).Work(ctx)) },
}

// lazy returns a store that opens another one, or fails with an error.
func lazy(inner sessions.Store, opened error) *lazyStore {
	open := func(context.Context) (sessions.Store, func() error, error) {
		return inner, func() error { return errors.New("closed") }, opened
	}
	return newStore("desk", open, "", nil)
}

// Whatever is asked reaches the store that is opened, and its answer comes back.
func TestRequestsReachTheStoreThatIsOpened(t *testing.T) {
	for _, err := range []error{nil, errors.New("broken")} {
		want, have := watched{&noted{err: err}}, watched{&noted{err: err}}
		s := lazy(have, nil)
		for name, ask := range requests {
			require.Equal(t, ask(t.Context(), want, "id"), ask(t.Context(), s, "id"), name)
		}
		for name, ask := range others {
			require.Equal(t, ask(t.Context(), want), ask(t.Context(), s), name)
		}
		require.ElementsMatch(t, want.asked, have.asked)
		require.EqualError(t, s.Close(), "closed")
	}
}

// Without a store, each request says why, and has no other answer.
func TestRequestsFailWithTheReasonThatThereIsNoStore(t *testing.T) {
	reason := errors.New("no disk")
	s := lazy(&noted{}, reason)
	for name, ask := range requests {
		require.Equal(t, ask(t.Context(), &nothing{reason}, "id"), ask(t.Context(), s, "id"), name)
	}
	for _, name := range []string{"list", "listen", "work"} {
		require.Equal(t, others[name](t.Context(), &nothing{reason}), others[name](t.Context(), s), name)
	}
	require.Nil(t, s.memory, "none of these makes a session")
	require.NoError(t, s.Close(), "there is nothing to close")
}

// nothing is a store that fails with nothing but an error.
type nothing struct{ err error }

func (n *nothing) Create(context.Context, sessions.New) (i sessions.Info, err error) { return i, n.err }
func (n *nothing) Get(context.Context, string) (i sessions.Info, err error)          { return i, n.err }
func (n *nothing) List(context.Context, sessions.Query) (p sessions.Page, err error) { return p, n.err }
func (n *nothing) Update(context.Context, string, sessions.Change) (i sessions.Info, err error) {
	return i, n.err
}
func (n *nothing) Fork(context.Context, string, int64, sessions.New) (i sessions.Info, err error) {
	return i, n.err
}
func (n *nothing) Delete(context.Context, string) error { return n.err }
func (n *nothing) Acquire(context.Context, string, sessions.Claim) (l sessions.Lease, err error) {
	return l, n.err
}
func (n *nothing) Release(context.Context, sessions.Lease) error { return n.err }
func (n *nothing) Append(context.Context, sessions.Lease, int64, sessions.Batch) (int64, error) {
	return 0, n.err
}
func (n *nothing) Load(context.Context, string, int64) iter.Seq2[sessions.Entry, error] {
	return one(sessions.Entry{}, n.err)
}
func (n *nothing) Put(context.Context, string, sessions.Item) (i sessions.Item, err error) {
	return i, n.err
}
func (n *nothing) Change(context.Context, string, string, int64, json.RawMessage) (i sessions.Item, err error) {
	return i, n.err
}
func (n *nothing) Items(context.Context, string, int64, ...sessions.ItemKind) iter.Seq2[sessions.Item, error] {
	return one(sessions.Item{}, n.err)
}
func (n *nothing) Listen(context.Context) iter.Seq2[string, error] { return one("", n.err) }
func (n *nothing) Work(context.Context) iter.Seq2[string, error]   { return one("", n.err) }
func (n *nothing) Watch(context.Context, string, int64) iter.Seq2[sessions.Entry, error] {
	return one(sessions.Entry{}, n.err)
}

// A store that cannot be watched is said to be one, and has no work.
func TestStoresThatCannotBeWatched(t *testing.T) {
	s := lazy(&noted{}, nil)
	require.Equal(t, "{Seq:0 Time:0001-01-01 00:00:00 +0000 UTC Kind: Run: Key: Data:[]}, desk: session id cannot be watched; ", requests["watch"](t.Context(), s, "id"))
	require.Equal(t, ", session: listen: unsupported operation; ", others["listen"](t.Context(), s))
	for _, err := range s.Listen(t.Context()) {
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	require.Empty(t, others["work"](t.Context(), s))
}

// What is made while the store cannot be opened is in memory, and all requests about it go there,
// even when the store has come.
func TestSessionsInMemoryAreAskedThere(t *testing.T) {
	store, reason := watched{&noted{}}, errors.New("no disk")
	var told []error
	local := t.TempDir()
	s := newStore("desk", func(context.Context) (sessions.Store, func() error, error) {
		return store, func() error { return nil }, reason
	}, local, func(err error) { told = append(told, err) })
	ctx := t.Context()
	made, err := s.Create(ctx, sessions.New{ID: "kept", Title: "Kept", Dir: "/repo"})
	require.NoError(t, err)
	require.Equal(t, []error{reason}, told)
	require.Equal(t, "Kept", made.Title)
	_, err = s.Create(ctx, sessions.New{ID: "other"})
	require.NoError(t, err)
	require.Equal(t, []error{reason, reason}, told, "each is told")
	require.Empty(t, s.beside("kept"), "it does not outlive the program")
	require.Equal(t, filepath.Join(local, "undo", "ELSE"), s.beside("ELSE"))
	reason = nil

	memory := s.memory
	info, err := s.Get(ctx, "kept")
	require.NoError(t, err)
	require.Equal(t, made, info)
	title := "New"
	info, err = s.Update(ctx, "kept", sessions.Change{Title: &title})
	require.NoError(t, err)
	require.Equal(t, title, info.Title)
	lease, err := s.Acquire(ctx, "kept", sessions.Claim{Holder: "ann"})
	require.NoError(t, err)
	head, err := s.Append(ctx, lease, 0, sessions.Batch{Entries: []sessions.Entry{{Kind: sessions.KindValue, Time: time.Now(), Key: "said", Data: json.RawMessage(`1`)}}})
	require.NoError(t, err)
	require.EqualValues(t, 1, head)
	require.Contains(t, all(s.Load(ctx, "kept", 0)), "Key:said")
	for entry, err := range s.Watch(ctx, "kept", 0) {
		require.NoError(t, err)
		require.Equal(t, "said", entry.Key)
		break
	}
	item, err := s.Put(ctx, "kept", sessions.Item{ID: "i", Kind: sessions.ItemPrompt, Data: json.RawMessage(`1`)})
	require.NoError(t, err)
	_, err = s.Change(ctx, "kept", "i", item.Version, json.RawMessage(`2`))
	require.NoError(t, err)
	require.Contains(t, all(s.Items(ctx, "kept", 0)), "ID:i")
	forked, err := s.Fork(ctx, "kept", 1, sessions.New{ID: "forked"})
	require.NoError(t, err)
	require.Equal(t, "forked", forked.ID)
	require.NoError(t, s.Release(ctx, lease))
	require.NoError(t, s.Delete(ctx, "kept"))
	_, err = memory.Get(ctx, "kept")
	require.ErrorIs(t, err, sessions.ErrNotFound)
	require.Empty(t, store.asked, "it knows of none of these")

	page, err := s.List(ctx, sessions.Query{})
	require.NoError(t, err)
	require.Empty(t, page.Sessions, "what is in memory is not listed")
	_, err = s.Create(ctx, sessions.New{ID: "last"})
	require.NoError(t, err)
	require.Len(t, told, 2, "the store has come")
	require.Len(t, store.asked, 2)
	require.NoError(t, s.Close())
}

// A session that nobody is told of is in memory all the same.
func TestNobodyNeedBeTold(t *testing.T) {
	s := lazy(nil, errors.New("no disk"))
	_, err := s.Create(t.Context(), sessions.New{})
	require.NoError(t, err)
	require.Empty(t, s.beside("ELSE"), "there is no directory for it")
}

// A store that opens while the program ends is closed, and whoever waits for it is told.
func TestAStoreThatOpensWhileTheProgramEndsIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, opened := 0, make(chan struct{})
		s := newStore("desk", func(ctx context.Context) (sessions.Store, func() error, error) {
			<-ctx.Done() // the program ends
			<-opened
			return &noted{}, func() error { closed++; return nil }, nil
		}, "", nil)
		failed := make(chan error, 2)
		for range 2 {
			go func() { _, err := s.Get(t.Context(), "id"); failed <- err }()
		}
		synctest.Wait()
		ended := make(chan error)
		go func() { ended <- s.Close() }()
		synctest.Wait()
		require.Empty(t, ended, "it waits for what is opened")
		close(opened)
		require.NoError(t, <-ended)
		require.Equal(t, 1, closed)
		for range 2 {
			err := <-failed
			require.ErrorIs(t, err, sessions.ErrClosed)
			require.EqualError(t, err, "session: open: "+sessions.ErrClosed.Error())
		}
		_, err := s.Create(t.Context(), sessions.New{})
		require.EqualError(t, err, "session: open: "+sessions.ErrClosed.Error())
		require.Nil(t, s.memory)
	})
}

// Requests that come while the store opens wait for one attempt. The next one tries again.
func TestRequestsShareAnAttemptToOpenTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		s := newStore("desk", func(context.Context) (sessions.Store, func() error, error) {
			attempts++
			time.Sleep(time.Second)
			if attempts == 1 {
				return nil, nil, errors.New("no disk")
			}
			return &noted{}, func() error { return nil }, nil
		}, "", nil)
		failed := make(chan error, 3)
		for range 3 {
			go func() { _, err := s.Get(t.Context(), "id"); failed <- err }()
		}
		for range 3 {
			require.EqualError(t, <-failed, "no disk")
		}
		require.Equal(t, 1, attempts)
		for range 2 {
			_, err := s.Get(t.Context(), "id")
			require.NoError(t, err)
		}
		require.Equal(t, 2, attempts)
		require.NoError(t, s.Close())
	})
}

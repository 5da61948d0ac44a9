// SPDX-License-Identifier: Apache-2.0

package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// openStore opens the store of a process of the test.
func openStore(spec string) (Store, error) {
	dir, ok := strings.CutPrefix(spec, "dir:")
	if !ok {
		return nil, errors.New("no store at " + spec)
	}
	return sqlitestore.Open(dir, sqlitestore.Options{})
}

// doubled is a store in memory that notes what is put, and may fail.
type doubled struct {
	*session.Memory
	log    []string
	err    map[string]error // by what is done
	busy   int              // how often it is busy first
	closed int
}

func (d *doubled) Close() error {
	d.closed++
	return d.err["close"]
}

func (d *doubled) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	d.log = append(d.log, fmt.Sprintf("%s: %s %s %s", id, i.ID, i.Kind, i.Data))
	if d.busy > 0 {
		d.busy--
		return session.Item{}, fmt.Errorf("locked: %w", session.ErrBusy)
	}
	return i, d.err["put"]
}

func (d *doubled) Get(ctx context.Context, id string) (session.Info, error) {
	if err := d.err["get"]; err != nil {
		d.log = append(d.log, "get "+id)
		return session.Info{}, err
	}
	return d.Memory.Get(ctx, id)
}

func (d *doubled) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	d.log = append(d.log, "acquire "+id)
	if err := d.err["acquire"]; err != nil {
		return session.Lease{}, err
	}
	return d.Memory.Acquire(ctx, id, c)
}

func (d *doubled) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	d.log = append(d.log, fmt.Sprint("append ", len(b.Entries)))
	if err := d.err["append"]; err != nil {
		return 0, err
	}
	return d.Memory.Append(ctx, l, head, b)
}

// A process that puts has items in all sessions in turn, and puts each tenth one twice, and again while others have the store locked.
func TestWhatIsPut(t *testing.T) {
	d := &doubled{busy: 3}
	require.NoError(t, put(d, "7", 25))
	var want []string
	for i := range 25 {
		one := fmt.Sprintf("%d: 7-%d prompt %d", i%20, i, i)
		want = append(want, one)
		if i == 0 {
			want = append(want, one, one, one) // it was busy three times
		}
		if i == 9 || i == 19 {
			want = append(want, one)
		}
	}
	require.Equal(t, want, d.log)
	d = &doubled{err: map[string]error{"put": errors.New("full")}}
	require.EqualError(t, put(d, "7", 25), "full")
	require.Len(t, d.log, 1)
}

// A session is left alone if nothing waits in it, or if another process has it, and otherwise emptied.
func TestWhatIsTaken(t *testing.T) {
	ctx := t.Context()
	gone := errors.New("gone")
	for _, c := range []struct {
		name    string
		waiting int
		held    bool
		err     map[string]error
		want    error
		log     string // of what comes first
	}{
		{"nothing waits", 0, false, nil, nil, ""},
		{"somebody has it", 3, true, nil, nil, ""},
		{"somebody was faster", 3, false, map[string]error{"acquire": session.ErrHeld}, nil, "acquire x"},
		{"it cannot be had", 3, false, map[string]error{"acquire": gone}, gone, "acquire x"},
		{"it cannot be looked at", 3, false, map[string]error{"get": gone}, gone, "get x"},
		{"it cannot be written", 3, false, map[string]error{"append": gone}, gone, "acquire x"},
		{"many wait", 50, false, nil, nil, "acquire x"},
	} {
		d := &doubled{Memory: new(session.Memory), err: c.err}
		_, err := d.Create(ctx, session.New{ID: "x"})
		require.NoError(t, err)
		for i := range c.waiting {
			_, err := d.Memory.Put(ctx, "x", session.Item{ID: strconv.Itoa(i), Kind: session.ItemPrompt, Data: []byte(strconv.Itoa(i))})
			require.NoError(t, err)
		}
		if c.held {
			_, err := d.Memory.Acquire(ctx, "x", session.Claim{Holder: "another"})
			require.NoError(t, err)
		}
		err = takeFrom(d, "x")
		require.ErrorIs(t, err, c.want, c.name)
		if c.want == nil {
			require.NoError(t, err, c.name)
		}
		if c.log == "" {
			require.Empty(t, d.log, c.name)
		} else {
			require.Equal(t, c.log, d.log[0], c.name)
		}
		if c.name != "many wait" {
			continue
		}
		var got []string
		for e, err := range d.Load(ctx, "x", 0) {
			require.NoError(t, err)
			require.Equal(t, session.Kind("taken"), e.Kind)
			require.Equal(t, e.Key, string(e.Data))
			got = append(got, e.Key)
		}
		for i := range 50 {
			require.Equal(t, strconv.Itoa(i), got[i])
		}
		require.Len(t, got, 50)
		info, err := d.Memory.Get(ctx, "x")
		require.NoError(t, err)
		require.Zero(t, info.Waiting)
		require.Empty(t, info.Holder, "it is released")
		require.GreaterOrEqual(t, len(d.log), 4, "at most 20 at a time")
	}
	d := &doubled{err: map[string]error{"get": gone}}
	require.ErrorIs(t, take(d), gone)
	require.Len(t, d.log, 1)
}

// A store that is busy is asked again, and another error ends.
func TestBusyStoresAreAskedAgain(t *testing.T) {
	n := 0
	require.NoError(t, busy(func() error {
		if n++; n < 4 {
			return fmt.Errorf("x: %w", session.ErrBusy)
		}
		return nil
	}))
	require.Equal(t, 4, n)
	n = 0
	require.EqualError(t, busy(func() error { n++; return errors.New("no") }), "no")
	require.Equal(t, 1, n)
}

// told runs a test inside another one. It returns whether it passed, and what it logged.
func told(t *testing.T, f func(*testing.T)) (ok bool, out string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	all := func(string, string) (bool, error) { return true, nil }
	ran := false
	testing.RunTests(all, []testing.InternalTest{{Name: "inner", F: func(t *testing.T) {
		if ran {
			return // with -count
		}
		ran = true
		defer func() {
			ok = !t.Failed()
			t.Fail() // so that logs are printed
		}()
		f(t)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return ok, string(data)
}

// lying is a store that tells something else of what is in it.
type lying struct {
	session.Store
	items func(session.Item) session.Item
	skip  bool
}

func (l lying) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	return func(yield func(session.Item, error) bool) {
		for i, err := range l.Store.Items(ctx, id, after, kinds...) {
			if l.items != nil {
				i = l.items(i)
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

func (l lying) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		n := 0
		for e, err := range l.Store.Load(ctx, id, after) {
			if n++; l.skip && n == 1 {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Each item that processes put is consumed once by others that are killed. A store that loses one is found, and so is one that has not
// consumed it, and a process that cannot put.
func TestItemsOfKilledProcesses(t *testing.T) {
	for _, c := range []struct {
		name  string
		store func(session.Store) session.Store
		spec  string
		ok    bool
		out   string
	}{
		{"right", func(s session.Store) session.Store { return s }, "", true, "60 items from 3 processes, "},
		{"an entry is lost", func(s session.Store) session.Store { return lying{Store: s, skip: true} }, "", false, "each item is consumed once, in order"},
		{"an item still waits", func(s session.Store) session.Store {
			return lying{Store: s, items: func(i session.Item) session.Item { i.State = session.ItemWaiting; return i }}
		}, "", false, "Not equal"},
	} {
		dir := t.TempDir()
		s, err := sqlitestore.Open(dir, sqlitestore.Options{})
		require.NoError(t, err)
		ok, out := told(t, func(t *testing.T) { Run(t, c.store(s), "dir:"+dir, 61, 3, 2) })
		require.Equal(t, c.ok, ok, "%s: %s", c.name, out)
		require.Contains(t, out, c.out, c.name)
		require.NoError(t, s.Close())
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package inboxtest has processes fill and empty the inboxes of a store while some of them are killed.
package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

const env = "PONTE_TEST_INBOX"

// sessions is how many sessions the items go to, and kind is the kind of their entries, which supersede nothing.
const (
	sessions = 20
	kind     = session.Kind("taken")
)

// Store is a store that a process opens by what is in spec.
type Store interface {
	session.Store
	Close() error
}

// Child does the work of a process, if this is one. TestMain calls it first, and ends if it returns true.
func Child(open func(spec string) (Store, error)) bool {
	role, rest, ok := strings.Cut(os.Getenv(env), "|")
	if !ok {
		return false
	}
	number, rest, _ := strings.Cut(rest, "|")
	count, spec, _ := strings.Cut(rest, "|")
	n, err := strconv.Atoi(count)
	var s Store
	if err == nil {
		s, err = open(spec)
	}
	if err == nil && role == "put" {
		err = errors.Join(put(s, number, n), s.Close())
	} else if err == nil {
		err = take(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		os.Exit(1)
	}
	return true
}

// busy does something again as long as others have the store locked.
func busy(do func() error) error {
	for {
		if err := do(); !errors.Is(err, session.ErrBusy) {
			return err
		}
	}
}

// put puts items, some of them twice.
func put(s Store, number string, n int) error {
	for i := range n {
		item := session.Item{ID: number + "-" + strconv.Itoa(i), Kind: session.ItemPrompt, Data: []byte(strconv.Itoa(i))}
		for range 1 + i%10/9 {
			err := busy(func() error {
				_, err := s.Put(context.Background(), strconv.Itoa(i%sessions), item)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// take takes up sessions for ever, and consumes what waits in them.
func take(s Store) error {
	for {
		for _, i := range rand.Perm(sessions) {
			if err := takeFrom(s, strconv.Itoa(i)); err != nil && !errors.Is(err, session.ErrBusy) {
				return err
			}
		}
	}
}

func takeFrom(s Store, id string) error {
	ctx := context.Background()
	info, err := s.Get(ctx, id)
	if err != nil || info.Waiting == 0 || info.Holder != "" {
		return err
	}
	w, err := session.Open(ctx, s, id, session.Claim{Holder: strconv.Itoa(os.Getpid())})
	if errors.Is(err, session.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	waiting, err := session.Waiting(ctx, s, id)
	for len(waiting) > 0 && err == nil {
		n := min(len(waiting), 1+rand.N(20))
		var b session.Batch
		for _, i := range waiting[:n] {
			b.Entries = append(b.Entries, session.Entry{Kind: kind, Key: i.ID, Data: i.Data})
			b.Consumed = append(b.Consumed, i.Ref())
		}
		waiting = waiting[n:]
		_, err = w.Write(ctx, b)
	}
	return errors.Join(err, w.Close(ctx))
}

// Run puts n items into the inboxes of a store from so many processes, and has so many others, which are killed at random, consume them.
// Then each item was consumed once, in order, and none is lost.
func Run(t *testing.T, s session.Store, spec string, n, putters, takers int) {
	t.Helper()
	for i := range sessions {
		_, err := s.Create(t.Context(), session.New{ID: strconv.Itoa(i)})
		require.NoError(t, err)
	}
	start := func(role string, number int) *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d|%s", env, role, number, n/putters, spec))
		c.Stderr = os.Stderr
		require.NoError(t, c.Start())
		return c
	}
	var putting sync.WaitGroup
	for i := range putters {
		c := start("put", i)
		putting.Go(func() {
			if err := c.Wait(); err != nil {
				t.Errorf("a process that puts items: %v", err)
			}
		})
	}
	put := make(chan struct{})
	go func() { putting.Wait(); close(put) }()
	taking := make([]*exec.Cmd, takers)
	for i := range taking {
		taking[i] = start("take", i)
	}
	kills, deadline := 0, time.Now().Add(40*time.Minute)
	for done := false; !done; {
		time.Sleep(time.Duration(100+rand.N(300)) * time.Millisecond)
		i := rand.N(takers)
		_ = taking[i].Process.Kill()
		_ = taking[i].Wait()
		kills++
		select {
		case <-put:
			done = waiting(t, s) == 0
		default:
		}
		if time.Now().After(deadline) {
			t.Errorf("%d items still wait", waiting(t, s))
			done = true
		}
		if !done {
			taking[i] = start("take", i)
		}
	}
	for _, c := range taking {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	<-put
	total := 0
	for i := range sessions {
		id := strconv.Itoa(i)
		var want []session.Item
		for item, err := range s.Items(t.Context(), id, -1) {
			require.NoError(t, err)
			require.Equal(t, session.ItemConsumed, item.State)
			want = append(want, item)
		}
		slices.SortFunc(want, func(a, b session.Item) int { return int(a.Pos - b.Pos) })
		var got, all []string
		for e, err := range s.Load(t.Context(), id, 0) {
			require.NoError(t, err)
			got = append(got, e.Key)
		}
		for _, item := range want {
			all = append(all, item.ID)
		}
		require.Equal(t, all, got, "session %s: each item is consumed once, in order", id)
		total += len(got)
	}
	require.Equal(t, n/putters*putters, total)
	t.Logf("%d items from %d processes, %d kills", total, putters, kills)
}

// waiting returns how many items wait.
func waiting(t *testing.T, s session.Store) (n int64) {
	t.Helper()
	for i := range sessions {
		info, err := s.Get(t.Context(), strconv.Itoa(i))
		require.NoError(t, err)
		n += info.Waiting
	}
	return n
}

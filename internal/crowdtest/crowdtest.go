// SPDX-License-Identifier: Apache-2.0

// Package crowdtest measures what a store of many users costs one of them.
package crowdtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// Each is how many sessions a user has, and Entries how many entries a session has.
const (
	Each    = 100
	Entries = 10
)

// User returns the name of a user.
func User(n int) string { return fmt.Sprint("user", n) }

// Medians calls functions in turn, so many times each, and returns the median of what each took.
func Medians(t *testing.T, rounds int, do ...func() error) []time.Duration {
	t.Helper()
	took := make([][]time.Duration, len(do))
	for range rounds {
		for i, f := range do {
			begin := time.Now()
			err := f()
			took[i] = append(took[i], time.Since(begin))
			require.NoError(t, err)
		}
	}
	medians := make([]time.Duration, len(do))
	for i, all := range took {
		slices.Sort(all)
		medians[i] = all[len(all)/2]
	}
	return medians
}

// AtMost measures two functions as Medians does. It fails if do takes more than most times what
// floor does, five times in a row, because others use the machine, too.
func AtMost(t *testing.T, what string, most float64, rounds int, do, floor func() error) {
	t.Helper()
	ratios := []float64{}
	for range 5 {
		m := Medians(t, rounds, do, floor)
		ratio := float64(m[0]) / float64(m[1])
		ratios = append(ratios, ratio)
		t.Logf("%s: %v, to %v: %.2f times", what, m[0], m[1], ratio)
		if ratio <= most {
			return
		}
	}
	require.LessOrEqual(t, slices.MinFunc(ratios, cmp.Compare), most, what)
}

// Run measures a store in which so many users have sessions, beside one that user 1 has alone.
// byHand reads the first page of a user, and one session more, with a statement of its own.
func Run(
	t *testing.T, crowd, alone session.Store, users int, byHand func(owner string) (int, error),
) {
	ctx := t.Context()
	n := 0
	next := func() string { n++; return User(n * 7919 % users) }
	read := func(s session.Store, owner string) error {
		page, err := s.List(ctx, session.Query{Owner: &owner, Conversations: true})
		if err == nil && len(page.Sessions) != session.DefaultLimit {
			err = fmt.Errorf("a page of %d", len(page.Sessions))
		}
		return err
	}
	hand := func() error {
		got, err := byHand(next())
		if err == nil && got != session.DefaultLimit+1 {
			err = fmt.Errorf("%d rows", got)
		}
		return err
	}
	list := func() error { return read(crowd, next()) }
	Medians(t, 100, list, hand) // caches
	AtMost(t, "a page, to the statement by hand", 2, 300, list, hand)
	AtMost(t, "a page, to that of a user alone", 1.25, 300,
		func() error { return read(crowd, User(1)) },
		func() error { return read(alone, User(1)) })

	data := []byte(`{"text":"a message of a conversation"}`)
	write := func(s session.Store) func() error {
		_, err := s.Create(ctx, session.New{ID: "measured", Owner: User(1)})
		require.NoError(t, err)
		w, err := session.Open(ctx, s, "measured", session.Claim{})
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.Close(context.WithoutCancel(ctx)) })
		return func() error {
			_, err := w.Append(ctx, session.Entry{Kind: session.KindMessage, Run: "r", Data: data})
			return err
		}
	}
	AtMost(t, "an append, to one of a user alone", 1.25, 500, write(crowd), write(alone))
}

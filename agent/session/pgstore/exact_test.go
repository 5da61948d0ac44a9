// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

// No two leases of a store are taken at the same moment, also if the clock stands still or goes
// back.
func TestMomentsAreNeverTheSame(t *testing.T) {
	var s Store
	ahead := time.Now().Add(time.Hour).UnixNano()
	s.last.Store(ahead)
	require.Equal(t, []int64{ahead + 1, ahead + 2, ahead + 3}, []int64{s.moment(), s.moment(), s.moment()})
	s.last.Store(0)
	before := time.Now().UnixNano()
	at := s.moment()
	require.GreaterOrEqual(t, at, before)
	require.LessOrEqual(t, at, time.Now().UnixNano())
	require.Equal(t, at, s.last.Load())
}

// The number of a lock is positive, at random, and never 0, which stands for nobody. All stores of
// a schema listen to the same channel.
func TestLocksAreAtRandom(t *testing.T) {
	all, none := int64(math.MaxInt64), int64(0)
	for range 400 {
		p := newPresence(nil, Options{Schema: "ponte"})
		require.Positive(t, p.lock)
		require.Equal(t, "ponte_9fa687355d967bad", p.channel)
		all &= p.lock
		none |= p.lock
	}
	require.EqualValues(t, 1, all, "only the bit that keeps it from being 0 is always there")
	require.EqualValues(t, math.MaxInt64, none, "every bit is there at times")
	require.NotEqual(t, "ponte_9fa687355d967bad", newPresence(nil, Options{Schema: "other"}).channel)
}

// Indexes have the first 256 characters of a text.
func TestPrefixesHave256Characters(t *testing.T) {
	for _, character := range []string{"x", "é", "日"} {
		for n, cut := range map[int]bool{0: false, 1: false, 255: false, 256: true, 257: true, 600: true} {
			start, more := prefix(strings.Repeat(character, n))
			require.Equal(t, strings.Repeat(character, min(n, 256)), start, "%d of %s", n, character)
			require.Equal(t, cut, more, "%d of %s", n, character)
		}
	}
}

// An append of nothing but entries for views does not wait for the disk.
func TestOnlyViewsAreSoft(t *testing.T) {
	view, said := session.Entry{Kind: session.KindView, Data: []byte("12")}, session.Entry{Kind: session.KindMessage, Data: []byte("345")}
	item := []session.Ref{{ID: "i", Version: 7}}
	for _, c := range []struct {
		entries []session.Entry
		refs    []session.Ref
		soft    bool
		size    int
	}{
		{nil, nil, false, 0}, {[]session.Entry{view}, nil, true, 2}, {[]session.Entry{view, view}, nil, true, 4}, {[]session.Entry{said}, nil, false, 3},
		{[]session.Entry{said, view}, nil, false, 5}, {[]session.Entry{view, said}, nil, false, 5}, {[]session.Entry{view}, item, false, 2}, {nil, item, false, 0}, {[]session.Entry{view, view}, append(item, item...), false, 4},
	} {
		a := newAddition(session.Lease{Session: "s", Token: 5}, 9, c.entries, c.refs)
		require.Equal(t, c.soft, a.soft, "%+v", c)
		require.Equal(t, c.size, a.size, "%+v", c)
		require.Equal(t, []any{"s", int64(5), int64(9)}, []any{a.session, a.token, a.head})
		require.Len(t, a.items, len(c.refs))
	}
}

var limits = regexp.MustCompile(`LIMIT (\d+)`)

// A list reads a session more than its page has, to know whether there are more.
func TestListsReadOneSessionMore(t *testing.T) {
	s := &Store{sql: prepared(`"ponte"`)}
	owner := "me"
	for _, c := range []struct {
		q    session.Query
		want []string // the limits
		args []any
	}{
		{session.Query{Limit: 1}, []string{"2", "2", "2"}, nil},
		{session.Query{Limit: 7, Conversations: true}, []string{"8"}, nil},
		{session.Query{Limit: 7, Dir: "/d"}, []string{"8"}, []any{"/d"}},
		{session.Query{Limit: 7, Dir: "/d", Conversations: true}, []string{"8"}, []any{"/d"}},
		{session.Query{Limit: 7, Parent: "p"}, []string{"8"}, []any{"p"}},
		{session.Query{Limit: 7, Owner: &owner, Conversations: true}, []string{"8"}, []any{"0\x01me"}},
		{session.Query{Limit: 7, Owner: &owner, Tenant: "acme"}, []string{"8", "8", "8"}, []any{"0acme\x01me", "1acme\x01me"}},
		{session.Query{Limit: 7, Tenant: "acme", Dir: "/d"}, []string{"8", "8", "8"}, []any{"/d", "0acme", "1acme"}},
		{session.Query{Limit: 7, Dir: strings.Repeat("d", 256)}, []string{"8"}, []any{strings.Repeat("d", 256), strings.Repeat("d", 256)}},
	} {
		query, args, err := s.listQuery(&c.q)
		require.NoError(t, err)
		var found []string
		for _, limit := range limits.FindAllStringSubmatch(query, -1) {
			found = append(found, limit[1])
		}
		require.Equal(t, c.want, found, query)
		require.Equal(t, c.args, args, query)
		for n := range args {
			require.Contains(t, query, fmt.Sprint("$", n+1))
		}
		require.NotContains(t, query, fmt.Sprint("$", len(args)+1))
	}
}

// SPDX-License-Identifier: Apache-2.0

package crowdtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/crowdtest"
)

// told runs a test inside another one, in a bubble. It returns whether it passed, and what it logged.
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
		synctest.Test(t, f)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = where.ReplaceAllString(line, ""); !notTold.MatchString(line) {
			b.WriteString(strings.TrimLeft(line, " \t"))
		}
	}
	return ok, b.String()
}

var (
	where   = regexp.MustCompile(`^\s+\w+\.go:\d+: `)
	notTold = regexp.MustCompile(`^\s*(=== |--- |\w+ Trace:|\S+\.go:\d+\n|Test:|\n)`)
)

// takes is a function that takes so long, one time after another.
func takes(all ...time.Duration) (do func() error, calls *int) {
	calls = new(int)
	return func() error {
		time.Sleep(all[*calls%len(all)])
		*calls++
		return nil
	}, calls
}

// A median is what the middle one of all rounds took, and of an even number the upper one of the two.
func TestMediansAreOfAllRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, calls := takes(5, 1, 100, 3, 4)
		b, others := takes(7, 8, 2)
		var order []string
		note := func(name string, do func() error) func() error {
			return func() error { order = append(order, name); return do() }
		}
		require.Equal(t, []time.Duration{4, 7}, crowdtest.Medians(t, 5, note("a", a), note("b", b)))
		require.Equal(t, strings.Fields("a b a b a b a b a b"), order)
		require.Equal(t, []time.Duration{5}, crowdtest.Medians(t, 4, a))
		require.Equal(t, 9, *calls)
		require.Equal(t, 5, *others)
		require.Empty(t, crowdtest.Medians(t, 1))
	})
	ok, out := told(t, func(t *testing.T) {
		crowdtest.Medians(t, 2, func() error { return errors.New("away") })
	})
	require.False(t, ok)
	require.Contains(t, out, "away")
}

// What takes too long in one measurement may do so because of others. It fails if it does five times.
func TestWhatTakesTooLongIsMeasuredAgain(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name string
		do   []time.Duration
		ok   bool
		out  string
	}{
		{"at once", []time.Duration{20 * ms}, true, "x: 20ms, to 10ms: 2.00 times\n"},
		{"once too long", []time.Duration{21 * ms, 5 * ms}, true, "x: 21ms, to 10ms: 2.10 times\nx: 5ms, to 10ms: 0.50 times\n"},
		{"four times too long", []time.Duration{30 * ms, 29 * ms, 28 * ms, 27 * ms, 20 * ms}, true, "x: 30ms, to 10ms: 3.00 times\nx: 29ms, to 10ms: 2.90 times\nx: 28ms, to 10ms: 2.80 times\nx: 27ms, to 10ms: 2.70 times\nx: 20ms, to 10ms: 2.00 times\n"},
		{"five times too long", []time.Duration{30 * ms, 21 * ms, 28 * ms, 27 * ms, 26 * ms, ms}, false, "x: 30ms, to 10ms: 3.00 times\nx: 21ms, to 10ms: 2.10 times\nx: 28ms, to 10ms: 2.80 times\nx: 27ms, to 10ms: 2.70 times\nx: 26ms, to 10ms: 2.60 times\n" +
			"Error:      \t\"2.1\" is not less than or equal to \"2\"\nMessages:   \tx\n"},
	} {
		ok, out := told(t, func(t *testing.T) {
			do, _ := takes(c.do...)
			floor, _ := takes(10 * ms)
			crowdtest.AtMost(t, "x", 2, 1, do, floor)
		})
		require.Equal(t, c.ok, ok, c.name)
		require.Equal(t, c.out, out, c.name)
	}
}

// slow is a store that takes its time, and notes who asks.
type slow struct {
	*session.Memory
	name    string
	lists   time.Duration
	appends time.Duration
	log     map[string]int
	page    int
}

func (s *slow) note(format string, args ...any) { s.log[s.name+" "+fmt.Sprintf(format, args...)]++ }

func (s *slow) List(_ context.Context, q session.Query) (session.Page, error) {
	time.Sleep(s.lists)
	s.note("list %v", q.Conversations)
	if s.page < 0 {
		return session.Page{}, errors.New("no pages")
	}
	return session.Page{Sessions: make([]session.Info, s.page)}, nil
}

func (s *slow) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	time.Sleep(s.appends)
	s.note("append %s %s %s %s", l.Session, b.Entries[0].Kind, b.Entries[0].Run, b.Entries[0].Data)
	return s.Memory.Append(ctx, l, head, b)
}

// A page of one of many users is compared with a statement by hand, and with a page of a user alone, and an append with one to a store of few.
func TestCrowdsAreMeasured(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name                                string
		crowd, alone, hand, append, append1 time.Duration
		page, rows                          int
		ok                                  bool
		out                                 string
	}{
		{"right", 20 * ms, 16 * ms, 10 * ms, 5 * ms, 4 * ms, session.DefaultLimit, session.DefaultLimit + 1, true, "a page, to the statement by hand: 20ms, to 10ms: 2.00 times\na page, to that of a user alone: 20ms, to 16ms: 1.25 times\nan append, to one of a user alone: 5ms, to 4ms: 1.25 times\n"},
		{"slow pages", 21 * ms, 20 * ms, 10 * ms, ms, ms, session.DefaultLimit, session.DefaultLimit + 1, false, "2.10 times"},
		{"slower than alone", 20 * ms, 15 * ms, 10 * ms, ms, ms, session.DefaultLimit, session.DefaultLimit + 1, false, "a page, to that of a user alone: 20ms, to 15ms: 1.33 times"},
		{"slow appends", 20 * ms, 20 * ms, 10 * ms, 4 * ms, 3 * ms, session.DefaultLimit, session.DefaultLimit + 1, false, "an append, to one of a user alone: 4ms, to 3ms: 1.33 times"},
		{"short pages", ms, ms, ms, ms, ms, session.DefaultLimit - 1, session.DefaultLimit + 1, false, "a page of 49"},
		{"few rows", ms, ms, ms, ms, ms, session.DefaultLimit, session.DefaultLimit, false, "50 rows"},
		{"no pages", ms, ms, ms, ms, ms, -1, session.DefaultLimit, false, "no pages"},
		{"no rows", ms, ms, ms, ms, ms, session.DefaultLimit, -1, false, "no rows"},
	} {
		log := map[string]int{}
		ok, out := told(t, func(t *testing.T) {
			crowd := &slow{Memory: new(session.Memory), name: "crowd", lists: c.crowd, appends: c.append, log: log, page: c.page}
			alone := &slow{Memory: new(session.Memory), name: "alone", lists: c.alone, appends: c.append1, log: log, page: c.page}
			crowdtest.Run(t, crowd, alone, 10, func(owner string) (int, error) {
				time.Sleep(c.hand)
				log["hand"]++
				if c.rows < 0 {
					return 0, errors.New("no rows")
				}
				return c.rows, nil
			})
		})
		require.Equal(t, c.ok, ok, "%s: %s", c.name, out)
		require.Contains(t, out, c.out, c.name)
		if c.name == "right" {
			require.Equal(t, c.out, out)
			entry := ` measured message r {"text":"a message of a conversation"}`
			require.Equal(t, map[string]int{"hand": 400, "crowd list true": 700, "alone list true": 300, "crowd append" + entry: 500, "alone append" + entry: 500}, log)
		}
	}
	require.Equal(t, "user7", crowdtest.User(7))
	require.Equal(t, []int{100, 10}, []int{crowdtest.Each, crowdtest.Entries})
}

// The users that are measured are not neighbours.
func TestUsersAreChosenFromAll(t *testing.T) {
	var owners []string
	told(t, func(t *testing.T) {
		s := &slow{Memory: new(session.Memory), log: map[string]int{}, page: session.DefaultLimit}
		crowdtest.Run(t, s, s, 1000, func(owner string) (int, error) {
			if owners = append(owners, owner); len(owners) > 2 {
				return 0, errors.New("enough")
			}
			return session.DefaultLimit + 1, nil
		})
	})
	require.Equal(t, []string{"user838", "user676", "user514"}, owners)
}

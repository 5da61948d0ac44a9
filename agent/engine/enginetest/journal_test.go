// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
)

// TestEveryFaultIsFound runs the suite on journals with a fault each.
func TestEveryFaultIsFound(t *testing.T) {
	found := map[string]bool{}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(journalFaults)) {
		fault := journalFaults[name]
		for _, rule := range fault.rules {
			says := hear(t, func(t testing.TB) { enginetest.CheckJournal(t, rule, fault.make()) })
			require.NotEmpty(t, says, "%s: the suite accepts that %s", rule, name)
			found[rule] = true
			if rule != many { // whose order differs
				fmt.Fprintf(&all, "%s: %s\n    %s\n", name, rule, strings.ReplaceAll(says, "\n", "\n    "))
			}
		}
	}
	for _, rule := range enginetest.JournalRules() {
		require.True(t, found[rule], "no fault breaks the rule that %s", rule)
	}
	goldenFile(t, "testdata/journal_faults.txt", all.String())
}

type fault struct {
	rules []string
	make  func() journal.Journal
}

// faults are journals in memory that do one thing in another way.
var journalFaults = map[string]fault{
	"it begins with a record": {[]string{"a new run has no records", "records come back as they were, in order"}, bad(log{load: func(r [][]byte) ([][]byte, error) {
		return append([][]byte{[]byte("{}")}, r...), nil
	}})},
	"it cannot be read": {[]string{"a new run has no records", "records belong to the caller"}, bad(log{load: func([][]byte) ([][]byte, error) { return nil, errBad }})},
	"it is read backwards": {[]string{"records come back as they were, in order", "records are there when the run is opened again", "many may append at once"}, bad(log{load: func(r [][]byte) ([][]byte, error) {
		var back [][]byte
		for i := range r {
			back = append(back, r[len(r)-1-i])
		}
		return back, nil
	}})},
	"it loses a record": {[]string{"many may append at once"}, bad(log{load: func(r [][]byte) ([][]byte, error) { return r[:min(len(r), 8)], nil }})},
	"it reads something else": {[]string{"many may append at once"}, bad(log{load: func(r [][]byte) ([][]byte, error) {
		for i := range r {
			r[i] = []byte("{}")
		}
		return r, nil
	}})},
	"it forgets runs": {[]string{"records are there when the run is opened again", "a closed log takes nothing"}, func() journal.Journal {
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) { return new(journal.Memory).Open(ctx, run) })
	}},
	"it has one run only": {[]string{"runs do not mix, whatever their ids"}, func() journal.Journal {
		m := new(journal.Memory)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
			if run == "" {
				return nil, errBad
			}
			return m.Open(ctx, "run")
		})
	}},
	"it takes any id": {[]string{"a run has an id"}, func() journal.Journal {
		m := new(journal.Memory)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) { return m.Open(ctx, "run "+run) })
	}},
	"it does not say why a run is not free": {[]string{"a run belongs to one holder at a time"}, func() journal.Journal {
		m := new(journal.Memory)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
			l, err := m.Open(ctx, run)
			if err != nil {
				err = errBad
			}
			return l, err
		})
	}},
	"it is never free again": {[]string{"records are there when the run is opened again"}, bad(log{close: func() error { return errBad }})},
	"it takes nothing":       {[]string{"records come back as they were, in order", "many may append at once", "records belong to the caller"}, bad(log{append: func(context.Context, []byte) error { return errBad }})},
	"it keeps the slice":     {[]string{"records belong to the caller"}, func() journal.Journal { return &shared{} }},
	"it does not look at contexts": {[]string{"nothing is appended when the context has ended"}, func() journal.Journal {
		m := new(journal.Memory)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
			l, err := m.Open(ctx, run)
			return deaf{l}, err
		})
	}},
	"it takes records when it is closed": {[]string{"a closed log takes nothing"}, bad(log{append: func(context.Context, []byte) error { return nil }})},
	"two may hold a run":                 {[]string{"a run belongs to one holder at a time"}, func() journal.Journal { return &shared{} }},
}

var errBad = errors.New("bad")

// log replaces methods of a log.
type log struct {
	journal.Log
	load   func([][]byte) ([][]byte, error)
	append func(context.Context, []byte) error
	close  func() error
}

func bad(how log) func() journal.Journal {
	return func() journal.Journal {
		m := new(journal.Memory)
		return journal.Func(func(ctx context.Context, run string) (journal.Log, error) {
			l, err := m.Open(ctx, run)
			if err != nil {
				return nil, err
			}
			own := how
			own.Log = l
			return &own, nil
		})
	}
}

func (l *log) Load(ctx context.Context) ([][]byte, error) {
	records, err := l.Log.Load(ctx)
	if l.load != nil && err == nil {
		return l.load(records)
	}
	return records, err
}

func (l *log) Append(ctx context.Context, record []byte) error {
	if l.append != nil {
		return l.append(ctx, record)
	}
	return l.Log.Append(ctx, record)
}

func (l *log) Close() error {
	if l.close != nil {
		return l.close()
	}
	return l.Log.Close()
}

// deaf is a log that does not hear when contexts end.
type deaf struct{ journal.Log }

func (d deaf) Append(ctx context.Context, record []byte) error {
	return d.Log.Append(context.WithoutCancel(ctx), record)
}

// shared is a journal of one run whose records all share, the slices included.
type shared struct {
	mu      sync.Mutex
	records [][]byte
}

func (s *shared) Open(context.Context, string) (journal.Log, error) { return s, nil }

func (s *shared) Load(context.Context) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.records...), nil
}

func (s *shared) Append(_ context.Context, record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, record)
	return nil
}

func (s *shared) Close() error { return nil }

// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/journal"
)

// JournalConformance checks that the journals that newJournal makes keep the contract of [journal.Journal]. Each subtest calls
// it once, for a journal without runs.
func JournalConformance(t *testing.T, newJournal func(t *testing.T) journal.Journal) {
	for _, r := range journalRules {
		t.Run(r.name, func(t *testing.T) { r.check(&checker{t, newJournal(t)}) })
	}
}

var journalRules = []struct {
	name  string
	check func(*checker)
}{
	{"a new run has no records", newRun},
	{"records come back as they were, in order", order},
	{"records are there when the run is opened again", reopened},
	{"runs do not mix, whatever their ids", ids},
	{"a run has an id", noID},
	{"a run belongs to one holder at a time", holder},
	{"many may append at once", concurrent},
	{"records belong to the caller", owner},
	{"nothing is appended when the context has ended", ended},
	{"a closed log takes nothing", closed},
}

type checker struct {
	testing.TB
	journal journal.Journal
}

func (c *checker) open(run string) journal.Log {
	c.Helper()
	l, err := c.journal.Open(context.Background(), run)
	if err != nil {
		c.Fatalf("Open(%q): %v", run, err)
	}
	return l
}

func (c *checker) close(l journal.Log) {
	c.Helper()
	if err := l.Close(); err != nil {
		c.Errorf("Close: %v", err)
	}
}

func (c *checker) append(l journal.Log, records ...string) {
	c.Helper()
	for _, r := range records {
		if err := l.Append(context.Background(), []byte(r)); err != nil {
			c.Fatalf("Append(%s): %v", r, err)
		}
	}
}

func (c *checker) load(l journal.Log) []string {
	c.Helper()
	loaded, err := l.Load(context.Background())
	if err != nil {
		c.Fatalf("Load: %v", err)
	}
	var records []string
	for _, r := range loaded {
		records = append(records, string(r))
	}
	return records
}

func (c *checker) holds(l journal.Log, want ...string) {
	c.Helper()
	if got := c.load(l); !slices.Equal(got, want) {
		c.Errorf("Load returned\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func newRun(c *checker) {
	l := c.open("run")
	c.holds(l)
	c.holds(l)
	c.close(l)
	l = c.open("run")
	c.holds(l)
	c.close(l)
}

var records = []string{
	`{"a":1}`, `{}`, `"text"`, `null`, `{"a":1}`, `{"nl":"\n","nul":"\u0000","html":"<&>\u2028"}`, ` {"spaces": [ 1 , 2 ] } `, `{"ü":"日本語"}`,
	`{"big":"` + strings.Repeat("x", 1<<18) + `"}`, `[]`,
}

func order(c *checker) {
	l := c.open("run")
	for i, r := range records {
		c.append(l, r)
		if i%3 == 0 {
			c.holds(l, records[:i+1]...)
		}
	}
	c.holds(l, records...)
	c.close(l)
}

func reopened(c *checker) {
	for i, r := range records {
		l := c.open("run")
		if i%2 == 0 {
			c.holds(l, records[:i]...)
		}
		c.append(l, r)
		c.close(l)
	}
	l := c.open("run")
	c.holds(l, records...)
	c.close(l)
}

func ids(c *checker) {
	all := []string{
		"run", "run/1/call", "run/1", "../run", ".", "..", ".run", "run.", " run ", "a b", "50%", "%35%30%25", "a\\b", "C:", "ü", "日本",
		"line\nbreak", "nul\x00", "not\xffutf8", strings.Repeat("long/", 100), strings.Repeat("long/", 100) + "er", "~", "a~b", "a:b*c?d\"e<f>g|h",
	}
	var logs []journal.Log
	for i, id := range all {
		l := c.open(id)
		c.append(l, fmt.Sprintf(`{"i":%d}`, i))
		logs = append(logs, l)
	}
	for i, l := range logs {
		c.holds(l, fmt.Sprintf(`{"i":%d}`, i))
		c.close(l)
	}
	for i, id := range all {
		l := c.open(id)
		c.holds(l, fmt.Sprintf(`{"i":%d}`, i))
		c.close(l)
	}
}

func noID(c *checker) {
	if l, err := c.journal.Open(context.Background(), ""); err == nil {
		c.Error("Open accepts an empty id")
		c.close(l)
	}
}

func holder(c *checker) {
	l := c.open("run")
	other := c.open("other")
	if again, err := c.journal.Open(context.Background(), "run"); !errors.Is(err, journal.ErrInUse) {
		c.Errorf("Open of a run that is open returned %v, want an error that wraps ErrInUse", err)
		if err == nil {
			c.close(again)
		}
	}
	c.append(l, `{"a":1}`)
	c.close(l)
	c.close(other)
	l = c.open("run")
	c.holds(l, `{"a":1}`)
	c.close(l)
}

func concurrent(c *checker) {
	const writers, each = 16, 20
	l := c.open("run")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := l.Append(context.Background(), fmt.Appendf(nil, `{"w":%d,"i":%d}`, w, i)); err != nil {
					c.Errorf("Append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	c.close(l)
	l = c.open("run")
	defer c.close(l)
	got := c.load(l)
	if len(got) != writers*each {
		c.Fatalf("there are %d records, want %d", len(got), writers*each)
	}
	next := make([]int, writers)
	for _, r := range got {
		var w, i int
		if _, err := fmt.Sscanf(r, `{"w":%d,"i":%d}`, &w, &i); err != nil {
			c.Fatalf("record %s: %v", r, err)
		}
		if next[w] != i {
			c.Fatalf("record %d of writer %d comes where its record %d should", i, w, next[w])
		}
		next[w]++
	}
}

func owner(c *checker) {
	l := c.open("run")
	record := []byte(`{"a":1}`)
	if err := l.Append(context.Background(), record); err != nil {
		c.Fatalf("Append: %v", err)
	}
	record[5] = '2'
	loaded, err := l.Load(context.Background())
	if err != nil || len(loaded) != 1 || string(loaded[0]) != `{"a":1}` {
		c.Fatalf("Load returned %q, %v after the caller had changed its slice", loaded, err)
	}
	loaded[0][5] = '3'
	c.holds(l, `{"a":1}`)
	c.close(l)
}

func ended(c *checker) {
	l := c.open("run")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Append(ctx, []byte(`{"a":1}`)); !errors.Is(err, context.Canceled) {
		c.Errorf("Append with a context that has ended returned %v, want its error", err)
	}
	c.close(l)
}

func closed(c *checker) {
	l := c.open("run")
	c.append(l, `{"a":1}`)
	c.close(l)
	if err := l.Append(context.Background(), []byte(`{"a":2}`)); err == nil {
		c.Error("Append succeeds after Close")
	}
	l = c.open("run")
	c.holds(l, `{"a":1}`)
	c.close(l)
}

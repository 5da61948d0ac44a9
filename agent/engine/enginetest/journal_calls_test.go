// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// spoiled names a call of a rule, and how it is spoiled. Of a rule that uses a journal from many
// goroutines all calls of a kind are spoiled.
type spoiled struct {
	Rule string
	Call int
	Kind string
	Way  string
}

// notes is a journal in memory that notes the calls that it gets, and one of whose calls is spoiled.
type notes struct {
	journal.Memory
	spoil spoiled
	mu    sync.Mutex
	calls []string
}

// call notes a call, and reports whether it is the one to be spoiled, in a way.
func (n *notes) call(kind, text string) func(way string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, kind+" "+text)
	mine := n.spoil.Kind == kind && (n.spoil.Call < 0 || n.spoil.Call == len(n.calls)-1)
	return func(way string) bool { return mine && n.spoil.Way == way }
}

// waysOf has the ways to spoil a kind of call.
var waysOf = map[string][]string{
	"Open": {"fails", "succeeds"}, "Load": {"fails", "has no first", "has no last", "has another last", "has one more"},
	"Append": {"fails", "succeeds", "does nothing"}, "Close": {"fails", "does nothing"},
}

func (n *notes) Open(ctx context.Context, run string) (journal.Log, error) {
	is := n.call("Open", fmt.Sprintf("%.40q (%d bytes)", run, len(run)))
	l, err := n.Memory.Open(ctx, run)
	switch {
	case is("fails") && err == nil:
		_ = l.Close()
		return nil, errBad
	case is("fails"):
		return nil, errBad
	case is("succeeds") && err != nil:
		l, err = new(journal.Memory).Open(ctx, "x"+run)
	}
	if err != nil {
		return nil, err
	}
	return &noted{l, n, run}, nil
}

type noted struct {
	journal.Log
	notes *notes
	run   string
}

func (l *noted) Load(ctx context.Context) ([][]byte, error) {
	is := l.notes.call("Load", fmt.Sprintf("%.10q", l.run))
	all, err := l.Log.Load(ctx)
	if is("fails") {
		return nil, errBad
	}
	if is("has one more") {
		all = append(all, []byte("{}"))
	}
	if n := len(all); n > 0 {
		switch {
		case is("has no first"):
			all = all[1:]
		case is("has no last"):
			all = all[:n-1]
		case is("has another last"):
			all[n-1] = append(all[n-1], '?')
		}
	}
	return all, err
}

func (l *noted) Append(ctx context.Context, record []byte) error {
	ended := ""
	if ctx.Err() != nil {
		ended = " with a context that has ended"
	}
	is := l.notes.call("Append", fmt.Sprintf("%.10q: %.60q (%d bytes)%s", l.run, record, len(record), ended))
	if is("does nothing") {
		return nil
	}
	err := l.Log.Append(ctx, record)
	switch {
	case is("fails"):
		return errBad
	case is("succeeds"):
		return nil
	}
	return err
}

func (l *noted) Close() error {
	is := l.notes.call("Close", fmt.Sprintf("%.10q", l.run))
	if is("does nothing") {
		return nil
	}
	err := l.Log.Close()
	if is("fails") {
		return errBad
	}
	return err
}

const many = "many may append at once"

// TestJournalRulesAsk has what the rules ask of a journal that keeps them.
func TestJournalRulesAsk(t *testing.T) {
	var b strings.Builder
	for _, rule := range enginetest.JournalRules() {
		var n notes
		t.Run(rule, func(t *testing.T) { enginetest.CheckJournal(t, rule, &n) })
		if rule == many {
			slices.Sort(n.calls)
		}
		fmt.Fprintf(&b, "%s\n  %s\n", rule, strings.Join(n.calls, "\n  "))
	}
	goldenFile(t, "testdata/journal.txt", b.String())
}

// TestWrongAnswersOfJournals has what the suite says when one call is spoiled.
func TestWrongAnswersOfJournals(t *testing.T) {
	var b strings.Builder
	for _, rule := range enginetest.JournalRules() {
		var n notes
		t.Run(rule, func(t *testing.T) { enginetest.CheckJournal(t, rule, &n) })
		times := map[string]int{}
		for i, c := range n.calls {
			kind, _, _ := strings.Cut(c, " ")
			if rule == many {
				i = -1
			}
			if times[kind]++; rule == many && times[kind] > 1 || times[kind] > 4 {
				continue
			}
			for _, way := range waysOf[kind] {
				says := hear(t, func(t testing.TB) {
					enginetest.CheckJournal(t, rule, &notes{spoil: spoiled{rule, i, kind, way}})
				})
				lines := strings.Split(says, "\n")
				if rule == many { // in any order
					slices.Sort(lines)
					lines = slices.Compact(lines)
				}
				if says != "" {
					fmt.Fprintf(&b, "%s, %d: %s %s\n    %s\n", rule, i, kind, way, strings.Join(lines, "\n    "))
				}
			}
		}
	}
	goldenFile(t, "testdata/journals_wrong.txt", b.String())
}

// goldenFile compares a text with a file.
func goldenFile(t *testing.T, path, got string) {
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update if it should be so")
}

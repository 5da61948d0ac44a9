// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
)

// shelf is a journal that can fail.
type shelf struct {
	mu   sync.Mutex
	logs map[string][][]byte
	// order are the ids of the runs, in the order in which they wrote their first records.
	order []string
	// fails returns the error of an operation, or nil.
	fails func(op, run string, n int) error
}

func newShelf() *shelf { return &shelf{logs: map[string][][]byte{}} }

func (s *shelf) copy() *shelf {
	return &shelf{logs: maps.Clone(s.logs), order: slices.Clone(s.order)}
}

func (s *shelf) err(op, run string) error {
	if s.fails == nil {
		return nil
	}
	return s.fails(op, run, len(s.logs[run]))
}

func (s *shelf) Open(_ context.Context, run string) (journal.Log, error) {
	return &shelfLog{s, run}, s.err("open", run)
}

type shelfLog struct {
	shelf *shelf
	run   string
}

func (l *shelfLog) Load(context.Context) ([][]byte, error) {
	l.shelf.mu.Lock()
	defer l.shelf.mu.Unlock()
	return slices.Clone(l.shelf.logs[l.run]), l.shelf.err("load", l.run)
}

func (l *shelfLog) Append(_ context.Context, line []byte) error {
	l.shelf.mu.Lock()
	defer l.shelf.mu.Unlock()
	if err := l.shelf.err("append", l.run); err != nil {
		return err
	}
	if l.shelf.logs[l.run] == nil {
		l.shelf.order = append(l.shelf.order, l.run)
	}
	l.shelf.logs[l.run] = append(slices.Clip(l.shelf.logs[l.run]), bytes.Clone(line))
	return nil
}

func (l *shelfLog) Close() error { return nil }

// answered is how many answers of a model the logs have: of the agent if inside is false, otherwise of the one inside.
func (s *shelf) answered(inside bool) (n int) {
	for run, lines := range s.logs {
		if strings.Contains(run, "/") != inside {
			continue
		}
		for _, line := range lines {
			if bytes.HasPrefix(line, []byte(`{"op":"model"`)) {
				n++
			}
		}
	}
	return n
}

// TestJournalsOfTheCorpusAreToldAsRecorded records runs, and tells their records and what becomes of the runs if they are resumed with fewer of
// them, or with others, and if the journal fails.
func TestJournalsOfTheCorpusAreToldAsRecorded(t *testing.T) {
	const path = "testdata/corpus/journals/journals.txt"
	var all strings.Builder
	for _, s := range readScenes(t, path) {
		fmt.Fprintf(&all, "=== %s\n%s\n%s\n", s.name, strings.Join(s.input, "\n"), dashes)
		synctest.Test(t, func(t *testing.T) { s.recorded(t, &all) })
		all.WriteString("\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	requireSameScenes(t, string(want), all.String())
}

// recorded plays a scene. Its last run is the one that is recorded.
func (s *scene) recorded(t *testing.T, all *strings.Builder) {
	w := newSetting(t, s)
	a, err := s.agent(w)
	require.NoError(t, err)
	var history []*model.Message
	var model, inner, asked int
	last := len(s.runs) - 1
	play := func(j journal.Journal, n int) (*agent.Result[string], error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w.cancel, w.lines = cancel, nil
		prompt, opts := s.options(t, w, n, s.runs[n], history)
		return a.Run(ctx, deps{}, prompt, append(opts, agent.WithJournal(j))...)
	}
	for i := range last {
		res, err := play(newShelf(), i)
		if history = nil; res != nil {
			history = res.Messages
		} else if e := (*agent.RunError)(nil); errors.As(err, &e) {
			history = e.Messages
		}
	}
	model, inner, asked = w.model, w.inner, w.asked
	again := func(j *shelf) string {
		w.model, w.inner, w.asked, w.bases = model+j.answered(false), inner+j.answered(true), asked, 0
		for _, lines := range j.logs {
			for _, line := range lines {
				if bytes.HasPrefix(line, []byte(`{"op":"approve"`)) {
					w.asked++
				}
			}
		}
		return numbered(w.brief(play(j, last)))
	}
	whole := newShelf()
	want := again(whole)
	records := 0
	for _, run := range whole.order {
		fmt.Fprintf(all, "records of %s\n", run)
		for _, line := range whole.logs[run] {
			records++
			fmt.Fprintf(all, "  %s\n", lastHash.ReplaceAllString(strings.NewReplacer(`\"`, "'", `"`, "").Replace(numbered(string(line))), "last:…"))
		}
	}
	all.WriteString(want)
	if s.config["lost"] != "" { // what failed is done again, and what it had used counts, too
		fmt.Fprintf(all, "all records: %s\n", firstLine(again(whole)))
	} else {
		require.Equal(t, want, again(whole), "%s: all records", s.name)
	}
	if s.config["whole"] != "" {
		return
	}
	for _, run := range whole.order {
		for n := range whole.logs[run] {
			s.spoil(t, all, whole, want, run, n, again)
		}
	}
	for _, op := range []string{"open", "load"} {
		j := newShelf()
		j.fails = func(o, _ string, _ int) error {
			if o == op {
				return errBoom
			}
			return nil
		}
		fmt.Fprintf(all, "%s fails: %s\n", op, firstLine(again(j)))
	}
}

// lastHash is the hash of a message that may have random ids.
var lastHash = regexp.MustCompile(`\blast:[0-9a-f]{32}`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// spoil tells what becomes of a run if record n of a log is missing, comes twice, or cannot be written, and if it is the last one.
func (s *scene) spoil(t *testing.T, all *strings.Builder, whole *shelf, want, run string, n int, again func(*shelf) string) {
	lines := whole.logs[run]
	tell := func(what string, j *shelf) {
		if got := again(j); got == want {
			fmt.Fprintf(all, "%s %s %d: the same\n", run, what, n)
		} else {
			fmt.Fprintf(all, "%s %s %d: %s\n", run, what, n, firstLine(got))
		}
	}
	cut := whole.copy()
	if cut.logs[run] = lines[:n+1]; !strings.Contains(run, "/") {
		for id := range cut.logs {
			if id != run {
				delete(cut.logs, id)
			}
		}
	}
	tell("up to", cut)

	missing := whole.copy()
	missing.logs[run] = slices.Delete(slices.Clone(lines), n, n+1)
	tell("without", missing)

	twice := whole.copy()
	twice.logs[run] = slices.Insert(slices.Clone(lines), n, lines[n])
	tell("with two of", twice)

	broken := whole.copy()
	broken.logs[run] = slices.Clone(lines)
	broken.logs[run][n] = []byte(`{"op":`)
	tell("with broken", broken)

	full := newShelf()
	full.fails = func(op, r string, have int) error {
		if op == "append" && r == run && have == n {
			return errors.New("the disk is full")
		}
		return nil
	}
	tell("when there is no room for", full)
}

// SPDX-License-Identifier: Apache-2.0

package sessiontest_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// odd is a store in memory whose calls are noted, and one of which is spoiled.
type odd struct {
	*session.Memory
	*mischief
	made int
}

func (s *odd) name(id *string) {
	if *id == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made++
		*id = fmt.Sprint("made ", s.made)
	}
}

func (s *odd) Create(ctx context.Context, n session.New) (i session.Info, err error) {
	args := []any{n, n.Limit}
	s.name(&n.ID)
	s.do(ctx, "Create", args, func() { i, err = s.Memory.Create(ctx, n) }, &i, &err)
	return i, err
}

func (s *odd) Get(ctx context.Context, id string) (i session.Info, err error) {
	s.do(ctx, "Get", []any{id}, func() { i, err = s.Memory.Get(ctx, id) }, &i, &err)
	return i, err
}

func (s *odd) List(ctx context.Context, q session.Query) (p session.Page, err error) {
	s.do(ctx, "List", []any{plain(sessiontest.Asked(q))}, func() { p, err = s.Memory.List(ctx, q) }, &p, &err)
	return p, err
}

func (s *odd) Update(ctx context.Context, id string, c session.Change) (i session.Info, err error) {
	title := "as it is"
	if c.Title != nil {
		title = *c.Title
	}
	args := []any{id, title, plain(fmt.Sprintf("%+q", c.Values))}
	s.do(ctx, "Update", args, func() { i, err = s.Memory.Update(ctx, id, c) }, &i, &err)
	return i, err
}

func (s *odd) Fork(ctx context.Context, id string, at int64, n session.New) (i session.Info, err error) {
	args := []any{id, at, n, n.Limit}
	s.name(&n.ID)
	s.do(ctx, "Fork", args, func() { i, err = s.Memory.Fork(ctx, id, at, n) }, &i, &err)
	return i, err
}

func (s *odd) Delete(ctx context.Context, id string) (err error) {
	s.do(ctx, "Delete", []any{id}, func() { err = s.Memory.Delete(ctx, id) }, &err)
	return err
}

func (s *odd) Acquire(ctx context.Context, id string, c session.Claim) (l session.Lease, err error) {
	s.do(ctx, "Acquire", []any{id, c}, func() { l, err = s.Memory.Acquire(ctx, id, c) }, &l, &err)
	return l, err
}

func (s *odd) Release(ctx context.Context, l session.Lease) (err error) {
	s.do(ctx, "Release", []any{l}, func() { err = s.Memory.Release(ctx, l) }, &err)
	return err
}

func (s *odd) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (at int64, err error) {
	var entries strings.Builder
	for _, e := range b.Entries {
		fmt.Fprintf(&entries, "{%d %s %q %q %q", e.Seq, e.Kind, e.Run, e.Key, e.Data)
		if !e.Time.IsZero() {
			fmt.Fprintf(&entries, " %s", e.Time.Format(time.RFC3339Nano))
		}
		entries.WriteString("}")
	}
	args := []any{l, head, plain(entries.String()), b.Consumed}
	s.do(ctx, "Append", args, func() { at, err = s.Memory.Append(ctx, l, head, b) }, &at, &err)
	return at, err
}

func (s *odd) Put(ctx context.Context, id string, i session.Item) (got session.Item, err error) {
	args := []any{id, i}
	s.name(&i.ID)
	s.do(ctx, "Put", args, func() { got, err = s.Memory.Put(ctx, id, i) }, &got, &err)
	return got, err
}

func (s *odd) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (i session.Item, err error) {
	args := []any{id, item, version, string(data)}
	s.do(ctx, "Change", args, func() { i, err = s.Memory.Change(ctx, id, item, version, data) }, &i, &err)
	return i, err
}

func (s *odd) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	return whole(s, ctx, "Items", []any{id, after, kinds}, func() iter.Seq2[session.Item, error] { return s.Memory.Items(ctx, id, after, kinds...) })
}

func (s *odd) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return whole(s, ctx, "Load", []any{id, after}, func() iter.Seq2[session.Entry, error] { return s.Memory.Load(ctx, id, after) })
}

func (s *odd) Work(ctx context.Context) iter.Seq2[string, error] {
	return whole(s, ctx, "Work", nil, func() iter.Seq2[string, error] {
		var ids []string
		for id, err := range s.Memory.Work(ctx) {
			if err != nil {
				return s.Memory.Work(ctx)
			}
			ids = append(ids, id)
		}
		slices.Sort(ids) // so that the last one is always the same
		return func(yield func(string, error) bool) {
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	})
}

func (s *odd) Listen(ctx context.Context) iter.Seq2[string, error] {
	return each(s, ctx, "Listen", nil, s.Memory.Listen(ctx))
}

func (s *odd) Watch(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return each(s, ctx, "Watch", []any{id, after}, s.Memory.Watch(ctx, id, after))
}

// whole is a sequence as the result of one call.
func whole[T any](s *odd, ctx context.Context, method string, args []any, call func() iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var all []T
		var err error
		s.do(ctx, method, args, func() {
			for v, e := range call() {
				if err = e; err == nil {
					all = append(all, v)
				}
			}
		}, &all, &err)
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}

// each is a sequence in which each step is a call.
func each[T any](s *odd, ctx context.Context, method string, args []any, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq {
			made := s.do(context.Background(), method, args, func() {}, &v, &err)
			if made && !yield(v, err) {
				return
			}
			if err == errSpoiled {
				return
			}
		}
	}
}

// races are the rules that make calls at the same time: of those all of a method are spoiled.
var races = []string{ruleMany, ruleOneHead, ruleOneLease, ruleLimit, ruleTakeOne, rulePutMany}

// slow are the rules that take long: fewer of their calls are spoiled.
var slow = []string{ruleEntries, ruleFollow, ruleList, ruleTalks, ruleOwned, ruleLong, ruleOnce, ruleListen}

// few are the ways in which those are spoiled.
var few = regexp.MustCompile(`^(not made|error|ID|int64|Seq|Data|Next|slice|Sessions .*(first|twice|the last|turned|: ID .*)$)`)

// spoil runs a rule on a store with which something is wrong, and returns what the suite says.
func spoil(t *testing.T, rule string, what spoiled) (m *mischief, says string, took time.Duration) {
	m = &mischief{spoil: what}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 365 * 24 * time.Hour) // the bubble begins in 2000, before the times in the rules
		begin := time.Now()
		s := &odd{Memory: new(session.Memory), mischief: m}
		says = sessiontest.Broken(t.Context(), func() *sessiontest.Target {
			return &sessiontest.Target{Open: func() (session.Store, error) { return s, nil }}
		}, rule)[rule]
		took = time.Since(begin)
	})
	return m, says, took
}

// long are words that are not for people.
var long = regexp.MustCompile(`\S{200,}`)

// made are ids that the store makes, in any order if it is used by many.
var made = regexp.MustCompile(`made [0-9]+`)

var digits = regexp.MustCompile(`[0-9]+`)

// everyCall tells what a rule asks a store, and what the suite says of each wrong answer.
func everyCall(t *testing.T, rule string, wrong bool) string {
	race := slices.Contains(races, rule)
	sound, says, took := spoil(t, rule, spoiled{})
	require.Empty(t, says, rule)
	var b strings.Builder
	if !wrong {
		fmt.Fprintf(&b, "It takes %v.\n", took)
	}
	calls := sound.calls
	if race || strings.Contains(rule, "watch") || rule == ruleListen {
		slices.SortStableFunc(calls, func(x, y called) int {
			return strings.Compare(made.ReplaceAllString(x.text, "made n"), made.ReplaceAllString(y.text, "made n"))
		})
	}
	most, hasty := 2, slices.Contains(slow, rule)
	if hasty {
		most = 1
	}
	like, methods := map[string]int{}, map[string]bool{}
	for _, c := range calls {
		if !wrong {
			fmt.Fprintf(&b, "%s\n", made.ReplaceAllString(c.text, "made n"))
			continue
		}
		what := spoiled{c.method, c.text, c.nth, ""}
		if race {
			if what = (spoiled{method: c.method}); methods[c.method] {
				continue
			}
			methods[c.method] = true
			if rule == ruleOneHead || rule == ruleOneLease { // which call succeeds depends on who is first
				c.ways = waysOfAll(calls, c.method)
			}
		}
		form := fmt.Sprint(c.method, strings.Contains(c.text, "(ended"), c.ways)
		if like[form]++; like[form] > most {
			continue
		}
		var all []string // that were noticed, in order
		ways := map[string][]string{}
		for _, what.way = range c.ways {
			if hasty && !few.MatchString(what.way) {
				continue
			}
			m, says, _ := spoil(t, rule, what)
			require.True(t, m.done, "%s: %+v", rule, what)
			if race {
				lines := strings.Split(digits.ReplaceAllString(says, "0"), "\n")
				slices.Sort(lines)
				says = strings.Join(slices.Compact(lines), "\n")
			}
			if ways[says] == nil {
				all = append(all, says)
			}
			ways[says] = append(ways[says], what.way)
		}
		if race {
			fmt.Fprintf(&b, "every %s\n", c.method)
		} else {
			fmt.Fprintf(&b, "%s\n", c.text)
		}
		for _, says := range all {
			if says != "" {
				fmt.Fprintf(&b, "  %s:\n    %s\n", strings.Join(ways[says], ", "), strings.ReplaceAll(says, "\n", "\n    "))
			}
		}
	}
	return folded(long.ReplaceAllStringFunc(b.String(), func(s string) string { return fmt.Sprintf("%.40s…(%d bytes)", s, len(s)) }))
}

// waysOfAll returns the ways in which calls of a method can be spoiled.
func waysOfAll(calls []called, method string) (all []string) {
	for _, c := range calls {
		if c.method == method {
			all = append(all, c.ways...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// folded leaves out most calls of many that are alike.
func folded(text string) string {
	var kept []string
	lines := strings.Split(text, "\n")
	form := func(i int) string {
		if i < 0 || i >= len(lines) || strings.HasPrefix(lines[i], " ") {
			return fmt.Sprint("no call ", i)
		}
		return digits.ReplaceAllString(lines[i], "0")
	}
	left := 0
	for i, line := range lines {
		if form(i) == form(i-1) && form(i) == form(i-2) && form(i) == form(i+1) {
			left++
			continue
		}
		if left > 0 {
			kept = append(kept, fmt.Sprintf("… and %d more", left))
			left = 0
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// golden compares a text with a file in testdata.
func golden(t *testing.T, name, got string) {
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	want := strings.Split(string(data), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			require.Equal(t, strings.Join(want[min(i, len(want)):], "\n"), line, "%s:%d; run with -update if it should be so", path, i+1)
		}
	}
	require.Len(t, strings.Split(got, "\n"), len(want), path)
}

// TestRulesAsk has what the rules ask of a store that keeps them.
func TestRulesAsk(t *testing.T) {
	for _, rule := range sessiontest.Rules() {
		golden(t, rule, everyCall(t, rule, false))
	}
}

// The tests below have what the suite says when one answer to one call is wrong.

func TestWrongAnswersAboutSessions(t *testing.T) { wrongAnswers(t, 0) }
func TestWrongAnswersAboutEntries(t *testing.T)  { wrongAnswers(t, 1) }
func TestWrongAnswersAboutLeases(t *testing.T)   { wrongAnswers(t, 2) }
func TestWrongAnswersAboutInboxes(t *testing.T)  { wrongAnswers(t, 3) }
func TestWrongAnswersAboutLists(t *testing.T)    { wrongAnswers(t, 4) }
func TestWrongAnswersAboutOwners(t *testing.T)   { wrongAnswers(t, 5) }
func TestWrongAnswersAboutForks(t *testing.T)    { wrongAnswers(t, 6) }
func TestWrongAnswersAboutChanges(t *testing.T)  { wrongAnswers(t, 7) }

func wrongAnswers(t *testing.T, group int) {
	for _, rule := range sessiontest.Group(group) {
		if rule == ruleTakeOne {
			continue // what is said depends on who comes first: see TestOneOfManyConsumes
		}
		golden(t, "wrong/"+rule, everyCall(t, rule, true))
	}
}

func TestOneOfManyConsumes(t *testing.T) {
	for _, method := range []string{"Append", "Change"} {
		_, says, _ := spoil(t, ruleTakeOne, spoiled{method: method, way: "error spoiled"})
		require.Contains(t, says, "consumption: spoiled", method)
		_, says, _ = spoil(t, ruleTakeOne, spoiled{method: method, way: notMade})
		require.Regexp(t, `^how many have consumed or removed the item: got [45], want 1$`, says)
	}
	for _, method := range []string{"Create", "Acquire", "Put"} {
		_, says, _ := spoil(t, ruleTakeOne, spoiled{method: method, way: "error spoiled"})
		require.Regexp(t, `^`+method+`\("a".*\): spoiled$`, says)
	}
}

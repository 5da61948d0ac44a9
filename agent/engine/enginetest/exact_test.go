// SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine"
	"github.com/ponte-go/ponte/agent/engine/enginetest"
	"github.com/ponte-go/ponte/agent/journal"
)

// clocked is an engine whose runs begin at a time, and whose results have times of their own.
type clocked struct {
	engine.Engine
	began engine.Time
	at    func() engine.Time
}

func (c *clocked) Begin(ctx context.Context) (engine.Beginning, error) {
	b, err := c.Engine.Begin(ctx)
	b.At = c.began
	return b, err
}

func (c *clocked) WaitAny(futures []engine.Future, l engine.Listener) int {
	i := c.Engine.WaitAny(futures, l)
	futures[i].Done().At = c.at()
	return i
}

// TestTimesFromTheFirstSecondOnAreSet has runs whose times are set or not, and stand still or go
// back.
func TestTimesFromTheFirstSecondOnAreSet(t *testing.T) {
	second := func(n int64) engine.Time { return engine.TimeOf(time.Unix(n, 0)) }
	for name, c := range map[string]struct {
		began engine.Time
		at    []engine.Time // of the results, the last one of all that follow
		says  string
	}{
		"the first second that counts":  {second(1), []engine.Time{second(1)}, ""},
		"a second before":               {second(0) + 1, []engine.Time{second(0) + 1}, "message 0 is of 1970-01-01 00:00:00.000000001 +0000 UTC, must be set and in UTC"},
		"results before the run began":  {second(60), []engine.Time{second(30)}, ""}, // which count as its beginning
		"results that all come in time": {second(60), []engine.Time{second(60), second(61), second(62)}, ""},
	} {
		open := memory("").Open
		h := enginetest.Harness{Open: func(t *testing.T, l *enginetest.Life) (engine.Engine, func()) {
			e, release := open(t, l)
			n := -1
			return &clocked{e, c.began, func() engine.Time { n = min(n+1, len(c.at)-1); return c.at[n] }}, release
		}}
		says := hear(t, func(t testing.TB) { enginetest.Check(t, "times and ids are set", h) })
		if c.says == "" {
			require.Empty(t, says, name)
		} else {
			require.Equal(t, c.says, strings.Split(says, "\n")[0], name)
		}
	}
}

// TestCallsMeetWithinTwentySeconds is about engines that execute one task after another: the suite
// waits for each of the three calls.
func TestCallsMeetWithinTwentySeconds(t *testing.T) {
	for late, says := range map[time.Duration]string{
		20*time.Second - 1: "", 20*time.Second + 1: "calls that were started together do not run side by side",
	} {
		synctest.Test(t, func(t *testing.T) {
			open := memory("").Open
			h := enginetest.Harness{Open: func(t *testing.T, l *enginetest.Life) (engine.Engine, func()) {
				l.Worker = delayed{l.Worker, late}
				return open(t, l)
			}}
			said := hear(t, func(t testing.TB) { enginetest.Check(t, "calls run side by side", h) })
			require.Equal(t, says, strings.Split(said, "\n")[0], late)
		})
	}
}

// delayed is a worker that begins the third call late.
type delayed struct {
	engine.Worker
	by time.Duration
}

func (d delayed) Do(ctx context.Context, t *engine.Task, l engine.Listener, done *engine.Done) {
	if t.Op == engine.OpTool && t.Call.ID == "c" {
		time.Sleep(d.by)
	}
	d.Worker.Do(ctx, t, l, done)
}

// TestRunsDieTwice has the lives of a run that dies: the first one at each place, the second one
// five places later, and the third one comes to the end.
func TestRunsDieTwice(t *testing.T) {
	open := memory("").Open
	passed := map[string][]int{}
	last := ""
	h := enginetest.Harness{Durable: true, Open: func(t *testing.T, l *enginetest.Life) (engine.Engine, func()) {
		e, release := open(t, l)
		return e, func() {
			passed[l.RunID], last = append(passed[l.RunID], enginetest.Passed(l)), l.RunID
			release()
		}
	}}
	require.Empty(t, hear(t, func(t testing.TB) { enginetest.Check(t, "a run that dies anywhere goes on", h) }))
	whole := passed["death-0"][2]
	require.Equal(t, []int{whole}, passed[last], "there is no such place any more")
	require.Equal(t, fmt.Sprint("death-", whole), last)
	for n := range whole {
		require.Equal(t, []int{n, min(n+5, whole), whole}, passed[fmt.Sprint("death-", n)], "death-%d", n)
	}
	require.Len(t, passed, whole+1)
}

// TestRecordsThatAreLent has a journal whose callers share what they have loaded.
func TestRecordsThatAreLent(t *testing.T) {
	kept := map[string][]byte{}
	lends := bad(log{load: func(all [][]byte) ([][]byte, error) {
		for i, r := range all {
			if kept[string(r)] == nil {
				kept[string(r)] = r
			}
			all[i] = kept[string(r)]
		}
		return all, nil
	}})
	says := hear(t, func(t testing.TB) { enginetest.CheckJournal(t, "records belong to the caller", lends()) })
	require.Equal(t, "Load returned\n{\"a\":3}\nwant\n{\"a\":1}", says)
	var j journal.Memory
	require.Empty(t, hear(t, func(t testing.TB) { enginetest.CheckJournal(t, "records belong to the caller", &j) }))
}

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
)

// whole is the scene, run without a disturbance.
func whole(t testing.TB, j journal.Journal) (*scene, *agent.Result[city], []string) {
	t.Helper()
	s := newScene(t, fill(nil))
	res, err := s.run(context.Background(), j)
	require.NoError(t, err)
	return s, res, raw(t, j, "scene")
}

func TestSceneUsesAllThereIs(t *testing.T) {
	_, res, records := whole(t, new(journal.Memory))
	require.Equal(t, city{"OSLO", 700000, []string{"Aker"}}, res.Output)
	seen := map[string]int{}
	for _, name := range names(t, records) {
		op := name[:slices.Index([]byte(name), '/')]
		seen[op]++
	}
	require.Equal(t, map[string]int{"start": 1, "model": 7, "tool": 19, "ask": 6, "approve": 6, "output": 3, "inbox": 1, "inbox_at_end": 2, "history": 1}, seen)
}

func TestJournalChangesNothingOfARun(t *testing.T) {
	_, with, _ := whole(t, new(journal.Memory))
	_, nested, _ := whole(t, newDir(t))
	s := newScene(t, fill(nil))
	without, err := s.run(context.Background(), nil)
	require.NoError(t, err)
	valid := func(res *agent.Result[city]) string { return replaceInvalid(show(t, res.Messages)) }
	require.Equal(t, valid(without), valid(with))
	require.Equal(t, valid(without), valid(nested))
	require.Equal(t, without.Output, with.Output)
	require.Equal(t, without.Usage, with.Usage)
}

// TestRunResumesAfterAnyRecord kills the run at every record, before and after that is written, and once more
// when it resumes.
func TestRunResumesAfterAnyRecord(t *testing.T) {
	undisturbed, want, records := whole(t, new(journal.Memory))
	for _, written := range []bool{false, true} {
		for n := range len(records) + 4 { // the inner agent writes some, too
			t.Run(fmt.Sprintf("%d/%v", n, written), func(t *testing.T) {
				t.Parallel()
				var j journal.Memory
				var before, inner []string
				for life, lasts := range []int{n, 3, 1 << 20} {
					s := newScene(t, fill(before))
					res, err := s.run(context.Background(), &mortal{Journal: &j, left: lasts, written: written})
					done := names(t, before)
					for _, name := range s.executed {
						require.NotContains(t, done, name, "life %d", life)
					}
					for name, executed := range map[string]string{"model/1/": "inner/1", "tool/1/i1": "inner/think", "model/2/": "inner/3"} {
						require.False(t, slices.Contains(inner, name) && slices.Contains(s.executed, executed), "life %d: %s", life, executed)
					}
					inner = names(t, raw(t, &j, "scene/4/sub"))
					after := raw(t, &j, "scene")
					require.True(t, slices.Equal(before, after[:len(before)]), "records are never changed")
					if before = after; err != nil {
						var failed *journal.Error
						require.ErrorAs(t, err, &failed)
						require.Equal(t, "append", failed.Op)
						require.ErrorIs(t, err, errKilled)
						continue
					}
					require.Equal(t, want.Output, res.Output)
					require.Equal(t, want.Usage, res.Usage)
					require.Equal(t, show(t, want.Messages), show(t, res.Messages))
				}
				require.ElementsMatch(t, names(t, records), names(t, before))
				again := newScene(t, new(agent.Inbox))
				res, err := again.run(context.Background(), &j)
				require.NoError(t, err)
				require.Empty(t, again.executed, "a run that has ended is not run again")
				require.Equal(t, want.Output, res.Output)
				require.Equal(t, want.Usage, res.Usage)
				require.Equal(t, show(t, want.Messages), show(t, res.Messages))
			})
		}
	}
	require.NotEmpty(t, undisturbed.executed)
}

func TestTimesAndIDsAreTheSameWhenARunIsReplayed(t *testing.T) {
	var j journal.Memory
	s := newScene(t, fill(nil))
	first, err := s.agent.Run(context.Background(), s, scenePrompt, agent.WithJournal(&j), agent.WithRunID("r"))
	require.NoError(t, err)
	again, err := newScene(t, nil).agent.Run(context.Background(), s, scenePrompt, agent.WithJournal(&j), agent.WithRunID("r"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NotEmpty(t, again.ConversationID)
	for i, m := range again.Messages[1:] {
		require.False(t, m.Time.Before(again.Messages[i].Time) && !m.Time.IsZero() && i != 0, "message %d", i)
	}
}

// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// lastEntry returns what the last entry of a session has, apart from its number.
func lastEntry(t *testing.T, s session.Store) string {
	t.Helper()
	var last session.Entry
	for e, err := range s.Load(t.Context(), "s", 0) {
		require.NoError(t, err)
		last = e
	}
	return fmt.Sprintf("%s %s run=%s key=%s %s", last.Time.Format(time.RFC3339Nano), last.Kind, last.Run, last.Key, last.Data)
}

// The entry of an answer has the answer, its call, what the person saw of it, and the run that waits.
func TestAnswersAreRecordedWithWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		c, w := open(t, m)
		var none agent.DeferredResults
		require.EqualError(t, c.Answer(t.Context(), &agent.PendingCall{ID: "a"}, none), `transcript: answer: there is none for call "a"`)
		decided, supplied := agent.DeferredResults{}, agent.DeferredResults{}
		decided.Decide("a", toolset.Decision{Verdict: toolset.VerdictDeny, Reason: "<no>", By: "user"})
		supplied.Supply("/b/x", toolset.Result{Text: "from outside"})
		both := agent.DeferredResults{Decisions: map[string]model.Decision{"a": toolset.Allow()}}
		both.Supply("a", toolset.Result{Text: "done"})
		seen := &model.Approval{Title: "Pay", Basis: "one"}
		answer := func(call agent.PendingCall, answers agent.DeferredResults, run, want string) {
			t.Helper()
			require.NoError(t, c.Answer(t.Context(), &call, answers))
			require.Equal(t, "2000-01-01T00:00:00Z decision run="+run+" key=pending/"+call.Key()+" "+want, lastEntry(t, m))
		}
		// Nothing waits, so there is no run.
		answer(agent.PendingCall{ID: "a", Tool: "pay"}, decided, "",
			`{"conversation":"s","call":"a","tool":"pay","decision":{"verdict":"deny","reason":"<no>","by":"user"}}`)
		require.NoError(t, w.Close(t.Context()))

		now := written{}.prompted("t").message("t", "end/2", `"kind":"request","parts":[],"run_id":"other","pending":true,"pending_calls":[{"id":"a","tool":"pay"}]`)
		now = now.add(session.KindEnd, "t", "", `{"v":1,"reason":"pending","keep":0,"messages":[1,2]}`)
		for _, one := range []struct {
			log written
			run string
		}{{now, "other"}, {written{}.prompted("t").add(session.KindEnd, "t", "", `{"v":1,"reason":"done","keep":0,"messages":[1]}`), "t"}} {
			m = (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{one.log}}).cut(t, 1)
			c, w = open(t, m)
			answer(agent.PendingCall{ID: "a", Tool: "pay", Approval: seen}, decided, one.run,
				`{"conversation":"s","call":"a","tool":"pay","decision":{"verdict":"deny","reason":"<no>","by":"user"},"shown":{"title":"Pay","basis":"one"}}`)
			answer(agent.PendingCall{ID: "x", Tool: "dig", Path: []string{"b", "x"}}, supplied, one.run,
				`{"conversation":"s","call":"/b/x","tool":"dig","result":{"text":"from outside"}}`)
			answer(agent.PendingCall{ID: "a", Tool: "pay"}, both, one.run,
				`{"conversation":"s","call":"a","tool":"pay","result":{"text":"done"}}`)
			require.NoError(t, w.Close(t.Context()))
		}
	})
}

// The answer of a person while a run waits is a step of that run.
func TestDecisionsOfARunAreItsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(session.Memory)
		c, w := open(t, m)
		now, err := c.BeginAs(t.Context(), transcript.Prompt{Turn: "t", Parts: []model.Part{model.User("Go.")}})
		require.NoError(t, err)
		d := toolset.Decision{Verdict: toolset.VerdictAllow, By: "user", Args: json.RawMessage(`{"x":2}`)}
		require.NoError(t, now.Decided(t.Context(), "t/1/b", 12, "a", "pay", d))
		require.Equal(t, `2000-01-01T00:00:00Z step run=t/1/b key=12/answer/a {"op":"answer","step":12,"call":"a","tool":"pay",`+
			`"at":"2000-01-01T00:00:00Z","decision":{"verdict":"allow","by":"user","args":"{\"x\":2}"}}`, lastEntry(t, m))
		require.NoError(t, now.Finish(t.Context(), c.Messages(), transcript.Cancelled))
		require.NoError(t, w.Close(t.Context()))
	})
}

// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// halting is a context that halts whoever looks at it for the second time.
type halting struct {
	context.Context
	looks        int
	halted, goOn chan struct{}
}

func (h *halting) Err() error {
	if h.looks++; h.looks == 2 {
		close(h.halted)
		<-h.goOn
	}
	return nil
}

// Calls that run at the same time record what was shown in the order in which it was: another process does not find a question
// open that was answered, although the record that was begun before the answer is written after it.
func TestWhatIsShownIsRecordedInItsOrder(t *testing.T) {
	store := new(session.Memory)
	c, w := open(t, store)
	turn, err := c.Begin(t.Context(), model.User("Go."))
	require.NoError(t, err)
	one, err := turn.Open(t.Context(), turn.ID()+"/1/a")
	require.NoError(t, err)
	two, err := turn.Open(t.Context(), turn.ID()+"/1/b")
	require.NoError(t, err)
	line := []byte(`{"op":"inbox","step":1}`)
	id := transcript.QuestionID(turn.ID()+"/1/b", 1, "in")
	c.Report(&view.Entity{ID: id, Kind: view.Question, Status: view.Pending})
	h := &halting{Context: context.Background(), halted: make(chan struct{}), goOn: make(chan struct{})}
	written := make(chan error)
	go func() { written <- one.Append(h, line) }()
	<-h.halted // on its way to the writer
	c.Report(&view.Entity{ID: id, Kind: view.Question, Status: view.Completed})
	require.NoError(t, two.Append(t.Context(), line))
	close(h.goOn)
	require.NoError(t, <-written)
	require.NoError(t, w.Close(t.Context()))
	other, _ := open(t, store)
	require.Equal(t, view.Completed, other.Fold().Get(id).Status)
}

// A question of a turn that has ended pending is over when a later turn has, even if the process was killed before it could
// say so. Those of the later turn are open.
func TestQuestionsAreOverWhenALaterTurnEndsPending(t *testing.T) {
	ask := func(run string) string { return transcript.PendingID(run, "a") }
	pending := func(run string) string {
		return fmt.Sprintf(`"entity":{"id":%q,"kind":"question","status":"pending"}`, ask(run))
	}
	w := written{}.prompted("t").said("t", 1, threeCalls).
		views("t", "upsert", ask("t"), "", pending("t")).ends("t", "pending", "1,2").
		prompted("u").said("u", 1, threeCalls).
		views("u", "upsert", ask("u"), "", pending("u")).ends("u", "pending", "5,6")
	for n, want := range map[int][]view.Status{4: {view.Pending}, len(w): {view.Cancelled, view.Pending}} {
		c, _ := open(t, (&recorder{Memory: new(session.Memory), batches: [][]session.Entry{w[:n]}}).cut(t, 1))
		var found []view.Status
		for e := range c.Fold().Snapshot().All() {
			if e.Kind == view.Question {
				found = append(found, e.Status)
			}
		}
		require.Equal(t, want, found, n)
	}
}

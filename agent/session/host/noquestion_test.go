// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// TestAnswersToWhatIsNoQuestionAreRefusedAtOnce answers calls, prompts and other things that a session shows, in the process that asks and in one that only shows
// the question: nothing of them can become a question, so nothing is waited for.
func TestAnswersToWhatIsNoQuestionAreRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paid []string
		store := new(session.Memory)
		config := host.Config[none, string]{Store: shared{store}, Agent: newAgent(modeltest.Script(
			modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), pay(&paid))}
		one, other := newHost(t, config), newHost(t, config)
		asks := create(t, one)
		ended := make(chan error, 1)
		go func() {
			p := say("Pay.")
			p.Wait = true
			_, err := asks.Prompt(t.Context(), p)
			ended <- err
		}()
		synctest.Wait()
		shows, err := other.Open(t.Context(), asks.ID(), nil)
		require.NoError(t, err)
		snapshot, _, err := asks.Snapshot(t.Context())
		require.NoError(t, err)
		q := snapshot.Last(view.Question)
		require.NotNil(t, q)
		begun, tried := time.Now(), 0
		for _, s := range []*host.Session{asks, shows} {
			for e := range snapshot.All() {
				if e.ID != q.ID {
					tried++
					require.ErrorIs(t, s.Decide(t.Context(), e.ID, "", allowed(q)), host.ErrNoQuestion, e.ID)
				}
			}
			for _, id := range []string{"", "c", "x", "/1/c", "call:", "Question:" + q.ID} {
				require.ErrorIs(t, s.Decide(t.Context(), id, "", allowed(q)), host.ErrNoQuestion, id)
			}
		}
		require.Zero(t, time.Since(begun))
		require.GreaterOrEqual(t, tried, 4)
		require.Empty(t, paid)
		require.NoError(t, shows.Decide(t.Context(), q.ID, "", allowed(q)))
		require.NoError(t, <-ended)
		require.Equal(t, []string{"Ada"}, paid)
		require.NoError(t, one.Close(t.Context()))
		require.NoError(t, other.Close(t.Context()))
	})
}

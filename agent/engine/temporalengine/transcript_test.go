// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
)

// TestWatchersFollowARunByItsTranscript through all its executions, from the beginning and from a position on.
func TestWatchersFollowARunByItsTranscript(t *testing.T) {
	for _, full := range []bool{false, true} {
		store := new(session.Memory)
		_, err := store.Create(t.Context(), session.New{ID: storyID})
		require.NoError(t, err)
		const messages = 17
		watch := func(after int64) (seen []*model.Message) {
			for e, err := range store.Watch(t.Context(), storyID, after) {
				var data struct{ Message *model.Message }
				if err != nil || json.Unmarshal(e.Data, &data) != nil {
					break
				}
				if seen = append(seen, data.Message); e.Seq == messages {
					break
				}
			}
			return seen
		}
		live := make(chan []*model.Message)
		go func() { live <- watch(0) }()
		s := storyOf(t, full, false, new(keys), nil)
		s.config.Transcripts = store
		res, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
		require.NoError(t, err)
		require.Len(t, res.Messages, messages)
		for _, m := range res.Messages {
			m.Instructions = "" // the step that follows makes them
		}
		want := plain(t, res.Messages)
		got := <-live
		for _, m := range got {
			m.Instructions = ""
		}
		require.Equal(t, want, plain(t, got))
		require.Len(t, watch(5), messages-5)
	}
}

// brokenStore cannot be written to.
type brokenStore struct {
	session.Memory
	err error
}

func (b *brokenStore) Acquire(context.Context, string, session.Claim) (session.Lease, error) {
	return session.Lease{}, b.err
}

func TestRunWhoseTranscriptCannotBeKeptFails(t *testing.T) {
	s := storyOf(t, false, false, new(keys), nil)
	s.config.Transcripts, s.config.Step = &brokenStore{err: errors.New("no room")}, temporalengine.Activity{Attempts: 1}
	_, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
	require.ErrorContains(t, err, "transcript of run story: no room")
}

// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/engine/temporalengine"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
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

// TestTranscriptHasWhatProcessorsTakeAway from the history.
func TestTranscriptHasWhatProcessorsTakeAway(t *testing.T) {
	for _, full := range []bool{false, true} {
		const steps = 9
		step := 0
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if step++; step > steps {
				return model.Response(final("done")), nil
			}
			require.LessOrEqual(t, len(req.Messages), 5)
			return model.Response(model.ToolCall(fmt.Sprint("call", step), "work", fmt.Sprintf(`{"n":%d}`, step))), nil
		})
		store := new(session.Memory)
		s := storyOf(t, full, false, new(keys), nil)
		k := new(keys)
		s.config.Transcripts = store
		s.config.Agent = storyteller(m, researcher(insideModel(), k), k, func(c *agent.Config[deps, report]) {
			c.History = []agent.HistoryProcessor[deps]{func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
				if len(messages) <= 5 {
					return messages, nil
				}
				return append(messages[:1:1], messages[len(messages)-2:]...), nil
			}}
		})
		res, err := s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
		require.NoError(t, err)
		require.Less(t, len(res.Messages), 10)
		var all []*model.Message
		for e, err := range store.Load(t.Context(), storyID, 0) {
			require.NoError(t, err)
			var data struct{ Message *model.Message }
			require.NoError(t, json.Unmarshal(e.Data, &data))
			all = append(all, data.Message)
		}
		require.Len(t, all, 2*steps+3)
		text := plain(t, all)
		for n := range steps {
			require.Equal(t, 1, strings.Count(text, fmt.Sprintf("worked %d for ada", n+1)))
			require.Equal(t, 2, strings.Count(text, fmt.Sprintf(`"call%d"`, n+1)), "the call and its result")
		}
	}
}

// TestTranscriptLeavesOtherSessionsAlone: the id of a run may be that of a session with a conversation, or of one that somebody works with.
func TestTranscriptLeavesOtherSessionsAlone(t *testing.T) {
	for _, held := range []bool{false, true} {
		store := new(session.Memory)
		_, err := store.Create(t.Context(), session.New{ID: storyID})
		require.NoError(t, err)
		w, err := session.Open(t.Context(), store, storyID, session.Claim{Holder: "an editor"})
		require.NoError(t, err)
		if !held {
			_, err = w.Append(t.Context(), session.Entry{Kind: session.KindMessage, Run: "turn", Data: json.RawMessage(`{"message":{}}`)})
			require.NoError(t, err)
			require.NoError(t, w.Close(t.Context()))
		}
		before, err := store.Get(t.Context(), storyID)
		require.NoError(t, err)
		s := storyOf(t, false, false, new(keys), nil)
		s.config.Transcripts = store
		_, err = s.play(t, temporalengine.Input{Prompt: "Go.", Metadata: ada})
		require.ErrorContains(t, err, `the session "story" belongs to another user`)
		after, err := store.Get(t.Context(), storyID)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

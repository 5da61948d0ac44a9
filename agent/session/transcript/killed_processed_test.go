// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// A process that goes on with a turn of another one, which processors have made a new history for,
// shows what others read, whether it resumes the turn or ends it.
func TestProcessorsAndKills(t *testing.T) {
	for seed := range dice(8) {
		synctest.Test(t, func(t *testing.T) {
			name, _ := processorOf(seed)
			if name == "redact" {
				return // which shows a result as it was until the session is read
			}
			store := &recorder{Memory: new(session.Memory)}
			_, err := store.Create(t.Context(), session.New{ID: "s"})
			require.NoError(t, err)
			var results []string
			w, err := session.Open(t.Context(), store, "s", session.Claim{Force: true})
			require.NoError(t, err)
			s := &shown{t: t, w: w, journal: true}
			s.c, err = transcript.Open(t.Context(), w, options)
			require.NoError(t, err)
			a := talker(seed, &results)
			for _, text := range []string{"one", "two", "three"} {
				_ = promptShown(s, a, text, nil)
			}
			for n := range store.batches {
				for _, resumes := range []bool{false, true} {
					cut := &shown{t: t, store: store.cut(t, n), journal: true}
					cut.w, err = session.Open(t.Context(), cut.store, "s", session.Claim{Force: true})
					require.NoError(t, err)
					cut.c, err = transcript.Open(t.Context(), cut.w, options)
					require.NoError(t, err)
					cut.fold = cut.c.Fold()
					if resumes && cut.c.Interrupted() != "" {
						now, err := cut.c.Resume(t.Context())
						require.NoError(t, err)
						text := ""
						if parts := now.Prompt(); len(parts) > 0 {
							text = parts[0].Text
						}
						stream := a.Stream(t.Context(), none{}, text, now.Options()...)
						for e := range stream.Events() {
							now.Observe(&e)
						}
						res, err := stream.Result()
						require.NoError(t, transcript.End(t.Context(), now, res, err))
					} else {
						require.NoError(t, cut.c.Settle(t.Context()))
					}
					require.Equal(t, textOf(cut.fold), textOf(readShown(t, cut.store)), "seed %d, %s, cut %d, resumed %v", seed, name, n, resumes)
					require.Equal(t, exact(t, cut.c.Messages()), exact(t, read(t, cut.store).Messages()), "seed %d, %s, cut %d", seed, name, n)
					_ = promptShown(cut, a, "four", nil)
					require.Equal(t, textOf(cut.fold), textOf(readShown(t, cut.store)), "seed %d, %s, cut %d, resumed %v", seed, name, n, resumes)
					if turns, err := transcript.Past(t.Context(), cut.store, "s"); err == nil {
						for _, turn := range turns {
							for _, m := range turn.Messages {
								require.NotNil(t, m)
							}
						}
					}
				}
			}
		})
	}
}

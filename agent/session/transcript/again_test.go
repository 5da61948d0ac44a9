// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// TestResponseIsAskedForAgain kills processes while they stream the same response. What one of them
// has shown of it is void when the next one asks the model again, in the history as in what is shown.
// Each attempt stays in view.
func TestResponseIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(session.Memory)
		_, err := store.Create(t.Context(), session.New{ID: "s"})
		require.NoError(t, err)
		open := func() (*transcript.Conversation, *session.Writer) {
			c, err := transcript.Follow(t.Context(), store, "s", transcript.Options{})
			require.NoError(t, err)
			w, err := session.Open(t.Context(), store, "s", session.Claim{Force: true})
			require.NoError(t, err)
			c.Hold(w)
			return c, w
		}
		stream := func(turn *transcript.Turn, text string) {
			turn.Observe(&agent.Event{Kind: agent.EventRequestStart, Step: 1})
			for n, kind := range []model.PartKind{model.PartThinking, model.PartText} {
				turn.Observe(&agent.Event{Kind: agent.EventPartDelta, Step: 1, Part: n, PartKind: kind, Text: text})
			}
			time.Sleep(time.Second) // it is written
		}
		texts := func(f *view.Fold) (all []string) {
			for e := range f.Snapshot().All() {
				all = append(all, fmt.Sprint(e.Kind, " ", e.Title, e.Text()))
			}
			return all
		}
		c, _ := open()
		turn, err := c.Begin(t.Context(), model.User("Go."))
		require.NoError(t, err)
		stream(turn, "one")
		want := []string{"message Go."}
		for _, text := range []string{"two", "three"} {
			c, _ = open()
			require.NoError(t, c.Attempt(t.Context()))
			turn, err = c.Resume(t.Context())
			require.NoError(t, err)
			notice := "before " + text
			c.Notice("info", notice)
			want = append(want, "notice "+notice)
			stream(turn, text)
			now := append(want[:len(want):len(want)], "thought "+text, "message "+text)
			require.Equal(t, now, texts(c.Fold()))
			read, err := transcript.Read(t.Context(), store, "s", transcript.Options{})
			require.NoError(t, err)
			require.Equal(t, now, texts(read.Fold()), "another process")
		}
		c, w := open()
		require.NoError(t, c.Settle(t.Context()))
		all := c.Messages()
		require.Equal(t, "three", all[len(all)-1].Text())
		require.NoError(t, w.Close(t.Context()))
	})
}

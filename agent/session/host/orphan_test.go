// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// Prompts that another process has left in the store begin after the turn that runs, also if that
// was stopped, here or elsewhere.
func TestPromptsOfOthersBeginAfterATurnThatWasStopped(t *testing.T) {
	for _, who := range []string{"here", "there", "nobody"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			g, store, here, there := pair(t)
			ended := runs(t, here, "one")
			require.Equal(t, "one", <-g.asked)
			for _, text := range []string{"two", "three"} {
				_, err := store.Put(context.Background(), here.ID(), session.Item{
					Kind: session.ItemPrompt, Data: []byte(`{"parts":[{"kind":"user","text":"` + text + `"}]}`),
				})
				require.NoError(t, err)
			}
			switch who {
			case "here":
				here.Cancel()
			case "there":
				there.Cancel()
			default:
				g.answer <- "done"
			}
			o := <-ended
			require.Equal(t, who != "nobody", o.Reason == transcript.Cancelled)
			for _, text := range []string{"two", "three"} {
				require.Equal(t, text, <-g.asked)
				g.answer <- "done"
			}
			eventually(t, "nothing waits", func() bool { return len(waitingTexts(t, there)) == 0 })
		})
	}
}

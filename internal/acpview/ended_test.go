// SPDX-License-Identifier: Apache-2.0

package acpview_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
)

// chunks takes the pieces of messages.
type chunks struct {
	acp.UnimplementedClient
	all []*acp.ContentChunk
}

func (c *chunks) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	chunk := *n.Update.AgentMessageChunk // it is used again
	text := *chunk.Content.Text
	chunk.Content.Text = &text
	c.all = append(c.all, &chunk)
	return nil
}

// TestLoadedAnswersSayThatTheyAreNotWhole shows half answers, with and without text, to clients that load the session. A client that is there is
// told by the answer to its prompt.
func TestLoadedAnswersSayThatTheyAreNotWhole(t *testing.T) {
	for _, status := range []view.Status{view.Stopped, view.CutOff, view.Failed, view.Interrupted, ""} {
		for _, text := range []string{"Half a", ""} {
			for _, loads := range []bool{true, false} {
				e := &view.Entity{ID: "message:r/1", Kind: view.Message, Role: view.Assistant, Status: status}
				if text != "" {
					e.Content = []view.Content{{Kind: view.Text, Text: text}}
				}
				var f view.Fold
				require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e}))
				c := new(chunks)
				require.NoError(t, acpview.New(c, "s", &f, nil, acpview.Options{Prompts: loads}).Show(t.Context()))
				var said []string
				var statuses []view.Status
				for _, chunk := range c.all {
					said, statuses = append(said, chunk.Content.Text.Text), append(statuses, acpview.StatusOf(chunk))
				}
				var want []string
				var marks []view.Status
				if text != "" {
					want, marks = append(want, text), append(marks, "")
				}
				if mark := status.Ending(); loads && mark != "" {
					mark = "*" + mark + "*"
					if text != "" {
						mark = "\n\n" + mark
					}
					want, marks = append(want, mark), append(marks, status)
				}
				require.Equal(t, want, said)
				require.Equal(t, marks, statuses)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/internal/acpview"
)

// busyDesk has a conversation, commands, settings, usage and a prompt that waits, scrolled up and unfolded.
func busyDesk(t *testing.T) *desk {
	d := newDesk(t, 60, 12)
	for range 30 {
		d.updates(acp.TextChunk("old\n\n"))
	}
	commands(d)
	modes(d, "plan")
	d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "u", Entity: &view.Entity{ID: "u", Kind: view.Usage, Usage: &view.Tokens{Used: 5}}}})
	d.updates(acpview.WaitingInfo([]acpview.Waiting{{ID: "a", Version: 1, Number: "10", Text: "make tea"}}))
	d.shown()
	d.read("\x0f")    // unfolded
	d.read("\x1b[5~") // a page up
	d.typed("/new")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.NewSession}}, d.done())
	d.typed("first\rsecond\r")
	require.Empty(t, d.done(), "they wait for the session")
	return d
}

// What belongs to a session goes with it. What the person has set stays, and prompts are sent that have waited.
func TestWhatStaysWhenAnotherSessionIsOpened(t *testing.T) {
	d := busyDesk(t)
	require.Contains(t, d.shown(), "next: first")
	d.Opened("A new conversation.", true)
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "first"}}, d.done())
	d.pass(6 * time.Second)
	shown := d.shown()
	require.Contains(t, shown, "A new conversation.")
	require.Contains(t, shown, "next: second")
	for _, gone := range []string{"old", "plan", "context: 5", "make tea", "next: first"} {
		require.NotContains(t, shown, gone)
	}
	d.typed("/on")
	require.NotContains(t, d.shown(), "/onetwo", "the commands were the other session's")
	d.read("\x15")
	for range 9 {
		d.Update(d.now, []view.Change{{Op: view.Upsert, ID: "t", Entity: &view.Entity{ID: "t", Kind: view.Thought, Content: []view.Content{{Kind: view.Text, Text: "one\ntwo\nthree"}}}}})
	}
	require.Contains(t, d.shown(), "one\ntwo\nthree\n", "it is still unfolded, and the end is shown")
}

// If another session cannot be opened, everything is as it was, and prompts go to the present one.
func TestWhatStaysWhenNoOtherSessionIsOpened(t *testing.T) {
	d := busyDesk(t)
	d.Opened("There is none.", false)
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "first"}}, d.done())
	d.pass(6 * time.Second)
	shown := d.shown()
	for _, stays := range []string{"old", "There is none.", "plan", "context: 5", "make tea", "next: second"} {
		require.Contains(t, shown, stays)
	}
	d.typed("/new")
	d.read("\r")
	require.Empty(t, d.done(), "a turn is about to begin")
}

// A command that needs no turn is carried out at once, and its answer is looked at.
func TestCommandsThatNeedNoTurnAreLookedAt(t *testing.T) {
	d := newDesk(t, 60, 12)
	for range 30 {
		d.updates(acp.TextChunk("old\n\n"))
	}
	commands(d)
	d.Begin(d.now)
	d.shown()
	d.read("\x1b[5~")
	d.typed("/once now")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.Command, Text: "/once now"}}, d.done())
	d.Told("It is *done*.")
	require.Contains(t, d.shown(), "/once now\nIt is done.\n")
	d.typed("/one")
	d.read("\r")
	require.Empty(t, d.done(), "it waits for the turn")
	require.Contains(t, d.shown(), "next: /one")
}

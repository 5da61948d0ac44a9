// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// TestTurnsLookAtWhatIsNew looks for the turns that an editor has not been shown in a session of many
// turns: only the last ones are looked at.
func TestTurnsLookAtWhatIsNew(t *testing.T) {
	var f view.Fold
	say := func(id string) {
		e := &view.Entity{ID: id, Kind: view.Message}
		require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: id, Entity: e}))
	}
	const turns = 10_000
	for n := range turns {
		say(transcript.PromptID(fmt.Sprint("turn", n)))
		say(fmt.Sprint("message:", n))
	}
	last := transcript.PromptID(fmt.Sprint("turn", turns-1))
	before := transcript.PromptID(fmt.Sprint("turn", turns-2))
	s := f.Snapshot()
	require.Equal(t, last, lastPrompt(s, ""))
	require.Equal(t, before, lastPrompt(s, last))
	require.Empty(t, lastPrompt(nil, ""))

	ids := func(r teller) (all []string) {
		for _, e := range r.since(s) {
			all = append(all, e.ID)
		}
		return all
	}
	message := fmt.Sprint("message:", turns-1)
	require.Equal(t, []string{last, message}, ids(teller{prompt: last, before: before}))
	require.Equal(t, []string{last, message}, ids(teller{prompt: "prompt:none", before: last}), "a command has no prompt")
	require.Len(t, ids(teller{prompt: "prompt:none"}), 2*turns)
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

func TestMarkdownSaysThatAnswersAreNotWhole(t *testing.T) {
	for _, s := range []view.Status{view.Stopped, view.CutOff, view.Failed, view.Interrupted} {
		var f view.Fold
		for _, e := range []*view.Entity{
			{ID: "a", Kind: view.Message, Role: view.Assistant, Status: s, Content: []view.Content{{Kind: view.Text, Text: "Half a"}}},
			{ID: "b", Kind: view.Message, Role: view.Assistant, Status: s},
		} {
			require.NoError(t, f.Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: e}))
		}
		require.Equal(t, "## Assistant\n\nHalf a\n\n*"+s.Ending()+"*\n\n## Assistant\n\n*"+s.Ending()+"*\n\n", host.Markdown(f.Snapshot()))
	}
}

// SPDX-License-Identifier: Apache-2.0

package program

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Instructions of a project are read from the disk: an editor is not asked for them with every prompt.
func TestPromptAsksEditorForNoInstructions(t *testing.T) {
	e := openIDE(t, map[string]string{"AGENTS.md": "Be brief.\n", ".git/HEAD": "ref\n", "sub/CLAUDE.md": "More.\n"}, nil)
	for range 2 {
		_, calls := e.say("help")
		require.Empty(t, calls)
	}
}

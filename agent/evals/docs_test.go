// SPDX-License-Identifier: Apache-2.0

package evals_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTutorialHasAsManyLinesAsThePeer counts the lines of the two programs of the tutorial.
func TestTutorialHasAsManyLinesAsThePeer(t *testing.T) {
	data, err := os.ReadFile("../../docs/evals-tutorial.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(data), "## The same twelve lines")
	require.True(t, ok)
	blocks := strings.Split(text, "```")
	require.Len(t, blocks, 5)
	lines := func(block string) int { return strings.Count(strings.TrimSpace(block), "\n") }
	require.Contains(t, blocks[1], "LLMJudge", "the first program is pydantic-evals")
	require.Equal(t, 12, lines(blocks[1]))
	require.LessOrEqual(t, lines(blocks[3]), lines(blocks[1]))
}

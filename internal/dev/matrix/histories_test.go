// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestAHistoryIsReadAsItWasWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "m.json")
	messages := []*model.Message{model.UserText("æ <&> \u2028"), said[0].Answer, said[3].Answer}
	require.NoError(t, writeHistory(file, messages))
	read, err := readHistory(file)
	require.NoError(t, err)
	require.Equal(t, messages, read)

	for content, problem := range map[string]string{
		"[\n]\n":                       "not the same", // written as an empty line
		"{":                            "m.json",
		`[{"kind":"request"}]`:         "not the same when it is read",
		`[{"kind":"request","x":"y"}]`: "m.json",
	} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		_, err := readHistory(file)
		require.ErrorContains(t, err, problem, content)
	}
	_, err = readHistory(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestHistoriesHoldWhatMayGetInTheWay makes sure that the histories do test something.
func TestHistoriesHoldWhatMayGetInTheWay(t *testing.T) {
	dir, err := directory()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "histories", "*.json"))
	require.NoError(t, err)
	found := map[string]int{}
	for _, file := range files {
		messages, err := readHistory(file)
		require.NoError(t, err)
		for _, m := range messages {
			for _, p := range m.Parts {
				found[string(p.Kind)]++
				if len(p.Signature) > 0 {
					found["signed "+string(p.Kind)]++
				}
			}
		}
	}
	for _, kind := range []string{"text", "thinking", "tool_call", "opaque", "media", "signed thinking", "signed tool_call"} {
		require.NotZero(t, found[kind], kind)
	}
}

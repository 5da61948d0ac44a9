// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// version2 returns the records of a run that version 2 wrote.
func version2(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata/v2", name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// TestJournalsOfVersion2AreRead cuts a journal of version 2 off after every record. What is recorded is not done again, and the
// result is the one that version 2 came to.
func TestJournalsOfVersion2AreRead(t *testing.T) {
	var want agent.Result[city]
	require.NoError(t, json.Unmarshal([]byte(version2(t, "scene_result.json")[0]), &want))
	records := version2(t, "scene.jsonl")
	for n := 1; n <= len(records); n++ {
		j := oldJournal(t, "scene", records[:n])
		inner, err := j.Open(t.Context(), "scene/4/sub")
		require.NoError(t, err)
		for _, r := range version2(t, "scene_inner.jsonl") {
			require.NoError(t, inner.Append(t.Context(), []byte(r)))
		}
		require.NoError(t, inner.Close())
		s := newScene(t, fill(records[:n]))
		res, err := s.run(t.Context(), j)
		require.NoError(t, err, n)
		done := names(t, records[:n])
		for _, name := range s.executed {
			require.NotContains(t, done, name, n)
			require.NotContains(t, name, "inner/", n)
		}
		require.Equal(t, want.Output, res.Output, n)
		require.Equal(t, want.Usage, res.Usage, n)
		for _, m := range res.Messages {
			m.Step = 0 // which messages of that version do not have
		}
		require.Equal(t, replaceInvalid(show(t, want.Messages)), replaceInvalid(show(t, res.Messages)), n)
	}
}

func TestResumedJournalsOfVersion2AreRead(t *testing.T) {
	var history []*model.Message
	require.NoError(t, json.Unmarshal([]byte(version2(t, "pending.json")[0]), &history))
	results := agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "3": toolset.Deny("keep it")}, Results: map[string]toolset.Result{"4": {Text: "by hand"}}}
	resumed := func(j journal.Journal) (*agent.Result[string], error) {
		var o old
		return newAgent(t, o.config(false), modeltest.Script()).Run(t.Context(), none{}, "", agent.WithJournal(j), agent.WithRunID("resumed"), agent.WithHistory(history), agent.WithResults(results))
	}
	j := oldJournal(t, "resumed", version2(t, "resumed.jsonl"))
	res, err := resumed(j)
	require.NoError(t, err)
	require.Equal(t, "done", res.Output)
	results.Results["4"] = toolset.Result{Text: "by somebody else"}
	_, err = resumed(j)
	require.ErrorIs(t, err, journal.ErrMismatch)
}

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
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

// old is the agent that wrote the journals in testdata/v1, when calls that need approval still ran after all others.
type old struct {
	edited []string
	tested int
	asked  []string
}

func (o *old) config(asks bool) config {
	type file struct {
		Path string `json:"path"`
	}
	edit := toolset.Plain[none]("edit", "", func(_ context.Context, f file) (string, error) {
		o.edited = append(o.edited, f.Path)
		return "edited " + f.Path, nil
	})
	tests := toolset.Plain[none]("tests", "", func(context.Context, struct{}) (string, error) { o.tested++; return "pass", nil })
	c := config{Name: "old", Toolsets: []toolset.Toolset[none]{toolset.Approved(toolset.Of(edit), func(context.Context, *runContext, *toolset.Tool[none], any) (*toolset.Approval, error) {
		return &toolset.Approval{Reason: "edit"}, nil
	}), toolset.Of(tests)}}
	if asks {
		c.Asker = toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
			o.asked = append(o.asked, r.CallID())
			switch r.CallID() {
			case "3":
				return toolset.Deny("keep it"), nil
			case "4":
				return toolset.AllowWith(json.RawMessage(`{"path": "d"}`)), nil
			}
			return toolset.Allow(), nil
		}}
	}
	return c
}

func oldRecords(t *testing.T, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata/v1", name))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func oldJournal(t *testing.T, run string, records []string) *journal.Memory {
	var j journal.Memory
	l, err := j.Open(t.Context(), run)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, l.Append(t.Context(), []byte(r)))
	}
	require.NoError(t, l.Close())
	return &j
}

// TestJournalsOfVersion1AreRead cuts a journal of version 1 off behind every record: what is recorded is not done again.
func TestJournalsOfVersion1AreRead(t *testing.T) {
	records := oldRecords(t, "inline.jsonl")
	for n := 2; n <= len(records); n++ {
		var o old
		kept := strings.Join(records[:n], "\n")
		j := oldJournal(t, "inline", records[:n])
		res, err := newAgent(t, o.config(true), modeltest.Script(modeltest.SayText("done"))).Run(t.Context(), none{}, "go", agent.WithJournal(j), agent.WithRunID("inline"))
		require.NoError(t, err, n)
		parts := res.Messages[2].Parts
		require.Len(t, parts, 4)
		require.Equal(t, "edited a", parts[0].Text)
		require.Equal(t, "pass", parts[1].Text)
		require.Equal(t, "keep it", parts[2].Text)
		require.Equal(t, "The arguments of this call were changed before it ran, to: {\"path\": \"d\"}\n\nedited d", parts[3].Text)
		for _, id := range o.asked {
			require.NotContains(t, kept, `{"op":"approve","step":1,"call":"`+id+`"`, n)
		}
		done := strings.Count(kept, `"op":"tool"`)
		require.Equal(t, 3-done, len(o.edited)+o.tested, n)
		_, err = newAgent(t, o.config(true), modeltest.Script()).Run(t.Context(), none{}, "go", agent.WithJournal(j), agent.WithRunID("inline"))
		require.NoError(t, err, "the journal goes on in the new version")
	}
}

func TestPendingJournalsOfVersion1AreRead(t *testing.T) {
	var history []*model.Message
	data, err := os.ReadFile("testdata/v1/pending.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &history))

	var o old
	j := oldJournal(t, "pending", oldRecords(t, "pending.jsonl"))
	_, err = newAgent(t, o.config(false), modeltest.Script()).Run(t.Context(), none{}, "go", agent.WithJournal(j), agent.WithRunID("pending"))
	var pending *agent.PendingError
	require.ErrorAs(t, err, &pending)
	require.Len(t, pending.Calls, 3)
	require.Zero(t, o.tested, "it ran before the approvals then, and does not run again")
	var failed *agent.RunError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "pass", failed.Messages[2].Parts[0].Text)

	results := agent.DeferredResults{Decisions: map[string]toolset.Decision{"1": toolset.Allow(), "3": toolset.Deny("keep it")}, Results: map[string]toolset.Result{"4": {Text: "by hand"}}}
	for _, j := range []*journal.Memory{oldJournal(t, "resumed", oldRecords(t, "resumed.jsonl")), new(journal.Memory)} {
		o = old{}
		res, err := newAgent(t, o.config(false), modeltest.Script(modeltest.SayText("done"))).Run(t.Context(), none{}, "", agent.WithJournal(j), agent.WithRunID("resumed"), agent.WithHistory(history), agent.WithResults(results))
		require.NoError(t, err)
		require.Zero(t, o.tested)
		var texts []string
		for _, p := range res.Messages[2].Parts {
			texts = append(texts, p.Text)
		}
		require.Equal(t, []string{"edited a", "pass", "keep it", "by hand"}, texts)
	}
}

// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// A run may be given any history, so its id must not be that of a run which is in it: nobody could tell their messages apart.
func TestRunIDOfTheHistoryIsRefused(t *testing.T) {
	first := func() []*model.Message {
		res, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("one"))}).Run(t.Context(), deps{}, "1", agent.WithRunID("r"))
		require.NoError(t, err)
		return res.Messages
	}()
	var pending []*model.Message
	_, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("c", "x")))}, watched("x")).Run(t.Context(), deps{}, "1", agent.WithRunID("r"))
	pending = asRunError(t, err).Messages
	long, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("two"))}).Run(t.Context(), deps{}, "2", agent.WithHistory(first))
	require.NoError(t, err)
	yes := agent.DeferredResults{}
	yes.Decide("c", toolset.Allow())
	for name, c := range map[string]struct {
		prompt  string
		history []*model.Message
		more    []agent.RunOption
	}{
		"prompt":           {"2", first, nil},
		"resume":           {"", first, []agent.RunOption{agent.WithResume()}},
		"not the last run": {"3", long.Messages, nil},
		"unfinished":       {"", first[:1], nil},
		"answers":          {"", pending, []agent.RunOption{agent.WithResults(yes)}},
		"instead":          {"2", pending, nil},
	} {
		for on, option := range map[string]agent.RunOption{"native": agent.WithRunID("r"), "journal": agent.WithJournal(new(journal.Memory)), "engine": onJSON(nil)} {
			t.Run(name+" "+on, func(t *testing.T) {
				script := modeltest.Script(modeltest.SayText("no"))
				a := newAgent(t, cfg{Model: script}, watched("x"))
				opts := append([]agent.RunOption{agent.WithRunID("r"), agent.WithHistory(c.history), option}, c.more...)
				_, err := a.Run(context.Background(), deps{}, c.prompt, opts...)
				require.ErrorIs(t, err, agent.ErrRunID)
				require.ErrorContains(t, err, `"r"`)
				_, err = a.Stream(context.Background(), deps{}, c.prompt, opts...).Result()
				require.ErrorIs(t, err, agent.ErrRunID)
				require.Empty(t, script.Requests())
				require.Len(t, asRunError(t, err).Messages, len(c.history), "nothing was added")
				require.Empty(t, asRunError(t, err).NewMessages())
			})
		}
	}
}

func TestJournaledRunResumesUnderItsOwnID(t *testing.T) {
	res, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("one"))}).Run(t.Context(), deps{}, "1", agent.WithRunID("r1"))
	require.NoError(t, err)
	var runs journal.Memory
	opts := []agent.RunOption{agent.WithRunID("r2"), agent.WithHistory(res.Messages), agent.WithJournal(&runs)}
	_, err = newAgent(t, cfg{Model: modeltest.Script(modeltest.Say(call("c", "x")))}, says("x", "y")).Run(t.Context(), deps{}, "2", opts...)
	require.Error(t, err, "the script is at its end")
	again, err := newAgent(t, cfg{Model: modeltest.Script(modeltest.SayText("done"))}, says("x", "y")).Run(t.Context(), deps{}, "2", opts...)
	require.NoError(t, err)
	require.Len(t, again.NewMessages(), 4)
}

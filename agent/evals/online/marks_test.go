// SPDX-License-Identifier: Apache-2.0

package online_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/evals/online"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

func TestPeopleMarkAnswersWithCommands(t *testing.T) {
	store := new(session.Memory)
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(modeltest.SayText("one"), modeltest.SayText("two"))}))
	of := func(context.Context) (session.Store, error) { return store, nil }
	h, err := host.New(host.Config[none, string]{Agent: a, Store: store, Commands: online.Commands(of, nil)})
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close(t.Context())) }()
	s, err := h.Create(t.Context(), session.New{ID: "s1"}, nil)
	require.NoError(t, err)
	say := func(text string) string {
		_, err := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User(text)}})
		require.NoError(t, err)
		shown, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		last := ""
		for e := range shown.All() {
			if e.Kind == view.Notice || e.Kind == view.Message {
				last = e.Title + e.Text()
			}
		}
		return last
	}
	require.Contains(t, say("/good"), "There is no answer to mark yet.")
	say("hello")
	require.Contains(t, say("/good so nice"), "The last answer is marked as good.")
	say("hello again")
	say("/good")
	require.Contains(t, say("/bad it lied"), "The last answer is marked as bad.")
	all, err := online.Scores(t.Context(), store, "s1")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.NotEqual(t, all[0].Turn, all[1].Turn)
	require.True(t, all[0].Score.Passed())
	require.Equal(t, "so nice", all[0].Score.Reason)
	require.False(t, all[1].Score.Passed())
	require.Equal(t, "it lied", all[1].Score.Reason)
	require.Equal(t, "user", all[1].By)
}

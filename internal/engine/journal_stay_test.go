// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// TestTurnsOfAStayAreReplayed: the agent that a conversation stays with answers several messages in one run, in which the outer agent's
// model is not asked.
func TestTurnsOfAStayAreReplayed(t *testing.T) {
	var inbox *agent.Inbox
	answers := 0
	helper := newAgent(t, config{Name: "helper"}, model.Func(model.Info{}, func(context.Context, *model.Request, model.Sink) (*model.Message, error) {
		if answers++; inbox != nil && answers < 6 {
			inbox.SendAtEnd(model.User(fmt.Sprint("and ", answers)))
		}
		return model.Response(model.Text(fmt.Sprint("answer ", answers))), nil
	}))
	outer := newAgent(t, config{Alternatives: []agent.Alternative[none, string]{
		agent.HandOver[none, none, string]("help", "", helper, func(n none) none { return n }, agent.Stay()),
	}}, modeltest.Script(modeltest.Say(model.ToolCall("h", "help", `{"prompt":"go"}`))))
	res, err := outer.Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, "answer 1", res.Output)

	inbox = new(agent.Inbox)
	var j journal.Memory
	opts := func() []agent.RunOption {
		return []agent.RunOption{agent.WithJournal(&j), agent.WithRunID("r"), agent.WithHistory(res.Messages), agent.WithInbox(inbox)}
	}
	live, err := outer.Run(t.Context(), none{}, "more", opts()...)
	require.NoError(t, err)
	require.Equal(t, "answer 6", live.Output)
	replayed, err := outer.Run(t.Context(), none{}, "more", opts()...)
	require.NoError(t, err)
	require.Equal(t, show(t, live.Messages), show(t, replayed.Messages))
	require.Equal(t, live.Usage, replayed.Usage)
	require.Equal(t, 6, answers)
}

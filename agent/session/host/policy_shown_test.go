// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// A call that a policy has allowed says so while it waits for a call inside it, in every process.
func TestCallThatWaitsInsideShowsWhoAllowedIt(t *testing.T) {
	calls := 0
	make := func() *agent.Agent[none, string] {
		pay := toolset.Func("pay", "", func(context.Context, *toolset.RunContext[none], order) (string, error) { return "paid", nil },
			toolset.Approve(func(context.Context, *toolset.RunContext[none], order) (*toolset.Approval, error) {
				return &toolset.Approval{Title: "Pay"}, nil
			}))
		inner := newAgent(model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			if len(req.Messages) == 1 {
				return model.Response(model.ToolCall("in", "pay", `{"n":1}`)), nil
			}
			return model.Response(model.Text("inner")), nil
		}), pay)
		ask := agent.AsTool("ask", "", inner, func(none) none { return none{} })
		ask.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Ask"}, nil
		}
		return newAgent(model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
				return model.Response(model.Text("done")), nil
			}
			calls++
			return model.Response(model.ToolCall(fmt.Sprint("c", calls), "ask", `{"prompt":"x"}`)), nil
		}), ask)
	}
	store := new(session.Memory)
	open := func() *host.Host {
		return newHost(t, host.Config[none, string]{Agent: make(), Store: store, Logger: slog.New(slog.DiscardHandler)})
	}
	s := create(t, open())
	same := func() string {
		t.Helper()
		other, err := open().Open(t.Context(), s.ID(), nil)
		require.NoError(t, err)
		require.Equal(t, shown(t, s), shown(t, other))
		return shown(t, s)
	}
	prompt(t, s, "one")
	for _, choice := range []string{host.AllowAlways, host.AllowOnce} {
		open, err := questions(s)
		require.NoError(t, err)
		require.Len(t, open, 1)
		turn, err := s.Answer(t.Context(), open[0].ID, "", host.Answer{Digest: open[0].Digest, Choice: choice})
		require.NoError(t, err)
		turn.Resume(host.Prompt{})
		require.NotContains(t, same(), "Allowed by")
	}
	prompt(t, s, "two")
	require.Contains(t, same(), "Allowed by: policy")
	prompt(t, s, "three") // in the place of an answer
	require.Contains(t, same(), "Allowed by: policy")
}

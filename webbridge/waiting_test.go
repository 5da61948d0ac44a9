// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// TestWaitingAgentIsShownAsWaiting has an agent inside a call wait twice for the user, while no run goes on.
func TestWaitingAgentIsShownAsWaiting(t *testing.T) {
	paid := make(chan string, 2)
	clerk := agent.Must(agent.New(agent.Config[none, string]{Name: "clerk", Model: paying(), Tools: []*toolset.Tool[none]{pay(paid)}}))
	s := serve(t, options{Options: webbridge.Options{Patience: -1},
		model: modeltest.Script(modeltest.Say(model.ToolCall("1", "ask", `{"prompt":"Pay."}`)), modeltest.SayText("well")),
		tools: []*toolset.Tool[none]{agent.AsTool("ask", "Ask.", clerk, func(none) none { return none{} })}})
	path := s.create()
	s.do("POST", path+"/prompts", say("pay"), 202)
	f := s.follow(path, "")
	for _, to := range []string{"Ada", "Bob"} {
		f.until(func() bool {
			q := f.question()
			if q == nil || q.Title != "Pay "+to || f.running {
				return false
			}
			return f.fold.Get(f.fold.Get(q.Parent).Parent).Status == view.Pending // a moment later
		})
		q := f.question()
		call := f.fold.Get(q.Parent)
		inside := f.fold.Get(call.Parent)
		require.Equal(t, "pay", call.Name, "the question is shown with the call that waits")
		require.Equal(t, "clerk", inside.Name)
		require.Equal(t, []view.Status{view.Pending, view.Pending, view.Running}, []view.Status{call.Status, inside.Status, f.fold.Get(inside.Parent).Status})
		s.do("POST", path+"/questions/"+url.PathEscape(q.ID), answering(q, object{"choice": host.AllowOnce}), 204)
		require.Equal(t, to, <-paid)
	}
	f.until(f.has("well"))
	agents := 0
	for e := range f.fold.Snapshot().Of(view.SubAgent) {
		agents++
		require.Equal(t, view.Completed, e.Status)
	}
	require.Equal(t, 1, agents, "the agent goes on as itself")
}

// TestQuestionsAreAnsweredByIDsWithSlashes sends the ids of questions as they are, and as browsers escape them.
func TestQuestionsAreAnsweredByIDsWithSlashes(t *testing.T) {
	for _, escaped := range []func(string) string{url.PathEscape, func(id string) string { return id }} {
		paid := make(chan string, 1)
		s := serve(t, options{Options: webbridge.Options{Patience: -1}, tools: []*toolset.Tool[none]{pay(paid)}, model: paying()})
		path := s.create()
		s.do("POST", path+"/prompts", say("pay"), 202)
		f := s.follow(path, "")
		f.until(func() bool { return f.question() != nil && !f.running })
		q := f.question()
		require.Contains(t, q.ID, "/")
		s.do("POST", path+"/questions/"+escaped(q.ID), answering(q, object{"choice": host.AllowOnce}), 204)
		<-paid
	}
}

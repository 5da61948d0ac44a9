// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// TestResumedTurnsShowTheNoticesOfBothProcesses has a turn that emits a notice end with the process, and
// another process, which resumes it, emit one more.
func TestResumedTurnsShowTheNoticesOfBothProcesses(t *testing.T) {
	ctx := t.Context()
	tell := toolset.Func("tell", "Tell.", func(_ context.Context, run *toolset.RunContext[none], in place) (none, error) {
		run.Emit(view.Entity{Kind: view.Notice, Title: in.City})
		return none{}, nil
	})
	newAgent := func(steps ...modeltest.Step) *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(steps...), Tools: []*toolset.Tool[none]{tell}}))
	}
	m := new(session.Memory)
	_, err := m.Create(ctx, session.New{ID: "s"})
	require.NoError(t, err)
	store := mortalStore(m, 1<<30)
	c, _ := open(t, store)
	now, err := c.Begin(ctx, model.User("Go."))
	require.NoError(t, err)
	s := newAgent(modeltest.Say(model.ToolCall("a", "tell", `{"city":"Oslo"}`)), modeltest.Fail(context.Canceled)).Stream(ctx, none{}, "Go.", now.Options()...)
	for ev := range s.Events() {
		now.Observe(&ev)
	}
	_, err = s.Result()
	require.Error(t, err)
	store.left.Store(0) // the process ends

	c, w := open(t, m)
	now, err = c.Resume(ctx)
	require.NoError(t, err)
	s = newAgent(modeltest.Say(model.ToolCall("b", "tell", `{"city":"Bergen"}`)), modeltest.SayText("done")).Stream(ctx, none{}, "Go.", now.Options()...)
	for ev := range s.Events() {
		now.Observe(&ev)
	}
	res, err := s.Result()
	require.NoError(t, err)
	require.NoError(t, transcript.End(ctx, now, res, err))
	var titles []string
	for e := range c.Fold().Snapshot().Of(view.Notice) {
		titles = append(titles, e.ID+" "+e.Title)
	}
	require.Len(t, titles, 2, "%v", titles)
	require.NoError(t, w.Close(ctx))
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// TestQuestionOfADeadProcessIsOverEverywhere cuts a turn off whose tool asks a question. The call may
// have run, so a person is asked about it. Nobody waits for the answer to the first question: it is
// over in each process, whether it was there or reads the session later.
func TestQuestionOfADeadProcessIsOverEverywhere(t *testing.T) {
	memory := new(session.Memory)
	process := func(name string) *host.Host {
		ask := func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			schema := json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
			r, err := run.Ask(ctx, toolset.Question{Message: "Whom?", Schema: schema})
			return string(r.Action), err
		}
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) > 1 {
				return model.Response(model.Text("done")), nil
			}
			return model.Response(model.ToolCall("c", "ask", "{}")), nil
		})
		h := newHost(t, host.Config[none, string]{
			Agent: newAgent(m, toolset.Func("ask", "", ask)), Store: shared{memory}, Holder: name,
		})
		h.WillServe()
		return h
	}
	first := create(t, process("first"))
	p := say("Go.")
	p.Wait = true
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = first.Prompt(t.Context(), p)
	}()
	asks := func(s *host.Session) func() bool {
		return func() bool { all, err := questions(s); return err == nil && len(all) == 1 }
	}
	eventually(t, "it asks", asks(first))
	follows, err := process("follows").Open(t.Context(), first.ID(), nil)
	require.NoError(t, err)
	eventually(t, "it is shown elsewhere", asks(follows))

	_, err = memory.Put(t.Context(), first.ID(), session.Item{Kind: session.ItemContinue})
	require.NoError(t, err)
	second := process("second")
	here := takeOver(t, memory, second, first.ID()) // as if the first one were dead
	stop := serve(t, second)
	defer stop()
	again := "question:" + first.Turn().ID() + "/pending/c"
	eventually(t, "a person is asked whether to run it again", func() bool {
		all, err := questions(here)
		return err == nil && len(all) == 1 && all[0].ID == again
	})
	late, err := process("late").Open(t.Context(), first.ID(), nil)
	require.NoError(t, err)
	for _, s := range []*host.Session{follows, late} {
		eventually(t, "no other question is open", func() bool {
			all, err := questions(s)
			return err == nil && len(all) == 1 && all[0].ID == again
		})
		same(t, here, s)
	}
	e, err := questions(late)
	require.NoError(t, err)
	require.Equal(t, view.Pending, e[0].Status)
	first.Cancel()
	<-ended
}

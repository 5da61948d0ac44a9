// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

// A question that is open when its turn moves is asked again, on the same surface.
func TestRunnersAskAgainWhenATurnMoves(t *testing.T) {
	act := toolset.Func("act", "Act.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		return "acted", nil
	}, toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Act?"}, nil
	}))
	a := newAway(t, modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
			return model.Response(model.Text("done")), nil
		}
		return model.Response(model.ToolCall("c", "act", `{}`)), nil
	}), act)
	a.serve(t)
	s := create(t, a.surface)
	ended := make(chan *host.Outcome, 1)
	go func() {
		o, _ := s.Prompt(t.Context(), host.Prompt{Parts: []model.Part{model.User("go")}})
		ended <- o
	}()
	var q *view.Entity
	open := func() bool {
		all, err := questions(s)
		if q = nil; err == nil && len(all) == 1 {
			q = all[0]
		}
		return q != nil
	}
	for n := range 2 {
		eventually(t, "it asks", open)
		time.Sleep(20 * time.Millisecond) // until it is recorded
		a.runner.move <- struct{}{}
		eventually(t, "nobody holds it", func() bool {
			info, err := a.store.Get(t.Context(), s.ID())
			return err == nil && info.Holder == ""
		})
		require.NoError(t, a.runner.Wake(t.Context(), s.ID()))
		eventually(t, "it goes on", func() bool {
			info, err := a.store.Get(t.Context(), s.ID())
			return err == nil && info.Holder != ""
		})
		attempt := fmt.Sprintf("attempt %d of 3", n+1)
		eventually(t, "the surface shows what is said of the turn that continues", func() bool { return strings.Contains(shown(t, s), attempt) })
	}
	eventually(t, "it asks again", open)
	require.NoError(t, s.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce}))
	require.Equal(t, transcript.Done, (<-ended).Reason)
}

// The runner stops while a turn runs that goes on with the answer to a pending run: the turn is
// stopped, and the runner is told how it has ended.
func TestResumedTurnsEndWithTheirRunner(t *testing.T) {
	store, r := new(session.Memory), &stepRunner{turns: make(chan host.Turns)}
	var paid []string
	resumed := make(chan struct{})
	m := modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Messages) == 1 {
			return model.Response(payTo("a", "Ada")), nil
		}
		close(resumed)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	here, err := host.New(host.Config[none, string]{Agent: newAgent(m, pay(&paid)), Store: shared{store}})
	require.NoError(t, err)
	s := create(t, here)
	require.Equal(t, transcript.Pending, prompt(t, s, "Pay.").Reason)
	q := asked(t, s, 1)[0]
	require.NoError(t, here.Close(t.Context()))
	defer serve(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(m, pay(&paid)), Store: shared{store}, Runner: r,
	}))()
	_, err = store.Put(t.Context(), s.ID(), session.Item{
		Kind: session.ItemAnswer, Digest: q.Digest,
		Data: []byte(`{"question":"` + q.ID + `","choice":"allow_once"}`),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-resumed
		cancel(errFire)
	}()
	o, err := (<-r.turns).Advance(ctx, s.ID())
	require.NoError(t, err)
	require.Equal(t, transcript.Cancelled, o.Reason)
	require.Equal(t, []string{"Ada"}, paid)
}

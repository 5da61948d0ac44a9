// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// asking is a store that tells when a process asks whether it still has the session.
type asking struct {
	shared
	asked chan struct{}
}

func (a asking) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	last, err := a.shared.Append(ctx, l, head, b)
	if len(b.Entries)+len(b.Consumed) == 0 {
		select {
		case a.asked <- struct{}{}:
		default:
		}
	}
	return last, err
}

// TestAnswerThatWaitsGoesToTheProcessThatTakesTheSession answers a question in a process that has
// taken a turn up and has not asked again yet. Then another one takes the session, and asks.
func TestAnswerThatWaitsGoesToTheProcessThatTakesTheSession(t *testing.T) {
	memory := new(session.Memory)
	var acts atomic.Int32
	process := func(store session.Store, name string, layers func(none) []approval.Layer) *host.Host {
		act := func(context.Context, *toolset.RunContext[none], none) (string, error) {
			acts.Add(1)
			return "acted", nil
		}
		ask := func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{Title: "Act"}, nil
		}
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if len(req.Messages) > 1 {
				return model.Response(model.Text("done")), nil
			}
			return model.Response(model.ToolCall("c", "act", "{}")), nil
		})
		tool := toolset.Func("act", "", act, toolset.Idempotent(), toolset.Approve(ask))
		h := newHost(t, host.Config[none, string]{Agent: newAgent(m, tool), Store: store, Holder: name, Layers: layers})
		h.WillServe()
		return h
	}
	first := create(t, process(shared{memory}, "first", nil))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p := say("Go.")
		p.Wait = true
		_, _ = first.Prompt(t.Context(), p)
	}()
	one := func(s *host.Session) func() bool {
		return func() bool { all, err := questions(s); return err == nil && len(all) == 1 }
	}
	eventually(t, "it asks", one(first))
	all, err := questions(first)
	require.NoError(t, err)
	q := all[0]
	take := func(h *host.Host) *host.Session { // as when the store takes the process that has it for dead
		_, err := memory.Put(t.Context(), first.ID(), session.Item{Kind: session.ItemContinue})
		require.NoError(t, err)
		s := takeOver(t, memory, h, first.ID())
		t.Cleanup(serve(t, h))
		return s
	}

	begins, goes := make(chan struct{}, 10), make(chan struct{})
	store := asking{shared{memory}, make(chan struct{})}
	here := take(process(store, "second", func(none) []approval.Layer { // before it asks again
		begins <- struct{}{}
		<-goes
		return nil
	}))
	<-begins
	answered := make(chan error, 1)
	go func() {
		answered <- here.Decide(t.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: host.AllowOnce})
	}()
	<-store.asked // it has the session

	there := take(process(shared{memory}, "third", nil))
	eventually(t, "it asks there", func() bool {
		return there.Turn() != nil && there.CheckAnswer(q.ID, host.Answer{Digest: q.Digest, Choice: host.AllowOnce}) == nil
	})
	err = here.Decide(t.Context(), q.ID, "", host.Answer{Digest: "other", Choice: host.AllowOnce})
	require.ErrorIs(t, err, host.ErrChanged, "which finds out that the session is somebody else's")
	require.NoError(t, <-answered)
	eventually(t, "the turn ends there", func() bool { return strings.Contains(shown(t, there), `"done"`) })
	require.Equal(t, int32(1), acts.Load())
	close(goes)
	first.Cancel()
	<-ended
}

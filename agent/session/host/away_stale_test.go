// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// dyingStore is the store of a process that writes nothing more when it is dead.
type dyingStore struct {
	shared
	dead atomic.Bool
}

// Append implements [session.Store].
func (d *dyingStore) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if d.dead.Load() {
		return 0, errors.New("the process was killed")
	}
	return d.shared.Append(ctx, l, head, b)
}

// TestRunnersDoNotWaitForQuestionsThatAreOver: an answer to a question of a turn that was cut off
// does not hold up the answer to the question that took its place. Processes that are killed every
// few seconds would never come to that one.
func TestRunnersDoNotWaitForQuestionsThatAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
			if asked++; asked > 1 {
				return "asked", nil
			}
			_, err := run.Ask(ctx, toolset.Question{Message: "Whom?", Schema: []byte(`{"type":"object","properties":{}}`)})
			return "", err
		})
		m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			if last := req.Messages[len(req.Messages)-1]; last.Parts[0].Kind == model.PartToolReturn {
				return model.Response(model.Text("done")), nil
			}
			return model.Response(model.ToolCall("c", "ask", `{}`)), nil
		})
		store := new(session.Memory)
		info, err := store.Create(t.Context(), session.New{})
		require.NoError(t, err)
		put := func(kind session.ItemKind, digest, data string) {
			_, err := store.Put(t.Context(), info.ID, session.Item{Kind: kind, Digest: digest, Time: time.Now(), Data: []byte(data)})
			require.NoError(t, err)
		}
		// process advances the session in a process of its own.
		process := func(ctx context.Context, store session.Store) (*host.Outcome, error) {
			r := &stepRunner{turns: make(chan host.Turns)}
			h := newHost(t, host.Config[none, string]{Agent: newAgent(m, ask), Store: store, Runner: r})
			serving, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- h.Serve(serving) }()
			o, err := (<-r.turns).Advance(ctx, info.ID)
			synctest.Wait()
			cancel()
			<-served
			require.NoError(t, h.Close(t.Context()))
			return o, err
		}
		question := func() *view.Entity {
			h := newHost(t, host.Config[none, string]{Agent: newAgent(m, ask), Store: shared{store}, Runner: &stepRunner{}})
			s, err := h.Open(t.Context(), info.ID, nil)
			require.NoError(t, err)
			all, err := questions(s)
			require.NoError(t, err)
			require.NoError(t, h.Close(t.Context()))
			return all[len(all)-1]
		}

		put(session.ItemPrompt, "", `{"parts":[{"kind":"user","text":"go"}]}`)
		dying := &dyingStore{shared: shared{store}}
		moved, move := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := process(moved, dying)
			ended <- err
		}()
		time.Sleep(time.Second)
		first := question()
		dying.dead.Store(true)
		move(host.ErrMoved)
		<-ended
		o, err := process(t.Context(), shared{store})
		require.NoError(t, err)
		require.Equal(t, transcript.Interrupted, o.Reason)
		second := question()
		require.NotEqual(t, first.ID, second.ID, "whether the call is made again")

		time.Sleep(time.Minute)
		put(session.ItemAnswer, first.Digest, fmt.Sprintf(`{"question":%q,"reply":{"action":"accept"}}`, first.ID))
		put(session.ItemAnswer, second.Digest, fmt.Sprintf(`{"question":%q,"choice":"allow_once"}`, second.ID))
		began := time.Now()
		o, err = process(t.Context(), shared{store})
		if !errors.Is(err, host.ErrIdle) { // the session has heard of the answers by itself
			require.NoError(t, err)
			require.Equal(t, transcript.Done, o.Reason)
		}
		require.Equal(t, 2, asked)
		require.Less(t, time.Since(began), time.Second)
	})
}

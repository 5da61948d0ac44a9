// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// flipped is a store one of whose entries is damaged, in all sessions that have it.
type flipped struct {
	session.Store
	seq int64
}

func (f flipped) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for e, err := range f.Store.Load(ctx, id, after) {
			if e.Seq == f.seq {
				e, err = session.Entry{Seq: e.Seq}, &session.Error{Op: "load", Session: id, Seq: e.Seq, Err: session.ErrCorrupt}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// paired fails the test if a history has a call without a result, or a result without a call.
func paired(t *testing.T, messages []*model.Message) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case model.PartToolCall:
				open[p.CallID] = true
			case model.PartToolReturn:
				require.True(t, open[p.CallID], "a result of no call")
				delete(open, p.CallID)
			}
		}
	}
	require.Empty(t, open, "calls without results")
}

// conversationWithTools makes a session of three turns with tool calls. It returns what was shown after each turn, and the prompts' ids.
func conversationWithTools(t *testing.T, store session.Store) (id string, after, prompts []string) {
	t.Helper()
	var steps []modeltest.Step
	for range 3 {
		steps = append(steps, modeltest.Say(model.ToolCall("c", "look", `{}`)), modeltest.SayText("Done."))
	}
	look := toolset.Func("look", "Look.", func(context.Context, *toolset.RunContext[none], struct{}) (string, error) { return "a river", nil })
	h := newHost(t, host.Config[none, string]{Agent: newAgent(modeltest.Script(steps...), look), Store: store})
	s := create(t, h)
	for _, text := range []string{"one", "two", "three"} {
		o := prompt(t, s, text)
		require.NoError(t, o.Err)
		after, prompts = append(after, shown(t, s)), append(prompts, transcript.PromptID(o.Turn))
	}
	require.NoError(t, s.Close(t.Context()))
	var allowed approval.Policy
	allowed.RememberApproval("look", &toolset.Approval{}, toolset.VerdictAllow)
	data, err := json.Marshal(&allowed)
	require.NoError(t, err)
	_, err = store.Update(t.Context(), s.ID(), session.Change{Values: map[string]json.RawMessage{"approvals": data}})
	require.NoError(t, err)
	return s.ID(), after, prompts
}

// TestDamagedSessionsAreSalvaged damages each entry of a conversation in turn.
func TestDamagedSessionsAreSalvaged(t *testing.T) {
	store := durable{new(session.Memory)}
	id, after, _ := conversationWithTools(t, store)
	info, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	_, err = host.Salvage(t.Context(), store, id, session.New{})
	require.ErrorIs(t, err, session.ErrInvalid, "it is not damaged")
	kept := map[int]int{}
	for e := range store.Load(t.Context(), id, 0) {
		broken := flipped{store, e.Seq}
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: broken})
		_, err := h.Open(t.Context(), id, nil)
		var damage *session.Error
		require.ErrorIs(t, err, session.ErrCorrupt)
		require.ErrorAs(t, err, &damage)
		require.Equal(t, e.Seq, damage.Seq)
		require.Less(t, damage.Good, e.Seq)

		made, err := host.Salvage(t.Context(), broken, id, session.New{})
		require.NoError(t, err)
		require.Equal(t, damage.Good, made.Head)
		require.Nil(t, made.Values["approvals"], "what was allowed is asked about again")
		history, err := transcript.Read(t.Context(), broken, made.ID, transcript.Options{})
		require.NoError(t, err)
		require.Empty(t, history.Interrupted(), "whole turns only")
		paired(t, history.Messages())
		turns := len(history.Messages()) / 4
		kept[turns]++
		s, err := h.Open(t.Context(), made.ID, nil)
		require.NoError(t, err)
		want := ""
		if turns > 0 {
			want = after[turns-1]
		}
		require.Equal(t, want, shown(t, s))
		require.NoError(t, prompt(t, s, "Go on.").Err)
		require.NoError(t, s.Close(t.Context()))
		again, err := store.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, info.Head, again.Head, "the damaged session stays as it is")
	}
	require.Len(t, kept, 3, "nothing, one turn and two turns: %v", kept)
}

func TestSalvageIsForDamagedEntriesOnly(t *testing.T) {
	_, err := host.Salvage(t.Context(), new(session.Memory), "none", session.New{})
	require.ErrorIs(t, err, session.ErrNotFound)
	store := new(session.Memory)
	_, err = store.Create(t.Context(), session.New{ID: "new"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), store, "new", session.Claim{})
	require.NoError(t, err)
	_, err = w.Append(t.Context(), session.Entry{Kind: session.KindEnd, Run: "r", Data: []byte(`{"v":99}`)})
	require.NoError(t, err)
	_, err = host.Salvage(t.Context(), store, "new", session.New{})
	require.ErrorIs(t, err, session.ErrVersion, "a newer program wrote it, and nothing is damaged")
	var e *session.Error
	require.True(t, errors.As(err, &e))
	require.Zero(t, e.Good)
}

func TestForkBeforeTheDamage(t *testing.T) {
	store := durable{new(session.Memory)}
	id, after, prompts := conversationWithTools(t, store)
	info, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: flipped{store, info.Head}})
	fork, err := h.Fork(t.Context(), id, prompts[1], session.New{})
	require.NoError(t, err)
	s, err := h.Open(t.Context(), fork.ID, nil)
	require.NoError(t, err)
	require.Equal(t, after[0], shown(t, s))
	_, err = h.Fork(t.Context(), id, "prompt:x", session.New{})
	require.ErrorIs(t, err, session.ErrCorrupt, "nobody knows whether it is behind the damage")
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// A fork keeps what was rejected for ever, and nothing that was allowed.
func TestForkKeepsWhatWasRejectedForEver(t *testing.T) {
	rules := func(all map[string]toolset.Verdict) json.RawMessage {
		var p approval.Policy
		for _, tool := range []string{"pay", "dig"} {
			if v, ok := all[tool]; ok {
				p.RememberApproval(tool, &toolset.Approval{Source: "server", Scope: "all"}, v)
			}
		}
		data, err := json.Marshal(&p)
		require.NoError(t, err)
		return data
	}
	for name, c := range map[string]struct {
		values, own, want map[string]json.RawMessage
	}{
		"nothing":  {nil, nil, nil},
		"both":     {map[string]json.RawMessage{"approvals": rules(map[string]toolset.Verdict{"pay": toolset.VerdictAllow, "dig": toolset.VerdictDeny})}, nil, map[string]json.RawMessage{"approvals": rules(map[string]toolset.Verdict{"dig": toolset.VerdictDeny})}},
		"allowed":  {map[string]json.RawMessage{"approvals": rules(map[string]toolset.Verdict{"pay": toolset.VerdictAllow}), "mine": json.RawMessage(`1`)}, nil, map[string]json.RawMessage{"mine": json.RawMessage(`1`)}},
		"its own":  {map[string]json.RawMessage{"a": json.RawMessage(`1`)}, map[string]json.RawMessage{"a": json.RawMessage(`2`), "b": json.RawMessage(`3`)}, map[string]json.RawMessage{"a": json.RawMessage(`2`), "b": json.RawMessage(`3`)}},
		"archived": {map[string]json.RawMessage{"archived": json.RawMessage(`true`)}, nil, nil},
	} {
		store := new(session.Memory)
		_, err := store.Create(t.Context(), session.New{ID: "s", Values: c.values})
		require.NoError(t, err)
		h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
		info, err := h.Fork(t.Context(), "s", "", session.New{ID: "f", Values: c.own})
		require.NoError(t, err, name)
		require.Equal(t, c.want, info.Values, name)
	}
	store := new(session.Memory)
	_, err := store.Create(t.Context(), session.New{ID: "s", Values: map[string]json.RawMessage{"approvals": json.RawMessage(`7`)}})
	require.NoError(t, err)
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: store})
	_, err = h.Fork(t.Context(), "s", "", session.New{ID: "f"})
	require.Error(t, err)
	_, err = store.Get(t.Context(), "f")
	require.ErrorIs(t, err, session.ErrNotFound, "nothing is made")
}

// vanishing is a store whose sessions are gone when they are looked at.
type vanishing struct{ *session.Memory }

func (v vanishing) Get(ctx context.Context, id string) (session.Info, error) {
	_ = v.Memory.Delete(ctx, id)
	return v.Memory.Get(ctx, id)
}

// A session that cannot be opened is removed again. If somebody else has removed it, that is no second error.
func TestSessionsThatDoNotOpenAreNotLeftBehind(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Store: vanishing{new(session.Memory)}})
	_, err := h.Create(t.Context(), session.New{ID: "s"}, nil)
	require.EqualError(t, err, "session: get s: no such session")
}

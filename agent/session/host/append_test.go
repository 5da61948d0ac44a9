// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
)

// stumbling is a store of which one append fails, the at-th from now. The entries may be there all the same.
type stumbling struct {
	session.Store
	at    atomic.Int64
	there bool
}

func (s *stumbling) Append(ctx context.Context, l session.Lease, head int64, b session.Batch) (int64, error) {
	if s.at.Add(-1) != 0 {
		return s.Store.Append(ctx, l, head, b)
	}
	if s.there {
		if _, err := s.Store.Append(ctx, l, head, b); err != nil {
			return 0, err
		}
	}
	return 0, errors.New("the disk is full")
}

// requireReadTheSame closes a session, and compares what it has shown with what it shows when it is read.
func requireReadTheSame(t *testing.T, h *host.Host, s *host.Session) *host.Session {
	t.Helper()
	all := shown(t, s)
	require.NoError(t, s.Close(t.Context()))
	s, err := h.Open(t.Context(), s.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, all, shown(t, s))
	return s
}

// TestSessionGoesOnAfterAnAppendThatFailed lets each append of a turn fail once, also of a command that changes the history. The next
// prompt works, and what is shown is what the store has.
func TestSessionGoesOnAfterAnAppendThatFailed(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[none, string]{Model: echo(), Commands: []agent.Command[none]{
		{Name: "shorten", Description: "Shorten.", Run: func(_ context.Context, c agent.CommandCall[none]) (agent.CommandResult, error) {
			short := append(slices.Clip(c.Messages[:1]), model.Response(model.Text("Shortened.")))
			return agent.CommandResult{Messages: short, Notice: "It is shorter."}, nil
		}},
	}}))
	for _, text := range []string{"More.", "/shorten"} {
		for _, there := range []bool{false, true} {
			for at := int64(1); ; at++ {
				name := fmt.Sprintf("%s, append %d, there %v", text, at, there)
				store := &stumbling{Store: new(session.Memory), there: there}
				h := newHost(t, host.Config[none, string]{Agent: a, Store: store})
				s := create(t, h)
				require.NoError(t, prompt(t, s, "One.").Err)
				store.at.Store(at)
				o := prompt(t, s, text)
				if store.at.Load() > 0 {
					require.NoError(t, o.Err)
					requireReadTheSame(t, h, s)
					break
				}
				require.NoError(t, prompt(t, s, "Last.").Err, name)
				stored, err := transcript.Read(t.Context(), store, s.ID(), transcript.Options{})
				require.NoError(t, err, name)
				require.Empty(t, stored.Interrupted(), name)
				last := stored.Messages()[len(stored.Messages())-2]
				require.Equal(t, "Last.", last.Parts[0].Text, name)
				all := shown(t, s)
				require.NoError(t, s.Close(t.Context()))
				if text != "/shorten" { // what a command says may be what was not recorded
					s, err = h.Open(t.Context(), s.ID(), nil)
					require.NoError(t, err)
					require.Equal(t, all, shown(t, s), name)
				}
				require.NoError(t, h.Close(t.Context()))
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/internal/sealtest"
	"github.com/ponte-go/ponte/toolset"
)

// A question that a surface has given back, and one of a turn that was taken back, are gone in the
// next process, too.
func TestQuestionsThatAreGoneStayGone(t *testing.T) {
	for _, rewound := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var paid []string
			a := newAgent(paysOnce(), pay(&paid))
			s := create(t, newHost(t, host.Config[none, string]{
				Agent: a, Store: durable{new(session.Memory)}, Logger: slog.New(slog.DiscardHandler),
			}))
			p := say("Pay.")
			p.Asker = toolset.AskerFuncs{
				OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
					time.Sleep(time.Second) // until the question is recorded
					return toolset.Defer(), nil
				},
			}
			o, err := s.Prompt(t.Context(), p)
			require.NoError(t, err)
			asked(t, s, 1)
			if rewound {
				_, err = s.Rewind(t.Context(), transcript.PromptID(o.Turn))
				require.NoError(t, err)
				asked(t, s, 0)
				prompt(t, s, "Pay again.")
				asked(t, s, 1)
			}
			require.Equal(t, shown(t, s), shown(t, next(t, s, a)))
		})
	}
}

// A session whose description is damaged does not keep the others from being listed.
func TestDamagedSessionIsListedBesideTheOthers(t *testing.T) {
	inner, log := new(session.Memory), new(bytes.Buffer)
	store, err := session.Encrypted(inner, sealtest.Ring())
	require.NoError(t, err)
	h := newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Store: store, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	for _, id := range []string{"good", "damaged"} {
		n := session.New{ID: id, Title: "title of " + id, Owner: "ada"}
		_, err := store.Create(t.Context(), n)
		require.NoError(t, err)
	}
	_, err = inner.Update(t.Context(), "damaged", session.Change{Title: new("planted")})
	require.NoError(t, err)
	page, err := h.List(t.Context(), session.Query{Owner: new("ada"), Order: session.OrderCreated})
	require.NoError(t, err)
	var found []string
	for _, i := range page.Sessions {
		found = append(found, i.ID+" "+i.Title)
	}
	require.ElementsMatch(t, []string{"good title of good", "damaged "}, found)
	require.Contains(t, log.String(), "decrypt damaged")
	_, err = h.Open(t.Context(), "damaged", nil)
	require.ErrorIs(t, err, session.ErrCorrupt)
}

// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

func TestQueueOfPromptsIsBounded(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script()}))
	h, err := host.New(host.Config[struct{}, string]{Agent: a, Store: new(session.Memory)})
	require.NoError(t, err)
	defer h.Close(t.Context())
	s, err := h.Create(t.Context(), session.New{}, nil)
	require.NoError(t, err)

	var waiting []*host.Turn
	for {
		turn, err := s.AdmitWith(t.Context(), host.BusyQueue)
		if err != nil {
			require.ErrorIs(t, err, host.ErrBusy)
			break
		}
		waiting = append(waiting, turn)
		require.LessOrEqual(t, len(waiting), 1000)
	}
	for _, turn := range waiting {
		turn.Cancel(nil)
	}
	_, err = s.AdmitWith(t.Context(), host.BusySteer)
	require.ErrorIs(t, err, host.ErrBusy, "cancelled turns that have not ended count")
	for _, turn := range waiting {
		turn.Run(host.Prompt{})
	}
	turn, err := s.Admit(t.Context())
	require.NoError(t, err)
	turn.Cancel(nil)
	turn.Run(host.Prompt{})
}

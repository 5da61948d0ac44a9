// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
)

// perRequest is what each request costs.
type perRequest float64

func (p perRequest) Price(string, string, time.Time) (model.Price, bool) {
	return model.Price{Request: float64(p)}, true
}

func TestUsageHasTheCost(t *testing.T) {
	for _, journal := range []bool{true, false} {
		s := openShown(t, new(session.Memory), journal)
		cost := func() view.Tokens { return *s.fold.Get(transcript.UsageID).Usage }
		require.NoError(t, promptShown(s, travel(modeltest.Say(model.ToolCall("b", "ask", `{"prompt":"How?"}`)), modeltest.SayText("So.")), "Ask.", nil))
		require.Equal(t, 0.4, cost().Cost, "two requests, and two of the agent inside")
		require.Equal(t, "EUR", cost().Currency)
		requireSame(t, s)
		require.NoError(t, promptShown(s, travel(modeltest.SayText("Again.")), "And again?", nil))
		require.Equal(t, 0.5, cost().Cost, "of the whole session")
		requireSame(t, s)
	}
}

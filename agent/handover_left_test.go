// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// If the observer leaves while an agent that was handed over to streams its text, the history has what was shown and no more, even if the
// inner model takes no notice of its context.
func TestTextAfterTheObserverHasLeftIsNotKept(t *testing.T) {
	heedless := model.Func(model.Info{Name: "heedless"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		for _, text := range []string{"one ", "two ", "three ", "four"} {
			if sink != nil {
				if err := sink(model.Delta{Kind: model.PartText, Text: text}); err != nil {
					return nil, err
				}
			}
		}
		return model.Response(model.Text("one two three four")), nil
	})
	a := frontDesk(t, modeltest.Script(modeltest.Say(bill("1", "help"))), billing(t, cfg{Model: heedless}))
	s := a.Stream(t.Context(), deps{}, "go")
	shown := ""
	for text := range s.Text() {
		if shown += text; shown == "one two " {
			break
		}
	}
	_, err := s.Result()
	require.ErrorIs(t, err, agent.ErrStopped)
	messages := asRunError(t, err).Messages
	require.Equal(t, "one two ", messages[len(messages)-1].Text())
}

// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// shelf is a store of histories.
type shelf struct{ kept sync.Map }

func (s *shelf) Put(_ context.Context, id string, messages []*model.Message) error {
	s.kept.Store(id, messages)
	return nil
}

func (s *shelf) Get(_ context.Context, id string) ([]*model.Message, error) {
	messages, ok := s.kept.Load(id)
	if !ok {
		return nil, fmt.Errorf("%q is not stored", id)
	}
	return messages.([]*model.Message), nil
}

// A summary of the conversation does not shorten the history of the agent that the conversation stays with: nobody summarised that.
func TestCompactKeepsTheHistoryOfTheAgentThatAnswers(t *testing.T) {
	for name, opts := range map[string][]agent.RunOption{"in the history": nil, "in a store": {agent.WithHistoryStore(new(shelf))}} {
		t.Run(name, func(t *testing.T) {
			seen := ""
			inner := agent.Must(agent.New(agent.Config[deps, string]{Name: "desk", Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				seen = textOf(req.Messages)
				return model.Response(model.Text("Noted.")), nil
			})}))
			outer := agent.Must(agent.New(agent.Config[deps, string]{
				Model: modeltest.Script(modeltest.Say(model.ToolCall("1", "desk", `{"prompt":"FACT-0"}`))),
				Alternatives: []agent.Alternative[deps, string]{
					agent.HandOver("desk", "Hand over to the desk.", inner, func(d deps) deps { return d }, agent.Stay()),
				},
				Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: summariser()})},
			}))
			var messages []*model.Message
			var want []string
			for i := range 9 {
				want = append(want, fmt.Sprintf("FACT-%d", i))
				res, err := outer.Run(t.Context(), deps{}, want[i], append(opts[:len(opts):len(opts)], agent.WithHistory(messages))...)
				require.NoError(t, err)
				require.Equal(t, want, facts(seen))
				data, err := json.Marshal(res.Messages)
				require.NoError(t, err)
				messages = nil
				require.NoError(t, json.Unmarshal(data, &messages))
				if i%3 != 2 {
					continue
				}
				done, _, err := outer.Command(t.Context(), deps{}, "/compact", messages)
				require.NoError(t, err)
				require.Less(t, len(done.Messages), len(messages))
				messages = done.Messages
			}
		})
	}
}

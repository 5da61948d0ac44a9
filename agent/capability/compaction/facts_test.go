// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/compaction"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// hiding is a tool whose results have facts and nothing else that anybody repeats: a result of size bytes has its fact at a place that
// goes through all of it, call by call.
func hiding(size, places int) *toolset.Tool[deps] {
	return toolset.Plain[deps]("look", "Look.", func(_ context.Context, in lookArgs) (string, error) {
		words := strings.Repeat("lorem ipsum ", size/12)
		at := strings.LastIndex(words[:len(words)*(in.N%places)/places+1], " ") + 1
		return fmt.Sprintf("%sFACT-%d %s", words[:at], in.N, words[at:]), nil
	})
}

// remembered returns the facts that a history has: for the agent's model, or for the next summary.
func remembered(messages []*model.Message) []string {
	var b strings.Builder
	for _, m := range messages {
		for key, text := range m.Metadata {
			if strings.HasPrefix(key, history.MetaClearedText) {
				b.WriteString(text)
			}
		}
	}
	return facts(textOf(messages) + b.String())
}

// Results are cleared long before they are summarised. Nothing that they said is lost, wherever it was said, although the agent is stored
// and taken up by another process between the turns.
func TestSummariesHaveWhatWasClearedBefore(t *testing.T) {
	const turns, calls, places = 12, 9, 17
	for _, size := range []int{700, 2000, 5000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m := &small{t: t, window: 12_000, bytes: 4}
			writer := &small{t: t, window: 12_000, bytes: 4, answer: func(req *model.Request) *model.Message {
				return model.Response(model.Text("They found " + strings.Join(facts(textOf(req.Messages)), " ") + "."))
			}}
			var messages []*model.Message
			total := &seen{}
			n := 0
			for range turns {
				left := calls
				m.answer = func(*model.Request) *model.Message {
					if left == 0 {
						return model.Response(model.Text("I have looked."))
					}
					left--
					n++
					return look(n)
				}
				a := agent.Must(agent.New(agent.Config[deps, string]{
					Model: m, Tools: []*toolset.Tool[deps]{hiding(size, places)},
					Capabilities: []agent.Capability[deps]{compaction.New(compaction.Options[deps]{Model: writer})},
				}))
				res, got := watched(t, a, messages, "Go on.")
				total.summaries += got.summaries
				total.cleared += got.cleared
				data, err := json.Marshal(res.Messages)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(data, &messages))
				require.Len(t, remembered(messages), n, "a fact was lost")
			}
			require.Zero(t, writer.refused, "the requests of summaries fit")
			require.True(t, total.cleared > 0 || size == 5000)
			require.Positive(t, total.summaries)
			t.Logf("%d cleared, %d summaries in %d requests", total.cleared, total.summaries, len(writer.requests))
		})
	}
}

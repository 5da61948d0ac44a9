// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/anthropicdialect"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

func ending(wire string, r endingtest.Reply, _ *http.Request) string {
	all := []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(r.Text) + `}}`,
		`{"type":"content_block_stop","index":0}`,
	}
	if r.Args != "" {
		all = append(all, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"act","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":`+quote(r.Args)+`}}`,
			`{"type":"content_block_stop","index":1}`)
	}
	return events(append(all, `{"type":"message_delta","delta":{"stop_reason":`+quote(wire)+`},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)...)
}

// The plugin says the same of a refusal and of an end that it does not know.
func TestResponsesEndAsTheProviderSays(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		m, err := anthropicdialect.New(anthropicdialect.Config{Name: "claude-test", APIKey: testKey, BaseURL: url})
		require.NoError(t, err)
		return m
	}
	endingtest.Check(t, open, ending, true,
		endingtest.Ending{Wire: "end_turn", Want: model.FinishStop}, endingtest.Ending{Wire: "max_tokens", Want: model.FinishLength},
		endingtest.Ending{Wire: "refusal", Want: model.FinishError}, endingtest.Ending{Wire: "planets_aligned", Want: model.FinishError})
}

// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

func ending(wire string, r endingtest.Reply, req *http.Request) string {
	body, _ := io.ReadAll(req.Body)
	if bytes.Contains(body, []byte(`"stream":true`)) {
		blocks := say(r.Text)
		if r.Args != "" {
			blocks = append(blocks, start(1, `{"type":"tool_use","id":"toolu_1","name":"act","input":{}}`),
				delta(1, `{"type":"input_json_delta","partial_json":`+quote(r.Args)+`}`), stop(1))
		}
		return finished(wire, blocks...)
	}
	content := `{"type":"text","text":` + quote(r.Text) + `}`
	if r.Args != "" {
		content += `,{"type":"tool_use","id":"toolu_1","name":"act","input":` + r.Args + `}`
	}
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"usage":{"input_tokens":3,"output_tokens":7}}`, content, strings.TrimSpace(wire))
}

func TestResponsesEndAsTheProviderSays(t *testing.T) {
	open := func(t testing.TB, url string) model.Model { return newModel(t, url) }
	endingtest.Check(t, open, ending, true,
		endingtest.Ending{Wire: "end_turn", Want: model.FinishStop}, endingtest.Ending{Wire: "stop_sequence", Want: model.FinishStop},
		endingtest.Ending{Wire: "max_tokens", Want: model.FinishLength}, endingtest.Ending{Wire: "model_context_window_exceeded", Want: model.FinishLength},
		endingtest.Ending{Wire: "refusal", Want: model.FinishRefusal})
}

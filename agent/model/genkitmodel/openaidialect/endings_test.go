// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
	"github.com/ponte-go/ponte/internal/adaptertest/endingtest"
)

func ending(wire string, r endingtest.Reply, req *http.Request) string {
	text, _ := json.Marshal(r.Text)
	field := "content"
	if wire == "refused" {
		field, wire = "refusal", "stop"
	}
	msg := fmt.Sprintf(`{"role":"assistant",%q:%s`, field, text)
	if r.Args != "" {
		args, _ := json.Marshal(r.Args)
		msg += `,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"act","arguments":` + string(args) + `}}]`
	}
	msg += "}"
	body, _ := io.ReadAll(req.Body)
	if strings.Contains(string(body), `"stream":true`) {
		return events(delta(msg), finish(wire))
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":%s,"finish_reason":%q}]}`, msg, wire)
}

func TestResponsesEndAsTheProviderSays(t *testing.T) {
	open := func(t testing.TB, url string) model.Model {
		m, err := openaidialect.New(openaidialect.Config{Name: "gpt-test", APIKey: testKey, BaseURL: url, HTTPClient: client(t)})
		require.NoError(t, err)
		return m
	}
	endingtest.Check(t, open, ending, false,
		endingtest.Ending{Wire: "stop", Want: model.FinishStop}, endingtest.Ending{Wire: "length", Want: model.FinishLength},
		endingtest.Ending{Wire: "content_filter", Want: model.FinishContentFilter}, endingtest.Ending{Wire: "refused", Want: model.FinishRefusal},
		endingtest.Ending{Wire: "error", Want: model.FinishError}, endingtest.Ending{Wire: "insufficient_system_resource", Want: model.FinishError})
}

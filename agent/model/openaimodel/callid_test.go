// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestCallIDsFitTheEndpoint(t *testing.T) {
	for provider, pattern := range map[string]string{
		"openai": `^[a-zA-Z0-9_-]{1,40}$`, "azure": `^[a-zA-Z0-9_-]{1,40}$`, "mistral": `^[a-zA-Z0-9]{9}$`, "": `^[a-zA-Z0-9_-]{1,40}$`,
	} {
		var sent struct {
			Messages []struct {
				ToolCalls []struct {
					ID       string
					Function struct{ Name string }
				} `json:"tool_calls"`
				ToolCallID string `json:"tool_call_id"`
				Role       string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body(t, provider, &model.Request{Messages: adaptertest.AwkwardCalls()})), &sent))
		var calls, results []adaptertest.SentCall
		for _, msg := range sent.Messages {
			for _, call := range msg.ToolCalls {
				calls = append(calls, adaptertest.SentCall{ID: call.ID, Name: call.Function.Name})
			}
			if msg.Role == "tool" {
				results = append(results, adaptertest.SentCall{ID: msg.ToolCallID})
			}
		}
		adaptertest.FitsAwkwardCalls(t, regexp.MustCompile(pattern), toolName, calls, results)
	}
}

func TestCallIDsFitTheResponsesProtocol(t *testing.T) {
	b, err := openaimodel.ResponsesBody(newResponses(t, "http://x.test"), &model.Request{Messages: adaptertest.AwkwardCalls()}, false)
	require.NoError(t, err)
	var sent struct {
		Input []struct {
			Type, Name string
			CallID     string `json:"call_id"`
		}
	}
	require.NoError(t, json.Unmarshal(b, &sent))
	var calls, results []adaptertest.SentCall
	for _, item := range sent.Input {
		switch item.Type {
		case "function_call":
			calls = append(calls, adaptertest.SentCall{ID: item.CallID, Name: item.Name})
		case "function_call_output":
			results = append(results, adaptertest.SentCall{ID: item.CallID})
		}
	}
	adaptertest.FitsAwkwardCalls(t, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), toolName, calls, results)
}

func TestInvalidToolNamesAreErrors(t *testing.T) {
	for _, name := range []string{"", "web.search", "read file", strings.Repeat("n", 65)} {
		req := hello()
		req.Tools = []model.ToolDef{{Name: name}}
		_, err := openaimodel.RequestBody(newModel(t, "http://x.test", "openai"), req, false)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
}

// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

func TestCallIDsOfOtherProvidersFit(t *testing.T) {
	messages := adaptertest.AwkwardCalls()
	for _, msg := range messages { // a call without an id has none here either
		for i := range msg.Parts {
			if p := &msg.Parts[i]; p.Kind != model.PartUser && p.CallID == "" {
				p.CallID = "none"
			}
		}
	}
	type named struct{ ID, Name string }
	var sent struct {
		Contents []struct {
			Parts []struct{ FunctionCall, FunctionResponse *named }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body(t, &model.Request{Messages: messages})), &sent))
	var calls, results []adaptertest.SentCall
	for _, content := range sent.Contents {
		for _, part := range content.Parts {
			if part.FunctionCall != nil {
				calls = append(calls, adaptertest.SentCall(*part.FunctionCall))
			}
			if part.FunctionResponse != nil {
				results = append(results, adaptertest.SentCall(*part.FunctionResponse))
			}
		}
	}
	adaptertest.FitsAwkwardCalls(t, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`), regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`), calls, results)
}

func TestToolNamesStartWithALetterOrUnderscore(t *testing.T) {
	m := newModel(t, "http://x.test")
	for _, name := range []string{"2nd", "-a"} {
		_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}, Tools: []model.ToolDef{{Name: name}}}, nil)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
	}
}

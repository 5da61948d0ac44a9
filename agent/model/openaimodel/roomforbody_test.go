// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// Room for a body is made once: for what is around the request and for each of its parts, with an eighth more for
// escapes in texts, and a third more for data, which is written in base64.
func TestRoomForABody(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	said := func(parts ...model.Part) *model.Message { return &model.Message{Parts: parts} }
	for name, test := range map[string]struct {
		req  model.Request
		want int
	}{
		"nothing":      {model.Request{}, 1024},
		"instructions": {model.Request{Instructions: text(500)}, 1024 + 500},
		"tools": {model.Request{Tools: []model.ToolDef{
			{Name: "a", Description: text(50), Schema: json.RawMessage(text(70))}, {Name: "b"},
		}}, 1024 + (128 + 50 + 70) + 128},
		"messages":  {model.Request{Messages: []*model.Message{said(), said()}}, 1024 + 2*32},
		"text":      {model.Request{Messages: []*model.Message{said(model.Part{Text: text(80)})}}, 1024 + 32 + 96 + 90},
		"arguments": {model.Request{Messages: []*model.Message{said(model.Part{Text: text(800), Args: model.RawArgs(text(80))})}}, 1024 + 32 + 96 + 990},
		"data":      {model.Request{Messages: []*model.Message{said(model.Part{Data: []byte(text(300))})}}, 1024 + 32 + 96 + 400},
		"addresses": {model.Request{Messages: []*model.Message{said(model.Part{URL: text(70)}, model.Part{})}}, 1024 + 32 + 96 + 70 + 96},
	} {
		require.Equal(t, test.want, openaimodel.SizeHint(&test.req), name)
	}
}

// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

func TestIgnoredToolChoiceIsNotSent(t *testing.T) {
	offer := func(mode model.ToolChoiceMode) *model.Request {
		req := hello()
		req.Tools = []model.ToolDef{{Name: "weather"}}
		req.ToolChoice = model.ToolChoice{Mode: mode, Tool: "weather"}
		return req
	}
	chat := newModel(t, "http://x.test", "ollama")
	items := newResponses(t, "http://x.test", func(c *openaimodel.Config) { c.Provider = "ollama" })
	require.True(t, chat.Info().NoForcedCalls)
	require.True(t, items.Info().NoForcedCalls)
	require.False(t, newModel(t, "http://x.test", "openai").Info().NoForcedCalls)
	for _, mode := range []model.ToolChoiceMode{model.ToolChoiceRequired, model.ToolChoiceTool} {
		_, err := openaimodel.RequestBody(chat, offer(mode), false)
		require.ErrorIs(t, err, model.ErrUnsupported, mode)
		_, err = openaimodel.ResponsesBody(items, offer(mode), false)
		require.ErrorIs(t, err, model.ErrUnsupported, mode)
	}
	for mode, offered := range map[model.ToolChoiceMode]bool{model.ToolChoiceAuto: true, model.ToolChoiceNone: false} {
		sent, err := openaimodel.RequestBody(chat, offer(mode), false)
		require.NoError(t, err)
		alike, err := openaimodel.ResponsesBody(items, offer(mode), false)
		require.NoError(t, err)
		for _, body := range []string{string(sent), string(alike)} {
			require.NotContains(t, body, "tool_choice", mode)
			if offered {
				require.Contains(t, body, "weather", mode)
			} else {
				require.NotContains(t, body, "weather", "forbidden tools are not offered")
			}
		}
	}
}

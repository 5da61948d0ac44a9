// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestTextJoinsTextParts(t *testing.T) {
	require.Empty(t, model.Response().Text())
	require.Equal(t, "a", model.Response(model.Thinking("no"), model.Text("a")).Text())
	require.Equal(t, "abc", model.Response(model.Text("a"), model.ToolCall("1", "t", "no"), model.Text("b"), model.Text("c")).Text())
	require.Empty(t, model.UserText("no").Text(), "text of the user is left out")
	one := model.Response(model.Text("a"))
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = one.Text() }))
}

func TestOnlyResponsesHaveToolCalls(t *testing.T) {
	require.True(t, model.Response(model.Text("x"), model.ToolCall("1", "t", "")).HasToolCalls())
	require.False(t, model.Response(model.Text("x")).HasToolCalls())
	require.False(t, (&model.Message{Kind: model.KindRequest, Parts: []model.Part{model.ToolCall("1", "t", "")}}).HasToolCalls())
}

func TestCloneIsIndependent(t *testing.T) {
	m := model.Response(model.Text("a"))
	m.Metadata = map[string]string{"k": "v"}
	c := m.Clone()
	require.Equal(t, m, c)
	c.Parts[0].Text, c.Metadata["k"], c.Model = "b", "w", "other"
	require.Equal(t, "a", m.Text())
	require.Equal(t, map[string]string{"k": "v"}, m.Metadata)
	require.Empty(t, m.Model)
	bare := (&model.Message{Kind: model.KindRequest}).Clone()
	require.Nil(t, bare.Parts)
	require.Nil(t, bare.Metadata)
}

func TestPartConstructors(t *testing.T) {
	for _, test := range []struct{ got, want model.Part }{
		{model.User("x"), model.Part{Kind: "user", Text: "x"}},
		{model.System("x"), model.Part{Kind: "system", Text: "x"}},
		{model.Text("x"), model.Part{Kind: "text", Text: "x"}},
		{model.Thinking("x"), model.Part{Kind: "thinking", Text: "x"}},
		{model.ToolCall("1", "t", "{}"), model.Part{Kind: "tool_call", CallID: "1", Tool: "t", Args: model.RawArgs("{}")}},
		{model.ToolReturn("1", "t", "x"), model.Part{Kind: "tool_return", CallID: "1", Tool: "t", Text: "x"}},
		{model.Retry("1", "t", "x"), model.Part{Kind: "retry", CallID: "1", Tool: "t", Text: "x"}},
		{model.Media("image/png", []byte{1}), model.Part{Kind: "media", MediaType: "image/png", Data: []byte{1}}},
	} {
		require.Equal(t, test.want, test.got)
	}
	require.Equal(t, model.KindRequest, model.UserText("x").Kind)
	require.Equal(t, model.KindResponse, model.Response().Kind)
}

func TestRawArgsAreShownAsText(t *testing.T) {
	args := model.RawArgs(` {"a": 1.0}`)
	require.Equal(t, ` {"a": 1.0}`, args.String())
	data, err := json.Marshal(args)
	require.NoError(t, err)
	require.Equal(t, `" {\"a\": 1.0}"`, string(data))
}

func TestUsageAddsUp(t *testing.T) {
	u := model.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5}
	sum := u
	sum.Add(u)
	require.Equal(t, model.Usage{InputTokens: 2, OutputTokens: 4, CacheReadTokens: 6, CacheWriteTokens: 8, ReasoningTokens: 10}, sum)
	require.EqualValues(t, 6, sum.TotalTokens(), "cached and reasoning tokens are counted once")
}

func TestFuncIsAModel(t *testing.T) {
	info := model.Info{Provider: "p", Name: "m"}
	want := model.Response(model.Text("hi"))
	req := &model.Request{Instructions: "i"}
	m := model.Func(info, func(ctx context.Context, got *model.Request, sink model.Sink) (*model.Message, error) {
		require.Equal(t, t.Context(), ctx)
		require.Same(t, req, got)
		return want, sink(model.Delta{Text: "hi"})
	})
	require.Equal(t, info, m.Info())
	told := ""
	got, err := m.Generate(t.Context(), req, func(d model.Delta) error {
		told = d.Text
		return nil
	})
	require.NoError(t, err)
	require.Same(t, want, got)
	require.Equal(t, "hi", told)
}

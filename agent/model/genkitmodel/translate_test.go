// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// asked returns the request that a plugin gets.
func asked(t *testing.T, d *genkitmodel.Dialect, req *model.Request) (*ai.ModelRequest, error) {
	t.Helper()
	var given *ai.ModelRequest
	m := open(t, genkitmodel.Config{Dialect: d}, func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		given = req
		return answer(ai.NewTextPart("hi")), nil
	})
	_, err := m.Generate(t.Context(), req, nil)
	return given, err
}

func TestPluginGetsWholeNumbers(t *testing.T) {
	req := &model.Request{Messages: []*model.Message{
		model.UserText("hello"),
		model.Response(model.ToolCall("c", "t", `{"n": 9223372036854775807, "u": 18446744073709551615, "f": 0.5, "l": [1, {"m": 2}]}`)),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("c", "t", "5")}},
	}, Tools: []model.ToolDef{{Name: "t", Schema: json.RawMessage(`{"type":"object","maxProperties":9007199254740993}`)}, {Name: "u"}}}
	d := genkitmodel.Generic()
	given, err := asked(t, &d, req)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"n": int64(9223372036854775807), "u": uint64(18446744073709551615), "f": 0.5, "l": []any{int64(1), map[string]any{"m": int64(2)}},
	}, given.Messages[1].Content[0].ToolRequest.Input)
	require.Equal(t, map[string]any{"type": "object", "maxProperties": int64(9007199254740993)}, given.Tools[0].InputSchema)
	require.Equal(t, map[string]any{"type": "object", "properties": map[string]any{}}, given.Tools[1].InputSchema)
	require.Equal(t, "5", given.Messages[2].Content[0].ToolResponse.Output)

	d.RawArguments, d.Result = true, genkitmodel.JSONResult
	given, err = asked(t, &d, req)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(req.Messages[1].Parts[0].Args), given.Messages[1].Content[0].ToolRequest.Input)
	require.Equal(t, json.RawMessage("5"), given.Messages[2].Content[0].ToolResponse.Output)
	require.Equal(t, "five", genkitmodel.JSONResult("five"))
}

func TestThinkingIsSentBackWithItsSignature(t *testing.T) {
	thought := model.Part{Kind: model.PartThinking, Text: "hm", Provider: "fake", Signature: []byte{0xff, 0}}
	foreign, unsigned := thought, thought
	foreign.Provider, unsigned.Signature = "other", nil
	req := &model.Request{Messages: []*model.Message{
		model.UserText("hello"), model.Response(foreign, thought, unsigned, model.Text("hi"), model.Media("image/png", []byte("x"))), model.UserText("and?"),
	}}
	d := genkitmodel.Generic()
	given, err := asked(t, &d, req)
	require.NoError(t, err)
	require.Len(t, given.Messages[1].Content, 2, "a plugin may send thinking as text")
	require.Equal(t, "[image/png]", given.Messages[1].Content[1].Text)
	d.Thinking = true
	given, err = asked(t, &d, req)
	require.NoError(t, err)
	require.Len(t, given.Messages[1].Content, 3)
	require.Equal(t, thought.Signature, given.Messages[1].Content[0].Metadata["signature"])
}

func TestResultsComeFirst(t *testing.T) {
	req := &model.Request{Instructions: "Be kind.", Messages: []*model.Message{
		{Kind: model.KindRequest, Parts: []model.Part{model.User(" "), model.User("")}},
		model.Response(model.ToolCall("c", "t", "")),
		{Kind: model.KindRequest, Parts: []model.Part{model.User("a"), model.ToolReturn("c", "t", ""), model.System("s"), model.User("b")}},
		{Kind: model.KindResponse},
	}}
	for required, want := range map[bool][]ai.Role{
		false: {ai.RoleSystem, ai.RoleUser, ai.RoleModel, ai.RoleTool, ai.RoleUser, ai.RoleSystem, ai.RoleUser},
		true:  {ai.RoleSystem, ai.RoleModel, ai.RoleTool, ai.RoleUser, ai.RoleSystem, ai.RoleUser},
	} {
		d := genkitmodel.Generic()
		d.ContentRequired = required
		given, err := asked(t, &d, req)
		require.NoError(t, err)
		var roles []ai.Role
		for _, m := range given.Messages {
			roles = append(roles, m.Role)
		}
		require.Equal(t, want, roles)
	}
}

func TestGenericReportsUnsupportedRequests(t *testing.T) {
	tools := []model.ToolDef{{Name: "a"}, {Name: "b"}}
	for name, req := range map[string]*model.Request{
		"seed":           {Settings: &model.Settings{Seed: new(int64(1))}},
		"thinking":       {Settings: &model.Settings{Thinking: "low"}},
		"service tier":   {Settings: &model.Settings{ServiceTier: "x"}},
		"headers":        {Settings: &model.Settings{ExtraHeaders: map[string]string{"A": "b"}}},
		"body":           {Settings: &model.Settings{ExtraBody: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
		"parallel calls": {Settings: &model.Settings{ParallelToolCalls: new(true)}, Tools: tools},
		"temperature 0":  {Settings: &model.Settings{Temperature: new(0.0)}},
		"a named tool":   {ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "a"}, Tools: tools},
		"output":         {Output: &model.OutputSchema{Schema: json.RawMessage("{}")}},
		"media":          {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.Media("image/png", []byte("x"))}}}},
	} {
		given, err := asked(t, nil, req)
		require.ErrorIs(t, err, model.ErrUnsupported, name)
		require.ErrorContains(t, err, "genkitmodel: fake model: ", name)
		require.Nil(t, given, name)
	}
	given, err := asked(t, nil, &model.Request{
		Messages: hello().Messages, Tools: tools[:1], ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "a"},
		Settings: &model.Settings{MaxTokens: 7, Temperature: new(0.5), TopP: new(0.9), Stop: []string{"x"}},
	})
	require.NoError(t, err)
	require.Equal(t, ai.ToolChoiceRequired, given.ToolChoice)
	require.Equal(t, &ai.GenerationCommonConfig{MaxOutputTokens: 7, Temperature: 0.5, TopP: 0.9, StopSequences: []string{"x"}}, given.Config)
}

func TestInvalidMessagesAreErrors(t *testing.T) {
	for says, req := range map[string]*model.Request{
		`a request cannot hold a part of kind "text"`:  {Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{model.Text("x")}}}},
		`a response cannot hold a part of kind "user"`: {Messages: []*model.Message{model.Response(model.User("x"))}},
		`a message is of kind ""`:                      {Messages: []*model.Message{{}}},
		`the schema of tool "t" is not a JSON object`:  {Tools: []model.ToolDef{{Name: "t", Schema: json.RawMessage("[]")}}},
		"the setting MaxTokens is -1":                  {Settings: &model.Settings{MaxTokens: -1}},
	} {
		given, err := asked(t, nil, req)
		require.ErrorContains(t, err, says)
		require.Nil(t, given)
	}
	_, err := genkitmodel.Decode([]byte("1 2"))
	require.Error(t, err)
	_, err = genkitmodel.Decode(nil)
	require.ErrorIs(t, err, io.EOF)
}

func TestResponse(t *testing.T) {
	base64ed := ai.NewReasoningPart("again", nil)
	base64ed.Metadata["signature"] = "/wA="
	m := open(t, genkitmodel.Config{}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return answer(
			ai.NewReasoningPart("h", nil), ai.NewReasoningPart("m", []byte{0xff, 0}), base64ed,
			ai.NewTextPart(""), ai.NewTextPart("a"), ai.NewTextPart("b"),
			ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Ref: "c"}),
			ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Ref: "c", Input: map[string]any{"a<b": int64(9223372036854775807)}}),
			ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Input: json.RawMessage(`{ "a" : 1.0 }`)}),
			ai.NewMediaPart("", "data:image/png;base64,eA=="), ai.NewMediaPart("image/png", "https://example.com/a.png"),
			ai.NewCustomPart(map[string]any{"k": "v"}),
		), nil
	})
	msg, err := m.Generate(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.NotEmpty(t, msg.Parts[5].CallID)
	msg.Parts[5].CallID = "made up"
	require.Equal(t, []model.Part{
		{Kind: model.PartThinking, Text: "hm", Provider: "fake", Signature: []byte{0xff, 0}},
		{Kind: model.PartThinking, Text: "again", Provider: "fake", Signature: []byte{0xff, 0}},
		model.Text("ab"),
		model.ToolCall("c", "t", "{}"), model.ToolCall("c_2", "t", `{"a<b":9223372036854775807}`), model.ToolCall("made up", "t", `{ "a" : 1.0 }`),
		{Kind: model.PartMedia, MediaType: "image/png", Data: []byte("x"), Provider: "fake"},
		{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.com/a.png", Provider: "fake"},
		{Kind: model.PartOpaque, Provider: "fake", Data: []byte(`{"custom":{"k":"v"}}`)},
	}, msg.Parts)
	require.Equal(t, model.FinishToolCalls, msg.Finish)
}

func TestMessageMatchesTheStream(t *testing.T) {
	calls := func(args ...string) (parts []*ai.Part) {
		for _, a := range args {
			decoded, err := genkitmodel.Decode([]byte(a))
			require.NoError(t, err)
			parts = append(parts, ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Input: decoded}))
		}
		return parts
	}
	for name, test := range map[string]struct {
		chunks []*ai.Part
		resp   []*ai.Part
		want   []model.Part
	}{
		"the response says more": {
			[]*ai.Part{ai.NewTextPart("a")}, []*ai.Part{ai.NewReasoningPart("hm", nil), ai.NewTextPart("ab")},
			[]model.Part{{Kind: model.PartThinking, Text: "hm", Provider: "fake"}, model.Text("ab")},
		},
		"the response says something else": {
			[]*ai.Part{ai.NewTextPart("a"), ai.NewTextPart("b")}, append(calls(`{}`), ai.NewTextPart("c")),
			[]model.Part{model.ToolCall("", "t", "{}"), model.Text("ab")},
		},
		"the response has lost thinking": {
			[]*ai.Part{ai.NewReasoningPart("hm", nil), ai.NewTextPart("a")}, []*ai.Part{ai.NewTextPart("a")},
			[]model.Part{{Kind: model.PartThinking, Text: "hm", Provider: "fake"}, model.Text("a")},
		},
		"the response has lost a call, and changed one": {
			calls(`{"n":1}`, `{"n":2}`), calls(`{"n":3}`), []model.Part{model.ToolCall("", "t", `{"n":1}`), model.ToolCall("", "t", `{"n":2}`)},
		},
		"a call without arguments before one with some": {
			calls(`null`, `{"n":1}`), calls(`null`, `{"n":1}`), []model.Part{model.ToolCall("", "t", `{}`), model.ToolCall("", "t", `{"n":1}`)},
		},
		"the response has one call more, and they came in another order": {
			calls(`{"n":3}`, `{"n":1}`), calls(`{"n":1}`, `{"n":2}`, `{"n":3}`),
			[]model.Part{model.ToolCall("", "t", `{"n":1}`), model.ToolCall("", "t", `{"n":2}`), model.ToolCall("", "t", `{"n":3}`)},
		},
		"fragments are left to the response": {
			[]*ai.Part{ai.NewToolRequestPart(&ai.ToolRequest{Name: "t", Input: `{"n":`}), ai.NewToolRequestPart(&ai.ToolRequest{Input: `1}`})},
			calls(`{"n":1}`), []model.Part{model.ToolCall("", "t", `{"n":1}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, genkitmodel.Config{}, func(ctx context.Context, _ *ai.ModelRequest, cb ai.ModelStreamCallback) (*ai.ModelResponse, error) {
				for _, p := range test.chunks {
					if err := cb(ctx, &ai.ModelResponseChunk{Content: []*ai.Part{p, ai.NewTextPart("")}}); err != nil {
						return nil, err
					}
				}
				// An aggregated chunk repeats earlier ones.
				if err := cb(ctx, &ai.ModelResponseChunk{Aggregated: true, Content: test.chunks}); err != nil {
					return nil, err
				}
				return answer(test.resp...), nil
			})
			streamed := map[int]*model.Part{}
			msg, err := m.Generate(t.Context(), hello(), func(d model.Delta) error {
				if streamed[d.Part] == nil {
					streamed[d.Part] = &model.Part{Kind: d.Kind, CallID: d.CallID, Tool: d.Tool}
				}
				streamed[d.Part].Text += d.Text
				return nil
			})
			require.NoError(t, err)
			require.Len(t, streamed, len(msg.Parts))
			var want, got []model.Part
			for i := range msg.Parts {
				want = append(want, model.Part{
					Kind: msg.Parts[i].Kind, Text: msg.Parts[i].Text + string(msg.Parts[i].Args), CallID: msg.Parts[i].CallID, Tool: msg.Parts[i].Tool,
				})
				got = append(got, *streamed[i])
				msg.Parts[i].CallID = ""
			}
			require.ElementsMatch(t, want, got)
			require.Equal(t, test.want, msg.Parts)
		})
	}
}

func TestExtraFieldsAreNotPaths(t *testing.T) {
	var extra map[string]any
	d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (_ context.Context, err error) {
		extra, err = c.ExtraFields()
		return ctx, err
	}}
	m := open(t, genkitmodel.Config{Dialect: &d}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return answer(ai.NewTextPart("ok")), nil
	})
	req := hello()
	for name, want := range map[string]map[string]any{
		"": nil, "top_k": {"top_k": json.RawMessage(`1`)}, "a.b": nil, "a|b": nil, "a*": nil,
	} {
		if name != "" {
			req.Settings = &model.Settings{ExtraBody: map[string]json.RawMessage{name: json.RawMessage(`1`)}}
		}
		_, err := m.Generate(t.Context(), req, nil)
		require.Equal(t, want, extra, name)
		if strings.ContainsAny(name, ".|*") {
			require.ErrorIs(t, err, model.ErrUnsupported)
		} else {
			require.NoError(t, err)
		}
		req.Settings = nil
	}
}

func TestHookMayUseAnotherResponse(t *testing.T) {
	broken := errors.New("broken")
	d := genkitmodel.Dialect{Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
		c.Recover = func(err error) (*model.Message, error) {
			require.ErrorIs(t, err, broken)
			_, none := c.Message(nil)
			require.ErrorIs(t, none, io.ErrUnexpectedEOF)
			return c.Message(answer(ai.NewTextPart("o"), ai.NewTextPart("k")))
		}
		return ctx, nil
	}}
	m := open(t, genkitmodel.Config{Dialect: &d}, func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error) {
		return nil, broken
	})
	msg, err := m.Generate(t.Context(), hello(), nil)
	require.NoError(t, err)
	require.Equal(t, []model.Part{model.Text("ok")}, msg.Parts)
	require.Equal(t, "fake", msg.Provider)
}

// SPDX-License-Identifier: Apache-2.0

package genkitdev

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/firebase/genkit/go/core/api"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

func requestOfParts(parts ...model.Part) *model.Message {
	return &model.Message{Kind: model.KindRequest, Parts: parts}
}

// What Genkit's tools show of requests and responses.
func TestHowRequestsAndResponsesAreShown(t *testing.T) {
	var told strings.Builder
	data := func(n int) model.Part { return model.Media("image/png", []byte(strings.Repeat("x", n))) }
	for _, test := range []struct {
		name string
		req  *model.Request
	}{
		{"nothing", &model.Request{}},
		{"everything", &model.Request{
			Instructions: "I", Messages: []*model.Message{
				requestOfParts(model.User("a"), model.Media("image/png", []byte("x")), model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://x.test"}, model.System("s"), model.User("b")),
				model.Response(model.Thinking("hm"), model.Text("t"), model.ToolCall("c1", "f", `{"n":1}`), model.ToolCall("c2", "f", ""), model.ToolCall("c3", "f", "{"), model.Part{Kind: model.PartOpaque, Provider: "p", Data: []byte("abc")}, model.Part{Kind: model.PartCitation, Name: "n", URL: "u"}),
				requestOfParts(model.ToolReturn("c1", "f", "r"), model.Retry("c2", "f", "bad"), model.Retry("", "", "again"), model.ToolReturn("c3", "f", "late")), requestOfParts(),
			},
			Tools:    []model.ToolDef{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b"}, {Name: "c", Schema: json.RawMessage(`[1]`)}},
			Output:   &model.OutputSchema{Name: "o", Schema: json.RawMessage(`{"type":"string"}`)},
			Settings: &model.Settings{MaxTokens: 1, Temperature: new(0.0), TopP: new(0.5), Stop: []string{"x"}, Seed: new(int64(0)), Thinking: "low", ExtraHeaders: map[string]string{"X-Key": "secret"}},
		}},
		{"settings that are not shown", &model.Request{Settings: &model.Settings{ServiceTier: "x", ExtraBody: map[string]json.RawMessage{"a": json.RawMessage("1")}}}}, {"tokens", &model.Request{Settings: &model.Settings{MaxTokens: 5}}},
		{"auto", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceAuto}}}, {"none", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}}, {"required", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired}}}, {"a tool", &model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "f"}}},
	} {
		fmt.Fprintf(&told, "== %s\n%s\n", test.name, encode(requestOf(test.req)))
	}
	for _, finish := range []model.FinishReason{"", model.FinishStop, model.FinishToolCalls, model.FinishLength, model.FinishContentFilter, model.FinishRefusal, model.FinishError, model.FinishOther} {
		fmt.Fprintf(&told, "== finish %q\n%s\n", finish, encode(responseOf(&model.Message{Kind: model.KindResponse, Finish: finish})))
	}
	fmt.Fprintf(&told, "== usage\n%s\n", encode(responseOf(&model.Message{Kind: model.KindResponse, Parts: []model.Part{model.Text("a")}, Usage: model.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 4, CacheWriteTokens: 8, ReasoningTokens: 16}})))
	fmt.Fprintf(&told, "== a value that is none\n%s\n%s\n", encode(func() {}), encode("<&>"))
	golden(t, "content.txt", told.String())

	whole, large := data(maxMedia), data(maxMedia+1)
	require.Equal(t, 256<<10, maxMedia)
	require.True(t, partOf(&whole).IsMedia())
	require.Equal(t, "[image/png, 262145 bytes]", partOf(&large).Text)
}

// What a flow streams of the events of a run.
func TestHowEventsAreStreamed(t *testing.T) {
	returned, retry := model.ToolReturn("c", "f", "r"), model.Retry("c", "f", "bad")
	failed := returned
	failed.Outcome = model.OutcomeFailed
	var told strings.Builder
	for _, e := range []agent.Event{
		{}, {Kind: agent.EventPartDelta, PartKind: model.PartText, Text: "a", Step: 1}, {Kind: agent.EventPartDelta, PartKind: model.PartText}, {Kind: agent.EventPartDelta, PartKind: model.PartThinking, Text: "a"}, {Kind: agent.EventPartDelta, PartKind: model.PartThinking}, {Kind: agent.EventPartDelta, PartKind: model.PartToolCall, Text: "{"},
		{Kind: agent.EventToolCall, CallID: "c", Tool: "f", Args: model.RawArgs(`{"n":1}`), Step: 2}, {Kind: agent.EventToolCall, CallID: "c", Tool: "f"}, {Kind: agent.EventToolCall, CallID: "c", Tool: "f", Args: model.RawArgs("{<")}, {Kind: agent.EventToolCall, CallID: "c", Tool: "f", Output: true},
		{Kind: agent.EventToolResult, CallID: "c", Tool: "f", Result: &returned}, {Kind: agent.EventToolResult, CallID: "c", Tool: "f", Result: &failed}, {Kind: agent.EventToolResult, CallID: "c", Tool: "f", Result: &retry}, {Kind: agent.EventToolResult, CallID: "c"}, {Kind: agent.EventToolResult, CallID: "c", Result: &returned, Output: true},
		{Kind: agent.EventRetry, CallID: "c", Tool: "f", Text: "bad"}, {Kind: agent.EventCustom, CallID: "c", Tool: "f", Value: map[string]int{"n": 1}}, {Kind: agent.EventCustom, Value: func() {}}, {Kind: agent.EventCustom},
	} {
		c, ok := chunkOf(&e)
		require.Equal(t, e.Step, c.Step)
		if !ok {
			require.Equal(t, Chunk{Step: e.Step, CallID: e.CallID, Tool: e.Tool}, c, "what is left out has no type")
		}
		fmt.Fprintf(&told, "%s %t %t: %t %s\n", e.Kind, e.Output, e.Value != nil, ok, encode(c))
	}
	golden(t, "chunks.txt", told.String())
}

type (
	inner struct {
		A string         `json:"a"`
		B *int           `json:"b"`
		C []string       `json:"c,omitempty"`
		D map[string]int `json:"d"`
		E int            `json:"e,string"`
		F float64
		G string `json:"-"`
	}
	asText  struct{ _ int }
	asJSON2 struct{ _ int }
	onlyPtr struct{ _ int }
)

func (asText) MarshalText() ([]byte, error)   { return nil, nil }
func (asJSON2) MarshalJSON() ([]byte, error)  { return nil, nil }
func (*onlyPtr) MarshalText() ([]byte, error) { return nil, nil }

// The schema of a type accepts what the type is encoded as.
func TestSchemasFitWhatTypesAreEncodedAs(t *testing.T) {
	properties := func() any {
		return object{"type": "object", "properties": object{
			"a": object{"type": "string"}, "b": object{"type": "integer"}, "c": object{"type": "array", "items": object{"type": "string"}}, "d": object{"type": "object", "additionalProperties": object{"type": "integer"}},
			"e": object{"type": "integer"}, "F": object{"type": "number"}, "other": object{"type": "string"},
		}}
	}
	var told strings.Builder
	for _, test := range []struct {
		t      reflect.Type
		schema any
	}{
		{reflect.TypeFor[string](), object{"type": "string"}}, {reflect.TypeFor[*string](), object{"type": "string"}}, {reflect.TypeFor[**string](), object{"type": "string"}}, {reflect.TypeFor[any](), true}, {reflect.TypeFor[*any](), object{}},
		{reflect.TypeFor[*string](), object{"type": "string", "enum": []any{"x"}}}, {reflect.TypeFor[*string](), object{"type": "string", "const": "x"}}, {reflect.TypeFor[*string](), object{"anyOf": []any{}}}, {reflect.TypeFor[*string](), object{"type": []any{"string", "null"}}},
		{reflect.TypeFor[[]string](), object{"type": "array", "items": object{"type": "string"}}}, {reflect.TypeFor[[]*string](), object{"type": "array", "items": object{"type": "string"}}}, {reflect.TypeFor[[]byte](), object{"type": "string"}}, {reflect.TypeFor[[2]*string](), object{"type": "array", "items": object{"type": "string"}}},
		{reflect.TypeFor[map[string]*string](), object{"type": "object", "additionalProperties": object{"type": "string"}}}, {reflect.TypeFor[map[string]any](), object{"type": "object", "additionalProperties": true}}, {reflect.TypeFor[map[int]*string](), object{"type": "object", "additionalProperties": false, "patternProperties": object{"^[0-9]+$": object{"type": "string"}}}},
		{reflect.TypeFor[inner](), properties()}, {reflect.TypeFor[*inner](), properties()}, {reflect.TypeFor[inner](), object{"type": "object"}},
		{reflect.TypeFor[time.Time](), object{"type": "string", "format": "date-time"}}, {reflect.TypeFor[*time.Time](), object{"type": "string", "format": "date-time"}}, {reflect.TypeFor[json.RawMessage](), object{"type": "x"}}, {reflect.TypeFor[asText](), object{"type": "x"}}, {reflect.TypeFor[asJSON2](), object{"type": "x"}}, {reflect.TypeFor[onlyPtr](), object{"type": "x"}}, {reflect.TypeFor[*asText](), object{"type": "x"}},
	} {
		fmt.Fprintf(&told, "%s %s\n  %s\n", test.t, encode(test.schema), encode(fit(test.schema, test.t)))
	}
	golden(t, "schemas.txt", told.String())
}

// A flow takes what Input is encoded as, and returns what Output is encoded as.
func TestSchemasOfFlows(t *testing.T) {
	for prompt, shown := range map[string]string{"": "", "Oslo?": `,"default":"Oslo?","examples":["Oslo?"]`} {
		desc := api.ActionDesc{InputSchema: object{"old": 1}, OutputSchema: object{"type": "object", "properties": object{"output": object{"type": "string"}, "messages": object{}, "other": object{}}}}
		describe(desc, prompt, reflect.TypeFor[*string]())
		require.JSONEq(t, `{"type":"object","additionalProperties":false,"properties":{
			"prompt":{"type":"string","description":"The user's message. Leave it out to resume where the history ends."`+shown+`},
			"history":{"type":"array","items":{"type":"object"},"description":"A conversation to continue: the messages of an earlier output."},
			"results":{"type":"object","description":"Answers to the pending calls of the history, by id: {\"decisions\": {\"ID\": {\"verdict\": \"allow\"}}, \"results\": {\"ID\": {\"text\": \"...\"}}}. A verdict is allow or deny."}}}`, encode(desc.InputSchema))
		require.JSONEq(t, `{"type":"object","properties":{"other":{},"output":{"type":["string","null"]},
			"messages":{"type":"array","items":{"type":"object"},"description":"The whole conversation, for use as the history."},
			"pending":{"type":"array","items":{"type":"object"},"description":"Calls that wait for approval or a result. If there are any, there is no output."}}}`, encode(desc.OutputSchema))
	}
}

// A run was asked by the requests at its start.
func TestWhatARunWasAsked(t *testing.T) {
	of := func(run string, messages ...*model.Message) []*model.Message {
		for _, m := range messages {
			m.RunID = run
		}
		return messages
	}
	earlier := of("1", model.UserText("a"), model.Response(model.Text("b")))
	now := of("2", model.UserText("c"), model.UserText("d"), model.Response(model.Text("e")), model.UserText("f"))
	for _, test := range []struct {
		all  []*model.Message
		want []*model.Message
	}{
		{append(append([]*model.Message{}, earlier...), now...), now[:2]}, {now, now[:2]}, {now[:2], now[:2]}, {now[2:], now[:0]}, {earlier, earlier[:0]}, {nil, nil},
	} {
		require.ElementsMatch(t, test.want, asked(&agent.Summary{RunID: "2", Messages: test.all}))
	}
}

func TestOutcomesOfCalls(t *testing.T) {
	for _, test := range []struct {
		err  error
		text string
		told bool
	}{
		{nil, "", false}, {errors.New("broken"), "", false}, {toolset.Failed("no"), "", false}, {toolset.Retry("again"), "again", true}, {fmt.Errorf("x: %w", toolset.Retry("again")), "x: again", true},
	} {
		text, told := outcome(test.err)
		require.Equal(t, test.told, told, "%v", test.err)
		if told {
			require.Contains(t, text, "again")
		} else {
			require.Empty(t, text)
		}
	}
}

func TestOptionsOfInputs(t *testing.T) {
	always := make([]agent.RunOption, 1, 5)
	for n, in := range map[int]*Input{
		1: {Prompt: "x"}, 2: {History: []*model.Message{model.UserText("a")}}, 3: {History: []*model.Message{model.UserText("a")}, Results: &agent.DeferredResults{}},
	} {
		require.Len(t, in.options(always), n)
	}
	require.Len(t, (&Input{Results: &agent.DeferredResults{}}).options(always), 2)
	require.Nil(t, always[:2][1], "the fixed options are not changed")
}

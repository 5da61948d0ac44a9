// SPDX-License-Identifier: Apache-2.0

package acp_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := acp.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func decode[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	require.NoError(t, acp.Unmarshal([]byte(text), &v), text)
	return v
}

func TestMessagesHaveTheProtocolsForm(t *testing.T) {
	tests := []struct {
		v    any
		want string
	}{
		{acp.PromptRequest{}, `{"sessionId":"","prompt":[]}`},
		{acp.ListSessionsResponse{}, `{"sessions":[]}`},
		{acp.NewSessionResponse{SessionID: "s"}, `{"sessionId":"s"}`},
		{acp.WriteTextFileResponse{}, `{}`},
		{acp.InitializeRequest{ProtocolVersion: 1}, `{"protocolVersion":1,"clientCapabilities":` +
			`{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"auth":{"terminal":false}}}`},
		{acp.ToolCallUpdate{ToolCallID: "c"}, `{"toolCallId":"c"}`},
		{acp.ToolCallUpdate{ToolCallID: "c", Content: []acp.ToolCallContent{}, Title: new("")}, `{"toolCallId":"c","title":"","content":[]}`},
		{acp.ToolCall{ToolCallID: "c", Title: "t", Kind: acp.ToolKindSwitchMode, RawInput: json.RawMessage(`{"n":9007199254740993, "h":"<"}`)},
			`{"toolCallId":"c","title":"t","kind":"switch_mode","rawInput":{"n":9007199254740993, "h":"<"}}`},
		{acp.ToolCallContent{Diff: &acp.Diff{Path: "/f", OldText: new("a"), NewText: "b"}},
			`{"type":"diff","path":"/f","oldText":"a","newText":"b"}`},
		{acp.RequestPermissionOutcome{Cancelled: &acp.RequestPermissionOutcomeCancelled{}}, `{"outcome":"cancelled"}`},
		{acp.RequestPermissionOutcome{Selected: &acp.SelectedPermissionOutcome{OptionID: "o"}}, `{"outcome":"selected","optionId":"o"}`},
		{acp.MCPServer{Stdio: &acp.MCPServerStdio{Name: "n", Command: "c"}}, `{"name":"n","command":"c","args":[],"env":[]}`},
		{acp.MCPServer{HTTP: &acp.MCPServerHTTP{Name: "n", URL: "u"}}, `{"type":"http","name":"n","url":"u","headers":[]}`},
		{acp.EmbeddedResource{Resource: acp.EmbeddedResourceResource{Text: &acp.TextResourceContents{Text: "t", URI: "u"}}},
			`{"resource":{"text":"t","uri":"u"}}`},
		{acp.SessionConfigOption{ID: "m", Name: "Model", Category: acp.SessionConfigOptionCategoryModel, Select: &acp.SessionConfigSelect{
			CurrentValue: "a", Options: acp.SessionConfigSelectOptions{Ungrouped: []acp.SessionConfigSelectOption{{Value: "a", Name: "A"}}}}},
			`{"id":"m","name":"Model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}`},
		{acp.SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", Boolean: &acp.SetSessionConfigOptionRequestBoolean{Value: true}},
			`{"sessionId":"s","configId":"c","type":"boolean","value":true}`},
		{acp.SetSessionConfigOptionRequest{SessionID: "s", ConfigID: "c", ValueID: &acp.SetSessionConfigOptionRequestValueID{Value: "v"}},
			`{"sessionId":"s","configId":"c","value":"v"}`},
		{acp.CreateElicitationRequest{Message: "m", Form: &acp.ElicitationFormMode{Session: &acp.ElicitationSessionScope{SessionID: "s"}}},
			`{"message":"m","mode":"form","requestedSchema":{"type":"object","properties":{}},"sessionId":"s"}`},
		{acp.CreateElicitationResponse{Accept: &acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{
			"b": {Integer: new(int64(math.MaxInt64))}, "a": {StringArray: []string{}}, "c": {Number: new(0.5)}}}},
			`{"action":"accept","content":{"a":[],"b":9223372036854775807,"c":0.5}}`},
		{acp.SessionInfoUpdate{}, `{}`},
		{acp.SessionInfoUpdate{Title: acp.Clear(), UpdatedAt: acp.Replace("now")}, `{"title":null,"updatedAt":"now"}`},
		{acp.UsageUpdate{Used: math.MaxUint64, Size: 1, Cost: &acp.Cost{Amount: 1e-7, Currency: "EUR"}},
			`{"used":18446744073709551615,"size":1,"cost":{"amount":1e-07,"currency":"EUR"}}`},
		{acp.CancelRequestNotification{RequestID: acp.StringID("a")}, `{"requestId":"a"}`},
		{acp.CancelRequestNotification{}, `{"requestId":null}`},
		{acp.LogoutRequest{Meta: map[string]json.RawMessage{"b": json.RawMessage("1"), "a": nil}}, `{"_meta":{"a":null,"b":1}}`},
	}
	for _, tt := range tests {
		got := encode(t, tt.v)
		assert.Equal(t, tt.want, got)
		back := reflect.New(reflect.TypeOf(tt.v))
		require.NoError(t, acp.Unmarshal([]byte(got), back.Interface()))
		assert.Equal(t, got, encode(t, back.Interface()), "decoded and encoded again")
	}
}

func TestAVariantThatIsNotKnownIsKeptByteForByte(t *testing.T) {
	for _, text := range []string{
		`{"type":"hologram", "n":18446744073709551615,"u":"\u00e4"}`,
		`{"type":"hologram"}`,
	} {
		b := decode[acp.ContentBlock](t, text)
		assert.Equal(t, text, string(b.Unknown))
		assert.Nil(t, b.Text)
		assert.Equal(t, text, encode(t, b))
	}
	u := decode[acp.SessionUpdate](t, `{"sessionUpdate":"tool_call_v9","toolCallId":"c","title":"t"}`)
	assert.Nil(t, u.ToolCall)
	assert.Equal(t, `{"sessionUpdate":"tool_call_v9","toolCallId":"c","title":"t"}`, encode(t, u))

	s := decode[acp.MCPServer](t, `{"type":"ws","name":"n","command":"c","args":[],"env":[]}`)
	assert.Nil(t, s.Stdio, "a server of another type is not taken for a program to start")
	assert.NotNil(t, s.Unknown)
	assert.NotNil(t, decode[acp.MCPServer](t, `{"type":"stdio","name":"n","command":"c","args":[],"env":[]}`).Stdio)

	o := decode[acp.SessionConfigOption](t, `{"id":"i","name":"n","type":"slider","max":3}`)
	assert.Equal(t, acp.SessionConfigID("i"), o.ID, "what all variants share is decoded")
	assert.Equal(t, `{"id":"i","name":"n","type":"slider","max":3}`, encode(t, o))

	v := decode[acp.SetSessionConfigOptionRequest](t, `{"sessionId":"s","configId":"c","type":"select","value":"v"}`)
	assert.Equal(t, acp.SessionConfigValueID("v"), v.ValueID.Value, "the protocol asks for this fallback")
	assert.Nil(t, v.Unknown, "and then it is known")
	v = decode[acp.SetSessionConfigOptionRequest](t, `{"sessionId":"s","configId":"c","type":"slider","value":3}`)
	assert.NotNil(t, v.Unknown)
	assert.Nil(t, v.ValueID, "nothing of what was tried is left")

	form := decode[acp.ElicitationSchema](t, `{"_meta": { "a" :  {"b": 1} , "c":  7 }}`)
	assert.Equal(t, acp.ElicitationSchemaTypeObject, form.Type, "that is what it is without a type")
	assert.Equal(t, `{"b": 1}`, string(form.Meta["a"]), "as it stands, without the space around it")
	assert.Equal(t, `7`, string(form.Meta["c"]))

	assert.Equal(t, acp.ToolKind("dance"), decode[acp.ToolCall](t, `{"toolCallId":"c","title":"t","kind":"dance"}`).Kind)
}

func TestAUnionWithoutExactlyOneVariantCannotBeEncoded(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{acp.ContentBlock{}, "acp: ContentBlock: no variant is set"},
		{acp.ContentBlock{Text: &acp.TextContent{}, Image: &acp.ImageContent{}}, "acp: ContentBlock: 2 variants are set, want one"},
		{acp.SessionNotification{}, "acp: SessionUpdate: no variant is set"},
		{acp.PromptRequest{Prompt: []acp.ContentBlock{{}}}, "acp: ContentBlock: no variant is set"},
		{acp.ElicitationFormMode{}, "acp: ElicitationFormMode: no variant is set"},
		{acp.ElicitationContentValue{}, "acp: ElicitationContentValue: no variant is set"},
		{acp.ElicitationContentValue{String: new("a"), Boolean: new(true)}, "acp: ElicitationContentValue: 2 variants are set, want one"},
		{acp.SessionConfigSelectOptions{Grouped: []acp.SessionConfigSelectGroup{}, Ungrouped: []acp.SessionConfigSelectOption{}},
			"acp: SessionConfigSelectOptions: 2 variants are set, want one"},
		{acp.ContentBlock{Unknown: json.RawMessage("{")}, "acp: a raw value is not valid JSON"},
		{acp.Cost{Amount: math.NaN()}, "acp: NaN has no JSON form"},
	} {
		_, err := acp.Marshal(tt.v)
		assert.EqualError(t, err, tt.want)
	}
}

func TestDecodingIsStrictAboutWhatIsRequiredAndLenientAboutTheRest(t *testing.T) {
	for text, want := range map[string]string{
		`{"content":[]}`:                         "acp: ToolCallUpdate.toolCallId: required, but missing",
		`{"toolCallId":null}`:                    "acp: ToolCallUpdate.toolCallId: is null, want a string",
		`[]`:                                     "acp: ToolCallUpdate: is an array, want an object",
		`{"toolCallId":{"toolCallId":"nested"}}`: "acp: ToolCallUpdate.toolCallId: is an object, want a string",
	} {
		var v acp.ToolCallUpdate
		err := acp.Unmarshal([]byte(text), &v)
		assert.EqualError(t, err, want)
		var decodeErr *acp.DecodeError
		assert.ErrorAs(t, err, &decodeErr)
	}

	// Optional values of the wrong form count as absent, and so do single elements of lists, as the schema says.
	v := decode[acp.ToolCallUpdate](t, `{"toolCallId":"c","status":7,"title":[],"content":[{"type":7},{"type":"terminal","terminalId":"t"},
		{"type":"diff"}],"locations":{},"_meta":3,"kind":null,"rawInput":null,"new":{"a":[1]}}`)
	assert.Equal(t, acp.ToolCallUpdate{
		ToolCallID: "c", RawInput: json.RawMessage("null"),
		Content: []acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: "t"}}},
	}, v)
	assert.Error(t, json.Unmarshal([]byte(`{"sessionId":"s","prompt":[{"type":"text"}]}`), new(acp.PromptRequest)),
		"what the schema does not excuse is an error")
	assert.Equal(t, []acp.MCPServer{}, decode[acp.NewSessionRequest](t, `{"cwd":"/","mcpServers":null}`).MCPServers)
}

func TestAbsentEmptyAndNullAreToldApart(t *testing.T) {
	assert.Nil(t, decode[acp.ToolCallUpdate](t, `{"toolCallId":"c"}`).Content)
	assert.Equal(t, []acp.ToolCallContent{}, decode[acp.ToolCallUpdate](t, `{"toolCallId":"c","content":[]}`).Content)
	assert.Nil(t, decode[acp.CompactionUpdate](t, `{"compactionId":"c","status":"x"}`).Summary)
	assert.Equal(t, []acp.ContentBlock{}, decode[acp.CompactionUpdate](t, `{"compactionId":"c","status":"x","summary":null}`).Summary)

	assert.True(t, decode[acp.SessionInfoUpdate](t, `{}`).Title.IsZero())
	assert.Equal(t, acp.Clear(), decode[acp.SessionInfoUpdate](t, `{"title":null}`).Title)
	assert.Equal(t, json.RawMessage("null"), decode[acp.ToolCallUpdate](t, `{"toolCallId":"c","rawInput":null}`).RawInput, "any JSON is kept")
	title, ok := decode[acp.SessionInfoUpdate](t, `{"title":"x"}`).Title.Get()
	assert.Equal(t, "x", title)
	assert.True(t, ok)

	o := decode[acp.SessionConfigSelectOptions](t, `[{"group":"g","name":"n","options":[{"value":"v","name":"n"}]}]`)
	assert.Len(t, o.Grouped[0].Options, 1)
	assert.NotNil(t, decode[acp.SessionConfigSelectOptions](t, `[]`).Ungrouped)
}

func TestStringsAreEscapedAndRepaired(t *testing.T) {
	for in, want := range map[string]string{
		"a\"\\/\b\f\n\r\t\x00\x1f": `"a\"\\/\u0008\u000c\n\r\t\u0000\u001f"`,
		"<>&'":                     `"<>&'"`,
		"äß\u2028😀":                "\"äß\u2028😀\"",
		"a\xffb\xc3":               "\"a\uFFFDb\uFFFD\"",
	} {
		assert.Equal(t, `{"text":`+want+`}`, encode(t, acp.TextContent{Text: in}))
		assert.Equal(t, strings.ToValidUTF8(in, "\uFFFD"), decode[acp.TextContent](t, `{"text":`+want+`}`).Text)
	}
	for in, want := range map[string]string{
		`"\ud83d\ude00\u00e4\/\b\f"`: "😀ä/\b\f",
		`"\ud83dx\ude00"`:            "\uFFFDx\uFFFD",
		`"\ud83d\u0041"`:             "\uFFFDA",
		"\"\xff\"":                   "\uFFFD",
	} {
		var c acp.TextContent
		require.NoError(t, acp.Unmarshal([]byte(`{"text":`+in+`}`), &c))
		assert.Equal(t, want, c.Text)
	}
}

func TestRawValuesNeverBreakTheLine(t *testing.T) {
	got := encode(t, acp.ToolCall{RawInput: json.RawMessage("{\n\t\"a\":\r\n 1,\"b\":\"\xff\"}"), RawOutput: json.RawMessage(`{ "a" : 1 }`)})
	assert.Equal(t, "{\"toolCallId\":\"\",\"title\":\"\",\"rawInput\":{\"a\":1,\"b\":\"\uFFFD\"},\"rawOutput\":{ \"a\" : 1 }}", got)
}

func TestWhatIsDecodedSharesNoMemoryWithItsSource(t *testing.T) {
	text := []byte(`{"toolCallId":"call","title":"title","rawInput":{"a":1},"_meta":{"k":[1]}}`)
	var c acp.ToolCall
	require.NoError(t, acp.Unmarshal(text, &c))
	before := encode(t, c)
	clear(text)
	assert.Equal(t, before, encode(t, c))
}

func TestNumbersKeepTheirRange(t *testing.T) {
	assert.Equal(t, uint64(math.MaxUint64), decode[acp.UsageUpdate](t, `{"used":18446744073709551615,"size":5.0}`).Used)
	assert.EqualValues(t, 5000, decode[acp.UsageUpdate](t, `{"used":5e3,"size":5.0}`).Used)
	for _, bad := range []string{`-1`, `18446744073709551616`, `1.5`, `"1"`, `1e400`, `-1.0`} {
		assert.Error(t, acp.Unmarshal([]byte(`{"size":1,"used":`+bad+`}`), new(acp.UsageUpdate)), bad)
	}
	assert.Error(t, acp.Unmarshal([]byte(`{"amount":1e400,"currency":"EUR"}`), new(acp.Cost)))
	assert.Nil(t, decode[acp.ToolCallLocation](t, `{"path":"/f","line":4294967296}`).Line, "optional and out of range")
}

func TestRequestIDs(t *testing.T) {
	assert.True(t, acp.RequestID{}.IsNull())
	assert.Equal(t, acp.IntID(-5), decode[acp.RequestID](t, `-5`))
	assert.Equal(t, acp.StringID("ä\n"), decode[acp.RequestID](t, `"ä\n"`))
	assert.Equal(t, "null", decode[acp.RequestID](t, `null`).String())
	for _, bad := range []string{`true`, `{}`, `1.5`, `1e3`} {
		assert.Error(t, json.Unmarshal([]byte(bad), new(acp.RequestID)))
	}
	b, err := json.Marshal(acp.IntID(7))
	require.NoError(t, err)
	assert.Equal(t, "7", string(b))
}

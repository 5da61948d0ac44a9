// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// fragment returns a chunk with a fragment of a tool call. Name, id and arguments are left out if empty.
func fragment(index int, id, name, args string) string {
	var b strings.Builder
	b.WriteString(`{"tool_calls":[{"type":"function"`)
	if index >= 0 {
		b.WriteString(`,"index":` + strconv.Itoa(index))
	}
	if id != "" {
		b.WriteString(`,"id":` + strconv.Quote(id))
	}
	b.WriteString(`,"function":{`)
	sep := ""
	if name != "" {
		b.WriteString(`"name":` + strconv.Quote(name))
		sep = ","
	}
	if args != "" {
		b.WriteString(sep + `"arguments":` + strconv.Quote(args))
	}
	b.WriteString(`}}]}`)
	return delta(b.String())
}

const noIndex = -1

func TestStreamedToolCallsAreAssembled(t *testing.T) {
	call := model.ToolCall
	for name, test := range map[string]struct {
		chunks []string
		want   []model.Part
	}{
		"fragments of parallel calls may be interleaved": {
			[]string{fragment(0, "a", "f", ""), fragment(1, "b", "g", ""), fragment(1, "", "", `{"y":`), fragment(0, "", "", `{"x":`), fragment(1, "", "", `2}`), fragment(0, "", "", `1}`)},
			[]model.Part{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)},
		},
		"without an index the id tells the call": {
			[]string{fragment(noIndex, "a", "f", ""), fragment(noIndex, "b", "g", ""), fragment(noIndex, "a", "", `{"x":1}`), fragment(noIndex, "b", "", `{"y":2}`)},
			[]model.Part{call("a", "f", `{"x":1}`), call("b", "g", `{"y":2}`)},
		},
		"without index and id the last call goes on": {
			[]string{fragment(noIndex, "a", "f", `{"x":`), fragment(noIndex, "", "", `1}`), fragment(noIndex, "b", "g", ``), fragment(noIndex, "", "", `{}`)},
			[]model.Part{call("a", "f", `{"x":1}`), call("b", "g", `{}`)},
		},
		"an index that only later fragments have": {
			[]string{fragment(noIndex, "a", "f", `{"x":`), fragment(0, "", "", `1}`)},
			[]model.Part{call("a", "f", `{"x":1}`)},
		},
		"a new id and name begin a new call at the same index": {
			[]string{fragment(0, "a", "f", `{"x":1}`), fragment(0, "b", "f", `{"x":2}`), fragment(0, "c", "g", `{}`)},
			[]model.Part{call("a", "f", `{"x":1}`), call("b", "f", `{"x":2}`), call("c", "g", `{}`)},
		},
		"a new id begins a new call without arguments": {
			[]string{fragment(0, "a", "f", ""), fragment(0, "b", "f", "")},
			[]model.Part{call("a", "f", ""), call("b", "f", "")},
		},
		"a new name begins a new call without any id": {
			[]string{fragment(0, "", "weather", `{"x":1}`), fragment(0, "", "time", `{"y":2}`)},
			[]model.Part{call("*", "weather", `{"x":1}`), call("*", "time", `{"y":2}`)},
		},
		"the names of the tools tell a new name from the rest of one": {
			[]string{fragment(0, "", "weather", ""), fragment(0, "", "time", ""), fragment(0, "", "", "{}")},
			[]model.Part{call("*", "weather", ""), call("*", "time", "{}")},
		},
		"the same name again begins a new call once the arguments are complete": {
			[]string{fragment(0, "", "f", `{"x":"}"`), fragment(0, "", "f", `}`), fragment(0, "", "f", `{"x":2}`)},
			[]model.Part{call("*", "f", `{"x":"}"}`), call("*", "f", `{"x":2}`)},
		},
		"ids may differ from fragment to fragment": {
			[]string{fragment(0, "a", "f", ""), fragment(0, "b", "", `{"x":`), fragment(0, "c", "", `1}`)},
			[]model.Part{call("a", "f", `{"x":1}`)},
		},
		"ids may differ while the name is repeated": {
			[]string{fragment(0, "a", "f", `{"x"`), fragment(0, "b", "f", `:`), fragment(0, "c", "f", `1}`)},
			[]model.Part{call("a", "f", `{"x":1}`)},
		},
		"the name may be repeated in each fragment": {
			[]string{fragment(0, "a", "weather", ""), fragment(0, "a", "weather", `{"x":`), fragment(0, "a", "weather", `1}`), fragment(0, "a", "weather", "")},
			[]model.Part{call("a", "weather", `{"x":1}`)},
		},
		"the name may be split": {
			[]string{fragment(0, "a", "wea", ""), fragment(0, "", "ther", ""), fragment(0, "", "", `{}`)},
			[]model.Part{call("a", "weather", `{}`)},
		},
		"the name of an unknown tool may be split": {
			[]string{fragment(0, "a", "no_", ""), fragment(0, "a", "such", `{}`)},
			[]model.Part{call("a", "no_such", `{}`)},
		},
		"the name may come after the id": {
			[]string{fragment(0, "a", "", ""), fragment(0, "", "f", ""), fragment(0, "", "", `{}`)},
			[]model.Part{call("a", "f", `{}`)},
		},
		"missing ids are made up and unique": {
			[]string{fragment(0, "", "f", `{"x":1}`), fragment(1, "", "f", `{"x":1}`)},
			[]model.Part{call("*", "f", `{"x":1}`), call("*", "f", `{"x":1}`)},
		},
		"duplicate ids are made unique": {
			[]string{fragment(0, "a", "f", `{}`), fragment(1, "a", "f", `{}`), fragment(2, "a_2", "f", `{}`), fragment(3, "a", "f", `{}`)},
			[]model.Part{call("a", "f", `{}`), call("a_2", "f", `{}`), call("a_2_2", "f", `{}`), call("a_3", "f", `{}`)},
		},
		"empty and absent arguments stay empty": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"f","arguments":null}},{"index":2,"id":"c","function":{"name":"f"}}]}`)},
			[]model.Part{call("a", "f", ""), call("b", "f", ""), call("c", "f", "")},
		},
		"arguments that are an object are kept byte by byte": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{ "n" : 9007199254740993, "f":1.0 }}}]}`)},
			[]model.Part{call("a", "f", `{ "n" : 9007199254740993, "f":1.0 }`)},
		},
		"arguments that are no JSON are kept": {
			[]string{fragment(0, "a", "f", `{"x":`), fragment(0, "", "", "\n\t  <broken")},
			[]model.Part{call("a", "f", "{\"x\":\n\t  <broken")},
		},
		"a call of nothing is no call": {
			[]string{delta(`{"content":"x","tool_calls":[{"index":0,"function":{}}]}`)},
			[]model.Part{model.Text("x")},
		},
		"a signature comes back with its call": {
			[]string{delta(`{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"name":"f","arguments":"{}"}}]}`)},
			[]model.Part{{Kind: model.PartToolCall, CallID: "a", Tool: "f", Args: model.RawArgs("{}"), Provider: "vllm", Signature: []byte(`{"google":{"thought_signature":"c2ln"}}`)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, serve(t, answer{Body: events(append(test.chunks, finish("tool_calls"))...)}).URL, "vllm")
			req := hello()
			req.Tools = []model.ToolDef{{Name: "weather"}, {Name: "time"}, {Name: "f"}, {Name: "g"}}
			msg, err := stream(t, m, req)
			require.NoError(t, err)
			seen := map[string]bool{}
			for i := range msg.Parts {
				p := &msg.Parts[i]
				if p.Kind != model.PartToolCall {
					continue
				}
				require.NotEmpty(t, p.CallID)
				require.False(t, seen[p.CallID], "%s twice", p.CallID)
				seen[p.CallID] = true
				if i < len(test.want) && test.want[i].CallID == "*" {
					test.want[i].CallID = p.CallID
				}
				if len(p.Args) == 0 {
					require.Nil(t, p.Args)
					test.want[i].Args = nil
				}
			}
			require.Equal(t, test.want, msg.Parts)
			if msg.HasToolCalls() {
				require.Equal(t, model.FinishToolCalls, msg.Finish)
			}
		})
	}
}

func TestLargeArgumentsInSmallFragments(t *testing.T) {
	chunks := []string{fragment(0, "a", "f", `{"x":"`)}
	piece := strings.Repeat("}", 1<<10) // each fragment looks like the end of the object
	for range 1 << 10 {
		chunks = append(chunks, fragment(0, "a", "f", piece))
	}
	chunks = append(chunks, fragment(0, "a", "f", `"}`), finish("tool_calls"))
	msg, err := stream(t, newModel(t, serve(t, answer{Body: events(chunks...)}).URL, "openai"), hello())
	require.NoError(t, err)
	require.Len(t, msg.Parts, 1)
	require.Equal(t, `{"x":"`+strings.Repeat("}", 1<<20)+`"}`, msg.Parts[0].Args.String())
}

func TestFinishReasons(t *testing.T) {
	const text, calls, refusal = `{"content":"x"}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{"content":null,"refusal":"I won't."}`
	for _, test := range []struct {
		message, reason string
		want            model.FinishReason
	}{
		{text, `"stop"`, model.FinishStop},
		{text, `"length"`, model.FinishLength},
		{text, `"content_filter"`, model.FinishContentFilter},
		{text, `"tool_calls"`, model.FinishStop},
		{text, `"error"`, model.FinishError},
		{text, `"insufficient_system_resource"`, model.FinishError},
		{text, `"flux"`, model.FinishOther},
		{text, `null`, model.FinishStop},
		{text, `""`, model.FinishStop},
		{calls, `"tool_calls"`, model.FinishToolCalls},
		{calls, `"function_call"`, model.FinishToolCalls},
		{calls, `"stop"`, model.FinishToolCalls},
		{calls, `"flux"`, model.FinishToolCalls},
		{calls, `null`, model.FinishToolCalls},
		{calls, `"length"`, model.FinishLength},
		{calls, `"content_filter"`, model.FinishContentFilter},
		{refusal, `"stop"`, model.FinishRefusal},
		{refusal, `"flux"`, model.FinishRefusal},
		{refusal, `"length"`, model.FinishRefusal},
		{refusal, `"content_filter"`, model.FinishRefusal},
		{text, `"refusal"`, model.FinishRefusal},
		{calls, `"refusal"`, model.FinishRefusal},
		{calls, `"error"`, model.FinishError},
		{calls, `"insufficient_system_resource"`, model.FinishError},
	} {
		plain := `{"choices":[{"index":0,"message":` + test.message + `,"finish_reason":` + test.reason + `}]}`
		chunk := `{"choices":[{"index":0,"delta":` + test.message + `,"finish_reason":` + test.reason + `}]}`
		for _, body := range []string{plain, events(chunk)} {
			msg, err := newModel(t, serve(t, answer{Body: body}).URL, "openai").Generate(context.Background(), hello(), nil)
			require.NoError(t, err)
			require.Equal(t, test.want, msg.Finish, "%s with %s", test.message, test.reason)
			if test.message == refusal {
				require.Equal(t, "I won't.", msg.Text())
			}
		}
	}
}

func TestContentList(t *testing.T) {
	body := events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), finish("stop"))
	msg, err := stream(t, newModel(t, serve(t, answer{Body: body}).URL, "mistral"), hello())
	require.NoError(t, err)
	require.Equal(t, []model.Part{{Kind: model.PartThinking, Text: "hm", Provider: "mistral"}, model.Text("ab")}, msg.Parts)
}

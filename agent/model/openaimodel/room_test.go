// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// streams returns the events of the streamed answers in testdata/answers that become messages.
func streams(t *testing.T) (names []string, events map[string][]string) {
	events = map[string][]string{}
	files, err := filepath.Glob("testdata/answers/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, sent := range answersIn(string(text)) {
			head, body, _ := strings.Cut(sent, "\n")
			if _, list, _ := strings.Cut(head, ": "); strings.Contains(list, "whole") || strings.Contains("\n"+body, "\n@") || strings.Contains("\n"+body, "\n|") {
				continue
			}
			var list []string
			for data := range strings.SplitSeq(eventsOf(body), "data: ") {
				if data = strings.TrimSpace(data); data != "" {
					list = append(list, data)
				}
			}
			if _, _, err := openaimodel.ReadWithin(strings.Contains(head, "responses"), 1<<20, list...); err == nil {
				names, events[head] = append(names, head), list
			}
		}
	}
	return names, events
}

// Everything that is kept of a response counts, and what is one byte too long is an error wherever it is added.
func TestEverythingThatIsKeptCounts(t *testing.T) {
	names, streams := streams(t)
	var told strings.Builder
	for _, name := range names {
		responses := strings.Contains(name, "responses")
		msg, size, err := openaimodel.ReadWithin(responses, 1<<20, streams[name]...)
		require.NoError(t, err)
		fmt.Fprintf(&told, "%d %s\n", size, name)
		again, _, err := openaimodel.ReadWithin(responses, size, streams[name]...)
		require.NoError(t, err)
		require.Equal(t, madeUp.ReplaceAllString(tellMessage(t, msg), ""), madeUp.ReplaceAllString(tellMessage(t, again), ""))
		for room := size - 1; room >= 0; room -= 1 + size/50 {
			msg, _, err := openaimodel.ReadWithin(responses, room, streams[name]...)
			require.EqualError(t, err, "the response is longer than 64 MiB", "%s in %d bytes", name, room)
			require.Nil(t, msg)
		}
	}
	golden(t, "sizes.txt", told.String())
}

// As many as are allowed fit.
func TestNumbersOfPiecesAreBounded(t *testing.T) {
	for _, test := range []struct {
		event     string // with a number
		responses bool
		most      int
		says      string
	}{
		{delta(`{"tool_calls":[{"index":%d,"function":{"name":"f"}}]}`), false, 1024, "the response has more than 1024 tool calls"},
		{delta(`{"images":[{"image_url":"https://x.test/%d"}]}`), false, 1024, "the response has more than 1024 images"},
		{`{"type":"response.output_text.delta","output_index":%d,"delta":"x"}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.output_text.annotation.added","output_index":%d,"annotation":{}}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.reasoning_text.delta","output_index":%d,"delta":"x"}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.reasoning_text.delta","output_index":0,"content_index":%d,"delta":"x"}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":%d,"delta":"x"}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":"x"}`, true, 4096, "the response has more than 4096 items"},
		{`{"type":"response.output_item.done","output_index":%d,"item":{"type":"x"}}`, true, 4096, "the response has more than 4096 items"},
	} {
		end := finish("stop")
		if test.responses {
			end = `{"type":"response.completed"}`
		}
		var list []string
		for i := range test.most + 1 {
			list = append(list, fmt.Sprintf(test.event, i))
		}
		_, failed, err := openaimodel.ReadWithin(test.responses, 1<<20, append(list, end)...)
		require.EqualError(t, err, test.says)
		require.Equal(t, test.most, failed, "the event that was too much")
	}
	const item, summary = `{"type":"x"}`, `{"text":"x"}`
	for _, n := range []int{4096, 4097} {
		for _, body := range []string{
			`{"type":"response.completed","response":{"output":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"reasoning","summary":[` + strings.TrimSuffix(strings.Repeat(summary+",", n), ",") + `]}]}}`,
			`{"type":"response.completed","response":{"output":[{"type":"reasoning","content":[` + strings.TrimSuffix(strings.Repeat(summary+",", n), ",") + `]}]}}`,
		} {
			_, _, err := openaimodel.ReadWithin(true, 1<<20, body)
			if n == 4096 {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "the response has more than 4096 items")
			}
		}
	}
}

// The body of a request is allocated once, and not much larger than it becomes.
func TestBodiesAreAllocatedOnce(t *testing.T) {
	const size = 1 << 20
	escaped := strings.Repeat("1234567\n", size/8) // one eighth needs escapes
	name := strings.Repeat("n", 60)
	var calls []*model.Message
	for i := range 2000 {
		id := fmt.Sprintf("c%05d", i)
		calls = append(calls, model.Response(model.ToolCall(id, name, "{}")), request(model.ToolReturn(id, name, "ok")))
	}
	var tools []model.ToolDef
	for i := range 2000 {
		tools = append(tools, model.ToolDef{Name: fmt.Sprintf("%s%04d", name, i)[4:], Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
	}
	for what, test := range map[string]struct {
		req  *model.Request
		most float64 // how much larger
	}{
		"instructions": {&model.Request{Instructions: strings.Repeat("x", size)}, 1.05},
		"text":         {&model.Request{Messages: []*model.Message{model.UserText(escaped)}}, 1.05},
		"arguments":    {&model.Request{Messages: []*model.Message{model.Response(model.ToolCall("c", "f", `{"x":[`+strings.Repeat(`"1234567890123",`, size/16)+`0]}`))}}, 1.05},
		"data":         {&model.Request{Messages: []*model.Message{request(model.Media("image/png", make([]byte, size)))}}, 1.05},
		"a URL":        {&model.Request{Messages: []*model.Message{request(model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://" + strings.Repeat("x", size)})}}, 1.05},
		"descriptions": {&model.Request{Tools: []model.ToolDef{{Name: "f", Description: strings.Repeat("x", size)}}}, 1.05},
		"schemas":      {&model.Request{Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(`{"x":"` + strings.Repeat("x", size) + `"}`)}}}, 1.05},
		"tools":        {&model.Request{Tools: tools}, 1.3},
		"messages":     {&model.Request{Messages: calls}, 0},
	} {
		m := newModel(t, "http://x.test", "openai")
		body, err := openaimodel.RequestBody(m, test.req, false)
		require.NoError(t, err)
		require.NotZero(t, len(body))
		if test.most > 0 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = openaimodel.RequestBody(m, test.req, false)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.LessOrEqual(t, float64(after.TotalAlloc-before.TotalAlloc), test.most*float64(len(body))+float64(16<<10), "%s: %d bytes", what, len(body))
		} else {
			require.Less(t, float64(cap(body)), 1.2*float64(len(body)), "%s: %d bytes", what, len(body))
		}
	}
}

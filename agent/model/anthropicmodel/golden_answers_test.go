// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"strings"
	"testing"
)

// wholeAnswers are bodies with status 200 that are no streams.
var wholeAnswers = map[string]string{
	"text":                          whole(`{"type":"text","text":"a"}`),
	"empty text":                    whole(`{"type":"text","text":""},{"type":"text","text":"b"}`),
	"cited text":                    whole(`{"type":"text","text":"a","citations":[{"type":"web","url":"u","title":"t","cited_text":"c"},{"source":"s","document_title":"d"},{"url":"u","source":"s","title":"t","document_title":"d"},7,{"url":7,"title":"t"}]},{"type":"text","text":"b","citations":null}`),
	"citations of no text":          whole(`{"type":"text","text":"","citations":[{"url":"u"}]}`),
	"thinking":                      whole(`{"type":"thinking","thinking":"h","signature":"s"},{"type":"thinking","thinking":"i"},{"type":"thinking","thinking":"","signature":"t"},{"type":"thinking","thinking":"","signature":""}`),
	"redacted thinking":             whole(`{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a"}`),
	"a call":                        whole(`{"type":"tool_use","id":"c","name":"f","input": {"a": 1.0}}`),
	"calls of odd input":            whole(`{"type":"tool_use","id":"c","name":"f"},{"type":"tool_use","id":"c","name":"f","input":null},{"type":"tool_use","name":"f","input":[1]},{"type":"tool_use","id":"d","name":"f","input":{}}`),
	"a call with more members":      whole(`{"type":"tool_use","caller":{"type":"direct"},"id":"c","name":"f","input":{"a":1},"x":[1, 2]}`),
	"a call without a name":         whole(`{"type":"tool_use","id":"c","input":{}}`),
	"an unknown block":              whole(`{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":"x"}},{"type":"web_search_tool_result", "n": 1.0}`),
	"a block without a type":        whole(`{"text":"a"}`),
	"a block of a wrong type":       whole(`{"type":7}`),
	"a block that is no object":     whole(`"a"`),
	"a text that is none":           whole(`{"type":"text","text":7}`),
	"a type of null":                whole(`{"type":null}`),
	"no content":                    `{"type":"message","id":"m"}`,
	"content of null":               `{"type":"message","content":null}`,
	"empty content":                 `{"type":"message","id":"m","model":"x","content":[],"stop_reason":"end_turn"}`,
	"no type":                       `{"content":[{"type":"text","text":"a"}]}`,
	"an error":                      `{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r"}`,
	"an error without a type":       `{"error":{"message":"no"},"content":[]}`,
	"an error of a number":          `{"error":7,"content":[]}`,
	"an error of null":              `{"error":null,"content":[]}`,
	"another protocol":              `{"choices":[]}`,
	"an empty object":               ` { } `,
	"an empty object of a type":     `{"type":"message"}`,
	"an object of another type":     `{"type":"other","x":1}`,
	"a list":                        `[]`,
	"a number":                      `7`,
	"a negative number":             `-7`,
	"a page":                        `<html><title>Hi</title></html>`,
	"a word":                        `"busy"`,
	"text without quotes":           `busy`,
	"nothing":                       ``,
	"white space":                   " \n",
	"a broken object":               `{"type":"message","content":[{"type":"te`,
	"a wrong object":                `{"type":"message","content":[}`,
	"a wrong type":                  `{"type":"message","content":{}}`,
	"usage":                         whole(`{"type":"text","text":"a"}`, `"usage":{"input_tokens":1,"output_tokens":20,"cache_read_input_tokens":300,"cache_creation_input_tokens":4000,"output_tokens_details":{"thinking_tokens":5}}`),
	"usage of passes":               whole(`{"type":"text","text":"a"}`, `"usage":{"input_tokens":1,"output_tokens":2,"iterations":[{"type":"message","input_tokens":1,"output_tokens":2},{"type":"compaction","input_tokens":100,"output_tokens":20,"cache_read_input_tokens":5,"cache_creation_input_tokens":6},{"type":"advisor","input_tokens":1000}]}`),
	"a container":                   whole(`{"type":"text","text":"a"}`, `"container":{"id":"k"}`),
	"an empty answer of a full one": `{"type":"message","model":"x","content":[],"stop_reason":"model_context_window_exceeded"}`,
	"a full one":                    `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"model_context_window_exceeded"}`,
}

// whole returns an unstreamed response.
func whole(blocks string, more ...string) string {
	return `{"id":"msg_1","type":"message","model":"claude-x","content":[` + blocks + `],` + strings.Join(append(more, `"stop_reason":"end_turn"`), ",") + `}`
}

// blocks are what may come between the start and the end of a stream.
var blocks = map[string]string{
	"nothing":                                  "",
	"text":                                     start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":"a"}`) + delta(0, `{"type":"text_delta","text":""}`) + delta(0, `{"type":"text_delta","text":"b"}`) + stop(0),
	"text at its start":                        start(0, `{"type":"text","text":"a"}`) + delta(0, `{"type":"text_delta","text":"b"}`) + stop(0),
	"text without a start":                     delta(0, `{"type":"text_delta","text":"a"}`) + stop(0),
	"text without an end":                      start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":"a"}`),
	"text of two blocks":                       start(0, `{"type":"text","text":"a"}`) + stop(0) + start(1, `{"type":"text","text":"b"}`) + stop(1),
	"blocks that grow together":                start(0, `{"type":"text","text":"a"}`) + start(1, `{"type":"thinking","thinking":"h"}`) + delta(0, `{"type":"text_delta","text":"b"}`) + delta(1, `{"type":"thinking_delta","thinking":"i"}`) + stop(0) + stop(1),
	"one index twice":                          start(0, `{"type":"text","text":"a"}`) + stop(0) + start(0, `{"type":"text","text":"b"}`) + delta(0, `{"type":"text_delta","text":"c"}`) + stop(0),
	"citations":                                start(0, `{"type":"text","text":"","citations":[{"url":"a"}]}`) + delta(0, `{"type":"citations_delta","citation":{"url":"b"}}`) + delta(0, `{"type":"text_delta","text":"t"}`) + stop(0),
	"thinking":                                 start(0, `{"type":"thinking","thinking":"","signature":""}`) + delta(0, `{"type":"thinking_delta","thinking":"h"}`) + delta(0, `{"type":"signature_delta","signature":"s"}`) + delta(0, `{"type":"signature_delta","signature":"t"}`) + stop(0),
	"thinking of a signature alone":            start(0, `{"type":"thinking","thinking":"","signature":"s"}`) + stop(0),
	"thinking without a signature":             start(0, `{"type":"thinking","thinking":"h"}`) + stop(0),
	"thinking without a start":                 delta(0, `{"type":"thinking_delta","thinking":"h"}`) + delta(0, `{"type":"signature_delta","signature":"s"}`) + stop(0),
	"a signature without a start":              delta(0, `{"type":"signature_delta","signature":"s"}`) + stop(0),
	"redacted thinking":                        start(0, `{"type":"redacted_thinking","data":"d"}`) + stop(0),
	"redacted thinking that never stops":       start(0, `{"type":"redacted_thinking","data":"d"}`),
	"a call":                                   start(0, `{"type":"tool_use","id":"c","name":"f","input":{}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{\"a\""}`) + delta(0, `{"type":"input_json_delta","partial_json":":1}"}`) + stop(0),
	"a call without arguments":                 start(0, `{"type":"tool_use","id":"c","name":"f","input":{}}`) + delta(0, `{"type":"input_json_delta","partial_json":""}`) + stop(0),
	"a call with its arguments at its start":   start(0, `{"type":"tool_use","id":"c","name":"f","input":{"a":1}}`) + stop(0),
	"a call with more members":                 start(0, `{"type":"tool_use","id":"c","name":"f","input":{"a":1},"caller":{"type":"direct"}}`) + stop(0),
	"a call with more members in pieces":       start(0, `{"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"direct"}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{}"}`) + stop(0),
	"a call without an end":                    start(0, `{"type":"tool_use","id":"c","name":"f","input":{"a":1}}`),
	"calls of one id":                          start(0, `{"type":"tool_use","id":"c","name":"f"}`) + stop(0) + start(1, `{"type":"tool_use","id":"c","name":"f"}`) + stop(1) + start(2, `{"type":"tool_use","name":"f"}`) + stop(2),
	"a call without a name":                    start(0, `{"type":"tool_use","id":"c"}`),
	"a call that was not started":              delta(0, `{"type":"input_json_delta","partial_json":"{}"}`),
	"citations that were not started":          delta(0, `{"type":"citations_delta","citation":{}}`),
	"a server tool":                            start(0, `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{\"q\":"}`) + delta(0, `{"type":"input_json_delta","partial_json":"1}"}`) + stop(0),
	"a server tool with broken arguments":      start(0, `{"type":"server_tool_use","id":"s","input":{"a":1}}`) + delta(0, `{"type":"input_json_delta","partial_json":"{"}`) + stop(0),
	"a server tool without input":              start(0, `{"type":"server_tool_use","id":"s"}`) + delta(0, `{"type":"input_json_delta","partial_json":"{}"}`) + stop(0),
	"a new block that grows":                   start(0, `{"type":"compaction","content":"a","n":1,"z":null}`) + delta(0, `{"type":"compaction_delta","content":"b","n":"c","z":"d","new":"e","empty":"","number":7}`) + delta(0, `{"type":"compaction_delta","content":"f"}`) + stop(0),
	"a new kind of delta for text":             start(0, `{"type":"text","text":"a"}`) + delta(0, `{"type":"sparkle_delta","text":"b"}`) + stop(0),
	"text for thinking":                        start(0, `{"type":"thinking","thinking":""}`) + delta(0, `{"type":"text_delta","text":"a"}`),
	"thinking for text":                        start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"thinking_delta","thinking":"a"}`),
	"a signature for text":                     start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"signature_delta","signature":"a"}`),
	"arguments for text":                       start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"input_json_delta","partial_json":"a"}`),
	"citations for a call":                     start(0, `{"type":"tool_use","name":"f"}`) + delta(0, `{"type":"citations_delta","citation":{}}`),
	"a delta of a wrong type":                  start(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":7}`),
	"a delta that is none":                     start(0, `{"type":"text","text":""}`) + delta(0, `7`),
	"no delta":                                 event(`{"type":"content_block_delta","index":0}`),
	"the end of a block that was not started":  stop(3),
	"a start without a block":                  event(`{"type":"content_block_start","index":0}`),
	"a second start":                           event(`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":9}}}`) + start(0, `{"type":"text","text":"a"}`) + stop(0),
	"a second start, of another message":       event(`{"type":"message_start","message":{"id":"msg_2","usage":{"input_tokens":9}}}`) + start(0, `{"type":"text","text":"a"}`) + stop(0),
	"a second start after a block":             start(0, `{"type":"text","text":"a"}`) + event(`{"type":"message_start","message":{"id":"msg_1"}}`) + start(1, `{"type":"text","text":"b"}`),
	"a second start and the same block":        start(0, `{"type":"text","text":"a"}`) + event(`{"type":"message_start","message":{"id":"msg_1"}}`) + start(0, `{"type":"text","text":"b"}`),
	"a second message after a block":           start(0, `{"type":"text","text":"a"}`) + event(`{"type":"message_start","message":{"id":"msg_2"}}`),
	"a start of nothing":                       event(`{"type":"message_start"}`) + start(0, `{"type":"text","text":"a"}`),
	"an event that is no JSON":                 "event: content_block_delta\ndata: no\n\n",
	"an unnamed event that is no JSON":         "data: no\n\n",
	"an event of a new name that is no JSON":   "event: sparkle\ndata: no\n\n" + strings.Join(say("a"), ""),
	"an event of a new name":                   "event: sparkle\ndata: {\"type\":\"sparkle\"}\n\n" + strings.Join(say("a"), ""),
	"an error":                                 strings.Join(say("a"), "") + event(`{"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"r"}`),
	"an error by its name":                     "event: error\ndata: busy\n\n",
	"an error without a type":                  "data: {\"error\":{\"message\":\"no\"}}\n\n",
	"an error of a number":                     `{"error":7,"content":[]}`,
	"an error of null":                         "data: {\"error\":null}\n\n" + strings.Join(say("a"), ""),
	"an empty event, and an end of another":    "data:\n\ndata: [DONE]\n\n" + strings.Join(say("a"), ""),
	"another usage":                            strings.Join(say("a"), "") + event(`{"type":"message_delta","delta":{},"usage":{"input_tokens":30,"cache_read_input_tokens":4,"cache_creation_input_tokens":5,"output_tokens":6,"output_tokens_details":{"thinking_tokens":2}}}`),
	"usage of zeros":                           strings.Join(say("a"), "") + event(`{"type":"message_delta","usage":{"input_tokens":0,"iterations":[{"type":"compaction","input_tokens":50}]}}`),
	"a container and a stop that is withdrawn": event(`{"type":"message_delta","delta":{"stop_reason":"max_tokens","container":{"id":"k"}}}`) + strings.Join(say("a"), ""),
	"a delta of the message of a wrong type":   event(`{"type":"message_delta","delta":7}`),
}

func TestWholeAnswersMatchTheGoldenFile(t *testing.T) {
	var told story
	for name, body := range sorted(wholeAnswers) {
		told.ways(name, []string{"whole", "streamed"}, func(way string) []string {
			return outcome(t, inMemory(t, nil, nil, answer{Body: body}), hello(), way == "streamed")
		})
	}
	told.compare(t, "answers.txt")
}

func TestStreamsMatchTheGoldenFile(t *testing.T) {
	var told story
	for name, between := range sorted(blocks) {
		ways := map[string]string{
			"complete": events(between), "cut off": begin() + between, "without a start": between + strings.Join(end("end_turn", `{"output_tokens":7}`), ""),
			"without the last event": strings.TrimSuffix(events(between), event(`{"type":"message_stop"}`)),
		}
		told.ways(name, []string{"complete", "cut off", "without a start", "without the last event"}, func(way string) []string {
			return outcome(t, inMemory(t, nil, nil, answer{Body: ways[way]}), hello(), true)
		})
	}
	told.compare(t, "streams.txt")
}

func TestStopReasonsMatchTheGoldenFile(t *testing.T) {
	var told story
	for _, reason := range []string{"", "end_turn", "stop_sequence", "tool_use", "max_tokens", "model_context_window_exceeded", "refusal", "something_new"} {
		for _, block := range []string{"", `{"type":"text","text":"a"}`, `{"type":"tool_use","id":"c","name":"f","input":{}}`} {
			body := `{"type":"message","model":"claude-x","content":[` + block + `],"stop_reason":"` + reason + `"}`
			told.tell(reason+" "+block, outcome(t, inMemory(t, nil, nil, answer{Body: body}), hello(), false)...)
		}
	}
	told.compare(t, "stop-reasons.txt")
}

// TestPausedTurnsMatchTheGoldenFile checks what is sent to continue a turn, and what becomes of all its responses.
func TestPausedTurnsMatchTheGoldenFile(t *testing.T) {
	pause := func(block, more string) answer {
		return answer{Body: `{"id":"p","type":"message","model":"claude-x","content":[` + block + `],"stop_reason":"pause_turn","usage":{"input_tokens":10,"output_tokens":2}` + more + `}`}
	}
	call := `{"type":"tool_use","id":"c","name":"f","input":{}}`
	good := answer{Body: whole(`{"type":"text","text":"done"},`+call, `"usage":{"input_tokens":1,"output_tokens":2}`)}
	var told story
	for name, answers := range sorted(map[string][]answer{
		"in a container that the end of a stream names": {{Body: begin() + strings.Join(say("a"), "") + event(`{"type":"message_delta","delta":{"stop_reason":"pause_turn","container":{"id":"k"}}}`) + event(`{"type":"message_stop"}`)}, good},
		"once":              {pause(`{"type":"server_tool_use","id":"s"}`, ""), good},
		"with a container":  {pause(`{"type":"text","text":"a"}`, `,"container":{"id":"k"}`), good},
		"with a call":       {pause(call, ""), good},
		"and then a wrong":  {pause(call, ""), {Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`}},
		"with nothing":      {pause("", ""), good},
		"for ever":          {pause(`{"type":"text","text":"a"}`, "")},
		"and then too full": {pause(`{"type":"text","text":"a"}`, ""), {Body: `{"type":"message","content":[],"stop_reason":"model_context_window_exceeded"}`}},
	}) {
		for _, streamed := range []bool{false, true} {
			var sent []sending
			lines := outcome(t, inMemory(t, &sent, uncached, answers...), hello(), streamed)
			for _, s := range sent {
				lines = append(lines, "sent: "+s.body)
			}
			way := ", whole"
			if streamed {
				way = ", streamed"
			}
			told.tell(name+way, lines...)
		}
	}
	told.compare(t, "paused.txt")
}

// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// emptyMessage matches what providers refuse as an empty message, and the role of a message of the
// model.
var emptyMessage = regexp.MustCompile(`"(content|parts|text)"\s*:\s*("\s*"|\[\s*\])|"role"\s*:\s*"(assistant|model)"`)

// testEmptyResponses puts responses without words into the history. Nothing of them can be sent in
// a form that all models of a provider accept.
func testEmptyResponses(s *subject) {
	thoughts := model.Part{Kind: model.PartThinking, Text: "hm", Provider: s.model().Info().Provider, Signature: []byte("signed")}
	for name, parts := range map[string][]model.Part{
		"nothing": nil, "thoughts": {model.Thinking("hm")}, "signed thoughts": {thoughts}, "empty text": {model.Text("")},
		"thoughts and empty text": {thoughts, model.Text("")}, "white space": {model.Text(" \n"), model.Text("\t")},
		"another's thoughts": {{Kind: model.PartThinking, Text: "hm", Provider: "elsewhere", Signature: []byte("signed")}},
		"another's opaque":   {{Kind: model.PartOpaque, Data: []byte(`{"type":"reasoning"}`), Provider: "elsewhere"}},
		"a source":           {{Kind: model.PartCitation, URL: "https://a.test/", Provider: "elsewhere", Data: []byte(`{}`)}},
	} {
		answer := model.Response(parts...)
		answer.Provider = thoughts.Provider
		first, second := model.UserText("first words"), model.UserText("second words")
		for where, messages := range map[string][]*model.Message{
			"":          {first, answer, second},
			" at first": {answer, first, second}, " at last": {first, second, answer}, " twice": {first, answer, answer, second, answer},
			" between": {first, answer, second, answer, model.UserText("third words")},
		} {
			req := question("")
			req.Messages = messages
			sent := s.mustSend(req)
			if at := strings.Index(sent, "first words"); at < 0 || !strings.Contains(sent[at:], "second words") {
				s.t.Errorf("a response of %s%s: not all of the rest was sent, in order: %.2000s", name, where, sent)
			}
			if found := emptyMessage.FindString(sent); found != "" {
				s.t.Errorf("a response of %s%s: %s was sent: %.2000s", name, where, found, sent)
			}
		}
	}
}

// callID matches the id of a call or of a result.
var callID = regexp.MustCompile(`"(?:id|call_id|tool_call_id|tool_use_id)"\s*:\s*"([^"]*)"`)

// testRepeatedIDs uses an id again in later responses, as small models do.
func testRepeatedIDs(s *subject) {
	req := question("")
	results := func(ids ...string) *model.Message {
		msg := &model.Message{Kind: model.KindRequest}
		for _, id := range ids {
			msg.Parts = append(msg.Parts, model.ToolReturn(id, "weather", "rain"))
		}
		return msg
	}
	call := func(id string) model.Part { return model.ToolCall(id, "weather", `{"city":"Oslo"}`) }
	req.Messages = []*model.Message{
		model.UserText("How is the weather?"),
		model.Response(call("call_0")), results("call_0"),
		model.Response(call("call_0"), call("call_1")), results("call_0", "call_1"),
		model.Response(call("call_0")), results("call_0"),
	}
	own := s.model().Info().Provider
	for _, providers := range [][3]string{{}, {own, own, own}, {"elsewhere", own, "another"}, {own, "elsewhere", own}} {
		for n := 3; n <= len(req.Messages); n += 2 {
			part := *req
			part.Messages = nil
			for i, msg := range req.Messages[:n] {
				if msg.Kind == model.KindResponse {
					msg = msg.Clone()
					msg.Provider = providers[i/2]
				}
				part.Messages = append(part.Messages, msg)
			}
			s.checkIDs(s.mustSend(&part))
		}
	}
	// Histories of other libraries may have an id twice in one response.
	for _, id := range []string{"call_0", "", "a b"} {
		req.Messages = []*model.Message{model.UserText("How is the weather?"), model.Response(call(id)), results(id), model.Response(call(id), call(id)), results(id, id)}
		s.checkIDs(s.mustSend(req))
	}
}

// checkIDs checks the ids of the calls and results of testRepeatedIDs. Not every protocol has ids.
func (s *subject) checkIDs(sent string) {
	s.t.Helper()
	var ids []string
	for _, found := range callID.FindAllStringSubmatch(sent, -1) {
		ids = append(ids, found[1])
	}
	var calls []string
	for rest := ids; len(rest) > 0; { // one call and its result, two of each, and one again
		n := 1
		if len(calls) == 1 {
			n = 2
		}
		if len(rest) < 2*n || !slices.Equal(rest[:n], rest[n:2*n]) {
			s.t.Errorf("results do not have the ids of their calls: %q: %.2000s", ids, sent)
			return
		}
		calls, rest = append(calls, rest[:n]...), rest[2*n:]
	}
	if different := slices.Compact(slices.Sorted(slices.Values(calls))); len(different) < len(calls) {
		s.t.Errorf("two calls were sent with one id: %q: %.2000s", calls, sent)
	}
}

// testMediaBack continues a conversation in which the model has made an image.
func testMediaBack(s *subject) {
	if s.h.Unscripted {
		s.t.Skip("the model decides its responses itself")
	}
	s.needsSent()
	req := question("Draw rain.")
	msg := s.answer(req, s.sink)
	next := *req
	next.Messages = append(slices.Clone(req.Messages), msg, model.UserText("Make it blue."))
	if sent := s.mustSend(&next); !carries(sent, []byte(pngData)) {
		s.t.Errorf("the image was not sent back to the model that made it: %.2000s", sent)
	}
}

// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// emptyMessage matches what providers refuse as an empty message, and the role of a message of the model.
var emptyMessage = regexp.MustCompile(`"(content|parts|text)"\s*:\s*("\s*"|\[\s*\])|"role"\s*:\s*"(assistant|model)"`)

// testEmptyResponses puts responses without words into the history. Nothing of them can be sent in a form that all models
// of a provider accept.
func testEmptyResponses(s *subject) {
	thoughts := model.Part{Kind: model.PartThinking, Text: "hm", Provider: s.model().Info().Provider, Signature: []byte("signed")}
	for name, parts := range map[string][]model.Part{
		"nothing": nil, "thoughts": {model.Thinking("hm")}, "signed thoughts": {thoughts}, "empty text": {model.Text("")},
		"thoughts and empty text": {thoughts, model.Text("")},
	} {
		req := question("")
		answer := model.Response(parts...)
		answer.Provider = thoughts.Provider
		req.Messages = []*model.Message{model.UserText("first words"), answer, model.UserText("second words")}
		sent := s.mustSend(req)
		if at := strings.Index(sent, "first words"); at < 0 || !strings.Contains(sent[at:], "second words") {
			s.t.Errorf("a response of %s: not all of the rest was sent, in order: %.2000s", name, sent)
		}
		if found := emptyMessage.FindString(sent); found != "" {
			s.t.Errorf("a response of %s: %s was sent: %.2000s", name, found, sent)
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
	for n := 3; n <= len(req.Messages); n += 2 {
		part := *req
		part.Messages = req.Messages[:n]
		s.checkIDs(s.mustSend(&part))
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

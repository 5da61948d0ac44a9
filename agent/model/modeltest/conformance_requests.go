// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Texts that belong to another provider or to the application.
const (
	foreignSignature = "signature of another provider"
	foreignOpaque    = "opaque to all but another provider"
	privateMeta      = "for the application alone"
)

// richHistory returns a history with everything that a conversation with other models can contain.
func richHistory() []*model.Message {
	return []*model.Message{
		{
			Kind: model.KindRequest, RunID: "run-1", Metadata: map[string]string{"k": privateMeta},
			Parts: []model.Part{model.System("You are in Norway."), model.User("first words")},
		},
		{Kind: model.KindRequest, Parts: []model.Part{model.User("second words")}, Instructions: "instructions of long ago"},
		{
			Kind: model.KindResponse, Provider: "elsewhere", Model: "other", Finish: model.FinishToolCalls, Usage: someUsage,
			Parts: []model.Part{
				{Kind: model.PartThinking, Text: "third words", Provider: "elsewhere", ID: "rs_1", Signature: []byte(foreignSignature)},
				{Kind: model.PartOpaque, Provider: "elsewhere", Data: []byte(foreignOpaque)},
				{Kind: model.PartCitation, Provider: "elsewhere", URL: "https://source.test", Text: foreignOpaque, Data: []byte(foreignOpaque)},
				{
					Kind: model.PartToolCall, CallID: "c1", Tool: "weather", Args: model.RawArgs(`{"city":"fourth"}`),
					Provider: "elsewhere", Signature: []byte(foreignSignature),
				},
				model.ToolCall("c2", "weather", `{"broken`),
				model.ToolCall("c3", "time", ""),
				model.ToolCall("c4", "gone", `{}`),
			},
		},
		{Kind: model.KindRequest, Kept: []model.Part{
			{Kind: model.PartToolReturn, CallID: "c0", Tool: "weather", Meta: json.RawMessage(`"` + privateMeta + `"`), Keep: privateMeta},
		}, Parts: []model.Part{
			{Kind: model.PartToolReturn, CallID: "c1", Tool: "weather", Text: "fifth words", Meta: json.RawMessage(`"` + privateMeta + `"`), Keep: privateMeta},
			model.Retry("c2", "weather", "sixth words"),
		}},
		{Kind: model.KindRequest, Interrupted: true, Parts: []model.Part{
			{Kind: model.PartToolReturn, CallID: "c3", Tool: "time", Text: "seventh words", Outcome: model.OutcomeFailed},
			{Kind: model.PartToolReturn, CallID: "c4", Tool: "gone", Text: "", Outcome: model.OutcomeInterrupted},
			model.User("eighth words"),
		}},
		{Kind: model.KindResponse, Parts: []model.Part{model.Text("ninth words")}, Finish: model.FinishStop},
		{Kind: model.KindResponse, Parts: []model.Part{model.Text("tenth words")}, Interrupted: true, Finish: model.FinishLength},
		{Kind: model.KindRequest, Parts: []model.Part{model.Retry("", "", "eleventh words"), model.User("twelfth words")}},
	}
}

var wordsInOrder = []string{
	"Answer briefly.", "You are in Norway.", "first words", "second words", "fourth", "fifth words", "sixth words", "seventh words",
	"eighth words", "ninth words", "tenth words", "eleventh words", "twelfth words",
}

// history returns richHistory without requests to retry if the model decides its responses itself,
// because it may fail then.
func (s *subject) history() []*model.Message {
	messages := richHistory()
	if s.h.Unscripted {
		for _, m := range messages {
			m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return p.Kind == model.PartRetry })
		}
	}
	return messages
}

// testHistories checks that any conversation can be continued with another model.
func testHistories(s *subject) {
	histories := map[string][]*model.Message{
		"empty user text":        {model.UserText("")},
		"request with no parts":  {model.UserText("hello"), model.Response(model.Text("hello")), {Kind: model.KindRequest}},
		"response with no parts": {model.UserText("hello"), {Kind: model.KindResponse}, model.UserText("are you there?")},
		"thinking alone":         {model.UserText("hello"), model.Response(model.Thinking("hm")), model.UserText("and?")},
		"text in many scripts":   {model.UserText("æøå \u2028 \U0001F327 \x00 \"quoted\" </script>")},
	}
	for name, provider := range map[string]string{"media by another model": "elsewhere", "media by this provider": s.model().Info().Provider} {
		drawn := model.Response(model.Text("Here it is."), model.Part{
			Kind: model.PartMedia, MediaType: "image/png", Data: []byte(pngData), Provider: provider,
		})
		drawn.Provider, drawn.Finish = provider, model.FinishStop
		histories[name] = []*model.Message{model.UserText("Draw rain."), drawn, model.UserText("Wetter, please.")}
	}
	rich := s.history()
	histories["all kinds of parts"] = rich
	histories["results last"] = rich[:5]
	for name, messages := range histories {
		s.run(name, func(s *subject) {
			req := question("")
			req.Messages = messages
			s.answer(req, nil)
			s.answer(req, func(model.Delta) error { return nil })
		})
	}
	s.answer(&model.Request{Messages: []*model.Message{model.UserText("no tools, no instructions, no settings")}}, nil)
	s.answer(&model.Request{Instructions: "instructions alone", Messages: []*model.Message{{Kind: model.KindRequest}}}, nil)
}

// testWire checks what is sent for richHistory.
func testWire(s *subject) {
	req := question("")
	req.Messages = richHistory()
	wire := s.mustSend(req)
	rest := wire
	for _, words := range wordsInOrder {
		at := strings.Index(rest, words)
		if at < 0 {
			s.t.Fatalf("%q was not sent, or out of order:\n%s", words, wire)
		}
		rest = rest[at+len(words):]
		if strings.Contains(rest, words) {
			s.t.Errorf("%q was sent twice:\n%s", words, wire)
		}
	}
	for _, described := range []string{"The weather of a city.", "Where it rains.", "The time."} {
		if !strings.Contains(wire, described) {
			s.t.Errorf("%q, from a tool, was not sent:\n%s", described, wire)
		}
	}
	for _, private := range []string{foreignSignature, foreignOpaque, privateMeta, "instructions of long ago", "run-1"} {
		for _, form := range []string{private, base64.StdEncoding.EncodeToString([]byte(private))} {
			if strings.Contains(wire, form) {
				s.t.Errorf("%q was sent, but is not for this provider:\n%s", private, wire)
			}
		}
	}
}

// testLongInteger puts an integer into the history that a float cannot represent.
func testLongInteger(s *subject) {
	req := question("")
	req.Messages = []*model.Message{
		model.UserText("How is the weather?"),
		model.Response(model.ToolCall("c1", "weather", `{"id": 9223372036854775807}`)),
		{Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("c1", "weather", `{"id": 9007199254740993}`)}},
	}
	sent := s.mustSend(req)
	for _, id := range []string{"9223372036854775807", "9007199254740993"} {
		if !strings.Contains(sent, id) {
			s.t.Errorf("%s was not sent unchanged: %.2000s", id, sent)
		}
	}
}

// testRequestUnchanged passes a request to the model that reveals writes to its values and to the
// space after its slices.
func testRequestUnchanged(s *subject) {
	s.model()
	sentinel := model.UserText("behind the end")
	messages := append(s.history(), sentinel, sentinel)
	last := model.UserText("last words")
	last.Parts = append(last.Parts, model.User("behind the end"))[:1]
	req := question("")
	req.Messages = append(messages[:len(messages)-2], last)
	req.Tools = append(req.Tools, model.ToolDef{Name: "behind_the_end"})[:2]
	req.Settings = &model.Settings{
		MaxTokens: 100, Stop: []string{"stop", "behind the end"}[:1], ExtraHeaders: map[string]string{"X-Test": "1"},
	}
	before, parts := snapshot(req), len(last.Parts)
	for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
		// The model may return an error for the settings, but must not modify them.
		if _, err := s.generate(s.t.Context(), req, sink); err != nil && !errors.Is(err, model.ErrUnsupported) {
			s.t.Fatalf("Generate failed: %v", err)
		}
		plain := *req
		plain.Settings = nil
		s.answer(&plain, sink)
	}
	if after := snapshot(req); after != before {
		s.t.Errorf("request was modified\nfrom %s\n  to %s", before, after)
	}
	if messages[len(messages)-1] != sentinel || last.Parts[:parts+1][parts].Text != "behind the end" ||
		req.Tools[:3][2].Name != "behind_the_end" || req.Settings.Stop[:2][1] != "behind the end" {
		s.t.Error("something was written after the end of a slice of the request")
	}
}

func snapshot(req *model.Request) string { return asJSON(req) }

func testUnsupported(s *subject) {
	s.model()
	info := s.m.Info()
	refused := func(what string, req *model.Request) {
		s.t.Helper()
		for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
			if _, err := s.generate(s.t.Context(), req, sink); !errors.Is(err, model.ErrUnsupported) {
				s.t.Errorf("%s: error is %v, want %v", what, err, model.ErrUnsupported)
			}
		}
	}
	if !info.NativeOutput {
		req := question("How is the weather?")
		req.Output = &model.OutputSchema{Name: "weather", Schema: json.RawMessage(`{"type":"object"}`)}
		refused("Info says there is no native output", req)
	}
	for _, m := range []medium{{mediaType: "video/mp4"}, {mediaType: "font/woff2"}} { // at least one is unsupported by any model
		if !m.in(info.Media) {
			req := question("How is the weather?")
			req.Messages[0].Parts = append(req.Messages[0].Parts, model.Media(m.mediaType, []byte("data")))
			refused("Info does not list "+m.mediaType, req)
			break
		}
	}
	if s.sent() != "" {
		s.t.Error("an unsupported request was sent")
	}
}

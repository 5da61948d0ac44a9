// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// nonsense lists requests that no provider can serve.
var nonsense = []named[func(*model.Request)]{
	{"media without data or URL", func(req *model.Request) {
		req.Messages[0].Parts = append(req.Messages[0].Parts, model.Part{Kind: model.PartMedia, MediaType: "image/png"})
	}},
	{"media without a type", func(req *model.Request) {
		req.Messages[0].Parts = append(req.Messages[0].Parts, model.Media("", []byte(pngData)))
	}},
	{"negative MaxTokens", func(req *model.Request) { req.Settings = &model.Settings{MaxTokens: -1} }},
	{"Temperature that is no number", func(req *model.Request) { req.Settings = &model.Settings{Temperature: new(math.NaN())} }},
	{"infinite TopP", func(req *model.Request) { req.Settings = &model.Settings{TopP: new(math.Inf(1))} }},
	{"Thinking of no known level", func(req *model.Request) { req.Settings = &model.Settings{Thinking: "like a philosopher"} }},
	{"ExtraBody that is no JSON", func(req *model.Request) {
		req.Settings = &model.Settings{ExtraBody: map[string]json.RawMessage{"x_conformance": json.RawMessage(`{`)}}
	}},
	{"ExtraHeaders with a line break", func(req *model.Request) {
		req.Settings = &model.Settings{ExtraHeaders: map[string]string{extraHeader: "a\r\nb: c"}}
	}},
	{"tool schema that is no JSON", func(req *model.Request) { req.Tools[0].Schema = json.RawMessage(`{`) }},
	{"tool choice of a tool that is not offered", func(req *model.Request) {
		req.ToolChoice = model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "gone"}
	}},
	{"tool choice without tools", func(req *model.Request) {
		req.Tools, req.ToolChoice = nil, model.ToolChoice{Mode: model.ToolChoiceRequired}
	}},
	{"tool choice of no known mode", func(req *model.Request) { req.ToolChoice = model.ToolChoice{Mode: "perhaps"} }},
}

func testNonsense(s *subject) {
	req := question("How is the weather?")
	find(s, nonsense)(req)
	sent, err := s.wire(req)
	if err == nil {
		s.t.Error("request was answered")
	}
	if errors.As(err, new(*model.APIError)) {
		s.t.Errorf("error is an APIError, although the provider was not asked: %v", err)
	}
	if sent != "" {
		s.t.Errorf("request was sent: %.2000s", sent)
	}
}

// testDeterminism sends the same request several times, and then a longer one. The common part must
// be sent unchanged, for the provider's prompt cache.
func testDeterminism(s *subject) {
	req := question("")
	req.Messages = richHistory()
	req.Tools = nil
	for n := range 12 {
		req.Tools = append(req.Tools, model.ToolDef{
			Name: fmt.Sprintf("tool_%02d", (n*5+3)%12), Description: "One of many.",
			Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{"type":"number"}},"required":["z"]}`),
		})
	}
	first := s.mustSend(req)
	for range 4 {
		if again := s.mustSend(req); again != first {
			s.t.Fatalf("equal requests were sent as\n%.4000s\nand\n%.4000s", again, first)
		}
	}
	longer := *req
	longer.Messages = append(richHistory(), model.Response(model.Text("thirteenth words")), model.UserText("fourteenth words"))
	rest := s.mustSend(&longer)
	for i := range req.Tools {
		_, behind, ok := strings.Cut(rest, req.Tools[i].Name)
		if !ok {
			s.t.Fatalf("tool %q was not sent, or out of order: %.4000s", req.Tools[i].Name, rest)
		}
		rest = behind
	}
}

// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

// body returns the request body.
func body(t testing.TB, req *model.Request, change ...func(*geminimodel.Config)) string {
	t.Helper()
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	_, err := newModel(t, e.URL, change...).Generate(context.Background(), req, nil)
	require.NoError(t, err)
	_, sent := e.Last()
	require.True(t, json.Valid([]byte(sent)), "%s", sent)
	return sent
}

// contents returns what is sent for a history.
func contents(t testing.TB, history ...*model.Message) string {
	t.Helper()
	_, list, ok := strings.Cut(body(t, &model.Request{Messages: history}), `"contents":[`)
	require.True(t, ok)
	return strings.TrimSuffix(list, "]}")
}

// conversation has everything that a history can contain.
func conversation() []*model.Message {
	return []*model.Message{
		request(model.System("In the conversation."), model.User("What's the weather in Oslo & <Bergen>?"), model.User("Be brief.")),
		{Kind: model.KindResponse, Provider: "google", Parts: []model.Part{
			{Kind: model.PartThinking, Text: "Two cities.", Provider: "google", Signature: []byte("thought")},
			model.Thinking("Without a signature."),
			model.Text("I'll look."),
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"thoughtSignature":"dGV4dA=="}`)},
			{
				Kind: model.PartToolCall, CallID: "c1", Tool: "weather", Args: model.RawArgs(`{"city": "Oslo", "n": 9007199254740993}`),
				Provider: "google", Signature: []byte("call"),
			},
			model.ToolCall("c2", "weather", `{"city": "Ber`),
			model.ToolCall("c3", "time", ""),
		}},
		request(
			model.User("(from a tool)"),
			model.ToolReturn("c1", "weather", `{"high":9007199254740993}`),
			model.Retry("c2", "weather", "arguments: unexpected end of JSON"),
			model.Part{Kind: model.PartToolReturn, CallID: "c3", Text: "denied by the user", Outcome: model.OutcomeDenied},
		),
		{Kind: model.KindResponse, Provider: "elsewhere", Parts: []model.Part{
			{Kind: model.PartThinking, Text: "Hm.", Provider: "elsewhere", ID: "rs_1", Signature: []byte("foreign")},
			{Kind: model.PartOpaque, Provider: "elsewhere", Data: []byte(`{"foreign":true}`)},
			model.Text("7 °C\n\"cold\"\t\u2028\x01"),
			{Kind: model.PartMedia, MediaType: "image/png", Name: "sky.png", Data: []byte("png")},
			{Kind: model.PartToolCall, CallID: "c4", Tool: "time", Args: model.RawArgs(`{}`), Provider: "elsewhere", Signature: []byte("foreign")},
			model.ToolCall("c5", "time", `{}`),
		}},
		request(model.ToolReturn("c4", "time", "noon"), model.ToolReturn("c5", "time", "noon")),
		{Kind: model.KindResponse, Provider: "google", Parts: []model.Part{
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"executableCode":{"language":"PYTHON","code":"print(1)"}}`)},
			{Kind: model.PartMedia, Provider: "google", MediaType: "image/png", Data: []byte("png")},
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"thoughtSignature":"aW1hZ2U="}`)},
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"text":"","thoughtSignature":"ZW1wdHk="}`)},
			{Kind: model.PartOpaque, Provider: "google", Data: []byte(`{"metadata":{"groundingMetadata":{"webSearchQueries":["x"]}}}`)},
		}},
		request(model.Retry("", "", "The answer must be JSON.")),
	}
}

func fullRequest() *model.Request {
	return &model.Request{
		Instructions: "You are helpful.",
		Messages:     conversation(),
		Tools: []model.ToolDef{
			{Name: "weather", Description: "Weather of a city.", Schema: json.RawMessage(
				`{"type":"object","properties":{"zip":{"type":["string","null"]},"city":{"type":"string"}},"required":["city"]}`), Strict: true},
			{Name: "time"},
		},
		ToolChoice: model.ToolChoice{Mode: model.ToolChoiceRequired},
		Settings: &model.Settings{
			MaxTokens: 100, Temperature: new(0.2), TopP: new(1e-7), Stop: []string{"END", "\n"}, Seed: new(int64(-1)),
			Thinking: "low", ServiceTier: "flex",
			ExtraBody: map[string]json.RawMessage{"labels": json.RawMessage(`{"team":"a"}`), "a": json.RawMessage(`[1, 9007199254740993]`)},
		},
	}
}

func TestRequestsMatchTheGoldenFiles(t *testing.T) {
	output := &model.OutputSchema{Name: "answer", Description: "The answer.", Schema: json.RawMessage(`{"type":"object"}`), Strict: true}
	hi := []*model.Message{model.UserText("hi")}
	for name, test := range map[string]struct {
		req    *model.Request
		change []func(*geminimodel.Config)
	}{
		"hello":         {hello(), nil},
		"full":          {fullRequest(), nil},
		"full_vertex":   {fullRequest(), []func(*geminimodel.Config){onVertex}},
		"full_2.5":      {fullRequest(), []func(*geminimodel.Config){named("gemini-2.5-flash")}},
		"output":        {&model.Request{Messages: hi, Output: output}, nil},
		"output_tools":  {&model.Request{Messages: hi, Output: output, Tools: []model.ToolDef{{Name: "f"}}}, nil},
		"strict_tools":  {&model.Request{Messages: hi, Tools: []model.ToolDef{{Name: "f", Strict: true}, {Name: "g", Strict: true}}}, nil},
		"no_tool":       {&model.Request{Messages: hi, Tools: []model.ToolDef{{Name: "f"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceNone}}, nil},
		"one_tool":      {&model.Request{Messages: hi, Tools: []model.ToolDef{{Name: "f"}, {Name: "g"}}, ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "g"}}, nil},
		"thinking_high": {&model.Request{Messages: hi, Settings: &model.Settings{Thinking: "high"}}, []func(*geminimodel.Config){named("gemini-2.5-pro")}},
		"thinking_off":  {&model.Request{Messages: hi, Settings: &model.Settings{Thinking: "off"}}, []func(*geminimodel.Config){named("gemini-2.5-flash")}},
		"replaced": {&model.Request{Messages: hi, Settings: &model.Settings{MaxTokens: 3, ExtraBody: map[string]json.RawMessage{
			"generationConfig": json.RawMessage(`{"maxOutputTokens":4}`), "contents": json.RawMessage(`[]`),
		}}}, nil},
		"media": {&model.Request{Messages: []*model.Message{request(
			model.User("What are these?"),
			model.Media("image/png", []byte("png")), model.Media("audio/wav", []byte("wav")), model.Media("video/mp4", []byte("mp4")),
			model.Media("application/pdf", []byte("pdf")), model.Media("Text/Plain; charset=utf-8", []byte("txt")),
			model.Part{Kind: model.PartMedia, MediaType: "image/jpeg", URL: "https://example.org/a.jpg?x=1&y=\"2\""},
			model.Part{Kind: model.PartMedia, MediaType: "video/mp4", URL: "https://www.youtube.com/watch?v=x"},
			model.Part{Kind: model.PartMedia, MediaType: "audio/wav", URL: "https://generativelanguage.googleapis.com/v1beta/files/x"},
		)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, []byte(body(t, test.req, test.change...)), "", "  "))
			file := filepath.Join("testdata", "requests", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, append(pretty.Bytes(), '\n'), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run the test with -update")
			require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), pretty.String()+"\n")
		})
	}
}

// TestSDKKnowsEverythingSent checks that the names in requests are the SDK's.
func TestSDKKnowsEverythingSent(t *testing.T) {
	req := fullRequest()
	req.Output, req.Settings.ExtraBody = &model.OutputSchema{Schema: json.RawMessage(`{}`)}, nil
	req.Messages[0].Parts = append(req.Messages[0].Parts, model.Media("image/png", []byte("png")),
		model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://example.org/a.png"})
	dec := json.NewDecoder(strings.NewReader(body(t, req)))
	dec.DisallowUnknownFields()
	var known struct {
		SystemInstruction *genai.Content          `json:"systemInstruction"`
		Tools             []*genai.Tool           `json:"tools"`
		ToolConfig        *genai.ToolConfig       `json:"toolConfig"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig"`
		ServiceTier       genai.ServiceTier       `json:"serviceTier"`
		Contents          []*genai.Content        `json:"contents"`
	}
	require.NoError(t, dec.Decode(&known))
	require.Equal(t, "call", string(known.Contents[1].Parts[2].ThoughtSignature))
	require.Equal(t, "skip_thought_signature_validator", string(known.Contents[3].Parts[2].ThoughtSignature))
}

func TestStreamedRequestHasTheSameBody(t *testing.T) {
	e := serve(t, answer{Body: events(chunk("STOP", `{"text":"ok"}`))})
	_, err := stream(t, newModel(t, e.URL), fullRequest())
	require.NoError(t, err)
	_, sent := e.Last()
	require.Equal(t, body(t, fullRequest()), sent)
}

func TestLongerHistoryExtendsTheBody(t *testing.T) {
	history := conversation()
	for n := 1; n < len(history); n++ {
		shorter := body(t, &model.Request{Instructions: "i", Messages: history[:n]})
		longer := body(t, &model.Request{Instructions: "i", Messages: history[:n+1]})
		require.True(t, strings.HasPrefix(longer, strings.TrimSuffix(shorter, "]}")), "%s\n%s", shorter, longer)
	}
}

func TestHistoryArgumentsAreSentUnchanged(t *testing.T) {
	args := "{ \"b\" : 1.0,\n \"a\": 9223372036854775807, \"a\": \"\\u00e9<\" }"
	sent := contents(t, model.UserText("x"), model.Response(model.ToolCall("c", "f", args)), request(model.ToolReturn("c", "f", "")))
	require.Contains(t, sent, `"args":`+args+`}`)
}

func TestHistoryStartsWithTheUser(t *testing.T) {
	sent := contents(t, model.Response(model.Text("hello")), model.UserText("hi"))
	require.True(t, strings.HasPrefix(sent, `{"role":"user","parts":[{"text":"(no text)"}]},{"role":"model","parts":[{"text":"hello"}]}`), sent)
}

func TestEmptyTextIsNotSent(t *testing.T) {
	const nothing = `{"role":"user","parts":[{"text":"(no text)"}]}`
	said := func(role, text string) string { return `{"role":"` + role + `","parts":[{"text":"` + text + `"}]}` }
	for name, test := range map[string]struct {
		history []*model.Message
		want    string
	}{
		"no messages":        {nil, nothing},
		"an empty one":       {[]*model.Message{request()}, nothing},
		"empty text":         {[]*model.Message{model.UserText("")}, nothing},
		"empty beside text":  {[]*model.Message{model.UserText(""), model.UserText("a")}, said("user", "a")},
		"a system prompt":    {[]*model.Message{request(model.System("x"))}, nothing},
		"an empty answer":    {[]*model.Message{model.UserText("a"), model.Response(model.Text("")), model.UserText("b")}, `{"role":"user","parts":[{"text":"a"},{"text":"b"}]}`},
		"nothing to go on":   {[]*model.Message{model.UserText("a"), model.Response(model.Text("b")), request()}, said("user", "a") + "," + said("model", "b") + "," + nothing},
		"an empty retry has": {[]*model.Message{request(model.Retry("", "", ""))}, said("user", `\n\nFix this and try again.`)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, contents(t, test.history...)) })
	}
}

func TestUnsupportedRequestsAreErrors(t *testing.T) {
	e := serve(t, answer{Body: chunk("STOP", `{"text":"ok"}`)})
	settings := func(s model.Settings) *model.Request {
		return &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f"}}, Settings: &s}
	}
	media := func(p model.Part) *model.Request {
		p.Kind = model.PartMedia
		return &model.Request{Messages: []*model.Message{request(p)}}
	}
	output := &model.OutputSchema{Schema: json.RawMessage(`{}`)}
	for name, test := range map[string]struct {
		model string
		req   *model.Request
	}{
		"a seed of 64 bits":              {"gemini-3.5-flash", settings(model.Settings{Seed: new(int64(math.MaxInt32 + 1))})},
		"forbidding parallel calls":      {"gemini-3.5-flash", settings(model.Settings{ParallelToolCalls: new(false)})},
		"no thinking, of Gemini 3":       {"gemini-3.5-flash", settings(model.Settings{Thinking: "off"})},
		"minimal thinking, of a pro":     {"gemini-3.1-pro-preview", settings(model.Settings{Thinking: "minimal"})},
		"no thinking, of 2.5 Pro":        {"gemini-2.5-pro", settings(model.Settings{Thinking: "off"})},
		"thinking, of one that does not": {"gemini-2.0-flash", settings(model.Settings{Thinking: "low"})},
		"an unknown level":               {"gemini-3.5-flash", settings(model.Settings{Thinking: "extreme"})},
		"output with tools, of 2.5":      {"gemini-2.5-flash", &model.Request{Messages: hello().Messages, Tools: []model.ToolDef{{Name: "f"}}, Output: output}},
		"output of an image model":       {"gemini-2.5-flash-image", &model.Request{Messages: hello().Messages, Output: output}},
		"a spreadsheet":                  {"gemini-3.5-flash", media(model.Part{MediaType: "application/vnd.ms-excel", Data: []byte("x")})},
		"a film by URL":                  {"gemini-3.5-flash", media(model.Part{MediaType: "video/mp4", URL: "https://example.org/x.mp4"})},
		"an image by URL, of 2.0":        {"gemini-2.0-flash", media(model.Part{MediaType: "image/png", URL: "https://example.org/x.png"})},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newModel(t, e.URL, named(test.model)).Generate(context.Background(), test.req, nil)
			require.ErrorIs(t, err, model.ErrUnsupported)
			require.ErrorContains(t, err, "geminimodel: google "+test.model)
		})
	}
	for name, test := range map[string]struct {
		req  *model.Request
		want string
	}{
		"too many tokens":        {settings(model.Settings{MaxTokens: math.MaxInt32 + 1}), "a MaxTokens of 2147483648"},
		"negative tokens":        {settings(model.Settings{MaxTokens: -1}), "MaxTokens is -1"},
		"no number":              {settings(model.Settings{TopP: new(math.NaN())}), "TopP is NaN"},
		"a tool that is none":    {&model.Request{ToolChoice: model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "x"}, Tools: []model.ToolDef{{Name: "f"}}}, `"x"`},
		"a schema that is none":  {&model.Request{Tools: []model.ToolDef{{Name: "f", Schema: json.RawMessage(`{`)}}}, `the schema of tool "f" is not valid JSON`},
		"an extra header":        {settings(model.Settings{ExtraHeaders: map[string]string{"a b": "c"}}), `"a b"`},
		"media of no type":       {media(model.Part{Data: []byte("x")}), "no media type"},
		"a call in a request":    {&model.Request{Messages: []*model.Message{request(model.ToolCall("c", "f", "{}"))}}, `a part of kind "tool_call"`},
		"user text in an answer": {&model.Request{Messages: []*model.Message{model.UserText("x"), model.Response(model.User("x"))}}, `a part of kind "user"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newModel(t, e.URL).Generate(context.Background(), test.req, nil)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, "geminimodel: ")
		})
	}
	require.Zero(t, e.Count())
}

// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

func TestChatCompletion(t *testing.T) {
	s := openaiServe(t, openaiOptions{})
	v, _ := s.post(chatPath, chatOf("Hello"), 200)
	require.Equal(t, "chat.completion", v["object"])
	require.Equal(t, "agent", v["model"])
	require.Equal(t, "Hello there.", openaiContent(v))
	require.Equal(t, "stop", v["choices"].([]any)[0].(openaiObject)["finish_reason"])
	require.Equal(t, openaiObject{
		"prompt_tokens": 7.0, "completion_tokens": 3.0, "total_tokens": 10.0,
		"prompt_tokens_details": openaiObject{"cached_tokens": 2.0}, "completion_tokens_details": openaiObject{"reasoning_tokens": 1.0},
	}, v["usage"])
	require.NotContains(t, v, "warnings")
}

type openaiPrices model.Price

func (p openaiPrices) Price(string, string, time.Time) (model.Price, bool) {
	return model.Price(p), true
}

func TestUsageHasTheCostOfTheRun(t *testing.T) {
	a := agent.Must(agent.New(agent.Config[openaiNone, string]{Prices: openaiPrices{Request: 0.5}, Tools: []*toolset.Tool[openaiNone]{openaiPay(nil)}, Model: openaiPaying()}))
	s := openaiServe(t, openaiOptions{host: host.Config[openaiNone, string]{Agent: a}})
	v, _ := s.post(responsesPath, `{"model":"agent","input":"Pay."}`, 200)
	require.InDelta(t, 1.0, v["usage"].(openaiObject)["cost"], 1e-9)
}

func TestChatStream(t *testing.T) {
	s := openaiServe(t, openaiOptions{})
	all, done := s.events(chatPath, `{"model":"agent","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hi"}]}`)
	require.True(t, done)
	require.Equal(t, openaiObject{"role": "assistant", "content": ""}, all[0].data["choices"].([]any)[0].(openaiObject)["delta"])
	text, reason := streamed(all)
	require.Equal(t, "Hello there.", text)
	require.Equal(t, "stop", reason)
	last := all[len(all)-1].data
	require.Empty(t, last["choices"])
	require.Equal(t, 10.0, last["usage"].(openaiObject)["total_tokens"])
	for _, e := range all {
		require.Equal(t, all[0].data["id"], e.data["id"])
		require.Equal(t, "chat.completion.chunk", e.data["object"])
	}
	all, _ = s.events(chatPath, `{"model":"agent","stream":true,"messages":[{"role":"user","content":"Hi"}]}`)
	require.NotContains(t, all[len(all)-1].data, "usage")
}

func TestResponse(t *testing.T) {
	s := openaiServe(t, openaiOptions{})
	v, _ := s.post(responsesPath, `{"model":"agent","input":"Hello","metadata":{"a":"b"}}`, 200)
	require.Equal(t, "completed", v["status"])
	require.Equal(t, false, v["store"])
	require.Equal(t, openaiObject{"a": "b"}, v["metadata"])
	message := v["output"].([]any)[0].(openaiObject)
	require.Equal(t, "message", message["type"])
	require.Equal(t, "Hello there.", message["content"].([]any)[0].(openaiObject)["text"])
	require.Equal(t, 7.0, v["usage"].(openaiObject)["input_tokens"])
}

// The calls of the agent are complete items, with their results. Nothing asks the client to carry out a call.
func TestAgentsCallsAreNotForTheClient(t *testing.T) {
	paid := make(chan string, 1)
	o := openaiOptions{model: openaiPaying(), tools: []*toolset.Tool[openaiNone]{openaiPay(paid)}, host: host.Config[openaiNone, string]{Modes: host.Modes()}}
	o.api.Settings = map[string]string{"mode": "code"}
	s := openaiServe(t, o)
	all, _ := s.events(responsesPath, `{"model":"agent","stream":true,"input":"Pay Ada."}`)
	require.Equal(t, "Ada", <-paid, "the mode allows it")
	var names []string
	for i, e := range all {
		require.Equal(t, e.name, e.data["type"])
		require.InDelta(t, i, e.data["sequence_number"], 0)
		names = append(names, strings.TrimPrefix(e.name, "response."))
	}
	names = slices.CompactFunc(names, func(a, b string) bool { return a == b && b == "output_text.delta" }) // how many they are is chance
	require.Equal(t, []string{
		"created", "in_progress",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "mcp_call.in_progress", "mcp_call_arguments.done", "mcp_call.completed", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"completed",
	}, names)
	require.Empty(t, all[0].data["response"].(openaiObject)["output"], "items are added one by one")
	output := all[len(all)-1].data["response"].(openaiObject)["output"].([]any)
	require.Len(t, output, 3)
	call := output[1].(openaiObject)
	require.Equal(t, []any{"mcp_call", "agent", "pay", `{"to":"Ada"}`, "paid Ada", "completed", nil},
		[]any{call["type"], call["server_label"], call["name"], call["arguments"], call["output"], call["status"], call["error"]})

	o.model = openaiPaying()
	v, _ := openaiServe(t, o).post(chatPath, chatOf("Pay Ada."), 200)
	require.Equal(t, "I will pay.\n\nAll done.", openaiContent(v))
	require.NotContains(t, v["choices"].([]any)[0].(openaiObject)["message"], "tool_calls")
}

// A picture is an item behind the text that it follows, which has ended by then.
func TestPicturesOfTheAgentAreItems(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgo=")
	require.NoError(t, err)
	s := openaiServe(t, openaiOptions{model: modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		return model.Response(model.Text("Look."), model.Media("image/png", png)), nil
	})})
	all, _ := s.events(responsesPath, `{"model":"agent","stream":true,"input":"Draw."}`)
	open := 0
	for _, e := range all {
		switch e.name {
		case "response.output_item.added":
			require.Zero(t, open, "one item is written at a time")
			open++
		case "response.output_item.done":
			open--
		}
	}
	require.Zero(t, open)
	v, _ := s.post(responsesPath, `{"model":"agent","input":"Draw."}`, 200)
	for _, output := range []any{v["output"], all[len(all)-1].data["response"].(openaiObject)["output"]} {
		items := output.([]any)
		require.Len(t, items, 2)
		text, picture := items[0].(openaiObject), items[1].(openaiObject)
		require.Equal(t, []any{"message", "completed"}, []any{text["type"], text["status"]})
		require.Equal(t, "Look.", text["content"].([]any)[0].(openaiObject)["text"])
		require.Equal(t, []any{"image_generation_call", "completed", "iVBORw0KGgo="}, []any{picture["type"], picture["status"], picture["result"]})
	}
}

func TestCallsThatNeedApprovalAreDenied(t *testing.T) {
	paid := make(chan string, 1)
	for _, mode := range []string{"", "ask"} {
		o := openaiOptions{model: openaiPaying(), tools: []*toolset.Tool[openaiNone]{openaiPay(paid)}, host: host.Config[openaiNone, string]{Modes: host.Modes()}}
		if mode != "" {
			o.api.Settings = map[string]string{"mode": mode}
		}
		v, _ := openaiServe(t, o).post(responsesPath, `{"model":"agent","input":"Pay Ada."}`, 200)
		call := v["output"].([]any)[1].(openaiObject)
		require.Equal(t, "failed", call["status"])
		require.Contains(t, call["error"], "No one can be asked here")
		require.Empty(t, paid)
	}
}

func TestClaimsAreTextAndMarked(t *testing.T) {
	for path, list := range map[string]string{chatPath: "messages", responsesPath: "input"} {
		s := openaiServe(t, openaiOptions{})
		v, _ := s.post(path, `{"model":"agent","temperature":0.5,"`+list+`":[
			{"role":"system","content":"You may pay."},{"role":"developer","content":"You must pay."},
			{"role":"user","content":"One"},{"role":"assistant","content":"Two"},{"role":"assistant","content":[{"type":"output_text","text":"Three"}]},
			{"role":"user","content":"Four"},{"role":"user","content":[{"type":"text","text":"Five"}]}]}`, 200)
		warned := strings.Join(strings.Split(strings.Trim(strings.ReplaceAll(fmtList(v["warnings"]), list, "list"), "\n"), "\n"), "|")
		require.Equal(t, `the parameter "temperature" is left out|list[0] is left out: the agent has its own instructions|list[1] is left out: the agent has its own instructions`, warned)
		require.Len(t, s.seen, 1)
		request := s.seen[0]
		require.Equal(t, "Be brief.", request.Instructions)
		require.Len(t, request.Messages, 3)
		require.Equal(t, []model.Part{model.User("One")}, request.Messages[0].Parts)
		require.Equal(t, []model.Part{model.Text("Two"), model.Text("Three")}, request.Messages[1].Parts)
		require.Equal(t, []model.Part{model.User("Four"), model.User("Five")}, request.Messages[2].Parts)
		for i, m := range request.Messages {
			require.Equal(t, i < 2, m.Metadata[transcript.Claimed] != "")
		}
		o := openaiOptions{}
		o.api.Strict = true
		require.Contains(t, openaiServe(t, o).refused(path, `{"model":"agent","`+list+`":[{"role":"system","content":"x"},{"role":"user","content":"y"}]}`, 400)["message"], "[0] is left out")
	}
}

func fmtList(v any) string {
	text := ""
	for _, one := range v.([]any) {
		text += one.(string) + "\n"
	}
	return text
}

func TestSessionsAreGoneWithTheAnswer(t *testing.T) {
	store := new(session.Memory)
	closed := make(chan string, 2)
	o := openaiOptions{host: host.Config[openaiNone, string]{Store: store, Release: func(_ context.Context, s *host.Session, _ openaiNone) error {
		closed <- s.Info().Dir + " " + webbridge.Owner(s)
		return nil
	}}, Options: webbridge.Options{Dirs: []string{"/repo"}, User: func(*http.Request) (string, error) { return "ada", nil }}}
	s := openaiServe(t, o)
	s.post(chatPath, chatOf("Hello"), 200)
	require.Equal(t, "/repo ada", <-closed, "the session has a directory and an owner")
	page, err := store.List(t.Context(), session.Query{})
	require.NoError(t, err)
	require.Empty(t, page.Sessions)
	require.Empty(t, s.handler.Host().Ephemeral().Sessions())
}

func TestTextThatBeginsWithSlashIsNoCommand(t *testing.T) {
	s := openaiServe(t, openaiOptions{host: host.Config[openaiNone, string]{Agent: agent.Must(agent.New(agent.Config[openaiNone, string]{
		Model: modeltest.Func(func(_ context.Context, r *model.Request) (*model.Message, error) {
			return model.Response(model.Text("You said " + r.Messages[0].Parts[0].Text)), nil
		}),
		Commands: []agent.Command[openaiNone]{{Name: "undo", Description: "Undo.", Prompt: "Take it back."}},
	}))}})
	v, _ := s.post(chatPath, chatOf("/undo"), 200)
	require.Equal(t, "You said /undo", openaiContent(v))
}

func TestOutputThatIsNotTextIsJSON(t *testing.T) {
	type city struct {
		Name string `json:"name"`
	}
	a := agent.Must(agent.New(agent.Config[openaiNone, city]{Model: modeltest.Auto()}))
	h, err := webbridge.New(webbridge.Config[openaiNone, city]{Host: host.Config[openaiNone, city]{Agent: a}, Options: webbridge.Options{Token: openaiToken, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{Name: "cities"})}}})
	require.NoError(t, err)
	s := serveHandler(t, h)
	v, _ := s.post(chatPath, `{"model":"cities","messages":[{"role":"user","content":"Oslo"}]}`, 200)
	require.Regexp(t, `^\{"name":"[^"]*"\}$`, openaiContent(v))
}

func TestModelsAreListed(t *testing.T) {
	o := openaiOptions{host: host.Config[openaiNone, string]{Models: []host.Model{{ID: "s", Model: modeltest.Script(modeltest.SayText("small"))}, {ID: "l", Model: modeltest.Script(modeltest.SayText("large"))}}}}
	o.api.Models = map[string]string{"big": "l"}
	s := openaiServe(t, o)
	_, text := s.send(s.request(t.Context(), "GET", "/v1/models", ""))
	require.Contains(t, text, `{"id":"agent","object":"model"`)
	require.Contains(t, text, `{"id":"big","object":"model"`)
	res, _ := s.send(s.request(t.Context(), "GET", "/v1/models/big", ""))
	require.Equal(t, 200, res.StatusCode)
	res, text = s.send(s.request(t.Context(), "GET", "/v1/models/gpt-5", ""))
	require.Equal(t, 404, res.StatusCode)
	require.Contains(t, text, "model_not_found")
	v, _ := s.post(chatPath, strings.Replace(chatOf("x"), `"agent"`, `"big"`, 1), 200)
	require.Equal(t, "large", openaiContent(v))
	v, _ = s.post(chatPath, chatOf("x"), 200)
	require.Equal(t, "small", openaiContent(v))
}

func TestImagesIn(t *testing.T) {
	const png = "data:image/png;base64,iVBORw0KGgo="
	for path, body := range map[string]string{
		chatPath:      `{"model":"agent","messages":[{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"` + png + `"}}]}]}`,
		responsesPath: `{"model":"agent","input":[{"role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"` + png + `"}]}]}`,
	} {
		s := openaiServe(t, openaiOptions{})
		s.post(path, body, 200)
		part := s.seen[0].Messages[0].Parts[1]
		require.Equal(t, model.PartMedia, part.Kind)
		require.Equal(t, "\x89PNG\r\n\x1a\n", string(part.Data))
		for _, bad := range []string{
			"http://elsewhere.invalid/x.png", "https://169.254.169.254/", "file:///etc/passwd", "data:image/svg+xml;base64,PHN2Zz4=", "data:image/png;base64,PHN2Zz4=", "data:image/png,x",
			"data:;base64,AA==", "",
		} {
			require.NotEmpty(t, s.refused(path, strings.Replace(body, png, bad, 1), 400)["param"], bad)
		}
		require.Len(t, s.seen, 1)
	}
}

// Messages come in every form in which clients send back what they were answered.
func TestContentComesInEveryForm(t *testing.T) {
	const png = `data:image/png;base64,iVBORw0KGgo=`
	picture := "media"
	for path, list := range map[string]map[string][]string{
		chatPath: {
			`{"role":"assistant","content":"a"}`:                                                                          {"text a"},
			`{"role":"assistant","content":null,"refusal":"no"}`:                                                          {"text no"},
			`{"role":"assistant","content":"a","refusal":"no"}`:                                                           {"text a"},
			`{"role":"assistant","content":null}`:                                                                         nil,
			`{"role":"assistant","content":""}`:                                                                           nil,
			`{"role":"assistant","content":"a","tool_calls":[],"function_call":null}`:                                     {"text a"},
			`{"role":"assistant","content":[{"type":"refusal","refusal":"no"},{"type":"text","text":"a"}]}`:               {"text no", "text a"},
			`{"role":"user","content":[{"type":"image_url","image_url":"` + png + `"}]}`:                                  {picture},
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + png + `"}}]}`:                          {picture},
			`{"role":"user","content":[{"type":"file","file":{"filename":"a.png","file_data":"` + png + `"}}]}`:           {picture},
			`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"b"},{"type":"text","text":"c"}]}`: {"user b", "user c"},
		},
		responsesPath: {
			`{"role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]}`: {"text a", "text no"},
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}`:                        {"user b"},
			`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"` + png + `"}]}`:        {picture},
			`{"role":"user","content":[{"type":"input_file","filename":"a.png","file_data":"` + png + `"}]}`:       {picture},
			`{"role":"user","content":[{"type":"input_file","file_url":"` + png + `"}]}`:                           {picture},
			`{"type":"reasoning","summary":[]}`:             nil,
			`{"type":"mcp_call","name":"pay"}`:              nil,
			`{"type":"image_generation_call","result":"x"}`: nil,
			`{"type":"mcp_list_tools"}`:                     nil,
		},
	} {
		name := map[string]string{chatPath: "messages", responsesPath: "input"}[path]
		for sent, want := range list {
			s := openaiServe(t, openaiOptions{})
			body := `{"model":"agent","` + name + `":[{"role":"user","content":"first"},{"role":"assistant","content":"second"},` + sent + `,{"role":"assistant","content":"last"},{"role":"user","content":"go"}]}`
			s.post(path, body, 200)
			var got []string
			for _, m := range s.seen[0].Messages {
				for _, p := range m.Parts {
					if p.Kind == model.PartMedia {
						got = append(got, picture)
					} else {
						got = append(got, string(p.Kind)+" "+p.Text)
					}
				}
			}
			require.Equal(t, slices.Concat([]string{"user first", "text second"}, want, []string{"text last", "user go"}), got, sent)
		}
	}
}

func TestInstructionsOfAResponseAreLeftOut(t *testing.T) {
	s := openaiServe(t, openaiOptions{})
	v, _ := s.post(responsesPath, `{"model":"agent","input":"x","instructions":"Obey."}`, 200)
	require.Equal(t, []any{"instructions are left out: the agent has its own"}, v["warnings"])
	require.Equal(t, "Be brief.", s.seen[0].Instructions)
}

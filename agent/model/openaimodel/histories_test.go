// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// golden compares a text with a file in testdata, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update, and read what it writes")
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
}

// part returns a part of a kind that a provider has made.
func part(provider string, kind model.PartKind, change func(*model.Part)) model.Part {
	p := model.Part{Kind: kind, Provider: provider}
	change(&p)
	return p
}

// histories are conversations, for a provider that made some of their parts.
var histories = []struct {
	name string
	of   func(own string) []*model.Message
}{
	{"nothing", func(string) []*model.Message { return nil }},
	{"a request without parts", func(string) []*model.Message { return []*model.Message{request(), model.UserText("a"), request()} }},
	{"results come first, then system prompts and runs of the user", func(string) []*model.Message {
		return []*model.Message{
			model.Response(model.ToolCall("c1", "f", "{}"), model.ToolCall("c2", "g", `{"x":1}`), model.ToolCall("c3", "g", "")),
			request(model.User("a"), model.ToolReturn("c2", "g", "two"), model.System("s1"), model.System("s2"), model.Retry("c1", "f", "bad")),
			request(model.User("b"), model.Retry("", "", "again"), model.ToolReturn("c3", "g", ""), model.System("s3")),
		}
	}},
	{"a system prompt after the results", func(string) []*model.Message {
		return []*model.Message{model.Response(model.ToolCall("c1", "f", "{}")), request(model.ToolReturn("c1", "f", "one"), model.System("s"), model.User("u"))}
	}},
	{"a response after the results", func(string) []*model.Message {
		return []*model.Message{model.Response(model.ToolCall("c1", "f", "{}")), request(model.ToolReturn("c1", "f", "one")), model.Response(model.Text("x")), model.UserText("u")}
	}},
	{"adjacent responses are one", func(own string) []*model.Message {
		return []*model.Message{
			model.Response(model.Text("a"), model.ToolCall("c1", "f", "{}"), model.Text("")), model.Response(model.Text("b"), model.ToolCall("c1", "g", "{}")),
			request(model.ToolReturn("c1", "f", "one"), model.ToolReturn("c1", "g", "two"), model.ToolReturn("c9", "g", "of no call")),
		}
	}},
	{"responses that say nothing are left out", func(own string) []*model.Message {
		return []*model.Message{
			model.UserText("a"), model.Response(), model.Response(model.Text(" \n")), model.Response(part(own, model.PartThinking, func(p *model.Part) { p.Text = "hm" })), model.UserText("b"),
		}
	}},
	{"thinking of its own, and of others", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(
			part(own, model.PartThinking, func(p *model.Part) { p.Text = "mine" }),
			part("other", model.PartThinking, func(p *model.Part) { p.Text = "theirs" }),
			part(own, model.PartThinking, func(p *model.Part) { p.Text, p.ID, p.Signature = "first", "rs1", []byte("sig1") }),
			part(own, model.PartThinking, func(p *model.Part) { p.Text, p.ID = "second", "rs1" }),
			part(own, model.PartThinking, func(p *model.Part) { p.ID = "rs1" }),
			part(own, model.PartThinking, func(p *model.Part) { p.Text, p.ID, p.Signature = "third", "rs1", []byte("sig2") }),
			part(own, model.PartThinking, func(p *model.Part) { p.Text, p.ID = "fourth", "rs2" }),
			part("other", model.PartThinking, func(p *model.Part) { p.Text, p.ID, p.Signature = "theirs", "rs3", []byte("sig3") }),
			part(own, model.PartThinking, func(p *model.Part) { p.Signature = []byte("sig4") }),
			part(own, model.PartThinking, func(p *model.Part) { p.Text = "not of the same item, which has no id" }),
			model.Text("x"), model.ToolCall("c", "f", "{}"),
		)}
	}},
	{"thinking without text", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(part(own, model.PartThinking, func(p *model.Part) {}), model.Text("x"))}
	}},
	{"thinking at the end is left out of items", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(
			model.Text("x"), part(own, model.PartThinking, func(p *model.Part) { p.Text, p.ID, p.Signature = "hm", "rs", []byte("sig") }),
		)}
	}},
	{"opaque data of its own, and of others", func(own string) []*model.Message {
		var parts []model.Part
		for _, data := range []string{
			`[{"type":"t","text":"a"}]`, ` [ {"type":"u"} ] `, `[]`, `[ ]`, `[`, `[1`, `[7]`, `{}`, `"x"`, ``, `x`, ` {"type":"spaces"}`,
			`{"type":"web_search_call","id":"ws"}`, `{"type":"reasoning","id":"rs"}`, `{"executed_tools":[]}`, `{"executed_tools":[`, `{"extra_content":{"n":1}}`, `{"extra_content":{"n":2}}`, `{"extra_content":{"n":3}`,
		} {
			parts = append(parts, part(own, model.PartOpaque, func(p *model.Part) { p.Data = []byte(data) }))
		}
		for _, data := range []string{`[{"type":"other"}]`, `{"type":"other"}`, `{"extra_content":{"other":1}}`} {
			parts = append(parts, part("other", model.PartOpaque, func(p *model.Part) { p.Data = []byte(data) }))
		}
		return []*model.Message{model.UserText("a"), model.Response(append(parts, model.Text("x"))...), model.Response(part(own, model.PartOpaque, func(p *model.Part) { p.Data = []byte(`[{"type":"v"}]`) }), model.Text("y"))}
	}},
	{"an item alone says something, reasoning alone does not", func(own string) []*model.Message {
		return []*model.Message{
			model.UserText("a"), model.Response(part(own, model.PartOpaque, func(p *model.Part) { p.Data = []byte(`{"type":"web_search_call"}`) })),
			model.UserText("b"), model.Response(part(own, model.PartOpaque, func(p *model.Part) { p.Data = []byte(`{"type":"reasoning"}`) })),
			model.UserText("c"), model.Response(part("other", model.PartOpaque, func(p *model.Part) { p.Data = []byte(`{"type":"web_search_call"}`) })), model.UserText("d"),
		}
	}},
	{"signatures of calls", func(own string) []*model.Message {
		var parts []model.Part
		for i, signature := range []string{
			``, `{"google":{"thought_signature":"s"}}`, `invalid`, `{"namespace":"n"}`, `{"caller":{"type":"x"}}`, `{"namespace":"n"`, `{"provider_specific_fields":{"thought_signature":"p"}}`, `"text"`,
		} {
			for _, provider := range []string{own, "other"} {
				parts = append(parts, part(provider, model.PartToolCall, func(p *model.Part) {
					p.CallID, p.Tool, p.Args, p.Signature = fmt.Sprint(provider, i), "f", model.RawArgs("{}"), []byte(signature)
				}))
			}
		}
		return []*model.Message{model.UserText("a"), model.Response(parts...)}
	}},
	{"media of responses", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(
			model.Text("See "),
			part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.Data, p.ID = "image/png", []byte("png"), "ig1" }),
			part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.Data = "image/webp", []byte("webp") }),
			part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.URL, p.ID = "image/png", "https://x.test/<a>", "ig2" }),
			part("other", model.PartMedia, func(p *model.Part) {
				p.MediaType, p.Data, p.ID, p.Name = "image/png", []byte("png"), "ig3", "a \"cat\""
			}),
			part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.Data = "audio/wav", []byte("wav") }),
		)}
	}},
	{"an image alone", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.Data, p.ID = "image/png", []byte("png"), "ig1" })), model.UserText("b")}
	}},
	{"citations are not sent back", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(model.Text("x"), cite(own, "https://x.test", "X", "quote", `{"url":"https://x.test"}`))}
	}},
	{"phases of texts", func(own string) []*model.Message {
		text := func(provider, phase, text string) model.Part {
			return part(provider, model.PartText, func(p *model.Part) { p.Text, p.Signature = text, []byte(phase) })
		}
		return []*model.Message{model.UserText("a"), model.Response(
			text(own, "commentary", "1"), text(own, "commentary", ""), text(own, "commentary", "2"), text(own, "final", "3"), text(own, "", "4"), text("other", "commentary", "5"), text("", "", "6"),
		)}
	}},
	{"text around media and calls", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(
			model.Text("1"), part(own, model.PartMedia, func(p *model.Part) { p.MediaType, p.Data, p.ID = "image/png", []byte("png"), "ig1" }),
			model.Text("2"), model.ToolCall("c", "f", "{}"), model.Text("3"), part(own, model.PartOpaque, func(p *model.Part) { p.Data = []byte(`{"type":"x"}`) }), model.Text("4"),
			part(own, model.PartThinking, func(p *model.Part) { p.ID, p.Signature = "rs", []byte("sig") }), model.Text("5"), part("other", model.PartMedia, func(p *model.Part) { p.MediaType = "video/mp4" }), model.Text("6"),
		)}
	}},
	{"a text that is empty does not begin a message", func(own string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(model.Text(""), model.ToolCall("c", "f", "{}"))}
	}},
	{"arguments and names of calls", func(string) []*model.Message {
		return []*model.Message{model.UserText("a"), model.Response(
			model.ToolCall("1", "f", "null"), model.ToolCall("2", "a.b", " {} "), model.ToolCall("3", "", `[1]`), model.ToolCall("4", "f", `{"x":`), model.ToolCall("5", "f", `"text"`),
		)}
	}},
	{"characters that are escaped", func(string) []*model.Message {
		return []*model.Message{request(model.System("\"\\\n\u2028<é\xff"), model.User("\"\\\n\u2028<é\xff")), model.Response(model.Text("\"\\\n\u2028<é\xff"), model.ToolCall("c", "f", `{"x":"\n"}`)), request(model.ToolReturn("c", "f", "\"\\\n\u2028<é\xff"))}
	}},
	{"media of requests", func(string) []*model.Message {
		return []*model.Message{request(
			model.Media("image/PNG; x=1", []byte("png")), model.User("text"), model.Retry("", "", "again"),
			model.Part{Kind: model.PartMedia, MediaType: "image/jpg", URL: "https://x.test/a?b=1&c=\"2\""},
		), request(model.System("s"), model.Media("image/gif", []byte("gif")), model.System("t"), model.User("alone"))}
	}},
	{"documents", func(string) []*model.Message {
		return []*model.Message{request(
			model.Media("application/pdf", []byte("pdf")), part("", model.PartMedia, func(p *model.Part) { p.MediaType, p.Data, p.Name = "application/pdf", []byte("pdf"), "a \"b\".pdf" }))}
	}},
	{"a document by URL", func(string) []*model.Message {
		return []*model.Message{request(part("", model.PartMedia, func(p *model.Part) { p.MediaType, p.URL = "application/pdf", "https://x.test/a.pdf?\"" }))}
	}},
	{"audio", func(string) []*model.Message {
		var parts []model.Part
		for _, kind := range []string{"audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave", "audio/mpeg", "audio/mp3"} {
			parts = append(parts, model.Media(kind, []byte(kind)))
		}
		return []*model.Message{request(parts...)}
	}},
	{"audio of another kind", func(string) []*model.Message { return []*model.Message{request(model.Media("audio/ogg", []byte("x")))} }},
	{"audio by URL", func(string) []*model.Message {
		return []*model.Message{request(part("", model.PartMedia, func(p *model.Part) { p.MediaType, p.URL = "audio/wav", "https://x.test" }))}
	}},
	{"an image of no data", func(string) []*model.Message { return []*model.Message{request(model.Media("image/png", nil))} }},
	{"media of another kind before a system prompt", func(string) []*model.Message {
		return []*model.Message{request(model.Media("video/mp4", []byte("x")), model.System("s"))}
	}},
	{"a part that no request has", func(string) []*model.Message { return []*model.Message{request(model.User("a"), model.Thinking("hm"))} }},
	{"a part that no response has", func(string) []*model.Message {
		return []*model.Message{model.Response(model.Text("x"), model.System("s"))}
	}},
}

// Each history is sent to providers of which each has rules of its own.
func TestHistoriesAreSent(t *testing.T) {
	always := openaimodel.ProfileFor("", "http://x.test")
	always.SendReasoning, always.SystemRole, always.MediaURLs = openaimodel.SendReasoningAlways, "developer", []string{"image", "application/pdf", "audio"}
	var told strings.Builder
	for _, h := range histories {
		fmt.Fprintf(&told, "== %s\n", h.name)
		before := ""
		for _, provider := range []string{"openai", "openrouter", "deepseek", "mistral", "always", "responses"} {
			config := openaimodel.Config{Name: "m", BaseURL: "http://x.test", Provider: provider, APIKey: testKey}
			if provider == "always" {
				config.Profile = &always
			}
			req := &model.Request{Instructions: "I", Messages: h.of(provider)}
			var body []byte
			var err error
			if provider == "responses" {
				config.Profile = &always
				m, failed := openaimodel.NewResponses(config)
				require.NoError(t, failed)
				body, err = openaimodel.ResponsesBody(m, req, false)
			} else {
				m, failed := openaimodel.New(config)
				require.NoError(t, failed)
				body, err = openaimodel.RequestBody(m, req, false)
			}
			text := string(body)
			if err != nil {
				require.Nil(t, body)
				text = err.Error()
			}
			text = strings.ReplaceAll(text, `"`+provider, `"OWN`)
			if _, list, found := strings.Cut(text, `"messages":[`); found {
				text = strings.TrimSuffix(list, "]}")
			} else if _, list, found := strings.Cut(text, `"input":[`); found {
				text = strings.TrimSuffix(list, "]}")
			}
			if text == before {
				fmt.Fprintf(&told, "-- %s: the same\n", provider)
				continue
			}
			fmt.Fprintf(&told, "-- %s\n%s\n", provider, strings.ReplaceAll(text, `},{"`, "},\n{\""))
			before = text
		}
	}
	golden(t, "histories.txt", told.String())
}

// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// asked sends a prompt of content blocks to a model that takes the media, and returns what the model was given.
func asked(t *testing.T, media []string, blocks ...string) ([]model.Part, wireLine) {
	t.Helper()
	m := modeltest.Script(modeltest.SayText("ok"))
	c := config(t, m)
	c.Host.Info = &model.Info{Media: media}
	e, id := start(t, c)
	answer := e.call(acp.MethodPrompt, fmt.Sprintf(`{"sessionId":%q,"prompt":[%s]}`, id, strings.Join(blocks, ",")))
	if len(m.Requests()) == 0 {
		return nil, answer
	}
	return m.Requests()[0].Messages[0].Parts, answer
}

func TestPromptsBecomeWhatTheModelTakes(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("png"))
	for name, test := range map[string]struct {
		media  []string
		blocks []string
		want   []model.Part
	}{
		"text": {nil, []string{`{"type":"text","text":"hi"}`}, []model.Part{model.User("hi")}},
		"texts are lines": {nil, []string{`{"type":"text","text":"one"}`, `{"type":"text","text":"two"}`},
			[]model.Part{model.User("one\ntwo")}},
		"a sentence with a link": {nil, []string{
			`{"type":"text","text":"look at "}`,
			`{"type":"resource_link","uri":"file:///w/my file.go","name":"my [file].go","description":"the \"main\" one"}`,
			`{"type":"text","text":" please"}`,
		}, []model.Part{model.User("look at [my \\[file\\].go](<file:///w/my file.go>) (the \"main\" one) please")}},
		"embedded text goes behind the sentence": {nil, []string{
			`{"type":"text","text":"explain "}`,
			"{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///w/a.md\",\"text\":\"# A\\n```go\\nx\\n```\"}}",
			`{"type":"text","text":", briefly"}`,
		}, []model.Part{
			model.User("explain [a.md](file:///w/a.md), briefly"),
			model.User("Contents of file:///w/a.md:\n````\n# A\n```go\nx\n```\n````"),
		}},
		"text in a blob": {nil, []string{fmt.Sprintf(`{"type":"resource","resource":{"uri":"file:///w/a.txt","mimeType":"text/plain","blob":%q}}`,
			base64.StdEncoding.EncodeToString([]byte("plain\n")))},
			[]model.Part{model.User("[a.txt](file:///w/a.txt)"), model.User("Contents of file:///w/a.txt:\n```\nplain\n```")}},
		"links without names": {nil, []string{
			`{"type":"resource_link","uri":"file:///w/a%20b.go","name":""}`, `{"type":"resource_link","uri":"https://a.example/","name":""}`,
			`{"type":"resource_link","uri":"https://a.example","name":"","description":""}`, `{"type":"resource_link","uri":"%zz","name":""}`,
			`{"type":"resource_link","uri":"x:(a)\n<b>","name":"two\nlines"}`,
		}, []model.Part{model.User("[a b.go](file:///w/a%20b.go)[https://a.example/](https://a.example/)[https://a.example](https://a.example)" +
			"[%zz](%zz)[two lines](<x:(a)%0A%3Cb%3E>)")}},
		"text that ends its line": {nil, []string{`{"type":"resource","resource":{"uri":"file:///w/a.md","text":"a\n"}}`},
			[]model.Part{model.User("[a.md](file:///w/a.md)"), model.User("Contents of file:///w/a.md:\n```\na\n```")}},
		"images": {[]string{"image"}, []string{
			`{"type":"text","text":"what is "}`, fmt.Sprintf(`{"type":"image","mimeType":"image/png","data":%q}`, png), `{"type":"text","text":"?"}`,
		}, []model.Part{model.User("what is "), model.Media("image/png", []byte("png")), model.User("?")}},
		"audio of one type": {[]string{"audio/wav"}, []string{fmt.Sprintf(`{"type":"audio","mimeType":"audio/wav","data":%q}`, png)},
			[]model.Part{model.Media("audio/wav", []byte("png"))}},
		"a document": {[]string{"application/pdf"}, []string{
			fmt.Sprintf(`{"type":"resource","resource":{"uri":"file:///w/a.pdf","mimeType":"application/pdf","blob":%q}}`, png),
		}, []model.Part{model.User("[a.pdf](file:///w/a.pdf)"), {Kind: model.PartMedia, MediaType: "application/pdf", Data: []byte("png"), Name: "a.pdf"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, answer := asked(t, test.media, test.blocks...)
			requireStop(t, acp.StopReasonEndTurn, answer)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestPromptsThatTheModelCannotTakeAreInvalidParams(t *testing.T) {
	const text = `{"type":"text","text":"hi"}`
	for name, test := range map[string]struct {
		block, kind, message string
	}{
		"image":          {`{"type":"image","mimeType":"image/png","data":""}`, "image", "the model does not take image/png"},
		"audio":          {`{"type":"audio","mimeType":"audio/mpeg","data":""}`, "audio", "the model does not take audio/mpeg"},
		"no image":       {`{"type":"image","mimeType":"text/html","data":""}`, "image", "its media type is text/html"},
		"no bytes":       {`{"type":"audio","mimeType":"audio/wav","data":""}`, "audio", "its data is empty"},
		"no base64":      {`{"type":"audio","mimeType":"audio/wav","data":"%%%"}`, "audio", "its data is not base64"},
		"blob":           {`{"type":"resource","resource":{"uri":"a","mimeType":"application/zip","blob":""}}`, "resource", "the model does not take application/zip"},
		"untyped blob":   {`{"type":"resource","resource":{"uri":"a","blob":""}}`, "resource", "the model does not take content of an unknown type"},
		"nothing":        {`{"type":"resource","resource":{"uri":"a"}}`, "resource", "the resource has neither text nor a blob"},
		"a broken blob":  {`{"type":"resource","resource":{"uri":"a","mimeType":"text/plain","blob":"%"}}`, "resource", "its data is not base64"},
		"no text":        {`{"type":"resource","resource":{"uri":"a","mimeType":"text/plain","blob":"/w=="}}`, "resource", "the model does not take text/plain"},
		"not yet a kind": {`{"type":"hologram","data":""}`, "unknown", "this kind of block is not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			got, answer := asked(t, []string{"audio/wav"}, text, test.block)
			assert.Empty(t, got)
			requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, answer)
			assert.Equal(t, fmt.Sprintf("invalid params: prompt[1] (%s): %s", test.kind, test.message), answer.Error.Message)
			assert.EqualValues(t, 1, answer.Error.Data["index"])
			assert.Equal(t, test.kind, answer.Error.Data["block"])
		})
	}
}

func TestEmptyPromptsAreInvalidParams(t *testing.T) {
	for _, blocks := range [][]string{nil, {`{"type":"text","text":""}`}, {`{"type":"text","text":" \n"}`}} {
		got, answer := asked(t, nil, blocks...)
		require.Empty(t, got)
		requireError(t, acp.CodeInvalidParams, acpbridge.KindPrompt, answer)
	}
}

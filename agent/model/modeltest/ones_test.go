// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Whichever tools an automatic model is to call, it calls these and no others, each once.
func TestToolsThatAnAutomaticModelCalls(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []modeltest.AutoOption
		choice model.ToolChoice
		want   string // the tools of each response
	}{
		"all":                     {nil, model.ToolChoice{}, "a b c; final_result"},
		"one":                     {[]modeltest.AutoOption{modeltest.Calling("b")}, model.ToolChoice{}, "b; final_result"},
		"two":                     {[]modeltest.AutoOption{modeltest.Calling("c"), modeltest.Calling("a")}, model.ToolChoice{}, "a c; final_result"},
		"one that is not there":   {[]modeltest.AutoOption{modeltest.Calling("z")}, model.ToolChoice{}, "final_result"},
		"all but one":             {[]modeltest.AutoOption{modeltest.Skipping("b")}, model.ToolChoice{}, "a c; final_result"},
		"one by one":              {[]modeltest.AutoOption{modeltest.OneByOne()}, model.ToolChoice{}, "a; b; c; final_result"},
		"another tool to end it":  {[]modeltest.AutoOption{modeltest.OutputTool("b")}, model.ToolChoice{}, "a c final_result; b"},
		"one that has been named": {nil, model.ToolChoice{Mode: model.ToolChoiceTool, Tool: "c"}, "c"},
	} {
		m := modeltest.Auto(test.opts...)
		req := recAsk("go")
		req.ToolChoice = test.choice
		for _, tool := range []string{"a", "b", "c", "final_result"} {
			req.Tools = append(req.Tools, model.ToolDef{Name: tool})
		}
		var responses []string
		for range strings.Count(test.want, ";") + 1 {
			msg := generate(t, m, req)
			var called []string
			results := &model.Message{Kind: model.KindRequest}
			for _, p := range msg.Parts {
				called = append(called, p.Tool)
				results.Parts = append(results.Parts, model.ToolReturn(p.CallID, p.Tool, "done"))
			}
			responses = append(responses, strings.Join(called, " "))
			req.Messages = append(req.Messages, msg, results)
		}
		require.Equal(t, test.want, strings.Join(responses, "; "), name)
	}
}

// A recording knows data by its digest, however short it is. A part without data has none.
func TestRecordingsKnowTheDataOfParts(t *testing.T) {
	ask := func(data string) *model.Request {
		p := model.Part{Kind: model.PartMedia, MediaType: "image/png", URL: "https://a.test/", Data: []byte(data)}
		return &model.Request{Messages: []*model.Message{{Kind: model.KindRequest, Parts: []model.Part{p}}}}
	}
	for _, data := range []string{"", "a", "ab"} {
		_, replay := record(t, modeltest.Script(modeltest.SayText("Seen.")), func(m model.Model) { generate(t, m, ask(data)) })
		for _, other := range []string{"", "b", "bb", "abc"} {
			if other != data {
				require.ErrorContains(t, recFailure(t, replay, ask(other)), "messages[0].parts[0].digest", "%q for %q", other, data)
			}
		}
		require.Equal(t, "Seen.", generate(t, replay, ask(data)).Text())
	}
}

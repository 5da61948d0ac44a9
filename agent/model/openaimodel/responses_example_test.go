// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// The model's reasoning before a call is sent back with the call's result, without being stored at the provider.
func ExampleNewResponses() {
	const thought = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I should look."}],"encrypted_content":"gAAAAA"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // stands for OpenAI
		body, _ := io.ReadAll(r.Body)
		output := thought + `,{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{}"}`
		if strings.Contains(string(body), "function_call_output") {
			output = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Rain, as ever."}]}`
			fmt.Println("it came back:", strings.Contains(string(body), thought))
		}
		_, _ = io.WriteString(w, `{"id":"resp_1","status":"completed","model":"gpt-5","output":[`+output+`]}`)
	}))
	defer server.Close()

	m, err := openaimodel.NewResponses(openaimodel.Config{Name: "gpt-5", BaseURL: server.URL, Provider: "openai"})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &model.Request{
		Messages: []*model.Message{model.UserText("How is the weather in Bergen?")},
		Tools:    []model.ToolDef{{Name: "weather", Description: "The weather in Bergen."}},
		Settings: &model.Settings{Thinking: "low"},
	}
	msg, err := m.Generate(context.Background(), req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Parts[0].Text, msg.Parts[1].Tool, msg.Finish)

	req.Messages = append(req.Messages, msg, &model.Message{
		Kind: model.KindRequest, Parts: []model.Part{model.ToolReturn("call_1", "weather", "rain")},
	})
	msg, err = m.Generate(context.Background(), req, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Text())
	// Output:
	// I should look. weather tool_calls
	// it came back: true
	// Rain, as ever.
}

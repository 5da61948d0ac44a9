// SPDX-License-Identifier: Apache-2.0

package openaimodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

// exampleServer stands for a server such as Ollama at http://localhost:11434.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"qwen3:8b"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(delta(`{"content":"It is "}`), delta(`{"content":"raining."}`), finish("stop")))
	}))
}

func Example() {
	server := exampleServer()
	defer server.Close()

	m, err := openaimodel.New(openaimodel.Config{Name: "qwen3:8b", BaseURL: server.URL, Provider: "ollama"})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &model.Request{
		Instructions: "Answer in one sentence.",
		Messages:     []*model.Message{model.UserText("How is the weather in Bergen?")},
	}
	msg, err := m.Generate(context.Background(), req, func(d model.Delta) error {
		fmt.Printf("%s: %q\n", d.Kind, d.Text)
		return nil
	})
	if errors.Is(err, model.ErrContextLength) {
		fmt.Println("the conversation is too long")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Text(), msg.Finish)
	// Output:
	// text: "It is "
	// text: "raining."
	// It is raining. stop
}

func ExampleModel_Models() {
	server := exampleServer()
	defer server.Close()

	m, err := openaimodel.New(openaimodel.Config{Name: "any", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := m.Models(context.Background())
	fmt.Println(names, err)
	// Output: [qwen3:8b] <nil>
}

func ExampleProfileFor() {
	profile := openaimodel.ProfileFor("vllm", "")
	profile.SendReasoning = openaimodel.SendReasoningAlways // for a model that needs its earlier thinking

	m, err := openaimodel.New(openaimodel.Config{Name: "my-model", BaseURL: "http://gpu.example:8000", Profile: &profile})
	fmt.Println(m, err)
	// Output: vllm my-model at http://gpu.example:8000/v1 <nil>
}

func ExampleProfile_ForModel() {
	profile := openaimodel.ProfileFor("openai", "").ForModel("gpt-5-mini")
	fmt.Println(profile.Unsupported)

	profile.Unsupported = nil // send everything and let the server decide
	m, err := openaimodel.New(openaimodel.Config{Name: "gpt-5-mini", Profile: &profile})
	fmt.Println(m, err)
	// Output:
	// [temperature top_p stop]
	// openai gpt-5-mini at https://api.openai.com/v1 <nil>
}

// SPDX-License-Identifier: Apache-2.0

package geminimodel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
)

// exampleServer stands for Google's.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(chunk("", `{"text":"It is "}`), chunk("STOP", `{"text":"raining."}`)))
	}))
}

func Example() {
	server := exampleServer()
	defer server.Close()

	m, err := geminimodel.New(geminimodel.Config{
		Name:    "gemini-3.8-flash",
		APIKey:  "key", // os.Getenv("GEMINI_API_KEY")
		BaseURL: server.URL,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &model.Request{
		Instructions: "Answer in one sentence.",
		Messages:     []*model.Message{model.UserText("How is the weather in Bergen?")},
		Settings:     &model.Settings{Thinking: "low"},
	}
	msg, err := m.Generate(context.Background(), req, func(d model.Delta) error {
		fmt.Printf("%s: %q\n", d.Kind, d.Text)
		return nil
	})
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

func ExampleNew_vertexAI() {
	m, err := geminimodel.New(geminimodel.Config{
		Name:     "gemini-3.8-flash",
		Backend:  geminimodel.VertexAI,
		Project:  "acme",
		Location: "europe-west4",
		// Without Credentials, Application Default Credentials are used.
		HTTPClient: http.DefaultClient, // a client that authenticates its requests
	})
	fmt.Println(m, err)
	// Output: vertex gemini-3.8-flash at https://europe-west4-aiplatform.googleapis.com <nil>
}

func ExampleProfileFor() {
	profile := geminimodel.ProfileFor(geminimodel.GeminiAPI, "tunedModels/mine")
	profile.Thinking = nil // it is based on a model that does not think

	m, err := geminimodel.New(geminimodel.Config{Name: "tunedModels/mine", APIKey: "key", Profile: &profile})
	fmt.Println(m, err)
	// Output: google tunedModels/mine at https://generativelanguage.googleapis.com <nil>
}

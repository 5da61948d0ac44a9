// SPDX-License-Identifier: Apache-2.0

package anthropicmodel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/anthropicmodel"
)

// fakeAnthropic stands in for the provider.
func fakeAnthropic(body string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
}

func ExampleNew() {
	server := fakeAnthropic(events(
		start(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"A capital in the north."}`),
		delta(0, `{"type":"signature_delta","signature":"EqQB"}`), stop(0),
		start(1, `{"type":"text","text":""}`), delta(1, `{"type":"text_delta","text":"Oslo."}`), stop(1)))
	defer server.Close()

	m, err := anthropicmodel.New(anthropicmodel.Config{
		Name:     "claude-sonnet-5-5",
		APIKey:   "sk-ant-key",
		BaseURL:  server.URL, // only for a provider other than Anthropic
		Settings: &model.Settings{Thinking: "high"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Config[any, string]{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), nil, "What is the capital of Norway?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output)
	// Output: Oslo.
}

// The level of thinking is translated for each model. An unsupported level is an error.
func ExampleProfileFor() {
	for _, name := range []string{"claude-sonnet-4-5", "claude-sonnet-4-6", "claude-sonnet-5-5"} {
		p := anthropicmodel.ProfileFor(name)
		fmt.Printf("%s: high is %+v, off is %+v\n", name, p.Thinking["high"], p.Thinking["off"])
	}
	m, err := anthropicmodel.New(anthropicmodel.Config{Name: "claude-opus-5-5", APIKey: "sk-ant-key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Generate(context.Background(), &model.Request{
		Messages: []*model.Message{model.UserText("hi")}, Settings: &model.Settings{Thinking: "off"},
	}, nil)
	fmt.Println(errors.Is(err, model.ErrUnsupported), err)
	// Output:
	// claude-sonnet-4-5: high is {Type:enabled Budget:24000 Display: Effort:}, off is {Type: Budget:0 Display: Effort:}
	// claude-sonnet-4-6: high is {Type:adaptive Budget:0 Display:summarized Effort:high}, off is {Type: Budget:0 Display: Effort:}
	// claude-sonnet-5-5: high is {Type:adaptive Budget:0 Display:summarized Effort:high}, off is {Type:between_tools Budget:0 Display: Effort:}
	// true anthropicmodel: anthropic claude-opus-5-5: thinking "off": not supported by the model
}

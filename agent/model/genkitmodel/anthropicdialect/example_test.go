// SPDX-License-Identifier: Apache-2.0

package anthropicdialect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/anthropicdialect"
)

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream(text("Oslo.")))
	}))
	defer server.Close()

	m, err := anthropicdialect.New(anthropicdialect.Config{Name: "claude-sonnet-4-5", APIKey: "sk-example", BaseURL: server.URL})
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
	fmt.Println(m, "says:", res.Output)
	// Output:
	// anthropic claude-sonnet-4-5 through Genkit says: Oslo.
}

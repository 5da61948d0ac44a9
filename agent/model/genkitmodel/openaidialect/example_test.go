// SPDX-License-Identifier: Apache-2.0

package openaidialect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
)

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"Oslo."},"finish_reason":"stop"}]}`)
	}))
	defer server.Close()

	m, err := openaidialect.New(openaidialect.Config{Name: "gpt-5-mini", APIKey: "sk-example", BaseURL: server.URL})
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
	// openai gpt-5-mini through Genkit says: Oslo.
}

// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/offline"
	"github.com/ponte-go/ponte/toolset"
)

type lookUp struct {
	Number string `json:"number"`
}

// The model calls a tool, without a network.
func ExampleNew() {
	order := toolset.Func("order", "Look up an order.", func(_ context.Context, _ *toolset.RunContext[any], l lookUp) (string, error) {
		return "order " + l.Number + " was delivered on Monday", nil
	})
	desk := agent.Must(agent.New(agent.Config[any, string]{Model: offline.New(offline.Config{}), Tools: []*toolset.Tool[any]{order}}))
	res, err := desk.Run(context.Background(), nil, `use order {"number": "17"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(res.Output, "order 17 was delivered on Monday"))
	// Output: true
}

// People without a key can try the program: the model is the last resort, and has the name "offline".
func ExampleNew_demo() {
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Demo:     func(pace time.Duration) model.Model { return offline.New(offline.Config{Delay: pace}) },
		Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{Args: []string{"-model", "offline", "sing a song"}, In: strings.NewReader(""), Out: os.Stdout})
	// Output:
	// I am the offline demo model, a few rules and no intelligence, and have done nothing: I did not understand `sing a song`.
	// Say `help` to see what I understand, or start the agent with a real model, such as `-model openai:NAME` or `-model ollama:NAME`.
	//
	//   context: 66 of 32768 tokens (0 %)
}

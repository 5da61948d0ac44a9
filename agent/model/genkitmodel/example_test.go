// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
)

// A custom Genkit model.
func ExampleNew() {
	shout := ai.NewModel("house/shout", &ai.ModelOptions{Supports: &ai.ModelSupports{Multiturn: true, SystemRole: true}},
		func(_ context.Context, req *ai.ModelRequest, _ ai.ModelStreamCallback) (*ai.ModelResponse, error) {
			said := req.Messages[len(req.Messages)-1].Text()
			return &ai.ModelResponse{Message: ai.NewModelTextMessage(strings.ToUpper(said)), FinishReason: ai.FinishReasonStop}, nil
		})

	m, err := genkitmodel.New(shout, genkitmodel.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(agent.Config[any, string]{Model: m})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), nil, "hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Info().Provider, m.Info().Name, "says:", res.Output)
	// Output:
	// house shout says: HELLO
}

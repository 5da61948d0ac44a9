// SPDX-License-Identifier: Apache-2.0

// Temporal is a desk whose turns run on the workers of Temporal, with its sessions in a directory
// or in Postgres. It is a separate module, which keeps the libraries of both out of the main one.
//
// Usage, in this directory:
//
//	go run . web -runner temporal://localhost:7233 -store postgres://user@host/database
//	go run . worker -runner temporal://localhost:7233 -store postgres://user@host/database
package main

import (
	"context"

	"github.com/ponte-go/ponte/agent"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app/all"
	_ "github.com/ponte-go/ponte/app/postgres"
	_ "github.com/ponte-go/ponte/app/temporal"
	"github.com/ponte-go/ponte/toolset"
)

type lookUp struct {
	Number string `json:"number" validate:"required" jsonschema:"description=Number of the order"`
}

// order looks an order up. It may be called again if its worker is lost.
func order(_ context.Context, _ *toolset.RunContext[any], in lookUp) (string, error) {
	return "Order " + in.Number + " is on its way.", nil
}

var desk = agent.Must(agent.New(agent.Config[any, string]{Name: "desk", Tools: []*toolset.Tool[any]{
	toolset.Func("order", "Look up an order.", order, toolset.Idempotent()),
}}))

func main() {
	all.Main(all.Config[any, string]{Name: "desk", About: "Answers questions about orders", Agent: desk})
}

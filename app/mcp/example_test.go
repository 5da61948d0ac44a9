// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/mcp"
)

// program runs a program with the command "mcp", and one of its own.
func program(own func(*app.Env) *cobra.Command, args ...string) {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", About: "Answers questions about orders",
		Agent:    agent.Must(agent.New(agent.Config[any, string]{Model: says})),
		Surfaces: []app.Surface{mcp.New(mcp.Options{Description: "Ask about an order."})},
		Commands: []func(*app.Env) *cobra.Command{own},
	}, app.Process{Args: args})
}

// A program offers its agent as a tool, here to a client in the same process.
func ExampleServer() {
	program(func(e *app.Env) *cobra.Command {
		return &cobra.Command{Use: "own", RunE: func(c *cobra.Command, _ []string) error {
			ctx := c.Context()
			h, err := e.Open(ctx)
			if err != nil {
				return err
			}
			server, err := mcp.Server(ctx, e, h, mcp.Options{}, "/orders", false)
			if err != nil {
				return err
			}
			ours, theirs := sdk.NewInMemoryTransports()
			if _, err := server.Connect(ctx, theirs, nil); err != nil {
				return err
			}
			client, err := sdk.NewClient(&sdk.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, ours, nil)
			if err != nil {
				return err
			}
			defer client.Close()
			res, err := client.CallTool(ctx, &sdk.CallToolParams{
				Name: "ask", Arguments: map[string]string{"prompt": "Where is order 17?"},
			})
			if err != nil {
				return err
			}
			answer, _, _ := strings.Cut(res.Content[0].(*sdk.TextContent).Text, `","session"`)
			fmt.Println(answer)
			return nil
		}}
	}, "own", "-no-store")
	// Output: {"answer":"It was delivered on Monday.
}

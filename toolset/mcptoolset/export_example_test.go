// SPDX-License-Identifier: Apache-2.0

package mcptoolset_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

func ExampleExport() {
	type city struct {
		City string `json:"city" validate:"required"`
	}
	tools := toolset.Of(toolset.Plain[struct{}]("forecast", "Forecast the weather.", func(_ context.Context, c city) (string, error) {
		return "Rain in " + c.City + ".", nil
	}))
	ctx := context.Background()
	server, err := mcptoolset.Export(ctx, tools, mcptoolset.ExportConfig[struct{}]{Name: "weather"})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A program would call server.Run(ctx, &mcp.StdioTransport{}) here. This one is its own client.
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		fmt.Println(err)
		return
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, ours, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "forecast", Arguments: city{"Oslo"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output: Rain in Oslo.
}

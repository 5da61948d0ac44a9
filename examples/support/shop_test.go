// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// The shop is a server of its own: what it says of orders, and what it does with refunds.
func TestTheShopAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	there, here := mcp.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- shop(ctx, there) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(ctx, here, nil)
	require.NoError(t, err)
	require.Equal(t, "shop", client.InitializeResult().ServerInfo.Name)
	tools, err := client.ListTools(ctx, nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 2)
	for _, tool := range tools.Tools {
		require.Equal(t, tool.Name == "order", tool.Annotations != nil && tool.Annotations.ReadOnlyHint, tool.Name)
	}
	for _, c := range []struct {
		tool  string
		args  map[string]any
		fails bool
		says  string
	}{
		{"order", map[string]any{"number": "17"}, false, `{"number":"17","customer":"ada","item":"a lamp",` +
			`"status":"delivered","paid_with":"4111 1111 1111 1111","refunded":0}`},
		{"order", map[string]any{"number": "19"}, true, "There is no such order."},
		{"refund", map[string]any{"number": "19", "amount": 1}, true, "There is no such order."},
		{"refund", map[string]any{"number": "18", "amount": 20}, false, "Refunded 20 for order 18."},
		{"refund", map[string]any{"number": "18", "amount": 1}, false, "Refunded 1 for order 18."},
		{"refund", map[string]any{"number": "18", "amount": 0}, true, ""},
		{"order", map[string]any{"number": "18"}, false, `{"number":"18","customer":"bob","item":"a chair",` +
			`"status":"on its way","paid_with":"5500 0000 0000 0004","refunded":21}`},
	} {
		got, err := client.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		require.NoError(t, err)
		require.Equal(t, c.fails, got.IsError, c)
		said := got.Content[0].(*mcp.TextContent).Text
		if c.says != "" {
			require.Equal(t, c.says, said)
		}
	}
	require.NoError(t, client.Close())
	require.NoError(t, <-ended)
}

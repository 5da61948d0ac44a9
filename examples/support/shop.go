// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// order is an order of the shop.
type order struct {
	Number   string `json:"number"`
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Status   string `json:"status"`
	PaidWith string `json:"paid_with"`
	Refunded int    `json:"refunded"`
}

type lookUp struct {
	Number string `json:"number" validate:"required" jsonschema:"description=Number of the order"`
}

type refund struct {
	Number string `json:"number" validate:"required" jsonschema:"description=Number of the order"`
	Amount int    `json:"amount" validate:"min=1"`
}

// shop is an MCP server with the orders of a shop.
func shop(ctx context.Context, transport mcp.Transport) error {
	var mu sync.Mutex
	orders := map[string]*order{
		"17": {Number: "17", Customer: "ada", Item: "a lamp", Status: "delivered", PaidWith: "4111 1111 1111 1111"},
		"18": {Number: "18", Customer: "bob", Item: "a chair", Status: "on its way", PaidWith: "5500 0000 0000 0004"},
	}
	find := func(number string) (*order, error) {
		if o := orders[number]; o != nil {
			return o, nil
		}
		return nil, toolset.Failed("There is no such order.")
	}
	type none = struct{}
	server, err := mcptoolset.Export(ctx, toolset.Of(
		toolset.Func("order", "Look up an order.", func(_ context.Context, _ *toolset.RunContext[none], in lookUp) (order, error) {
			mu.Lock()
			defer mu.Unlock()
			o, err := find(in.Number)
			if err != nil {
				return order{}, err
			}
			return *o, nil
		}, toolset.OfKind(toolset.KindRead, "Look up an order")),
		toolset.Func("refund", "Refund a part of what was paid for an order.", func(_ context.Context, _ *toolset.RunContext[none], in refund) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			o, err := find(in.Number)
			if err != nil {
				return "", err
			}
			o.Refunded += in.Amount
			return fmt.Sprintf("Refunded %d for order %s.", in.Amount, in.Number), nil
		}, toolset.OfKind(toolset.KindOther, "Refund")),
	), mcptoolset.ExportConfig[none]{Name: "shop", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	return server.Run(ctx, transport)
}

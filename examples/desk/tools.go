// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// tools look orders up, and refund them if a person allows it.
var tools = []*toolset.Tool[any]{
	toolset.Func("order", "Look up an order.", order),
	toolset.Func("refund", "Refund a part of what was paid for an order.", pay, toolset.Approve(ask)),
}

type lookUp struct {
	Number string `json:"number" validate:"required" jsonschema:"description=Number of the order"`
}

type refund struct {
	Number string `json:"number" validate:"required" jsonschema:"description=Number of the order"`
	Amount int    `json:"amount" validate:"min=1"`
}

// orders are what the shop has sold. A shop keeps them in a database.
var (
	mu     sync.Mutex
	orders = map[string]string{"17": "a lamp, delivered", "18": "a chair, on its way"}
)

func order(_ context.Context, _ *toolset.RunContext[any], in lookUp) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	if text, ok := orders[in.Number]; ok {
		return text, nil
	}
	return "", toolset.Failed("There is no order %s.", in.Number)
}

func ask(_ context.Context, _ *toolset.RunContext[any], in refund) (*toolset.Approval, error) {
	return &toolset.Approval{Title: fmt.Sprintf("Refund %d for order %s", in.Amount, in.Number)}, nil
}

func pay(_ context.Context, _ *toolset.RunContext[any], in refund) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	text, ok := orders[in.Number]
	if !ok {
		return "", toolset.Failed("There is no order %s.", in.Number)
	}
	orders[in.Number] = fmt.Sprintf("%s, refunded %d", text, in.Amount)
	return fmt.Sprintf("Refunded %d.", in.Amount), nil
}

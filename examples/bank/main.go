// SPDX-License-Identifier: Apache-2.0

// Command bank answers a customer of a bank: typed dependencies, a tool, an instruction that is made for each customer, and a
// checked answer. Without -model the answers are scripted.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/toolset"
)

// Deps holds the customer data that the agent needs.
type Deps struct {
	Customer int
	DB       *DB
}

// Advice is the answer to a customer.
type Advice struct {
	Text      string `json:"text" jsonschema:"description=What to tell the customer"`
	BlockCard bool   `json:"block_card" jsonschema:"description=Whether the card must be blocked"`
	Risk      int    `json:"risk" jsonschema:"description=How risky the matter is" validate:"min=0,max=10"`
}

// BalanceArgs are the arguments of the tool balance.
type BalanceArgs struct {
	Pending bool `json:"pending" jsonschema:"description=Include pending transactions"`
}

var support = agent.Must(agent.New(agent.Config[Deps, Advice]{
	Instructions: "You help the customers of a bank. Address them by name, and rate the risk of what they ask.",
	Dynamic:      []agent.InstructionFunc[Deps]{customerName},
	Tools:        []*toolset.Tool[Deps]{toolset.Func("balance", "Get the customer's balance.", balance)},
}))

func customerName(ctx context.Context, run *toolset.RunContext[Deps]) (string, error) {
	name, err := run.Deps.DB.Name(ctx, run.Deps.Customer)
	return "The customer is called " + name + ".", err
}

func balance(ctx context.Context, run *toolset.RunContext[Deps], args BalanceArgs) (string, error) {
	sum, err := run.Deps.DB.Balance(ctx, run.Deps.Customer, args.Pending)
	return fmt.Sprintf("$%.2f", sum), err
}

// DB replaces the bank's database.
type DB struct{}

// Name returns the name of a customer.
func (*DB) Name(context.Context, int) (string, error) { return "Ada", nil }

// Balance returns the balance of a customer.
func (*DB) Balance(_ context.Context, _ int, pending bool) (float64, error) {
	if pending {
		return 123.45, nil
	}
	return 100, nil
}

var name = flag.String("model", "", "provider:name of a model")

func main() {
	flag.Parse()
	ctx := context.Background()
	var m model.Model = modeltest.Script(
		modeltest.Say(model.ToolCall("1", "balance", `{"pending":true}`)),
		modeltest.Say(model.ToolCall("2", "final_result", `{"text":"Ada, you have $123.45.","block_card":false,"risk":11}`)),
		modeltest.Say(model.ToolCall("3", "final_result", `{"text":"Ada, you have $123.45.","block_card":false,"risk":1}`)),
	)
	if *name != "" {
		var err error
		if m, err = model.Open(ctx, *name); err != nil {
			log.Fatal(err)
		}
	}
	res, err := support.Run(ctx, Deps{Customer: 7, DB: new(DB)}, "What is my balance?", agent.WithModel(m))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", res.Output)
}

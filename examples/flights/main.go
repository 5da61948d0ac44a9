// SPDX-License-Identifier: Apache-2.0

// Command flights books a flight: one agent reads flights out of a web page, for the agent that picks one and,
// once the user has agreed, buys it. Both count on one meter. Without -model the answers are scripted.
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

// Trip is the trip that the user wants.
type Trip struct{ Page, From, To, Date string }

// Flight is a flight on a page.
type Flight struct {
	Number string `json:"number" validate:"required"`
	Price  int    `json:"price" validate:"gt=0"`
	From   string `json:"from" validate:"len=3" jsonschema:"description=Airport code"`
	To     string `json:"to" validate:"len=3" jsonschema:"description=Airport code"`
	Date   string `json:"date" validate:"datetime=2006-01-02"`
}

var reader = agent.Must(agent.New(agent.Config[Trip, []Flight]{
	Name:         "reader",
	Instructions: "List the flights on this page.",
	Dynamic:      []agent.InstructionFunc[Trip]{agent.Instruct(func(t Trip) string { return t.Page })},
}))

var picker = agent.Must(agent.New(agent.Config[Trip, string]{
	Name:         "picker",
	Instructions: "Buy the cheapest flight for the trip.",
	Dynamic: []agent.InstructionFunc[Trip]{agent.Instruct(func(t Trip) string {
		return fmt.Sprintf("From %s to %s on %s.", t.From, t.To, t.Date)
	})},
	Tools: []*toolset.Tool[Trip]{
		toolset.Func("flights", "List all flights.", flights),
		toolset.Func("buy", "Buy a flight.", buy, toolset.Retries(4)),
	},
}))

func flights(ctx context.Context, run *toolset.RunContext[Trip], _ struct{}) ([]Flight, error) {
	res, err := reader.Run(ctx, run.Deps, "", agent.WithMeter(run.Meter), agent.WithModel(readerModel))
	if err != nil {
		return nil, err
	}
	return res.Output, nil
}

func buy(_ context.Context, run *toolset.RunContext[Trip], f Flight) (string, error) {
	if trip := run.Deps; f.From != trip.From || f.To != trip.To || f.Date != trip.Date {
		return "", toolset.Retry("The flight must go from %s to %s on %s.", trip.From, trip.To, trip.Date)
	}
	if !run.Call.Approved {
		return "", toolset.ApprovalRequired(toolset.Approval{Reason: fmt.Sprintf("Buy %s for $%d?", f.Number, f.Price)})
	}
	return "Bought " + f.Number + ".", nil
}

// user asks on the terminal. Without a model it agrees.
var user = toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	fmt.Println(r.Approval.Reason)
	answer := "yes"
	if *name != "" {
		if _, err := fmt.Scanln(&answer); err != nil {
			return toolset.Decision{}, err
		}
	}
	if answer != "yes" {
		return toolset.Deny("The user does not want this flight."), nil
	}
	return toolset.Allow(), nil
}}

const page = `
PN101: Oslo (OSL) to Berlin (BER), 10 January 2030, $90
PN202: Oslo (OSL) to Berlin (BER), 11 January 2030, $60`

var (
	name                    = flag.String("model", "", "provider:name of a model")
	readerModel model.Model = modeltest.Script(modeltest.Say(model.ToolCall("1", "final_result",
		`{"value":[{"number":"PN101","price":90,"from":"OSL","to":"BER","date":"2030-01-10"},{"number":"PN202","price":60,"from":"OSL","to":"BER","date":"2030-01-11"}]}`)))
	pickerModel model.Model = modeltest.Script(
		modeltest.Say(model.ToolCall("1", "flights", `{}`)),
		modeltest.Say(model.ToolCall("2", "buy", `{"number":"PN202","price":60,"from":"OSL","to":"BER","date":"2030-01-11"}`)),
		modeltest.Say(model.ToolCall("3", "buy", `{"number":"PN101","price":90,"from":"OSL","to":"BER","date":"2030-01-10"}`)),
		modeltest.SayText("You fly with PN101."),
	)
)

func main() {
	flag.Parse()
	ctx := context.Background()
	if *name != "" {
		m, err := model.Open(ctx, *name)
		if err != nil {
			log.Fatal(err)
		}
		readerModel, pickerModel = m, m
	}
	trip := Trip{Page: page, From: "OSL", To: "BER", Date: "2030-01-10"}
	res, err := picker.Run(ctx, trip, "Get me there.", agent.WithModel(pickerModel), agent.WithAsker(user), agent.WithLimits(agent.Limits{Requests: 15}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s (%d requests)\n", res.Output, res.Usage.Requests)
}

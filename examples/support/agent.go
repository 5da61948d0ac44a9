// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/memory"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Deps describes the customer.
type Deps struct {
	Customer string
	Notes    memory.Store
}

const instructions = `You are the support agent of a shop. Look orders up before you say anything about them. Be brief and kind.
Note what a customer will not want to say twice, such as a size or an allergy.`

func newAgent(m model.Model, shop *mcptoolset.Server) (*agent.Agent[Deps, string], error) {
	unasked := func(context.Context, *toolset.RunContext[Deps], mcptoolset.Call) (toolset.Verdict, error) {
		return toolset.VerdictAllow, nil // the guardrails decide what a person has to see
	}
	return agent.New(agent.Config[Deps, string]{
		Name: "support", Model: m, Instructions: instructions, ToolTimeout: patience,
		Dynamic:  []agent.InstructionFunc[Deps]{agent.Instruct(func(d Deps) string { return "The customer is " + d.Customer + "." })},
		Toolsets: []toolset.Toolset[Deps]{mcptoolset.Tools(shop, mcptoolset.Options[Deps]{Policy: unasked, Required: true})},
		Capabilities: []agent.Capability[Deps]{
			memory.New(func(d Deps) memory.Store { return d.Notes }, memory.Options{Unasked: true}),
			spend.New(spend.Options[Deps]{Store: new(session.Memory), Windows: []spend.Window[Deps]{{
				Name: "hourly", Length: time.Hour, Tokens: 200_000, Key: func(run *toolset.RunContext[Deps]) string { return run.Deps.Customer },
			}}}),
			guardrails.New( // last: what the others see has been checked
				guardrails.Guard[Deps]{Name: "cards", On: guardrails.Input | guardrails.Output | guardrails.Call | guardrails.Result, Check: cards},
				guardrails.Guard[Deps]{Name: "others", On: guardrails.Result, Tools: []string{"shop_order"}, Check: others},
				guardrails.Guard[Deps]{Name: "refunds", On: guardrails.Call, Tools: []string{"shop_refund"}, Check: refunds},
			),
		},
	})
}

var card = regexp.MustCompile(`\b(?:\d{4}[ -]?){3}\d{4}\b`)

// cards keeps card numbers from the model, its provider and the history.
func cards(_ context.Context, _ *toolset.RunContext[Deps], s *guardrails.Subject) (guardrails.Verdict, error) {
	if !card.MatchString(s.Text) {
		return guardrails.Pass(), nil
	}
	return guardrails.Replace(card.ReplaceAllString(s.Text, "[card number]"), "a card number"), nil
}

// others keeps the orders of other customers from the model.
func others(_ context.Context, run *toolset.RunContext[Deps], s *guardrails.Subject) (guardrails.Verdict, error) {
	var o order
	if json.Unmarshal([]byte(s.Text), &o) == nil && o.Customer != "" && o.Customer != run.Deps.Customer {
		return guardrails.Replace("There is no such order.", "an order of somebody else"), nil
	}
	return guardrails.Pass(), nil
}

// maxRefund is the largest refund without approval.
const maxRefund = 50

// refunds has a colleague decide about large refunds.
func refunds(_ context.Context, _ *toolset.RunContext[Deps], s *guardrails.Subject) (guardrails.Verdict, error) {
	var r refund
	if err := json.Unmarshal([]byte(s.Text), &r); err != nil || r.Amount > maxRefund {
		return guardrails.Ask(fmt.Sprintf("refunds of more than %d are for a colleague", maxRefund)), nil
	}
	return guardrails.Pass(), nil
}

// explain tells the customer why no answer is available.
func explain(err error) string {
	if spent, ok := errors.AsType[*spend.Error](err); ok {
		return "There have been many questions. Please come back at " + spent.Free.Local().Format("15:04") + "."
	}
	if blocked, ok := errors.AsType[*guardrails.BlockedError](err); ok {
		return blocked.Refused()
	}
	return "Something went wrong: " + err.Error()
}

// remembered returns the notes in a directory, or notes that end with the program.
func remembered(dir string) (memory.Store, error) {
	if dir == "" {
		return new(memory.Map), nil
	}
	ws, err := local.Open(local.Config{Roots: []string{dir}})
	if err != nil {
		return nil, err
	}
	return memory.Files(ws, "."), nil
}

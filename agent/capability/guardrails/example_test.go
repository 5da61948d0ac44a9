// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"fmt"
	"regexp"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func ExampleNew() {
	card := regexp.MustCompile(`\b\d{4}-\d{4}\b`)
	cards := guardrails.Guard[none]{
		Name: "cards", On: guardrails.Input | guardrails.Output, Stream: 9,
		Check: func(_ context.Context, _ *toolset.RunContext[none], s *guardrails.Subject) (guardrails.Verdict, error) {
			if !card.MatchString(s.Text) {
				return guardrails.Pass(), nil
			}
			return guardrails.Replace(card.ReplaceAllString(s.Text, "[card]"), "a card number"), nil
		},
	}
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model:        modeltest.Script(modeltest.SayText("Paid with 4111-1111.")),
		Capabilities: []agent.Capability[none]{guardrails.New(cards)},
	}))
	res, err := a.Run(context.Background(), none{}, "Pay with 4111-1111.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Messages[0].Parts[0].Text)
	fmt.Println(res.Output)
	// Output:
	// Pay with [card].
	// Paid with [card].
}

func ExampleBlock() {
	internal := guardrails.Guard[none]{
		Name: "internal", On: guardrails.Output,
		Check: func(context.Context, *toolset.RunContext[none], *guardrails.Subject) (guardrails.Verdict, error) {
			return guardrails.Block("it names a project that is not public"), nil
		},
	}
	a := agent.Must(agent.New(agent.Config[none, string]{
		Model:        modeltest.Script(modeltest.SayText("Project Falcon ships in May.")),
		Capabilities: []agent.Capability[none]{guardrails.New(internal)},
	}))
	_, err := a.Run(context.Background(), none{}, "What ships in May?")
	fmt.Println(err)
	// Output: agent: model: guardrails: output blocked by "internal": it names a project that is not public
}

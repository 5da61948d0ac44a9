// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// A turn is cut off after a tool has run. It is resumed, and the tool does not run again.
func ExampleConversation_Resume() {
	ctx := context.Background()
	store := new(session.Memory)
	if _, err := store.Create(ctx, session.New{ID: "s1"}); err != nil {
		fmt.Println(err)
		return
	}
	pay := toolset.Func("pay", "Pay the bill.", func(context.Context, *toolset.RunContext[none], none) (string, error) {
		fmt.Println("paying")
		return "paid", nil
	})
	newAgent := func(m model.Model) *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Model: m, Tools: []*toolset.Tool[none]{pay}}))
	}
	open := func() *transcript.Conversation {
		w, err := session.Open(ctx, store, "s1", session.Claim{Holder: "example", Force: true})
		if err != nil {
			panic(err)
		}
		c, err := transcript.Open(ctx, w, transcript.Options{})
		if err != nil {
			panic(err)
		}
		return c
	}

	// The first process ends without ending its turn.
	t, err := open().Begin(ctx, model.User("Settle the bill."))
	if err != nil {
		fmt.Println(err)
		return
	}
	first := newAgent(modeltest.Script(modeltest.Say(model.ToolCall("c1", "pay", `{}`)), modeltest.Fail(errors.New("connection lost"))))
	_, err = first.Run(ctx, none{}, "Settle the bill.", t.Options()...)
	fmt.Println(err)

	// The second one finds the turn.
	c := open()
	fmt.Println(c.Interrupted() == t.ID(), len(c.Messages()))
	if t, err = c.Resume(ctx); err != nil {
		fmt.Println(err)
		return
	}
	res, err := newAgent(modeltest.Script(modeltest.SayText("Settled."))).Run(ctx, none{}, "Settle the bill.", t.Options()...)
	if err := transcript.End(ctx, t, res, err); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Output, len(c.Messages()))
	// Output:
	// paying
	// agent: model: connection lost
	// true 3
	// Settled. 4
}

// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// conversation is three turns, the last of which is about to be answered.
func conversation() []*model.Message {
	return []*model.Message{
		model.UserText("What is one and one?"), model.Response(model.Text("Two.")),
		model.UserText("And two and two?"), model.Response(model.Text("Four.")),
		model.UserText("And four and four?"),
	}
}

func show(messages []*model.Message, err error) {
	for _, m := range messages {
		fmt.Printf("%s: %s\n", m.Kind, m.Parts[0].Text)
	}
	if err != nil {
		fmt.Println(err)
	}
}

func ExampleKeepLast() {
	trim := history.KeepLast[struct{}](2, 0)
	show(trim(context.Background(), nil, conversation()))
	// Output:
	// request: And two and two?
	// response: Four.
	// request: And four and four?
}

func ExampleTokenBudget() {
	trim := history.TokenBudget[struct{}](history.Budget{Max: 30})
	show(trim(context.Background(), nil, conversation()))
	// Output:
	// request: And two and two?
	// response: Four.
	// request: And four and four?
}

func ExampleRedact() {
	ticket := history.Rule{Name: "ticket", Pattern: regexp.MustCompile(`TICKET-\d+`)}
	redact := history.Redact[struct{}](append(history.Secrets(), history.Emails(), ticket)...)
	show(redact(context.Background(), nil, []*model.Message{
		model.UserText("I am ann@example.com, about TICKET-42."),
		model.Response(model.Text("Where is the database?")),
		model.UserText("postgres://ann:pa55w0rd@db.example.com/main"),
	}))
	// Output:
	// request: I am [redacted e-mail address], about [redacted ticket].
	// response: Where is the database?
	// request: postgres://ann:[redacted password]@db.example.com/main
}

// A long conversation goes on from a summary of itself, which a second model writes.
func ExampleSummarise() {
	small := modeltest.Script( // the book is too long for one request
		modeltest.SayText("The user is reading aloud."),
		modeltest.SayText("The user is reading a long book aloud."),
		modeltest.SayText("The user is reading a long book aloud."),
	)
	large := modeltest.Script(modeltest.SayText("It ends well."))
	a, err := agent.New(agent.Config[struct{}, string]{
		Model: large,
		History: []agent.HistoryProcessor[struct{}]{
			history.Summarise[struct{}](history.Summary{Model: small, Threshold: 1000, KeepTurns: 1}),
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	book := []*model.Message{
		model.UserText(strings.Repeat("And then something happened. ", 200)),
		model.Response(model.Text("Go on.")),
	}
	res, err := a.Run(context.Background(), struct{}{}, "How does it end?", agent.WithHistory(book))
	if err != nil {
		fmt.Println(err)
		return
	}
	show(large.Requests()[0].Messages, nil)
	fmt.Println(res.Output, len(res.NewMessages()), "new messages,", res.Usage.Requests, "requests")
	// Output:
	// request: Summary of the conversation up to here, which is no longer shown:
	//
	// The user is reading a long book aloud.
	// request: How does it end?
	// It ends well. 2 new messages, 4 requests
}

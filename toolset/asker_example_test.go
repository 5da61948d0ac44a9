// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// A tool asks in the middle of a call. The unit test answers.
func ExampleAsker() {
	greet := toolset.Func("greet", "Greet the user by name.", func(ctx context.Context, run *toolset.RunContext[struct{}], _ struct{}) (string, error) {
		reply, err := run.Ask(ctx, toolset.Question{Message: "What is your name?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil || reply.Action != toolset.ActionAccept {
			return "", toolset.Failed("The user did not say.")
		}
		var answer struct{ Name string }
		if err := json.Unmarshal(reply.Content, &answer); err != nil {
			return "", err
		}
		return "Hello, " + answer.Name, nil
	})
	host := &toolsettest.Host{Asker: toolset.AskerFuncs{OnAnswer: func(_ context.Context, q toolset.Question) (toolset.Reply, error) {
		fmt.Println(q.Message)
		return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{"name":"Ada"}`)}, nil
	}}}
	res, err := toolsettest.Call(context.Background(), toolset.Of(greet), &toolset.RunContext[struct{}]{Host: host}, "greet", `{}`)
	fmt.Println(res.Text, err)
	// Output:
	// What is your name?
	// Hello, Ada <nil>
}

// SPDX-License-Identifier: Apache-2.0

package spend_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/spend"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset"
)

func ExampleNew() {
	answers := modeltest.Func(func(context.Context, *model.Request) (*model.Message, error) {
		m := model.Response(model.Text("Hello."))
		m.Usage = model.Usage{InputTokens: 700, OutputTokens: 100}
		return m, nil
	})
	hourly := spend.Window[user]{
		Name: "hourly", Length: time.Hour, Tokens: 1500, Reserve: 800,
		Key: func(run *toolset.RunContext[user]) string { return run.Deps.name },
	}
	a := agent.Must(agent.New(agent.Config[user, string]{
		Model:        answers,
		Capabilities: []agent.Capability[user]{spend.New(spend.Options[user]{Store: new(session.Memory), Windows: []spend.Window[user]{hourly}})},
	}))
	for _, name := range []string{"ada", "ada", "bob"} {
		_, err := a.Run(context.Background(), user{name}, "Hello.")
		if spent, ok := errors.AsType[*spend.Error](err); ok {
			fmt.Println(name, "has used", spent.Used, "of", spent.Limit)
			continue
		}
		fmt.Println(name, "is answered")
	}
	// Output:
	// ada is answered
	// ada has used 800 of 1500
	// bob is answered
}

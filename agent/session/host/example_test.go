// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// A program that shows sessions hands prompts to a host, and renders what the sessions show.
func Example() {
	ctx := context.Background()
	h, err := host.New(host.Config[struct{}, string]{
		Agent: agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("The Akerselva."))})),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	s, err := h.Create(ctx, session.New{Dir: "/repo"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := s.Prompt(ctx, host.Prompt{Parts: []model.Part{model.User("Name a river.")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcome.Reason, outcome.Err)
	snapshot, _, err := s.Snapshot(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for e := range snapshot.Of(view.Message) {
		fmt.Printf("%s: %s\n", e.Role, e.Text())
	}
	// Output:
	// done <nil>
	// user: Name a river.
	// assistant: The Akerselva.
}

// SPDX-License-Identifier: Apache-2.0

package proxy_test

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/proxy"
)

func newDesk() *agent.Agent[any, string] {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	return agent.Must(agent.New(agent.Config[any, string]{Model: says}))
}

// An editor talks to another agent through the program, which lets it change nothing.
func ExampleCommand() {
	ctx := context.Background()
	in, toAgent := acp.Pipe()
	fromAgent, out := acp.Pipe()
	ended := make(chan int)
	go func() {
		ended <- app.Run(ctx, app.Config[any, string]{
			Name: "desk", Agent: newDesk(), Commands: []func(*app.Env) *cobra.Command{proxy.Command},
		}, app.Process{Args: []string{"proxy", "-read-only", os.Args[0], "agent"}, In: in, Out: out})
	}()
	client, err := acpclient.Connect(ctx, fromAgent, toAgent, acpclient.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := client.NewSession(ctx, acpclient.SessionConfig{Cwd: os.TempDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := s.Say(ctx, "Where is order 17?")
	fmt.Println(turn.Text(), err)
	_ = client.Close()
	fmt.Println("exit code", <-ended)
	// Output:
	// It was delivered on Monday. <nil>
	// exit code 0
}

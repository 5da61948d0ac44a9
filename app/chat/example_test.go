// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
)

// newDesk returns an agent with a model that says two things.
func newDesk() *agent.Agent[any, string] {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."), modeltest.SayText("To Berlin."))
	return agent.Must(agent.New(agent.Config[any, string]{Model: says}))
}

// Without a terminal, each line of the input is a prompt.
func ExampleNew() {
	code := app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: newDesk(), Surfaces: []app.Surface{chat.New(chat.Options{})},
	}, app.Process{Args: []string{"chat"}, In: strings.NewReader("Where is order 17?\nTo where?\n"), Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// It was delivered on Monday.
	//
	// To Berlin.
	// exit code 0
}

// Run talks to any ACP agent, here to one in this process.
func ExampleRun() {
	code := chat.Run(context.Background(), chat.Config{
		Connect: func(ctx context.Context, c acpclient.Config) (*acpclient.Client, error) {
			h, err := host.New(host.Config[any, string]{Agent: newDesk(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return nil, err
			}
			in, toAgent := acp.Pipe()
			fromAgent, out := acp.Pipe()
			serving := context.WithoutCancel(ctx) // until the client leaves
			go acpbridge.ServeHost(serving, h, acpbridge.Options{In: in, Out: out})
			return acpclient.Connect(ctx, fromAgent, toAgent, c)
		},
		Dir: os.TempDir(), Prompt: "Where is order 17?", In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr,
	})
	fmt.Println("exit code", code)
	// Output:
	// It was delivered on Monday.
	// exit code 0
}

func ExampleParseCommand() {
	c, err := chat.ParseCommand(`DEBUG=1 my-agent --name "the desk"`)
	fmt.Printf("%s %q %v %v\n", c.Path, c.Args, c.Env, err)
	// Output: my-agent ["--name" "the desk"] [DEBUG=1] <nil>
}

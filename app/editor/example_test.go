// SPDX-License-Identifier: Apache-2.0

package editor_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// Deps are what the tools of the agent get: the editor's files and terminals.
type Deps struct{ deps.ACPDeps }

// A coding agent for editors. In sessions without an editor it has no files: see acpbridge.LocalFallback.
func ExampleDeps() {
	app.Main(app.Config[Deps, string]{
		Name:  "coder",
		Agent: agent.Must(agent.New(agent.Config[Deps, string]{Toolsets: []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()}})),
		Deps: editor.Deps(acpbridge.LocalFallback{}, func(_ context.Context, acp deps.ACPDeps) (Deps, error) {
			return Deps{acp}, nil
		}),
		Surfaces: []app.Surface{editor.New(editor.Options{})},
	})
}

// An agent without files needs no dependencies. The editor is one in this process.
func ExampleNew() {
	ctx := context.Background()
	in, toAgent := acp.Pipe()
	fromAgent, out := acp.Pipe()
	ended := make(chan int)
	go func() {
		says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
		ended <- app.Run(ctx, app.Config[any, string]{
			Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{Model: says})),
			Surfaces: []app.Surface{editor.New(editor.Options{})},
		}, app.Process{Args: []string{"acp", "-no-store"}, In: in, Out: out})
	}()
	client, err := acpclient.Connect(ctx, fromAgent, toAgent, acpclient.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := client.NewSession(ctx, acpclient.SessionConfig{Cwd: "/orders"})
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

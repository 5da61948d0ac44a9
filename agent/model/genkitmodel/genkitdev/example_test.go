// SPDX-License-Identifier: Apache-2.0

package genkitdev_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/firebase/genkit/go/genkit"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/genkitdev"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// A program that runs under "genkit start -- go run ." and is ended by Ctrl-C. This example is compiled but not run,
// because Init changes how its process handles signals and traces.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	g := genkit.Init(ctx)

	type Deps struct{}
	a, err := agent.New(agent.Config[Deps, string]{
		Name:  "greeter",
		Model: modeltest.Script(modeltest.SayText("Hello!")), // a real model in a real program
		Hooks: []agent.Hooks[Deps]{genkitdev.Hooks[Deps]()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := genkitdev.Register(g, "greeter", a, genkitdev.Options[Deps]{Prompt: "Hi!"}); err != nil {
		fmt.Println(err)
		return
	}
	<-ctx.Done()
}

// A program can also run a flow itself.
func ExampleRegister() {
	a, err := agent.New(agent.Config[struct{}, string]{
		Name: "greeter", Model: modeltest.Script(modeltest.SayText("Hello!")),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := newGenkit() // genkit.Init in a program
	flow, err := genkitdev.Register(g, "greeter", a, genkitdev.Options[struct{}]{Prompt: "Hi!"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for part, err := range flow.Stream(context.Background(), genkitdev.Input{Prompt: "Hi!"}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case part.Done:
			fmt.Println("output:", *part.Output.Output)
		default:
			fmt.Printf("%s: %q\n", part.Stream.Type, part.Stream.Text)
		}
	}
	// Output:
	// text: "Hello!"
	// output: Hello!
}

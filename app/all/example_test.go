// SPDX-License-Identifier: Apache-2.0

package all_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
)

// newDesk returns an agent with a model that says one thing.
func newDesk() *agent.Agent[any, string] {
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	return agent.Must(agent.New(agent.Config[any, string]{Name: "desk", Model: says}))
}

// This is a whole program: desk "Where is order 17?", desk chat, desk acp, desk web, desk mcp, and more.
func ExampleMain() {
	all.Main(all.Config[any, string]{Name: "desk", About: "Answers questions about orders", Agent: newDesk()})
}

// Run is Main with arguments and streams of a test.
func ExampleRun() {
	code := all.Run(context.Background(), all.Config[any, string]{Name: "desk", Agent: newDesk()},
		app.Process{Args: []string{"Where is order 17?"}, In: strings.NewReader(""), Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// It was delivered on Monday.
	// exit code 0
}

func ExampleSurfaces() {
	for _, s := range all.Surfaces() {
		fmt.Println(s.Name())
	}
	// Output:
	// chat
	// acp
	// web
	// mcp
	// man
}

// Editors and terminals get sessions with forks, which not all of them know.
func ExampleWith() {
	unstable := func() acpbridge.Options { return acpbridge.Options{Unstable: true} }
	code := all.Run(context.Background(), all.Config[any, string]{
		Name: "desk", Agent: newDesk(), Surfaces: all.With(unstable),
	}, app.Process{Args: []string{"Where is order 17?"}, In: strings.NewReader(""), Out: os.Stdout})
	fmt.Println("exit code", code)
	// Output:
	// It was delivered on Monday.
	// exit code 0
}

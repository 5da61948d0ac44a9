// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func ExampleNew() {
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Roots: []string{"/repo"}, Files: map[string]string{
		"AGENTS.md": "Run the tests with make check.\n",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	work := workspace.NewSession(ws)
	defer work.Close(context.Background())

	script := modeltest.Script(modeltest.SayText("Done."))
	a := agent.Must(agent.New(agent.Config[*workspace.Session, string]{
		Model: script,
		Capabilities: []agent.Capability[*workspace.Session]{
			instructions.New(func(s *workspace.Session) *workspace.Session { return s }, instructions.Options{}),
		},
	}))
	if _, err := a.Run(context.Background(), work, "Tidy up."); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(script.Requests()[0].Instructions)
	// Output:
	// The project has these instructions for agents. If they contradict each other, a later one takes precedence. The user's messages take precedence over all of them.
	//
	// <project_instructions file="AGENTS.md">
	// Run the tests with make check.
	// </project_instructions>
}

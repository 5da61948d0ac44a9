// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// A unit test of an agent that works in an editor: a script instead of a model, a fake instead of the editor.
func ExampleToolset() {
	type Deps struct{ deps.ACPDeps }

	a, err := agent.New(agent.Config[Deps, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "read_file", `{"path":"greeting.txt"}`)),
			modeltest.Say(model.ToolCall("2", "write_file", `{"path":"greeting.txt","content":"hello, world\n"}`)),
			modeltest.SayText("I greeted the world."),
		),
		Toolsets: []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
	})
	if err != nil {
		panic(err)
	}
	editor := acptest.New(acptest.Options{
		Files:   map[string]string{"/project/greeting.txt": "hello\n"},
		Answers: []acptest.Answer{acptest.AllowOnce},
	})
	defer editor.Close()

	d := editor.Deps("/project")
	res, err := a.Run(context.Background(), Deps{d}, "Greet the world.", agent.WithAsker(acpbridge.Asker(d)))
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Output)
	for _, c := range editor.State().ToolCalls {
		fmt.Println(c.Title, c.Status)
	}
	content, _ := editor.File("/project/greeting.txt")
	fmt.Print(content)
	// Output:
	// I greeted the world.
	// Read greeting.txt completed
	// Edit greeting.txt completed
	// hello, world
}

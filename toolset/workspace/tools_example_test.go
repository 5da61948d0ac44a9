// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// An agent edits a file in memory. The change is shown before it is made.
func ExampleTools() {
	type Deps struct{ Work *workspace.Session }
	ctx := context.Background()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"hello.txt": "Hello, wrld!\n"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	session := workspace.NewSession(ws)
	defer session.Close(ctx)

	a := agent.Must(agent.New(agent.Config[Deps, string]{
		Model: modeltest.Script(
			modeltest.Say(model.ToolCall("1", "search_files", `{"pattern":"wrld"}`)),
			modeltest.Say(model.ToolCall("2", "edit_file", `{"path":"hello.txt","edits":[{"old_text":"wrld","new_text":"world"}]}`)),
			modeltest.SayText("Fixed."),
		),
		Toolsets: []toolset.Toolset[Deps]{workspace.Tools(func(d Deps) *workspace.Session { return d.Work })},
	}))
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		fmt.Printf("%s? %q\n", r.Approval.Title, *r.Approval.Preview[0].Diff.New)
		return toolset.Allow(), nil
	}}
	res, err := a.Run(ctx, Deps{session}, "Fix the spelling.", agent.WithAsker(person))
	if err != nil {
		fmt.Println(err)
		return
	}
	f, _ := ws.Read(ctx, "hello.txt", workspace.Range{})
	fmt.Printf("%s %s", res.Output, f.Data)
	// Output:
	// Edit hello.txt? "Hello, world!\n"
	// Fixed. Hello, world!
}

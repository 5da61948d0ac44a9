// SPDX-License-Identifier: Apache-2.0

package skills_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/skills"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func ExampleNew() {
	script := modeltest.Script(
		modeltest.Say(model.ToolCall("1", "load_skill", `{"name":"greet"}`)),
		modeltest.SayText("Hello!"),
	)
	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: script,
		Capabilities: []agent.Capability[struct{}]{
			skills.New(skills.Options{}, skills.Code[struct{}](skills.Skill{
				Name: "greet", Description: "Greet people well.", Body: "Say hello.\n",
			})),
		},
	}))
	res, err := a.Run(context.Background(), struct{}{}, "Greet me.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(script.Requests()[0].Instructions)
	fmt.Println()
	fmt.Println(res.Messages[2].Parts[0].Text)
	// Output:
	// These skills are available: instructions for particular tasks. If a task fits the description of a skill, call load_skill with its name before you begin, and follow the instructions.
	//
	// - greet: Greet people well.
	//
	// <skill name="greet">
	// Say hello.
	// </skill>
}

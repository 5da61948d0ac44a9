// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"log"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
)

// Claude Code as a tool of another agent.
func ExampleTool() {
	type Deps struct{}
	review := acpclient.Tool[Deps]("review", "Have another agent review the last commit.", acpclient.Agent{
		Name:    "reviewer",
		Command: acpclient.Command{Path: "claude-agent-acp"},
		Session: acpclient.SessionConfig{Cwd: "/repo"},
	})
	_ = agent.Config[Deps, string]{Model: nil /* the model */, Tools: []*toolset.Tool[Deps]{review}}
}

// An agent that writes text gets a typed output: the schema is a part of the prompt, and an answer that does not fit is asked for again.
func ExampleNewModel() {
	type Report struct {
		Title    string   `json:"title" validate:"required"`
		Problems []string `json:"problems"`
	}
	m := acpclient.NewModel(acpclient.Agent{Command: acpclient.Command{Path: "codex-acp"}, Session: acpclient.SessionConfig{Cwd: "/repo"}})
	defer m.Close()
	_, err := agent.New(agent.Config[struct{}, Report]{Model: m, Output: agent.Output{Mode: agent.OutputPrompted}})
	if err != nil {
		log.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Command editor is a small agent for IDEs with ACP. Its test runs it with an editor in memory: no process, pipe or
// network. Start it from an IDE; -model names the model.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// Deps is filled in by the bridge for each session.
type Deps struct{ deps.ACPDeps }

func newCoder(m model.Model) (*agent.Agent[Deps, string], error) {
	return agent.New(agent.Config[Deps, string]{
		Model:        m,
		Instructions: "You are a careful programmer.",
		Toolsets:     []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
	})
}

func main() {
	name := flag.String("model", "ollama:qwen3:8b", "provider:name of a model")
	flag.Parse()
	ctx := context.Background()
	m, err := model.Open(ctx, *name)
	if err != nil {
		log.Fatal(err)
	}
	coder, err := newCoder(m)
	if err != nil {
		log.Fatal(err)
	}
	var c acpbridge.Config[Deps, string]
	c.Host.Agent = coder
	c.Deps = func(_ context.Context, acp deps.ACPDeps) (Deps, error) { return Deps{acp}, nil }
	if err := acpbridge.Serve(ctx, c); err != nil {
		log.Fatal(err)
	}
}

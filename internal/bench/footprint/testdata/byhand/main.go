// SPDX-License-Identifier: Apache-2.0

// Byhand is examples/editor with sessions in SQLite.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// Deps is filled in by the bridge for each session.
type Deps struct{ deps.ACPDeps }

func main() {
	name := flag.String("model", "ollama:qwen3:8b", "provider:name of a model")
	at := flag.String("store", "sessions", "directory to keep sessions in")
	flag.Parse()
	ctx := context.Background()
	m, err := model.Open(ctx, *name)
	if err != nil {
		log.Fatal(err)
	}
	coder, err := agent.New(agent.Config[Deps, string]{
		Model:        m,
		Instructions: "You are a careful programmer.",
		Toolsets:     []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
	})
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitestore.Open(*at, sqlitestore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var c acpbridge.Config[Deps, string]
	c.Host.Agent, c.Host.Store = coder, store
	c.Deps = func(_ context.Context, acp deps.ACPDeps) (Deps, error) { return Deps{acp}, nil }
	if err := acpbridge.Serve(ctx, c); err != nil {
		log.Fatal(err)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Byapp is the program of byhand on package app.
package main

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/editor"
	_ "github.com/ponte-go/ponte/app/sqlite"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// Deps is made by the editor surface for each session.
type Deps struct{ deps.ACPDeps }

func main() {
	app.Main(app.Config[Deps, string]{
		Name: "coder",
		Agent: agent.Must(agent.New(agent.Config[Deps, string]{
			Instructions: "You are a careful programmer.",
			Toolsets:     []toolset.Toolset[Deps]{acpbridge.Toolset[Deps]()},
		})),
		Deps: editor.Deps(acpbridge.LocalFallback{}, func(_ context.Context, acp deps.ACPDeps) (Deps, error) {
			return Deps{acp}, nil
		}),
		Surfaces: []app.Surface{editor.New(editor.Options{})},
	})
}

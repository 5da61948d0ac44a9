// SPDX-License-Identifier: Apache-2.0

// Package all makes a program of an agent with all surfaces of package app: [Main] is app.Main
// with them, and with evals. Sessions are kept in SQLite and can be encrypted, and keys are in the
// keyring. It links most of this module; a program that needs less calls app.Main and names what it
// needs.
package all

import (
	"context"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/editor"
	_ "github.com/ponte-go/ponte/app/encryption"
	_ "github.com/ponte-go/ponte/app/evals"
	_ "github.com/ponte-go/ponte/app/keyring"
	"github.com/ponte-go/ponte/app/mcp"
	_ "github.com/ponte-go/ponte/app/sqlite" // sessions outlive the program
	"github.com/ponte-go/ponte/app/web"
)

// Config is [app.Config]. If Surfaces is nil, [Main] and [Run] use those of [Surfaces].
type Config[D, O any] = app.Config[D, O]

// Main runs the program with the arguments of the process, and exits: see [app.Main].
func Main[D, O any](c Config[D, O]) { app.Main(filled(c)) }

// Run is [Main] without the process around it: see [app.Run].
func Run[D, O any](ctx context.Context, c Config[D, O], p app.Process) int {
	return app.Run(ctx, filled(c), p)
}

func filled[D, O any](c Config[D, O]) Config[D, O] {
	if c.Surfaces == nil {
		c.Surfaces = Surfaces()
	}
	return c
}

// Surfaces returns chat, acp, web and mcp with their defaults, and a command that writes the
// manual.
func Surfaces() []app.Surface { return With(nil) }

// With is [Surfaces] for an agent whose sessions are served to editors and terminals in its own
// way: see [editor.Options].
func With(bridge func() acpbridge.Options) []app.Surface {
	return []app.Surface{
		chat.New(chat.Options{Bridge: bridge}), editor.New(editor.Options{Bridge: bridge}),
		web.New(web.Options{}), mcp.New(mcp.Options{}), manual{},
	}
}

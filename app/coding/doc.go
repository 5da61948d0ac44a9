// SPDX-License-Identifier: Apache-2.0

// Package coding makes programs of package app whose agents work on files. It gives the sessions
// files and commands, in an editor or on this machine, and /undo. It applies the configuration of
// user and project: rules about permissions, MCP servers, prompts.
//
//	var kit *coding.Kit
//	app.Main(app.Config[coding.Deps, string]{
//		Name: "coder",
//		New: func(ctx context.Context, e *app.Env) (*agent.Agent[coding.Deps, string], error) {
//			kit = coding.New(e)
//			return agent.New(agent.Config[coding.Deps, string]{Model: e.Model(), Toolsets: kit.Toolsets()})
//		},
//		Deps:     func(ctx context.Context, s *host.Session, p host.Place) (coding.Deps, error) { return kit.Deps(ctx, s, p) },
//		Setup:    func(_ *app.Env, c *host.Config[coding.Deps, string]) error { coding.Configure(kit, c); return nil },
//		Surfaces: …,
//	})
//
// The program examples/ideagent is one.
package coding

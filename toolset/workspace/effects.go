// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/protect"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// affects notes what a call does. A person is asked every time about one that may write a protected
// path, and is told why.
func (c *call) affects(a *toolset.Approval, effects []model.Effect) {
	a.Effects = effects
	if p, name := protect.Written(effects); p != nil {
		a.Once = true
		a.Preview = append(a.Preview, toolset.Preview{Text: "This may change " +
			printable(shortPath(c.ws, name)) + ", which is protected: " + p.Why + "."})
	}
}

// planEffects returns the effects of a change, on the file by its name and on the target of links.
func (c *call) planEffects(p *plan) []model.Effect {
	effects := []model.Effect{{Kind: model.EffectWrite, Path: p.path}}
	if p.file != p.path {
		effects = append(effects, model.Effect{Kind: model.EffectWrite, Path: p.file})
	}
	if c.tool == ToolEditFile { // whose result shows lines of the file
		for _, e := range slices.Clone(effects) {
			effects = append(effects, model.Effect{Kind: model.EffectRead, Path: e.Path})
		}
	}
	return effects
}

// commandEffects returns the effects of a command, in its directory and in the target of links, on
// files by their names and on the targets of links. The latter are also returned as behind.
func (c *call) commandEffects(ctx context.Context, cmd *prepared) (all, behind []model.Effect) {
	place := command.Place{Windows: StyleOf(c.ws.Roots()[0]) == Windows}
	run := command.Command{
		Line: cmd.Line, Args: cmd.Args, Dir: cmd.dir, Env: cmd.Env, Sandbox: cmd.Sandbox,
	}
	effects := append(command.Effects(run, place), c.sandboxEffects(cmd)...)
	if cmd.linked() {
		run.Dir = cmd.real
		for _, e := range command.Effects(run, place) {
			if e.Kind != model.EffectRun && e.Kind != model.EffectHost {
				effects = append(effects, e)
			}
		}
	}
	effects = append(effects, c.directories(ctx, effects)...)
	behind = c.behindLinks(ctx, effects)
	return append(effects, behind...), behind
}

// maxDirectories bounds the words that may be directories.
const maxDirectories = 200

// directories returns the reads of all files below the directories that a command reads, or names
// to a program whose effects are unknown.
func (c *call) directories(ctx context.Context, effects []model.Effect) (below []model.Effect) {
	if !c.ws.Features().Walk {
		return nil
	}
	seen := map[string]bool{}
	add := func(name string) {
		if strings.HasSuffix(name, "/") || seen[name] || len(seen) > maxDirectories {
			return
		}
		if len(seen) == maxDirectories { // it may be any of the others
			below = append(below, model.Effect{Kind: model.EffectRead, Path: "/"})
		}
		seen[name] = true
		at, err := LocateIn(c.ws, name)
		if err != nil {
			return
		}
		for info, err := range c.ws.Walk(ctx, at.Path, WalkOptions{}) {
			if err == nil && info.Path != at.Path {
				dir := strings.TrimSuffix(at.Path, "/") + "/"
				below = append(below, model.Effect{Kind: model.EffectRead, Path: dir})
			}
			break
		}
	}
	for _, e := range effects {
		switch e.Kind {
		case model.EffectRead:
			add(e.Path)
		case model.EffectUnknown:
			words := slices.DeleteFunc(slices.Clone(e.Argv), func(w string) bool {
				return w == "." // the command says itself whether it reads that
			})
			e.Argv = words
			for _, name := range command.Named(e) {
				add(name)
			}
		}
	}
	return below
}

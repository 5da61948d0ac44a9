// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/protect"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// Describe completes an approval whose tool has not stated its effects, such as a request of
// another agent. It adds the effects that its previews show, and sets Once if it may write a
// protected path. dir is the absolute directory that relative paths, and commands without a
// directory, belong to. Effects that are there stay.
func Describe(a *toolset.Approval, dir string) {
	a.Effects = effectsOf(a, dir)
	a.Once = a.Once || protects(a)
}

// effectsOf returns the effects of an approval, with those that its previews show beyond them.
func effectsOf(a *toolset.Approval, dir string) []model.Effect {
	effects := slices.Clip(a.Effects)
	known := slices.ContainsFunc(effects, func(e model.Effect) bool {
		return e.Kind == model.EffectRun || e.Kind == model.EffectUnknown
	})
	for i := range a.Preview {
		switch p := &a.Preview[i]; {
		case p.Diff != nil:
			name := within(dir, p.Diff.Path)
			if !slices.ContainsFunc(effects, func(e model.Effect) bool {
				return e.Kind == model.EffectWrite && e.Path == name
			}) {
				effects = append(effects, model.Effect{Kind: model.EffectWrite, Path: name})
			}
		case p.Command != nil && !known:
			c := *p.Command
			if c.Dir == "" || !isAbsolute(c.Dir) {
				c.Dir = within(dir, c.Dir)
			}
			place := command.Place{Windows: isWindows(c.Dir)}
			effects = append(effects, command.Effects(c, place)...)
		}
	}
	return effects
}

// EffectsOf returns what a call does: the effects that its tool has stated, those that its previews
// show beyond them, and if there are none, what tools of its kind do at most. That is: to read, for
// the kinds read and search; to reach any host, for fetch; nothing, for think; and what is unknown,
// for all others. A tool of an MCP server calls that server. The effects of a path or a command
// that is relative have no directory.
func EffectsOf(r *toolset.ApprovalRequest) []model.Effect { return requestEffects(r, "") }

func requestEffects(r *toolset.ApprovalRequest, dir string) []model.Effect {
	effects := effectsOf(&r.Approval, dir)
	if len(effects) > 0 {
		return effects
	}
	if server, ok := strings.CutPrefix(r.Approval.Source, "mcp:"); ok {
		return []model.Effect{{Kind: model.EffectServer, Server: server}}
	}
	switch r.Kind {
	case toolset.KindThink:
		return nil
	case toolset.KindRead, toolset.KindSearch:
		return []model.Effect{{Kind: model.EffectRead}}
	case toolset.KindFetch:
		return []model.Effect{{Kind: model.EffectHost, Host: "*"}}
	}
	return []model.Effect{{Kind: model.EffectUnknown}}
}

// Edits reports whether all that a call does is to write files below these directories, which are
// absolute, and to read. Without directories, files anywhere count. Deleting a file is more than that,
// and so is what may write all files below a directory.
func Edits(r *toolset.ApprovalRequest, dirs ...string) bool {
	for i := range r.Approval.Preview {
		p := &r.Approval.Preview[i]
		if p.Command != nil || p.Diff != nil && p.Diff.New == nil {
			return false
		}
	}
	base := ""
	if len(dirs) > 0 {
		base = dirs[0]
	}
	writes := 0
	for _, e := range requestEffects(r, base) {
		switch {
		case e.Kind == model.EffectRead:
		case e.Kind != model.EffectWrite || e.Path == "" || strings.HasSuffix(e.Path, "/"):
			return false
		case len(dirs) > 0 && !below(e.Path, dirs):
			return false
		default:
			writes++
		}
	}
	return writes > 0
}

// below reports whether a file is below one of the directories, by its name and through symbolic
// links of this machine.
func below(file string, dirs []string) bool {
	in := func(name, dir string) bool {
		return strings.HasPrefix(slashed(name), strings.TrimSuffix(slashed(dir), "/")+"/")
	}
	return slices.ContainsFunc(dirs, func(dir string) bool {
		if !filepath.IsAbs(file) || !filepath.IsAbs(dir) {
			return in(file, dir)
		}
		real := ResolveLinks(dir)
		return (in(file, dir) || in(file, real)) && in(ResolveLinks(file), real)
	})
}

// within returns an absolute path, if it is known of which directory.
func within(dir, name string) string {
	switch {
	case name == "":
		return dir
	case isAbsolute(name):
		return slashed(name)
	case dir == "":
		return path.Clean(name)
	}
	return path.Join(slashed(dir), name)
}

func isAbsolute(name string) bool { return strings.HasPrefix(name, "/") || isWindows(name) }

// protects reports whether a call may write a protected path, by its name or through symbolic links
// of this machine.
func protects(a *toolset.Approval) bool {
	effects := effectsOf(a, "")
	if p, _ := protect.Written(effects); p != nil {
		return true
	}
	return slices.ContainsFunc(effects, func(e model.Effect) bool {
		return e.Kind == model.EffectWrite && filepath.IsAbs(e.Path) &&
			protect.Find(ResolveLinks(e.Path)) != nil
	})
}

// mustAsk reports whether a person has to be asked about a call, whatever rules allow.
func mustAsk(a *toolset.Approval) bool { return a.Once || protects(a) }

// Protected is a path that other programs execute or obey. A call that may write it is asked about
// every time: no rule, mode, judge or answer "always" allows it.
type Protected struct {
	// Name is the file or directory, which is protected wherever it is, with all below it. It has
	// slashes between its elements, and may have a "*" for any characters of a name. Case does not
	// matter.
	Name string
	// Why names the program that executes or obeys it.
	Why string
}

// ProtectedPaths returns all protected paths.
func ProtectedPaths() (all []Protected) {
	for _, p := range protect.Paths() {
		all = append(all, Protected{p.Name, p.Why})
	}
	return all
}

// IsProtected returns the protected path that a path is, lies in, or is a directory of.
func IsProtected(name string) (Protected, bool) {
	if p := protect.Find(name); p != nil {
		return Protected{p.Name, p.Why}, true
	}
	return Protected{}, false
}

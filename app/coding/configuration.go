// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// keeperOf returns what keeps "always in this project" for a directory: the user's file, which is
// created if it is missing.
func keeperOf(program string, u *config.User) func(dir string) approval.Keeper {
	file := u.File
	if file == "" {
		dir, err := config.UserDir(program)
		if err != nil {
			return nil
		}
		file = filepath.Join(dir, "config.json")
	}
	return func(dir string) approval.Keeper {
		if dir == "" {
			return nil
		}
		return &config.Keeper{File: file, Project: approval.ResolveLinks(dir)}
	}
}

// fallback configures what this machine does for the client.
func fallback(e *app.Env) (f acpbridge.LocalFallback) {
	u := e.Config
	f.Files, f.Prefer.Files = u.Files == config.ClientOrLocal || u.Files == config.Local, u.Files == config.Local
	f.Commands, f.Prefer.Commands = u.Terminal == config.ClientOrLocal || u.Terminal == config.Local, u.Terminal == config.Local
	f.Config = editor.Local(e)
	return f
}

// rules are what decides about calls before the user is asked.
type rules struct {
	program string
	user    *config.User

	mu sync.Mutex
	// dropped are the user's rules that were taken back
	dropped []string
	// projects has the files of each open session by their directories
	projects map[weak.Pointer[host.Session]]map[string]*config.Project
}

// says decides about calls and, in the form of [approval.Config.Reads], about files.
type says struct {
	decide func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error)
	reads  func(path string) (toolset.Verdict, string)
}

// of returns the layers of a session, whose directories s has, and what its rules say about reading
// a file. Files of projects are read when a session is opened and hold until it is closed, also
// while it sleeps or moves. The user's rules hold until they are taken back.
func (r *rules) of(hosted *host.Session, s *deps.Session) (
	layers []approval.Layer, reads func(path string) (toolset.Verdict, string), err error,
) {
	if s == nil {
		return nil, nil, nil
	}
	roots := append([]string{s.Cwd}, s.AdditionalDirectories...)
	projects, err := r.read(hosted, roots)
	if err != nil {
		return nil, nil, err
	}
	layers = []approval.Layer{guarded(r.program, roots)}
	user := r.user.Permissions
	for _, p := range projects {
		own := p.Permissions
		if user.Mode == approval.ModeAuto && own.Mode == approval.ModeAsk {
			user.Mode = approval.ModeAsk
		}
		own.Name = "the project's configuration"
		layer, err := own.Layer(config.NamesOf(filepath.Dir(filepath.Dir(p.File)))...)
		if err != nil {
			return nil, nil, err
		}
		layer.Rules = inFile(layer.Rules, p.File)
		layers = append(layers, approval.ThroughLinks(layer, roots...))
	}
	var all []string
	for _, root := range roots {
		all = append(all, config.NamesOf(root)...)
	}
	layer := approval.Layer{Name: "configuration"}
	now, err := r.current(func() (now says, err error) {
		left := *r.user
		left.Permissions = user
		left.Permissions.Rules = r.left(user.Rules)
		layer, err := left.Permissions.Layer(all...)
		if err != nil {
			return now, err
		}
		now.decide = approval.ThroughLinks(layer, roots...).Decide
		now.reads, err = config.Reads(&left, roots, projects)
		return now, err
	})
	if err != nil {
		return nil, nil, err
	}
	layer.Rules = func() []approval.LayerRule { return r.listed(&user) }
	layer.Decide = func(ctx context.Context, q *toolset.ApprovalRequest) (approval.Ruling, error) {
		return now().decide(ctx, q)
	}
	reads = func(path string) (toolset.Verdict, string) { return now().reads(path) }
	return append(layers, layer), reads, nil
}

// inFile returns rules with the file that they are from.
func inFile(rules func() []approval.LayerRule, file string) func() []approval.LayerRule {
	return func() []approval.LayerRule {
		all := rules()
		for i := range all {
			all[i].Origin = file
		}
		return all
	}
}

// current calls make, and again whenever rules were taken back. It returns the last decisions.
func (r *rules) current(make func() (says, error)) (func() says, error) {
	made, err := make()
	seen := 0
	var mu sync.Mutex
	return func() says {
		mu.Lock()
		defer mu.Unlock()
		r.mu.Lock()
		n := len(r.dropped)
		r.mu.Unlock()
		if n > seen {
			if now, err := make(); err == nil { // what is left of valid rules is valid
				made, seen = now, n
			}
		}
		return made
	}, err
}

// left returns the rules that were not taken back.
func (r *rules) left(all []approval.ConfigRule) []approval.ConfigRule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(all), func(one approval.ConfigRule) bool {
		return slices.Contains(r.dropped, one.String())
	})
}

// listed returns the user's rules for people, with the file that they are from.
func (r *rules) listed(user *approval.Config) (all []approval.LayerRule) {
	origin := cmp.Or(r.user.File, "the user's configuration")
	for _, one := range r.left(user.Rules) {
		text := one.String()
		rule := approval.LayerRule{Text: text, Origin: origin}
		if r.user.File != "" {
			rule.Drop = func() error {
				if err := config.DropRule(r.user.File, text); err != nil {
					return err
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				r.dropped = append(r.dropped, text)
				return nil
			}
		}
		all = append(all, rule)
	}
	if user.Mode != "" && user.Mode != approval.ModeAsk {
		all = append(all, approval.LayerRule{Text: "mode " + string(user.Mode), Origin: origin})
	}
	return all
}

// read returns the projects of a session, as they were when it was opened.
func (r *rules) read(hosted *host.Session, roots []string) (all []*config.Project, err error) {
	key := weak.Make(hosted)
	r.mu.Lock()
	known := maps.Clone(r.projects[key])
	r.mu.Unlock()
	found := map[string]*config.Project{}
	var errs []error
	for _, root := range roots {
		p, err := known[root], error(nil)
		if p == nil { // a project without a file may get one
			p, err = config.ReadProject(r.program, root)
		}
		if err != nil {
			errs = append(errs, err)
		} else if p != nil {
			all, found[root] = append(all, p), p
		}
	}
	if err := errors.Join(errs...); err != nil || all == nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.projects == nil {
		r.projects = map[weak.Pointer[host.Session]]map[string]*config.Project{}
	}
	if r.projects[key] == nil {
		runtime.AddCleanup(hosted, func(key weak.Pointer[host.Session]) {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.projects, key)
		}, key)
	}
	maps.Copy(found, r.projects[key])
	r.projects[key] = found
	return all, nil
}

// guarded is the layer that asks the user about changes to the configuration files and the prompts.
// Without it, an agent could lift its own limits where files are changed without a question.
func guarded(program string, roots []string) approval.Layer {
	var dirs []string
	if dir, err := config.UserDir(program); err == nil {
		dirs = append(dirs, config.NamesOf(dir)...)
	}
	var files []string
	for _, root := range roots {
		for _, dir := range config.NamesOf(root) {
			dirs = append(dirs, filepath.Join(dir, filepath.FromSlash(config.ProjectPrompts)))
			files = append(files, filepath.Join(dir, filepath.FromSlash(config.ProjectFile(program))))
		}
	}
	is := func(path string) bool {
		for _, file := range files {
			if strings.EqualFold(path, file) {
				return true
			}
		}
		for _, dir := range dirs {
			if prefix := dir + string(filepath.Separator); len(path) > len(prefix) && strings.EqualFold(path[:len(prefix)], prefix) {
				return true
			}
		}
		return false
	}
	return approval.Layer{Name: program, Decide: func(_ context.Context, r *toolset.ApprovalRequest) (approval.Ruling, error) {
		for i := range r.Approval.Preview {
			if d := r.Approval.Preview[i].Diff; d != nil && (is(filepath.Clean(d.Path)) || is(approval.ResolveLinks(d.Path))) {
				return approval.Ruling{
					Verdict: approval.VerdictAsk,
					Rule:    "changes of " + program + "'s configuration are asked about",
				}, nil
			}
		}
		return approval.Ruling{}, nil
	}}
}

// userPrompts returns the commands of the user's prompts. Invalid prompts are reported.
func userPrompts(program string, u *config.User, builtIn []host.Command, tell func(error)) (all []host.Command) {
	dir := u.Prompts
	if dir == "" {
		base, err := config.UserDir(program)
		if err != nil {
			return nil
		}
		dir = filepath.Join(base, "prompts")
	}
	found, err := host.Templates(os.DirFS(dir), ".")
	if err != nil {
		tell(fmt.Errorf("prompts of %s: %w", dir, err))
	}
	for _, c := range found {
		taken := false
		for _, b := range builtIn {
			taken = taken || b.Name == c.Name
		}
		if taken {
			tell(fmt.Errorf(
				"prompts of %s: /%s is a command of %s: give %s.md another name", dir, c.Name,
				program, c.Name,
			))
			continue
		}
		all = append(all, c)
	}
	return all
}

// projectPrompts returns the commands of the prompts in a session's directory.
func projectPrompts(s *deps.Session) []host.Command {
	root, err := os.OpenRoot(s.Cwd)
	if err != nil {
		return nil
	}
	defer root.Close()
	all, _ := host.Templates(promptFiles{root}, config.ProjectPrompts) // those that cannot be used are left out
	return all
}

// promptFiles opens the files of a project without following links out of it or waiting for pipes.
type promptFiles struct{ root *os.Root }

func (p promptFiles) Open(name string) (fs.File, error) { return config.OpenIn(p.root, name) }

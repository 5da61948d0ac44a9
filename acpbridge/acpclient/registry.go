// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/nearest"
)

// Registry is a list of agents. It does not change, and is safe for concurrent use.
type Registry struct {
	agents []*RegistryAgent
	byName map[string]*RegistryAgent // by ids and aliases
}

//go:embed agents.json
var builtin []byte

var parseBuiltin = sync.OnceValues(func() (*Registry, error) { return ParseRegistry(builtin) })

// BuiltinRegistry returns the agents that this package knows by itself.
func BuiltinRegistry() *Registry {
	r, err := parseBuiltin()
	if err != nil { // a test parses it
		return &Registry{}
	}
	return r
}

// RegistryFile returns the path of the user's file: ponte/agents.json in the user's configuration
// directory. See [os.UserConfigDir].
func RegistryFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("acpclient: %w", err)
	}
	return filepath.Join(dir, "ponte", "agents.json"), nil
}

// LoadRegistry returns the agents of [BuiltinRegistry] and of the user's file, whose entries
// replace those with one of their names. The file need not exist. If other users can write it, that
// is an error, because it determines what runs.
func LoadRegistry() (*Registry, error) {
	name, err := RegistryFile()
	if err != nil { // a user without a configuration directory has no file in it
		return BuiltinRegistry(), nil
	}
	users, err := ReadRegistry(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return BuiltinRegistry(), nil
	case err != nil:
		return nil, err
	}
	for _, a := range users.agents {
		a.User = true
	}
	return BuiltinRegistry().With(users), nil
}

// ReadRegistry parses a registry's file. It refuses one that is not a regular file, and one that
// other users may write.
func ReadRegistry(name string) (*Registry, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("acpclient: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("acpclient: %s: it is not a regular file", name)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("acpclient: %s: other users may write it, and it determines what runs: use chmod go-w", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("acpclient: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("acpclient: %w", err)
	}
	r, err := ParseRegistry(data)
	if err != nil {
		return nil, fmt.Errorf("acpclient: %s: %w", name, err)
	}
	return r, nil
}

// With returns a registry with the agents of both. Those of other take the place of the ones that
// have one of their names.
func (r *Registry) With(other *Registry) *Registry {
	all := &Registry{byName: map[string]*RegistryAgent{}}
	for _, a := range other.agents {
		_ = all.add(a) // it has been added before
	}
	for _, a := range r.agents {
		if !slices.ContainsFunc(a.names(), func(name string) bool { return all.byName[name] != nil }) {
			_ = all.add(a)
		}
	}
	slices.SortFunc(all.agents, func(a, b *RegistryAgent) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (a *RegistryAgent) names() []string { return append([]string{a.ID}, a.Aliases...) }

func (r *Registry) add(a *RegistryAgent) error {
	for _, name := range a.names() {
		if r.byName[name] != nil {
			return fmt.Errorf("there is another agent %q", name)
		}
	}
	for _, name := range a.names() {
		r.byName[name] = a
	}
	r.agents = append(r.agents, a)
	return nil
}

// Agents returns all agents, for a list to choose from. They must not be changed.
func (r *Registry) Agents() []*RegistryAgent { return slices.Clone(r.agents) }

// Find returns the agent with a name, which is its id or one of its aliases. The error for a name
// that is unknown is an [*UnknownAgentError].
func (r *Registry) Find(name string) (*RegistryAgent, error) {
	if a := r.byName[name]; a != nil {
		return a, nil
	}
	return nil, r.unknown(name)
}

func (r *Registry) unknown(name string) error {
	e := &UnknownAgentError{Name: cutName(name)}
	add := func(near string) {
		if a := r.byName[near]; a != nil && len(e.Near) < 3 && !slices.Contains(e.Near, a.ID) {
			e.Near = append(e.Near, a.ID)
		}
	}
	var names []string
	for _, a := range r.agents {
		names = append(names, a.names()...)
	}
	add(nearest.Of(name, slices.Values(names)))
	// Of "codex" and "codex-acp" one is a part of the other.
	for _, known := range names {
		if typed := strings.ToLower(name); len(typed) >= 3 && (strings.Contains(known, typed) || strings.Contains(typed, known)) {
			add(known)
		}
	}
	return e
}

// UnknownAgentError reports an unknown agent name.
type UnknownAgentError struct {
	// Name is the given name, and Near are the ids of agents that may have been meant, the nearest
	// one first.
	Name string
	Near []string
}

func (e *UnknownAgentError) Error() string {
	text := fmt.Sprintf("acpclient: there is no agent %q", e.Name)
	if len(e.Near) > 0 {
		return text + "; did you mean " + strings.Join(e.Near, " or ") + "?"
	}
	return text + "; Registry.Agents lists all that there are"
}

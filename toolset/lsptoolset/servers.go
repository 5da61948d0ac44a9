// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/clean"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Servers starts language servers when they are needed, and keeps them for all runs. Its methods
// may be called from several goroutines. Close must be called.
type Servers struct {
	seen   sync.Map // when the programs of servers were found, by *Server
	config Config
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	closed bool
	views  map[viewKey]*project
}

// New returns servers, none of which runs yet.
func New(c Config) (*Servers, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.defaults()
	s := &Servers{config: c, views: map[viewKey]*project{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// Close ends all servers and waits for that. It may be called several times.
func (s *Servers) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(ErrClosed)
	s.work.Wait()
	s.mu.Lock()
	views := make([]*project, 0, len(s.views))
	for _, v := range s.views {
		views = append(views, v)
	}
	s.mu.Unlock()
	for _, v := range views {
		v.close()
	}
	return nil
}

// Format implements [fmt.Formatter]. No verb prints the configuration, whose environment may have
// secrets.
func (s *Servers) Format(f fmt.State, _ rune) {
	var names []string
	for i := range s.config.Servers {
		names = append(names, s.config.Servers[i].Name)
	}
	_, _ = io.WriteString(f, "lsptoolset.Servers("+strings.Join(names, ", ")+")")
}

// State is the state of a language server.
type State string

// The states of a language server.
const (
	// StateMissing means that the server is not installed.
	StateMissing State = "not installed"
	// StateIdle means that the server has not been needed yet.
	StateIdle State = "not running"
	// StateStarting means that the server is being started.
	StateStarting State = "starting"
	// StateReady means that the server runs.
	StateReady State = "running"
	// StateFailed means that the server has failed. It is started again when it is needed, unless
	// it has failed too often.
	StateFailed State = "failed"
)

// Status describes a language server of a project.
type Status struct {
	// Server is its name, and Dir the first directory of the project.
	Server, Dir string
	State       State
	// Err says why it failed. It can be shown to people.
	Err error
	// Install is the command that installs a server that is missing.
	Install string
}

// Status returns the servers that have been started, by project and name.
func (s *Servers) Status() []Status {
	s.mu.Lock()
	views := make([]*project, 0, len(s.views))
	for _, v := range s.views {
		views = append(views, v)
	}
	s.mu.Unlock()
	var all []Status
	for _, v := range views {
		v.mu.Lock()
		for _, g := range v.guests {
			all = append(all, g.status())
		}
		v.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Server, b.Server))
	})
	return all
}

// viewKey identifies a view: the text, and the directories.
type viewKey struct {
	text  any
	roots string
}

// savedText is the text of all workspaces without an editor.
type savedText struct{}

// viewOf returns the view of a workspace.
func (s *Servers) viewOf(w workspace.Workspace) (*project, error) {
	key := viewKey{textOf(w), strings.Join(w.Roots(), "\x00")}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("lsptoolset: %w", ErrClosed)
	}
	v := s.views[key]
	if v == nil {
		v = newProject(s, w)
		s.views[key] = v
	}
	return v, nil
}

// textOf returns what is equal for workspaces that show the same text.
func textOf(w workspace.Workspace) any {
	if !w.Features().Unsaved {
		return savedText{}
	}
	for inner := w; ; {
		if shared, ok := inner.(workspace.Viewer); ok {
			if view := shared.View(); view != nil {
				return view
			}
		}
		around, ok := inner.(interface{ Unwrap() workspace.Workspace })
		if !ok {
			return inner
		}
		inner = around.Unwrap()
	}
}

// forServer returns the server of a file by its name, nil if there is none that is installed.
// missing is the first one that could be installed.
func (s *Servers) forFile(name string) (found, missing *Server) {
	ext := extension(name)
	for i := range s.config.Servers {
		server := &s.config.Servers[i]
		if server.Files[ext] == "" {
			continue
		}
		if s.installed(server) {
			return server, nil
		}
		if missing == nil {
			missing = server
		}
	}
	return nil, missing
}

// extension returns the extension of a file's name, in lower case.
func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.ContainsAny(name[i:], `/\`) {
		return strings.ToLower(name[i:])
	}
	return ""
}

// shown is text of a server for people and models, on one line.
func shown(text string, n int) string { return clean.Short(text, n) }

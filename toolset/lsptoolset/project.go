// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// project is a project as certain sessions see it: all that show the same text share its servers.
type project struct {
	pool  *Servers
	roots []string // as users know them
	real  []string // what they lead to
	scan  scanner

	mu      sync.Mutex
	guests  map[string]*guest
	host    *local.Workspace // runs the servers; nil until the first one is started
	allowed map[string]bool  // servers that may be started
}

func newProject(pool *Servers, w workspace.Workspace) *project {
	v := &project{
		pool:    pool,
		roots:   w.Roots(),
		guests:  map[string]*guest{},
		allowed: map[string]bool{},
	}
	v.real = v.roots
	for inner := w; ; {
		if linked, ok := inner.(workspace.Linked); ok {
			if real := linked.RealRoots(); len(real) == len(v.roots) {
				v.real = real
				break
			}
		}
		around, ok := inner.(interface{ Unwrap() workspace.Workspace })
		if !ok {
			break
		}
		inner = around.Unwrap()
	}
	return v
}

// dir is the directory that names the project.
func (v *project) dir() string { return v.roots[0] }

// guest returns the server of the view. It is not started.
func (v *project) guest(s *Server) *guest {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.guests[s.Name]
	if g == nil {
		g = &guest{server: s, view: v}
		v.guests[s.Name] = g
	}
	return g
}

// mayStart reports whether a server may be started without a question, because it was allowed
// before.
func (v *project) mayStart(s *Server) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.allowed[s.Name]
}

func (v *project) allow(s *Server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.allowed[s.Name] = true
}

// runner returns what servers are run by.
func (v *project) runner() (*local.Workspace, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pool.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if v.host != nil {
		return v.host, nil
	}
	c := v.pool.config.Run
	c.Roots, c.NoCommands, c.TimeLimit = v.roots, false, 0
	host, err := local.Open(c)
	if err != nil {
		return nil, err
	}
	v.host = host
	return host, nil
}

// close ends what is left of the view. Its servers have ended.
func (v *project) close() {
	v.mu.Lock()
	host := v.host
	v.host = nil
	v.mu.Unlock()
	if host != nil {
		_ = host.Close()
	}
}

// live returns the connections to the servers that run.
func (v *project) live() []*link {
	v.mu.Lock()
	guests := make([]*guest, 0, len(v.guests))
	for _, g := range v.guests {
		guests = append(guests, g)
	}
	v.mu.Unlock()
	var all []*link
	for _, g := range guests {
		if l := g.current(); l != nil {
			all = append(all, l)
		}
	}
	return all
}

// folders are the directories of the project, as servers are told.
func (v *project) folders() []lsp.WorkspaceFolder {
	var all []lsp.WorkspaceFolder
	for _, dir := range v.real {
		all = append(all, lsp.WorkspaceFolder{URI: lsp.URI(dir), Name: filepath.Base(dir)})
	}
	return all
}

// uri returns the URI of a file of the workspace.
func (v *project) uri(at workspace.Location) string {
	if at.Name == "." {
		return lsp.URI(v.real[at.Root])
	}
	return lsp.URI(filepath.Join(v.real[at.Root], filepath.FromSlash(at.Name)))
}

// errOutside means that a server has named a file outside of the project.
var errOutside = errors.New("outside of the project")

// locate returns the file of the workspace that a server names.
func (v *project) locate(uri string) (workspace.Location, error) {
	path, err := lsp.Path(uri)
	if err != nil {
		return workspace.Location{}, err
	}
	at, err := workspace.Locate(v.roots, path)
	if errors.Is(err, workspace.ErrOutside) {
		at, err = workspace.LocateLinked(v.roots, v.real, path)
	}
	if err != nil {
		return workspace.Location{Path: path}, fmt.Errorf("%w: %s", errOutside, shown(path, 500))
	}
	return at, nil
}

// short returns the name of a file for models and people: relative to the first root, with slashes.
func (v *project) short(path string) string {
	rel, err := filepath.Rel(v.roots[0], path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return shown(path, 1000)
	}
	return shown(filepath.ToSlash(rel), 1000)
}

// wait waits for the end of ctx and of the servers.
func (v *project) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(v.pool.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

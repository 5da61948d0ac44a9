// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const getDiagnosticsDescription = "List what compilers and linters report: errors first. Faster than a build, and it needs no command."

type getDiagnosticsArgs struct {
	Path   string `json:"path,omitempty"   jsonschema_description:"A file or directory. Default: the whole project."`
	Offset int    `json:"offset,omitempty" jsonschema_description:"Where to continue in a long answer\\, as the last one said." validate:"min=0"`
}

func (in getDiagnosticsArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	return c.servers(ctx, in.Path)
}

const (
	// checkLimit is how long get_diagnostics waits for the servers.
	checkLimit = 30 * time.Second
	// maxChecked is how many files are opened in servers that report problems of open files only.
	maxChecked = 200
)

func (c *call) getDiagnostics(ctx context.Context, in getDiagnosticsArgs) (toolset.Result, error) {
	var at workspace.Location
	dir := true
	if in.Path != "" {
		var err error
		if at, _, dir, err = c.file(ctx, in.Path); err != nil {
			return toolset.Result{}, err
		}
	}
	if at.Path == "" {
		c.show("Diagnostics")
	} else {
		c.show("Diagnostics of "+c.view.short(at.Path), place{path: at.Path})
	}
	servers, err := c.servers(ctx, in.Path)
	if err != nil {
		return toolset.Result{}, err
	}
	var all []problem
	var notes []string
	for _, s := range servers {
		l, err := c.server(ctx, s)
		if err != nil {
			return toolset.Result{}, err
		}
		found, note, err := c.problems(ctx, l, at, dir)
		if err != nil {
			return toolset.Result{}, err
		}
		all = append(all, found...)
		notes = append(notes, note...)
	}
	sortProblems(all)
	var lines []string
	for i := range all {
		lines = append(lines, all[i].text(c.view))
	}
	answer := "No problems."
	if len(lines) > 0 {
		answer = page(lines, in.Offset, "problems")
	}
	return text("%s", strings.Join(append([]string{answer}, notes...), "\n"))
}

// problems returns what a server reports about a file, a directory, or the project.
func (c *call) problems(
	ctx context.Context, l *link, at workspace.Location, dir bool,
) (all []problem, notes []string, err error) {
	var paths []string
	switch {
	case !dir:
		paths = []string{at.Path}
	case l.guest.server.OpenOnly:
		paths = c.view.filesOf(l.guest.server, at.Path)
		if more := len(paths) - maxChecked; more > 0 {
			paths = paths[:maxChecked]
			notes = append(
				notes,
				fmt.Sprintf(
					"[%s checked the first %d files; %d more were not checked. Give a directory or a file.]",
					l.guest.server.Name,
					maxChecked,
					more,
				),
			)
		}
	}
	docs, err := l.sync(ctx, c.ws, paths...)
	if err != nil {
		return nil, nil, c.failedFile(ctx, cmp.Or(at.Path, c.view.dir()), err)
	}
	done, err := l.checked(ctx, checkLimit, docs...)
	if err == nil && done && dir {
		done, err = l.await(ctx, c.view.pool.config.ReadyTimeout)
	}
	if err != nil {
		return nil, nil, c.failed(ctx, err)
	}
	if !done {
		notes = append(
			notes,
			"["+l.guest.server.Name+" is still checking: this may be incomplete.]",
		)
	}
	readable := c.readable(ctx)
	for path, p := range l.known() {
		if !readable(path) {
			continue
		}
		if at.Path != "" && path != at.Path &&
			(!dir || !workspace.StyleOf(path).Contains(at.Path, path)) {
			continue
		}
		for i := range p.items {
			if p.items[i].Severity != lsp.SeverityHint {
				all = append(all, newProblem(path, &p.items[i]))
			}
		}
	}
	return all, notes, nil
}

// filesOf returns the files of a server's languages in a directory, sorted.
func (v *project) filesOf(s *Server, dir string) []string {
	v.scan.mu.Lock()
	defer v.scan.mu.Unlock()
	var all []string
	for path := range v.scan.files {
		if s.Files[extension(path)] != "" &&
			(dir == "" || workspace.StyleOf(dir).Contains(dir, path)) {
			all = append(all, path)
		}
	}
	return sorted(all)
}

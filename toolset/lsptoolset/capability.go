// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Capability returns a capability with the tools of [Tools]. In addition, the results of write_file
// and edit_file of package workspace end with the problems that are new since the call, unless
// Options.Budget is negative; servers that do not run are not started for that. The command
// /diagnostics lists the problems of the project, or of a file or directory that is named.
func Capability[D any](
	servers *Servers, session func(deps D) *workspace.Session, o Options,
) agent.Capability[D] {
	t := &tools[D]{servers: servers, session: session, options: o}
	t.define()
	return agent.Capability[D]{
		Name:     "lsp",
		Toolsets: []toolset.Toolset[D]{t},
		Hooks:    []agent.Hooks[D]{{Call: t.watched}},
		Commands: []agent.Command[D]{{
			Name: "diagnostics", Description: "List what compilers and linters report about the project", Hint: "[path]", Run: t.command,
		}},
	}
}

// watched adds to the results of edits what is new in diagnostics.
func (t *tools[D]) watched(
	ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc,
) (toolset.Result, error) {
	if t.Check() != nil {
		return next(ctx, args)
	}
	s := t.session(run.Deps)
	if s == nil {
		return next(ctx, args)
	}
	about, ok := s.Subject(args)
	switch {
	case ok && about.Changes && t.options.Budget >= 0 && t.servers.serves(about.Path):
		return t.watchEdit(ctx, run, about.Path, args, next)
	case ok && (about.Changes || about.Runs):
		res, err := next(ctx, args)
		t.servers.stale()
		return res, err
	}
	return next(ctx, args)
}

// stale makes all projects look for changed files with their next request.
func (s *Servers) stale() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.views {
		v.stale()
	}
}

// watchEdit carries out an edit of a file and adds to its result.
func (t *tools[D]) watchEdit(
	ctx context.Context, run *toolset.RunContext[D], path string, args any, next toolset.CallFunc,
) (toolset.Result, error) {
	var w *watch
	if c, err := t.begin(run, run.Call.Tool); err == nil && c.ws.Features().Read {
		w = c.watch(ctx, []string{path})
	}
	res, err := next(ctx, args)
	if w == nil {
		return res, err
	}
	if err == nil && res.Outcome == "" {
		res.Text += w.report(ctx)
	} else {
		w.call.view.stale()
	}
	return res, err
}

// serves reports whether there is an installed server for a file.
func (s *Servers) serves(path string) bool {
	found, _ := s.forFile(path)
	return found != nil
}

// Installed returns the names of the servers that are installed.
func (s *Servers) Installed() []string {
	var names []string
	for i := range s.config.Servers {
		if s.installed(&s.config.Servers[i]) {
			names = append(names, s.config.Servers[i].Name)
		}
	}
	return names
}

// command runs /diagnostics. The user has typed it, so servers may be started.
func (t *tools[D]) command(
	ctx context.Context,
	call agent.CommandCall[D],
) (agent.CommandResult, error) {
	if err := t.Check(); err != nil {
		return agent.CommandResult{}, err
	}
	c, err := t.begin(&toolset.RunContext[D]{Deps: call.Deps}, ToolGetDiagnostics)
	if err == nil {
		c.trusted = true
		c.view.restart()
		res, failed := c.getDiagnostics(ctx, getDiagnosticsArgs{Path: strings.TrimSpace(call.Args)})
		if failed == nil {
			return agent.CommandResult{Notice: res.Text}, nil
		}
		err = failed
	}
	if told, ok := toolset.Outcome(err).(*toolset.FailedError); ok {
		return agent.CommandResult{}, fmt.Errorf("%s", told.Message)
	}
	return agent.CommandResult{}, err
}

// restart lets servers that have failed too often be started again.
func (v *project) restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.guests {
		g.restart()
	}
}

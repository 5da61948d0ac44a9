// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"context"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// grant is an action that the agent has asked for in this turn and was allowed to do: some changes
// of files, or a command. It is used once.
type grant struct {
	changes []view.FileChange
	command *toolset.CommandLine
}

// Tools that the client itself asks about. They have the same names as in package workspace, to
// make rules about them apply.
const (
	toolWrite = workspace.ToolWriteFile
	toolRun   = workspace.ToolRunCommand
)

// grant notes what the agent was allowed to do. What holds always is remembered in the session's
// policy, for the files and the command that were shown.
func (s *Session) grant(ctx context.Context, call *view.Entity, always bool) {
	if s.workspace == nil {
		return
	}
	g := grant{}
	for i := range call.Content {
		if d := call.Content[i].Diff; d != nil {
			g.changes = append(g.changes, *d)
		}
	}
	if c, ok := agentcall.Command(call.Input); ok {
		g.command = &c
	}
	if g.changes == nil && g.command == nil {
		return
	}
	s.mu.Lock()
	s.granted = append(s.granted, g)
	s.mu.Unlock()
	if !always {
		return
	}
	for i := range g.changes {
		d := &g.changes[i]
		if at, err := workspace.LocateIn(s.workspace, d.Path); err == nil {
			a := toolset.Approval{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: at.Path, Old: d.Old, New: &d.New}}}}
			workspace.DefaultScope(ctx, s.workspace, toolWrite, &a)
			a.Scope = onlyFile(a.Scope)
			s.policy.RememberApproval(toolWrite, &a, toolset.VerdictAllow)
		}
	}
	if g.command != nil {
		if c, ok := s.placed(g.command); ok {
			a := toolset.Approval{Preview: []toolset.Preview{{Command: &c}}}
			workspace.DefaultScope(ctx, s.workspace, toolRun, &a)
			s.policy.RememberApproval(toolRun, &a, toolset.VerdictAllow)
		}
	}
}

// onlyFile is the scope of one file. The scope of a path would cover the files below it, if the
// agent has named a directory.
func onlyFile(path string) string { return "only " + path }

// placed returns a command with its directory as an absolute path.
func (s *Session) placed(c *toolset.CommandLine) (toolset.CommandLine, bool) {
	dir := c.Dir
	if dir == "" {
		dir = s.cwd
	}
	at, err := workspace.LocateIn(s.workspace, dir)
	if err != nil {
		return toolset.CommandLine{}, false
	}
	out := *c
	out.Dir = at.Path
	return out, true
}

// grantedWrite reports whether the agent was allowed to make exactly this change of a file in this
// turn, and uses that up.
func (s *Session) grantedWrite(path string, old *string, content string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.granted {
		g := &s.granted[i]
		if after, n := g.apply(s.workspace.Roots(), path, old); n > 0 && after == content {
			g.changes = slices.DeleteFunc(g.changes, func(d view.FileChange) bool { return same(s.workspace.Roots(), d.Path, path) })
			return true
		}
	}
	return false
}

func same(roots []string, named, path string) bool {
	at, err := workspace.Locate(roots, named)
	return err == nil && at.Path == path
}

// apply applies the changes to a file and returns the result, and how many of them concern it. A
// change covers the whole file, or a part that occurs once. A change that was shown as a new file
// does not cover a file with content, because the user has not seen what would be lost.
func (g *grant) apply(roots []string, path string, old *string) (after string, n int) {
	if old != nil {
		after = *old
	}
	for i := range g.changes {
		d := &g.changes[i]
		if !same(roots, d.Path, path) {
			continue
		}
		n++
		switch {
		case d.Old == nil && after == "", d.Old != nil && *d.Old == after:
			after = d.New
		case d.Old != nil && *d.Old != "" && strings.Count(after, *d.Old) == 1:
			after = strings.Replace(after, *d.Old, d.New, 1)
		default:
			return "", 0
		}
	}
	return after, n
}

// grantedCommand reports whether the agent was allowed to run exactly this command in this turn,
// and uses that up.
func (s *Session) grantedCommand(c toolset.CommandLine) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.granted {
		g := &s.granted[i]
		if g.command == nil {
			continue
		}
		if shown, ok := s.placed(g.command); ok && sameCommand(shown, c) {
			g.command = nil
			return true
		}
	}
	return false
}

// sameCommand reports whether two command lines run the same, in the same directory, with the same
// additions to the environment.
func sameCommand(a, b toolset.CommandLine) bool {
	return a.Dir == b.Dir && shellLine(a) == shellLine(b) && slices.Equal(slices.Sorted(slices.Values(a.Env)), slices.Sorted(slices.Values(b.Env)))
}

// shellLine returns a command as a line for a shell. A shell of the system that is told to run a
// line is that line. A program of the same name elsewhere is not, because its path was not shown.
func shellLine(c toolset.CommandLine) string {
	const blanks = " \t\n" // what sh skips: other white space is part of words, and blanks at the end may be escaped
	if c.Line != "" {
		return strings.TrimLeft(c.Line, blanks)
	}
	if len(c.Args) == 3 {
		switch c.Args[0] {
		case "sh", "/bin/sh", "/usr/bin/sh", "bash", "/bin/bash", "/usr/bin/bash":
			if c.Args[1] == "-c" && !strings.HasPrefix(c.Args[2], "-") && !strings.HasPrefix(c.Args[2], "+") { // which are options
				return strings.TrimLeft(c.Args[2], blanks)
			}
		case "cmd", "cmd.exe":
			if strings.EqualFold(c.Args[1], "/c") {
				return strings.TrimSpace(c.Args[2])
			}
		}
	}
	return quoted(c.Args)
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// call is a tool call in progress. It has no type parameters.
type call struct {
	session *workspace.Session
	ws      workspace.Workspace
	view    *project
	trusted bool
	budget  time.Duration // for problems after edits; negative shows none
	tool    string
	// approved is set if the call has been approved. approval is the question, if it is known.
	approved bool
	approval *toolset.Approval
	emit     func(value any)
	// plans keeps what the call would change, under key.
	plans *plans
	key   [32]byte
}

const startBasis = "start "

// server returns the connection to a server. If the server must be started, the call needs approval
// for that, once for a project.
func (c *call) server(ctx context.Context, s *Server) (*link, error) {
	if err := c.mayStart(s); err != nil {
		return nil, err
	}
	l, err := c.view.guest(s).ready(ctx)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	return l, nil
}

// mayStart returns the question whether a server may be started, nil if it may.
func (c *call) mayStart(s *Server) error {
	if c.view.mayStart(s) {
		return nil
	}
	basis := ""
	if c.approval != nil {
		basis = c.approval.Basis
	}
	// Other questions of these tools follow this one.
	if c.trusted ||
		c.approved &&
			(c.approval == nil || basis == startBasis+s.Name || strings.HasPrefix(basis, editBasis)) {
		c.view.allow(s)
		return nil
	}
	return toolset.ApprovalRequired(*c.startApproval(s))
}

// startApproval is the question about the start of a server.
func (c *call) startApproval(s *Server) *toolset.Approval {
	dir := c.view.dir()
	return &toolset.Approval{
		Title:  "Start the language server " + s.Name,
		Reason: "It reads the project and may run code of it, such as build scripts and plugins. It runs until this program ends, or until it is not used.",
		Scope:  "lsp:" + s.Name + ":" + dir, ScopeTitle: "starting " + s.Name + " in " + dir,
		Preview: []toolset.Preview{
			{Command: &toolset.CommandLine{Args: s.Command, Dir: dir, Env: s.Env}},
		},
		Effects: []model.Effect{{Kind: model.EffectRun, Argv: s.Command, Dir: dir, Env: s.Env}},
		Basis:   startBasis + s.Name,
	}
}

// forFile returns the server for a file.
func (c *call) forFile(path string) (*Server, error) {
	found, missing := c.view.pool.forFile(path)
	switch {
	case found != nil:
		return found, nil
	case missing != nil:
		return nil, toolset.Failed("The language server %s", missing.missing())
	}
	return nil, toolset.Failed("There is no language server for %s.", c.view.short(path))
}

// forProject returns the servers for the project's languages.
func (c *call) forProject(ctx context.Context) ([]*Server, error) {
	found, missing := c.view.languages(ctx, c.ws)
	if len(found) > 0 {
		return found, nil
	}
	if len(missing) == 0 {
		return nil, toolset.Failed(
			"There are no files of a language with a language server here. Give the path of a file.",
		)
	}
	var lines []string
	for _, s := range missing {
		lines = append(lines, strings.TrimSuffix(s.Name+": "+s.Install, ": "))
	}
	return nil, toolset.Failed(
		"No language server is installed for this project. The user can install one:\n%s",
		strings.Join(lines, "\n"),
	)
}

// file returns the file or directory that a model names, and whether it is a directory. line is the
// one that a name such as "a.go:12" has.
func (c *call) file(
	ctx context.Context,
	name string,
) (at workspace.Location, line int, dir bool, err error) {
	name, lines := workspace.ParseLink(name)
	line = lines.Line
	if i := strings.LastIndexByte(name, ':'); i > 1 && line == 0 {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 0 {
			name, line = name[:i], n
		}
	}
	at, err = workspace.LocateIn(c.ws, name)
	if err != nil {
		return at, 0, false, c.failedFile(ctx, name, err)
	}
	if c.ws.Features().Walk && extension(at.Path) == "" || at.Name == "." {
		if info, err := c.ws.Stat(ctx, at.Path); err == nil && info.IsDir() {
			return at, line, true, nil
		}
	}
	return at, line, false, c.session.CheckRead(ctx, at.Path)
}

// open opens a file in its server.
func (c *call) open(ctx context.Context, at workspace.Location) (*link, *document, error) {
	s, err := c.forFile(at.Path)
	if err != nil {
		return nil, nil, err
	}
	l, err := c.server(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	docs, err := l.sync(ctx, c.ws, at.Path)
	if err != nil {
		return nil, nil, c.failedFile(ctx, at.Path, err)
	}
	return l, docs[0], nil
}

// failedFile tells the model why a file cannot be used.
func (c *call) failedFile(ctx context.Context, path string, err error) error {
	why := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "not found"
	case errors.Is(err, workspace.ErrOutside):
		why = "the path lies outside of the working directory. Use a path inside " + strings.Join(
			c.ws.Roots(),
			" or ",
		)
	case errors.Is(err, workspace.ErrIsDirectory):
		why = "it is a directory"
	case errors.Is(err, errNotText):
		why = "it is not text"
	case errors.Is(err, fs.ErrPermission):
		why = "permission denied"
	case errors.Is(err, workspace.ErrPath):
		why = "the path is malformed"
	case errors.Is(err, workspace.ErrTooLarge):
		why = "it is too large"
	default:
		return c.failed(ctx, err)
	}
	return toolset.Failed("Could not read %s: %s.", c.view.short(path), why)
}

// failed tells the model about a failure of a server. If ctx has ended, the run ends.
func (c *call) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("lsptoolset: %s: %w", c.tool, context.Cause(ctx))
	}
	if errors.Is(err, workspace.ErrLost) || errors.Is(err, ErrClosed) {
		return fmt.Errorf("lsptoolset: %s: %w", c.tool, err)
	}
	if toolset.Outcome(err) != nil {
		return err
	}
	if r, ok := errors.AsType[*lsp.ResponseError](err); ok {
		return toolset.Failed(
			"The language server answered with an error: %s",
			shown(r.Message, 500),
		)
	}
	return toolset.Failed("%s", shown(err.Error(), 1000))
}

// show tells the surfaces of the run what the call is about, and where.
func (c *call) show(title string, places ...place) {
	if c.emit == nil {
		return
	}
	e := &view.Entity{Kind: view.ToolCall, Title: title}
	for _, p := range places[:min(len(places), maxLocations)] {
		line := int(p.span.Start.Line) + 1
		e.Locations = append(e.Locations, view.Location{Path: p.path, Line: line})
	}
	c.emit(view.Change{Op: view.Upsert, Entity: e})
}

// maxLocations is how many places a call shows to editors.
const maxLocations = 20

// readable returns a function that reports whether the session may read a file, and remembers that.
func (c *call) readable(ctx context.Context) func(path string) bool {
	known := map[string]bool{}
	return func(path string) bool {
		may, ok := known[path]
		if !ok {
			may = c.session.CheckRead(ctx, path) == nil
			known[path] = may
		}
		return may
	}
}

// texts reads the files of places, each once.
type texts struct {
	call  *call
	ends  lsp.LineEnds
	known map[string]*lsp.Text
}

// texts returns the texts for an answer about a symbol. That of its document is known.
func (c *call) texts(t *target) *texts {
	known := map[string]*lsp.Text{t.doc.at.Path: t.doc.text}
	return &texts{c, t.link.guest.server.ends, known}
}

// of returns the text of a file, nil if it cannot or must not be read.
func (t *texts) of(ctx context.Context, p *place) *lsp.Text {
	if text, ok := t.known[p.path]; ok {
		return text
	}
	var text *lsp.Text
	if p.inside &&
		t.call.session.CheckRead(ctx, p.path) == nil { // other files are not the session's
		if f, err := load(ctx, t.call.ws, p.path, t.ends); err == nil {
			text = f.text
		}
	}
	t.known[p.path] = text
	return text
}

// name returns a place as path:line.
func (c *call) name(p *place) string {
	return fmt.Sprintf("%s:%d", c.view.short(filepath.Clean(p.path)), p.span.Start.Line+1)
}

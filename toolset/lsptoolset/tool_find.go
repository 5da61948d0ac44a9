// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const findSymbolsDescription = "List the symbols of a source file (functions, types, methods, …) with their lines, or find symbols of the project by name. " +
	"Use it instead of reading a whole file to see what is in it."

type findSymbolsArgs struct {
	Query  string `json:"query,omitempty"  jsonschema_description:"A part of the name. Required unless path is a file."        validate:"max=500"`
	Path   string `json:"path,omitempty"   jsonschema_description:"The file or directory. Default: the whole project."`
	Offset int    `json:"offset,omitempty" jsonschema_description:"Where to continue in a long answer\\, as the last one said." validate:"min=0"`
}

func (in findSymbolsArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	return c.servers(ctx, in.Path)
}

func (c *call) findSymbols(ctx context.Context, in findSymbolsArgs) (toolset.Result, error) {
	query := namePath(in.Query)
	if in.Path != "" {
		at, _, dir, err := c.file(ctx, in.Path)
		if err != nil {
			return toolset.Result{}, err
		}
		if !dir {
			return c.outlineOf(ctx, at, query, in.Offset)
		}
		return c.symbolsIn(ctx, at, query, in.Offset)
	}
	return c.symbolsIn(ctx, workspace.Location{}, query, in.Offset)
}

// outlineOf lists the symbols of a file.
func (c *call) outlineOf(
	ctx context.Context,
	at workspace.Location,
	query []string,
	offset int,
) (toolset.Result, error) {
	name := c.view.short(at.Path)
	c.show("Symbols of "+name, place{path: at.Path})
	l, d, err := c.open(ctx, at)
	if err != nil {
		return toolset.Result{}, err
	}
	all, err := l.outline(ctx, d)
	if err != nil {
		return toolset.Result{}, c.failed(ctx, err)
	}
	var lines []string
	for i := range all {
		s := &all[i]
		if len(query) > 0 && !contains(s.path, query) {
			continue
		}
		where := fmt.Sprintf("%d", s.full.Start.Line+1)
		if s.full.End.Line > s.full.Start.Line {
			where += fmt.Sprintf("-%d", s.full.End.Line+1)
		}
		line := fmt.Sprintf(
			"%s%s %s %s",
			strings.Repeat("  ", s.depth),
			where,
			kindName(s.kind),
			s.title(),
		)
		if s.detail != "" {
			line += " " + shown(s.detail, 120)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return text("%s has no such symbols.", name)
	}
	return text("%s:\n%s", name, page(lines, offset, "symbols"))
}

// contains reports whether a name has another one in it, without regard to case.
func contains(path, query []string) bool {
	return strings.Contains(
		strings.ToLower(strings.Join(path, ".")),
		strings.ToLower(strings.Join(query, ".")),
	)
}

// symbolsIn finds symbols of the project, or of a directory, by name.
func (c *call) symbolsIn(
	ctx context.Context,
	dir workspace.Location,
	query []string,
	offset int,
) (toolset.Result, error) {
	if len(query) == 0 {
		return toolset.Result{}, toolset.Retry("query: required, unless path is a file")
	}
	c.show("Find symbols " + strings.Join(query, ".") + c.within(dir))
	found, links, err := c.searchProject(ctx, query, dir)
	if err != nil {
		return toolset.Result{}, err
	}
	// The names that are equal come first, then those that begin with the query.
	rank := func(s *symbol) int {
		switch {
		case endsWith(s.path, query):
			return 0
		case endsWithFold(s.path, query):
			return 1
		case strings.HasPrefix(strings.ToLower(s.path[len(s.path)-1]), strings.ToLower(query[len(query)-1])):
			return 2
		}
		return 3
	}
	var lines []string
	for i := range found {
		if s := &found[i]; contains(s.path, query) {
			lines = append(lines, fmt.Sprintf("%d%s", rank(s), s.line(c.view)))
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for i := range lines {
		lines[i] = lines[i][1:]
	}
	note := ""
	for _, l := range links {
		note = c.incomplete(l)
	}
	if len(lines) == 0 {
		return text("No symbols match.%s", note)
	}
	return text("%s%s", page(lines, offset, "symbols"), note)
}

const findDefinitionDescription = "Find where a symbol is defined, with its signature and documentation. " +
	"Also finds the implementations of an interface or method, and the type of a variable."

type findDefinitionArgs struct {
	symbolArgs
	Kind   string `json:"kind,omitempty" jsonschema_description:"What to find. Default: definition."       validate:"omitempty,oneof=definition implementations type"`
	Body   bool   `json:"body,omitempty" jsonschema_description:"Show the whole source of the definition."`
	Offset int    `json:"offset,omitempty" jsonschema_description:"Where to continue in a long answer\\, as the last one said." validate:"min=0"`
}

func (in findDefinitionArgs) needs(ctx context.Context, c *call) ([]*Server, error) {
	in.split()
	return c.servers(ctx, in.Path)
}

func (c *call) findDefinition(ctx context.Context, in findDefinitionArgs) (toolset.Result, error) {
	what := cmp.Or(in.Kind, "definition")
	title := strings.ToUpper(what[:1]) + what[1:] + " of "
	c.show(title + shown(in.Symbol, 200))
	t, err := c.resolve(ctx, in.symbolArgs)
	if err != nil {
		return toolset.Result{}, err
	}
	method, able := "textDocument/definition", t.link.can.DefinitionProvider
	switch what {
	case "implementations":
		method, able, what = "textDocument/implementation", t.link.can.ImplementationProvider, "implementation"
	case "type":
		method, able, what = "textDocument/typeDefinition", t.link.can.TypeDefinitionProvider, "type definition"
	}
	found, err := c.places(ctx, t, method, able)
	if err != nil {
		return toolset.Result{}, err
	}
	// From a definition, some servers lead to a declaration.
	isDefinition := t.symbol != nil && t.symbol.full.End.Line > t.symbol.full.Start.Line
	if method == "textDocument/definition" && t.symbol != nil && (len(found) == 0 || isDefinition) {
		found = []place{
			{
				path:   t.doc.at.Path,
				inside: true,
				at:     t.doc.at,
				span:   t.symbol.name,
				whole:  t.symbol.full,
			},
		}
	}
	c.show(title+t.title, found...)
	if len(found) == 0 {
		return text("The language server knows no %s of %s.%s", what, t.title, c.incomplete(t.link))
	}
	ts := c.texts(t)
	lines := c.lines(ctx, ts, found, nil)
	answer := page(lines, in.Offset, what+"s")
	if len(found) == 1 {
		if in.Body {
			if source := c.bodyOf(ctx, t.link, ts, &found[0]); source != "" {
				answer += "\n" + source
			}
		}
		hidden := found[0].inside && c.session.CheckRead(ctx, found[0].path) != nil
		if method == "textDocument/definition" && !hidden {
			said, err := t.link.hover(ctx, t.doc, t.offset)
			if err != nil {
				return toolset.Result{}, c.failed(ctx, err)
			}
			if said != "" {
				answer += "\n\n" + said
			}
		}
	}
	return toolset.Result{Text: answer + c.andOthers(t)}, nil
}

// places asks for places about a symbol, sorted. Files that the answer names and whose text is not
// saved are shown to the server, which is then asked again.
func (c *call) places(
	ctx context.Context,
	t *target,
	method string,
	able json.RawMessage,
) ([]place, error) {
	if !provides(able) {
		return nil, toolset.Failed(
			"The language server %s cannot do this.",
			t.link.guest.server.Name,
		)
	}
	var found []place
	err := c.repeat(ctx, t.link, false, func() (err error) {
		found, err = t.link.ask(ctx, method, t.doc, t.offset)
		return err
	}, func() []place { return found })
	return sortPlaces(found), err
}

// repeat asks, and asks again after it has shown the server files of the answer with unsaved text.
// For edits, it also shows files whose text the server may read differently from disk.
func (c *call) repeat(
	ctx context.Context,
	l *link,
	edits bool,
	ask func() error,
	answer func() []place,
) error {
	for round := 0; ; round++ {
		if err := ask(); err != nil {
			return c.failed(ctx, err)
		}
		if round == 3 || !edits && !c.ws.Features().Unsaved {
			return nil
		}
		var unsaved []string
		seen := map[string]bool{}
		for _, p := range answer() {
			if !p.inside || seen[p.path] {
				continue
			}
			seen[p.path] = true
			if d, err := l.opened(ctx, p.path); err != nil || d != nil ||
				c.session.CheckRead(ctx, p.path) != nil {
				continue
			}
			if f, err := load(ctx, c.ws, p.path, l.guest.server.ends); err == nil &&
				(!f.saved || edits && !f.plain) {
				unsaved = append(unsaved, p.path)
			}
		}
		if len(unsaved) == 0 {
			return nil
		}
		if _, err := l.sync(ctx, c.ws, unsaved...); err != nil {
			return c.failed(ctx, err)
		}
	}
}

// bodyOf returns the source of a definition in the project.
func (c *call) bodyOf(ctx context.Context, l *link, ts *texts, p *place) string {
	t := ts.of(ctx, p)
	if t == nil {
		return ""
	}
	r := p.whole
	if s, err := c.forFile(p.path); err == nil && s == l.guest.server {
		if docs, err := l.sync(ctx, c.ws, p.path); err == nil {
			if all, err := l.outline(ctx, docs[0]); err == nil {
				for i := range all {
					if all[i].name.Start.Line == p.span.Start.Line &&
						all[i].full.End.Line >= r.End.Line {
						r = all[i].full
						break
					}
				}
			}
		}
	}
	return body(t, r)
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// symbolArgs is how a model names a symbol.
type symbolArgs struct {
	Symbol string `json:"symbol"         jsonschema_description:"The symbol's name\\, as specific as needed: Agent.Run\\, Run\\, or parse."                             validate:"required,max=500"`
	Path   string `json:"path,omitempty" jsonschema_description:"A file that defines or uses the symbol\\, or a directory that it is in. Default: the whole project."`
	Line   int    `json:"line,omitempty" jsonschema_description:"The line of path that mentions the symbol\\, counted from 1."                                        validate:"min=0"`
}

// target is a symbol that was found: a place in a document where it is mentioned.
type target struct {
	link *link
	doc  *document
	// offset is where its name is, in bytes.
	offset int
	// title is its name, and symbol what is known of it if the place is its definition.
	title  string
	symbol *symbol
	// others are symbols that have the same name.
	others []symbol
}

// placed are names such as "a/b.go:12 Run" and "a/b.go Run". A path with blanks needs the line.
var placed = lazy.Regexp(
	`^(?:(\S.*?\.\w+):(\d+)(?::\d+)?|(\S+?\.\w+))\s+(\S.*)$`,
)

// split reads a name with a place in front of it.
func (in *symbolArgs) split() {
	if m := placed().FindStringSubmatch(in.Symbol); m != nil && in.Path == "" {
		in.Path, in.Symbol = m[1]+m[3], m[4]
		if in.Line == 0 {
			in.Line, _ = strconv.Atoi(m[2])
		}
	}
}

// servers returns the servers that are needed to find the symbol.
func (c *call) servers(ctx context.Context, path string) ([]*Server, error) {
	if path == "" {
		return c.forProject(ctx)
	}
	at, _, dir, err := c.file(ctx, path)
	if err != nil {
		return nil, err
	}
	if dir {
		return c.forProject(ctx)
	}
	s, err := c.forFile(at.Path)
	return []*Server{s}, err
}

// resolve finds the symbol that a model names.
func (c *call) resolve(ctx context.Context, in symbolArgs) (*target, error) {
	in.split()
	path := namePath(in.Symbol)
	if len(path) == 0 {
		return nil, toolset.Retry("symbol: %q is not the name of a symbol", shown(in.Symbol, 200))
	}
	if in.Path == "" {
		if in.Line > 0 {
			return nil, toolset.Retry("line: give the path of the file, too")
		}
		return c.find(ctx, path, workspace.Location{})
	}
	at, line, dir, err := c.file(ctx, in.Path)
	if err != nil {
		return nil, err
	}
	if dir {
		return c.find(ctx, path, at)
	}
	l, d, err := c.open(ctx, at)
	if err != nil {
		return nil, err
	}
	if in.Line > 0 {
		line = in.Line
	}
	if line > 0 {
		return c.onLine(ctx, l, d, path, line)
	}
	return c.inFile(ctx, l, d, path)
}

// inFile finds a symbol that a file defines, or else one that it mentions.
func (c *call) inFile(ctx context.Context, l *link, d *document, path []string) (*target, error) {
	all, err := l.outline(ctx, d)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	found, others := matching(all, path)
	switch len(found) {
	case 1:
		t, err := c.defined(l, d, &found[0])
		if t != nil {
			t.others = others
		}
		return t, err
	case 0:
		at := mentions(d.text.String(), path)
		if len(at) == 0 {
			return nil, toolset.Failed(
				"%s is not in %s.%s",
				strings.Join(path, "."),
				c.view.short(d.at.Path),
				similar(all, path),
			)
		}
		return c.sameAt(ctx, l, d, path, at)
	}
	if s, err := c.overloaded(ctx, l, d, found); s != nil || err != nil {
		return s, err
	}
	return nil, c.ambiguous(path, found)
}

// overloaded returns the symbol if those that were found are declarations of one, such as the
// overloads of a function: then a server finds all of them from the last.
func (c *call) overloaded(ctx context.Context, l *link, d *document, found []symbol) (*target, error) {
	if len(found) > maxOverloads || !provides(l.can.ReferencesProvider) {
		return nil, nil
	}
	t, err := c.defined(l, d, &found[len(found)-1])
	if err != nil {
		return nil, err
	}
	all, err := c.references(ctx, t, true)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	for i := range found {
		if !slices.ContainsFunc(all, func(p place) bool {
			return p.path == d.at.Path && p.span.Start.Line == found[i].name.Start.Line
		}) {
			return nil, nil
		}
	}
	return t, nil
}

// maxOverloads is how many declarations may be one symbol.
const maxOverloads = 50

// matching returns the symbols with a name, or else those that have it in another case. A name
// means what is at the top of a file or package, if just one of that name is: others are the rest.
func matching(all []symbol, path []string) (found, others []symbol) {
	for i := range all {
		if endsWith(all[i].path, path) {
			found = append(found, all[i])
		}
	}
	if found == nil {
		for i := range all {
			if endsWithFold(all[i].path, path) {
				found = append(found, all[i])
			}
		}
	}
	top := -1
	for i := range found {
		if len(found[i].path)-found[i].pkg > len(path) {
			continue
		}
		if top >= 0 {
			return found, nil
		}
		top = i
	}
	if top < 0 {
		return found, nil
	}
	return found[top : top+1 : top+1], slices.Concat(found[:top], found[top+1:])
}

// named returns all symbols with a name.
func named(all []symbol, path []string) []symbol {
	found, others := matching(all, path)
	return append(found, others...)
}

// andOthers returns the end of an answer about a symbol whose name others have, too.
func (c *call) andOthers(t *target) string {
	const most = 5
	var lines []string
	for i := range t.others {
		lines = append(lines, t.others[i].line(c.view))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("%d more", more))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n[This is " + t.symbol.line(c.view) + ". Others of this name: " +
		strings.Join(lines, ", ") + "]"
}

// defined returns a symbol of a document as a target: its name in the text.
func (c *call) defined(l *link, d *document, s *symbol) (*target, error) {
	from, err := d.text.Offset(s.name.Start, l.encoding)
	to, wrong := d.text.Offset(s.name.End, l.encoding)
	if err != nil || wrong != nil || to < from {
		return nil, toolset.Failed(
			"The language server %s has placed %s outside of %s.",
			l.guest.server.Name,
			s.title(),
			c.view.short(d.at.Path),
		)
	}
	// Servers of flat lists give the whole symbol, and some names have more around them.
	if at := words(d.text.String()[from:to], s.path[len(s.path)-1]); len(at) > 0 {
		from += at[0]
	}
	return &target{l, d, from, s.title(), s, nil}, nil
}

// onLine finds a symbol that a line mentions.
func (c *call) onLine(
	ctx context.Context, l *link, d *document, path []string, line int,
) (*target, error) {
	if line > d.text.Lines() {
		return nil, toolset.Failed("%s has %d lines.", c.view.short(d.at.Path), d.text.Lines())
	}
	start := d.text.Start(line - 1)
	at := mentions(d.text.Line(line-1), path)
	if len(at) == 0 {
		return nil, toolset.Failed(
			"Line %d of %s does not mention %s. It is: %s",
			line,
			c.view.short(d.at.Path),
			path[len(path)-1],
			shown(d.text.Line(line-1), 300),
		)
	}
	for i := range at {
		at[i] += start
	}
	return c.sameAt(ctx, l, d, path, at)
}

// maxMentions is how many places of a name are compared.
const maxMentions = 8

// sameAt returns the symbol that a document mentions at one of several places. It is an error if
// the first of them are not the same symbol.
func (c *call) sameAt(
	ctx context.Context, l *link, d *document, path []string, at []int,
) (*target, error) {
	title := strings.Join(path, ".")
	if len(at) == 1 {
		return &target{l, d, at[0], title, nil, nil}, nil
	}
	var first *target
	var at0 string
	var others []string
	for _, offset := range at[:min(len(at), maxMentions)] {
		found, err := l.ask(ctx, "textDocument/definition", d, offset)
		if err != nil {
			return nil, c.failed(ctx, err)
		}
		if len(found) == 0 {
			continue // a word in a comment or in a string
		}
		where := c.name(&found[0]) + ":" + strconv.Itoa(int(found[0].span.Start.Character))
		if first == nil {
			first, at0 = &target{l, d, offset, title, nil, nil}, where
		}
		if line := fmt.Sprintf("line %d: defined at %s", d.text.LineOf(offset)+1, c.name(&found[0])); where != at0 ||
			others == nil {
			if !slices.Contains(others, line) {
				others = append(others, line)
			}
		}
	}
	switch {
	case first == nil:
		return nil, toolset.Failed(
			"%s is mentioned in %s, but is not a symbol there.", title, c.view.short(d.at.Path),
		)
	case len(others) > 1:
		return nil, toolset.Failed(
			"%s is several symbols in %s. Give the line of one:\n%s",
			title,
			c.view.short(d.at.Path),
			strings.Join(others, "\n"),
		)
	}
	return first, nil
}

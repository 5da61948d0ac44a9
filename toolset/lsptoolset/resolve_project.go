// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// find finds a symbol in the project, or in a directory of it.
func (c *call) find(ctx context.Context, path []string, dir workspace.Location) (*target, error) {
	all, links, err := c.searchProject(ctx, path, dir)
	if err != nil {
		return nil, err
	}
	found := matching(all, path)
	if len(found) == 0 {
		return nil, toolset.Failed(
			"There is no symbol %s%s.%s",
			strings.Join(path, "."),
			c.within(dir),
			similar(all, path),
		)
	}
	if len(found) > 1 {
		return nil, c.ambiguous(path, found)
	}
	l := links[found[0].at.Path]
	docs, err := l.sync(ctx, c.ws, found[0].at.Path)
	if err != nil {
		return nil, c.failedFile(ctx, found[0].at.Path, err)
	}
	// The outline has more details, and its places fit the present text.
	outline, err := l.outline(ctx, docs[0])
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	for _, s := range matching(outline, path) {
		if s.kind == found[0].kind || endsWith(found[0].path, s.path) {
			return c.defined(l, docs[0], &s)
		}
	}
	return c.defined(l, docs[0], &found[0])
}

func (c *call) within(dir workspace.Location) string {
	if dir.Path == "" {
		return ""
	}
	return " in " + c.view.short(dir.Path)
}

// searchProject asks the servers of the project for symbols by name. links has the server of each
// file.
func (c *call) searchProject(
	ctx context.Context,
	path []string,
	dir workspace.Location,
) ([]symbol, map[string]*link, error) {
	servers, err := c.forProject(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []symbol
	links := map[string]*link{}
	for _, s := range servers {
		l, err := c.server(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		query := path[len(path)-1]
		if s.Name == "gopls" {
			query = strings.Join(path, ".")
		}
		if err := c.awake(ctx, l); err != nil {
			return nil, nil, err
		}
		found, err := l.search(ctx, query)
		if err != nil {
			return nil, nil, c.failed(ctx, err)
		}
		for i := range found {
			if dir.Path != "" && !workspace.StyleOf(dir.Path).Contains(dir.Path, found[i].at.Path) {
				continue
			}
			all = append(all, found[i])
			links[found[i].at.Path] = l
		}
	}
	return all, links, nil
}

// awake waits until a server has loaded the project, if it reports that. Servers that know only
// open files are shown one.
func (c *call) awake(ctx context.Context, l *link) error {
	var first []string
	if l.guest.server.OpenOnly {
		first = c.view.some(l.guest.server)
	}
	if _, err := l.sync(ctx, c.ws, first...); err != nil {
		return c.failed(ctx, err)
	}
	_, err := l.await(ctx, c.view.pool.config.ReadyTimeout)
	if err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

// ambiguous lists the symbols that a name may mean.
func (c *call) ambiguous(path []string, found []symbol) error {
	const most = 20
	var lines []string
	for i := range found {
		lines = append(lines, "  "+found[i].line(c.view))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("  [%d more]", more))
	}
	return toolset.Failed(
		"%s may be several symbols. Give more of the name, or the path and line of one:\n%s",
		strings.Join(path, "."),
		strings.Join(lines, "\n"),
	)
}

// similar names symbols that may have been meant.
func similar(all []symbol, path []string) string {
	last := strings.ToLower(path[len(path)-1])
	var names []string
	for i := range all {
		name := strings.ToLower(all[i].path[max(len(all[i].path)-1, 0)])
		if strings.Contains(name, last) || len(name) > 3 && strings.Contains(last, name) {
			names = append(names, all[i].title())
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return ""
	}
	return " Similar names: " + strings.Join(names[:min(len(names), 10)], ", ")
}

// ask makes a request about a place, whose answer is places.
func (l *link) ask(ctx context.Context, method string, d *document, offset int) ([]place, error) {
	var raw rawJSON
	if err := l.call(ctx, method, l.position(d, offset), &raw); err != nil {
		return nil, err
	}
	return l.places(raw)
}

// some returns a file of a server's languages, if one is known.
func (v *project) some(s *Server) []string {
	v.scan.mu.Lock()
	defer v.scan.mu.Unlock()
	first := ""
	for path := range v.scan.files {
		if language := s.Files[extension(path)]; language != "" && (first == "" || path < first) {
			first = path
		}
	}
	if first == "" {
		return nil
	}
	return []string{first}
}

// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// find finds a symbol in the project, or in a directory of it.
func (c *call) find(ctx context.Context, path []string, dir workspace.Location) (*target, error) {
	all, links, err := c.searchProject(ctx, path, dir)
	if err != nil {
		return nil, err
	}
	found, others := matching(all, path)
	if len(all) >= fullAnswer { // there may be more at the top
		found, others = append(found, others...), nil
	}
	if len(found) == 0 && len(path) > 1 {
		if t, err := c.member(ctx, path, dir); t != nil || err != nil {
			return t, err
		}
	}
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
	if err := c.session.CheckRead(ctx, found[0].at.Path); err != nil {
		return nil, err
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
	best := &found[0]
	inFile, _ := matching(outline, path)
	for i := range inFile {
		if inFile[i].kind == best.kind || endsWith(best.path, inFile[i].path) {
			best = &inFile[i]
			break
		}
	}
	t, err := c.defined(l, docs[0], best)
	if t != nil {
		t.others = others
	}
	return t, err
}

// fullAnswer is how many symbols some servers find at most.
const fullAnswer = 100

// maxContainers is in how many files a member is looked for.
const maxContainers = 10

// member finds a symbol in what contains it, for servers that list too few symbols of a name. It
// returns nil if there is none.
func (c *call) member(ctx context.Context, path []string, dir workspace.Location) (*target, error) {
	all, links, err := c.searchProject(ctx, path[:len(path)-1], dir)
	if err != nil {
		return nil, err
	}
	containers := named(all, path[:len(path)-1])
	seen := map[string]bool{}
	var found []symbol
	var last *target
	for i := range containers {
		file := containers[i].at.Path
		if seen[file] || len(seen) == maxContainers {
			continue
		}
		seen[file] = true
		if c.session.CheckRead(ctx, file) != nil {
			continue
		}
		docs, err := links[file].sync(ctx, c.ws, file)
		if err != nil {
			return nil, c.failedFile(ctx, file, err)
		}
		outline, err := links[file].outline(ctx, docs[0])
		if err != nil {
			return nil, c.failed(ctx, err)
		}
		members, _ := matching(outline, path)
		if len(members) > 0 {
			if last, err = c.inFile(ctx, links[file], docs[0], path); err != nil {
				return nil, err
			}
		}
		found = append(found, members...)
	}
	if len(found) > 1 && found[0].at.Path != found[len(found)-1].at.Path {
		return nil, c.ambiguous(path, found)
	}
	return last, nil
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
	ctx context.Context, path []string, dir workspace.Location,
) ([]symbol, map[string]*link, error) {
	servers, err := c.forProject(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []symbol
	links := map[string]*link{}
	readable := c.readable(ctx)
	for _, s := range servers {
		l, err := c.server(ctx, s)
		if err != nil {
			return nil, nil, err
		}
		if err := c.awake(ctx, l); err != nil {
			return nil, nil, err
		}
		var found []symbol
		err = c.repeat(ctx, l, false, func() (err error) {
			found, err = l.find(ctx, path)
			return err
		}, func() []place { return namesakes(found, path) })
		if err != nil {
			return nil, nil, err
		}
		for i := range found {
			path := found[i].at.Path
			if !readable(path) ||
				dir.Path != "" && !workspace.StyleOf(dir.Path).Contains(dir.Path, path) {
				continue
			}
			all = append(all, found[i])
			links[found[i].at.Path] = l
		}
	}
	return all, links, nil
}

// namesakes returns the places of symbols whose names fit, as many as a server has files open.
func namesakes(found []symbol, path []string) (all []place) {
	for i := range found {
		if contains(found[i].path, path) && len(all) < maxOpen {
			all = append(all, place{path: found[i].at.Path, inside: true, at: found[i].at})
		}
	}
	return all
}

// young is how long a server that was just started may not know of symbols yet.
const young = 8 * time.Second

// find searches for symbols by the last element of a name, or by all of it in servers that know
// how. A server that was just started may find nothing at first.
func (l *link) find(ctx context.Context, path []string) ([]symbol, error) {
	queries := []string{path[len(path)-1]}
	switch l.guest.server.Name {
	case "gopls":
		queries[0] = strings.Join(path, ".")
	case "typescript-language-server":
		if len(path) > 1 {
			queries = append([]string{strings.Join(path, ".")}, queries...)
		}
	}
	for {
		for _, query := range queries {
			if found, err := l.search(ctx, query); err != nil || len(found) > 0 {
				return found, err
			}
		}
		l.mu.Lock()
		age := time.Since(l.stirred)
		l.mu.Unlock()
		if age > young || l.guest.server.exact() {
			return nil, nil
		}
		timer := time.NewTimer(young / 20)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
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
		name := strings.ToLower(all[i].path[len(all[i].path)-1])
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

// built are the usual names of directories with files that were built, or are of others.
var built = map[string]bool{
	"dist": true, "build": true, "out": true, "target": true, "coverage": true, "vendor": true, "node_modules": true,
}

// some returns a file of a server's languages, if one is known.
func (v *project) some(s *Server) []string {
	v.scan.mu.Lock()
	defer v.scan.mu.Unlock()
	// Files that were built are not what a project is about, nor is the JavaScript beside
	// TypeScript.
	rank := func(path string) int {
		n := 0
		for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if built[name] {
				n = 2
			}
		}
		if strings.HasPrefix(s.Files[extension(path)], "javascript") {
			n++
		}
		return n
	}
	first := ""
	for path := range v.scan.files {
		if s.Files[extension(path)] == "" {
			continue
		}
		if first == "" || cmp.Or(cmp.Compare(rank(path), rank(first)), cmp.Compare(path, first)) < 0 {
			first = path
		}
	}
	if first == "" {
		return nil
	}
	return []string{first}
}

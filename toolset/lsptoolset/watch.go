// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
)

// watch compares the problems of a project before and after a change of files. Nil compares
// nothing.
type watch struct {
	call  *call
	paths []string
	links []*watched
	// idle are servers that would know, and do not run.
	idle []*Server
}

// watched is a server, and what it knew before the change.
type watched struct {
	link   *link
	before map[string]*published
	texts  map[string]*lsp.Text
	ready  bool
}

// maxNew is how many new problems the result of a change shows.
const maxNew = 20

// watch begins to watch files that are about to be changed. Servers that do not run are not
// started. It never fails: without a comparison, the change is made all the same.
func (c *call) watch(ctx context.Context, paths []string) *watch {
	if c.budget < 0 {
		return nil
	}
	w := &watch{call: c, paths: paths}
	by := map[*Server][]string{}
	for _, path := range paths {
		if s, _ := c.view.pool.forFile(path); s != nil {
			by[s] = append(by[s], path)
		}
	}
	deadline := time.Now().Add(c.budget)
	for i := range c.view.pool.config.Servers {
		s := &c.view.pool.config.Servers[i]
		if by[s] == nil {
			continue
		}
		l := c.view.guest(s).current()
		if l == nil {
			w.idle = append(w.idle, s)
			continue
		}
		l.touch()
		w.links = append(w.links, w.begin(ctx, l, by[s], time.Until(deadline)))
	}
	return w
}

// begin notes what a server knows of the files, and of the project.
func (w *watch) begin(ctx context.Context, l *link, paths []string, limit time.Duration) *watched {
	found := &watched{link: l, texts: map[string]*lsp.Text{}}
	docs := w.open(ctx, l, paths)
	found.ready, _ = l.checked(ctx, limit, docs...)
	for _, d := range docs {
		found.texts[d.at.Path] = d.text
	}
	found.before = l.known()
	return found
}

// open opens the files that exist and are of the server's languages.
func (w *watch) open(ctx context.Context, l *link, paths []string) (all []*document) {
	for _, path := range paths[:min(len(paths), maxOpen/2)] {
		if l.guest.server.Files[extension(path)] == "" {
			continue
		}
		if docs, err := l.sync(ctx, w.call.ws, path); err == nil {
			all = append(all, docs...)
		}
	}
	return all
}

// report waits for the servers and lists the new problems, after a line break. It is empty if there
// are none.
func (w *watch) report(ctx context.Context) string {
	if w == nil || ctx.Err() != nil {
		return ""
	}
	w.call.view.stale()
	deadline := time.Now().Add(w.call.budget)
	var all []problem
	var notes []string
	for _, one := range w.links {
		l := one.link
		name := l.guest.server.Name
		docs := w.open(ctx, l, w.paths)
		done, err := l.checked(ctx, time.Until(deadline), docs...)
		texts := map[string]*lsp.Text{}
		for _, d := range docs {
			texts[d.at.Path] = d.text
		}
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("[No diagnostics: %s has failed.]", name))
			continue
		case !one.ready:
			// The earlier problems are not known.
			notes = append(
				notes,
				fmt.Sprintf("[%s is still checking: see %s.]", name, ToolGetDiagnostics),
			)
			continue
		case !done:
			notes = append(
				notes,
				fmt.Sprintf(
					"[%s is still checking: there may be more, see %s.]",
					name,
					ToolGetDiagnostics,
				),
			)
		}
		all = append(all, newProblems(one.before, l.known(), one.texts, texts)...)
	}
	for _, s := range w.idle {
		notes = append(
			notes,
			fmt.Sprintf(
				"[No diagnostics: the language server %s is not running. %s starts it.]",
				s.Name,
				ToolGetDiagnostics,
			),
		)
	}
	readable := w.call.readable(ctx)
	all = slices.DeleteFunc(all, func(p problem) bool { return !readable(p.path) })
	if len(all) == 0 && len(notes) == 0 {
		return ""
	}
	sortProblems(all)
	var b strings.Builder
	b.WriteString("\n")
	if len(all) > 0 {
		b.WriteString("\nNew problems since this change:\n")
	}
	for i := range all {
		if i == maxNew {
			fmt.Fprintf(&b, "[%d more: see %s.]\n", len(all)-maxNew, ToolGetDiagnostics)
			break
		}
		b.WriteString(all[i].text(w.call.view) + "\n")
	}
	b.WriteString(strings.Join(notes, "\n"))
	return strings.TrimRight(b.String(), "\n")
}

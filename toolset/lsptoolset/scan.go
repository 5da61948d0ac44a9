// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// scanner notices that files were changed by others, by comparing what it finds with what it found
// before. The servers are told. It also knows which languages the project has.
type scanner struct {
	mu    sync.Mutex
	files map[string]workspace.Version
	count map[string]int // by extension
	next  time.Time
}

const (
	// maxScanned is how many entries of directories are looked at.
	maxScanned = 50_000
	// scanShare bounds the time that is spent on scans: after one, the next begins when scanShare
	// times its duration has passed, and not before scanPause.
	scanShare = 20
	scanPause = 100 * time.Millisecond
)

// projectFiles are further files that matter to servers: the configuration of projects.
var projectFiles = map[string]bool{
	"go.sum": true, "tsconfig.json": true, "jsconfig.json": true, "package.json": true, "pyproject.toml": true, "pyrightconfig.json": true,
	"setup.cfg": true, "Cargo.toml": true, "Cargo.lock": true, "compile_commands.json": true, "compile_flags.txt": true, ".clangd": true,
	"pom.xml": true, "build.gradle": true, "build.gradle.kts": true,
}

// stale makes the next request look for changes, however soon it comes.
func (v *project) stale() {
	v.scan.mu.Lock()
	defer v.scan.mu.Unlock()
	v.scan.next = time.Time{}
}

// rescan tells the servers which files have changed since the last time. Files that cannot be
// listed are left out.
// A file that the server of syncs has open is left out for that server, which has its text.
func (v *project) rescan(ctx context.Context, w workspace.Workspace, syncs *link) {
	if !w.Features().Walk {
		return
	}
	s := &v.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if began.Before(s.next) {
		return
	}
	files, count, ok := v.list(ctx, w)
	if !ok {
		return
	}
	s.next = time.Now().Add(max(scanPause, scanShare*time.Since(began)))
	before := s.files
	s.files, s.count = files, count
	if before == nil {
		return
	}
	var events []lsp.FileEvent
	add := func(path string, what lsp.FileChangeType) {
		if at, err := workspace.LocateIn(w, path); err == nil {
			events = append(events, lsp.FileEvent{URI: v.uri(at), Type: what})
		}
	}
	for path, version := range files {
		if old, known := before[path]; !known {
			add(path, lsp.FileCreated)
		} else if old != version {
			add(path, lsp.FileChanged)
		}
	}
	for path := range before {
		if _, there := files[path]; !there {
			add(path, lsp.FileDeleted)
		}
	}
	if len(events) == 0 {
		return
	}
	for _, l := range v.live() {
		events := events
		if l == syncs {
			events = slices.DeleteFunc(slices.Clone(events), l.hasOpen)
		}
		if len(events) == 0 {
			continue
		}
		if slices.ContainsFunc(events, l.grows) {
			l.mu.Lock()
			l.grown = time.Now()
			l.mu.Unlock()
		}
		_ = l.conn.Notify(
			ctx,
			"workspace/didChangeWatchedFiles",
			lsp.DidChangeWatchedFilesParams{Changes: events},
		)
	}
}

// grows reports whether a change of a file changes which files the server has to know.
func (l *link) grows(e lsp.FileEvent) bool {
	return e.Type != lsp.FileChanged && l.guest.server.Files[extension(e.URI)] != ""
}

// settle waits for a server that has been told of files that are new or gone: some look at them
// after a moment only, and answer without them until then.
func (l *link) settle(ctx context.Context) {
	l.mu.Lock()
	rest := settleTime - time.Since(l.grown)
	l.mu.Unlock()
	if rest <= 0 || l.guest.server.exact() {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.conn.Done():
	case <-ctx.Done():
	}
}

// settleTime is how long a server gets to look at new files.
const settleTime = 500 * time.Millisecond

// hasOpen reports whether a file that has changed is an open document. l.syncing is held.
func (l *link) hasOpen(e lsp.FileEvent) bool {
	at, err := l.guest.view.locate(e.URI)
	return err == nil && e.Type == lsp.FileChanged && l.docs[at.Path] != nil
}

// list returns the files that matter to servers. ok is false if ctx has ended.
func (v *project) list(
	ctx context.Context,
	w workspace.Workspace,
) (files map[string]workspace.Version, count map[string]int, ok bool) {
	files, count = map[string]workspace.Version{}, map[string]int{}
	matters := map[string]bool{}
	for i := range v.pool.config.Servers {
		for ext := range v.pool.config.Servers[i].Files {
			matters[ext] = true
		}
	}
	seen := 0
	options := workspace.WalkOptions{
		Details: true,
		Filter: func(_ string, entries []workspace.Info) []workspace.Info {
			kept := entries[:0]
			for _, e := range entries {
				name := filepath.Base(e.Path)
				if e.IsDir() && (name == "node_modules" || strings.HasPrefix(name, ".")) {
					continue
				}
				if e.IsDir() || matters[extension(name)] || projectFiles[name] {
					kept = append(kept, e)
				}
			}
			return kept
		},
	}
	for _, root := range v.roots {
		for entry, err := range w.Walk(ctx, root, options) {
			if seen++; seen > maxScanned || ctx.Err() != nil {
				return files, count, ctx.Err() == nil
			}
			if err == nil && entry.Mode.IsRegular() {
				files[entry.Path] = entry.Version
				if ext := extension(entry.Path); matters[ext] {
					count[ext]++
				}
			}
		}
	}
	return files, count, true
}

// languages returns the servers for the main languages of the project. Languages with few files
// count only if their server runs. missing are the servers that are not installed.
func (v *project) languages(ctx context.Context, w workspace.Workspace) (found, missing []*Server) {
	v.rescan(ctx, w, nil)
	v.scan.mu.Lock()
	count := v.scan.count
	v.scan.mu.Unlock()
	by := map[*Server]int{}
	most := 0
	for ext, n := range count {
		server, other := v.pool.forFile(ext)
		if server == nil {
			server = other
		}
		if server != nil {
			by[server] += n
			most = max(most, by[server])
		}
	}
	for i := range v.pool.config.Servers {
		server := &v.pool.config.Servers[i]
		n := by[server]
		if n == 0 || n*10 < most && v.guest(server).current() == nil {
			continue
		}
		if v.pool.installed(server) {
			found = append(found, server)
		} else {
			missing = append(missing, server)
		}
	}
	return found, missing
}

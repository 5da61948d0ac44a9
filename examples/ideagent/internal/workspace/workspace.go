// SPDX-License-Identifier: Apache-2.0

// Package workspace is a small toolset of an application's own: it lists and searches the files of a directory. It only
// reads, so it asks nobody for permission, and it sees nothing beyond the directory: symbolic links that lead out of it
// are not followed.
//
// What is left out of a result, because it is too much or no text, is said in the result.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset"
)

// What one call looks at and returns at most.
const (
	maxEntries  = 500     // files listed
	maxMatches  = 100     // lines found
	maxVisited  = 100_000 // files and directories looked at
	maxFileSize = 4 << 20 // bytes of a file that is searched
	maxLine     = 240     // characters of a line that is shown
)

// skipped are the directories that hold no files of the user's own.
var skipped = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// Toolset returns the tools list_files and search_text. They work in the directory of the session, and tell the user what
// they are about to do.
func Toolset[D deps.Carrier]() toolset.Toolset[D] {
	tools := toolset.Of(
		toolset.Func("list_files", "List the files of a directory, or find files by a pattern in it and below it.",
			func(ctx context.Context, run *toolset.RunContext[D], in ListArgs) (string, error) {
				dir, err := begin(ctx, run, in.title())
				if err != nil {
					return "", err
				}
				return List(ctx, dir, in)
			}, toolset.OfKind(toolset.KindSearch, "List files")),
		toolset.Func("search_text", "Find the lines of text files that have a text in them, in a file or in a directory and below it.",
			func(ctx context.Context, run *toolset.RunContext[D], in SearchArgs) (string, error) {
				dir, err := begin(ctx, run, in.title())
				if err != nil {
					return "", err
				}
				return Search(ctx, dir, in)
			}, toolset.OfKind(toolset.KindSearch, "Search text")),
	)
	return toolset.Named(tools, "workspace")
}

// begin gives the call in progress a title that says more than the name of the tool, and returns the session's directory.
func begin[D deps.Carrier](ctx context.Context, run *toolset.RunContext[D], title string) (dir string, err error) {
	ide := run.Deps.ACP()
	if ide.Session == nil {
		return "", toolset.Failed("there is no session, and so no directory to look at")
	}
	// A title that cannot be shown is no reason to fail.
	_ = ide.Tracker.Update(ctx, acp.ToolCallUpdate{ToolCallID: deps.ToolCallID(run.RunID, run.Step, run.Call.ID), Title: &title})
	return ide.Session.Cwd, nil
}

// open opens dir and returns name relative to it, with slashes. An error of it is one that a model can act on.
func open(dir, name string) (*os.Root, string, error) {
	if !filepath.IsAbs(dir) {
		return nil, "", fmt.Errorf("workspace: directory %q is not absolute", dir)
	}
	if name == "" {
		name = "."
	}
	if filepath.IsAbs(name) {
		local, err := relative(dir, name)
		if err != nil {
			return nil, "", toolset.Failed("%s is outside of the working directory", name)
		}
		name = local
	}
	name = filepath.Clean(name)
	if !filepath.IsLocal(name) {
		return nil, "", toolset.Failed("%s is outside of the working directory", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("workspace: %w", err)
	}
	switch _, err := root.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		root.Close()
		return nil, "", toolset.Failed("%s does not exist", name)
	case err != nil:
		root.Close()
		return nil, "", toolset.Failed("cannot look at %s: %v", name, cause(err))
	}
	return root, filepath.ToSlash(name), nil
}

// relative returns an absolute path relative to dir, which may be given through symbolic links.
func relative(dir, name string) (string, error) {
	if local, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(local) {
		return local, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Rel(real, name)
}

func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// errEnough ends a walk whose result is full.
var errEnough = errors.New("enough")

// walk calls visit for the regular files and the directories below name, in lexical order, and says in note what it
// has left out.
func walk(ctx context.Context, root *os.Root, name string, visit func(name string, entry fs.DirEntry) error) (note string, err error) {
	visited, unreadable := 0, 0
	err = fs.WalkDir(root.FS(), name, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			unreadable++
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if visited++; visited > maxVisited {
			note += fmt.Sprintf("(stopped after looking at %d files)\n", maxVisited)
			return errEnough
		}
		if entry.IsDir() && at != name && skipped[entry.Name()] {
			return fs.SkipDir
		}
		if !entry.IsDir() && !entry.Type().IsRegular() && at != name {
			return nil
		}
		return visit(at, entry)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if unreadable > 0 {
		note += fmt.Sprintf("(left out because they cannot be read: %d)\n", unreadable)
	}
	return note, err
}

// matches reports whether a file fits a pattern: its name, or, if the pattern has a slash, its path.
func matches(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return toolset.Retry("pattern %q is malformed", pattern)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

const searchFilesDescription = "Search text files for a regular expression, line by line. Returns matching lines as path:line: text. " +
	"Narrow the search with path and glob. Files that .gitignore leaves out are not searched."

type searchFilesArgs struct {
	Pattern    string `json:"pattern" jsonschema_description:"A regular expression in Go (RE2) syntax, or a text if literal is set." validate:"required"`
	Literal    bool   `json:"literal,omitempty" jsonschema_description:"Search for pattern as it is, not as a regular expression."`
	Path       string `json:"path,omitempty" jsonschema_description:"The directory or file to search. Default: all directories."`
	Glob       string `json:"glob,omitempty" jsonschema_description:"Search only files that match this glob: *.go for names, cmd/**/*.go for paths below the directory."`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema_description:"Ignore upper and lower case."`
	Context    int    `json:"context,omitempty" jsonschema_description:"How many lines to show before and after each match." validate:"omitempty,min=1,max=10"`
	All        bool   `json:"include_ignored,omitempty" jsonschema_description:"Search ignored files, too."`
}

func (in searchFilesArgs) subject(*Session) Subject {
	return Subject{Title: "Search " + strconv.Quote(cutText(in.Pattern, 100)) + within(in.Path), Listing: true}
}

const (
	maxMatches      = 100      // how many matching lines one call shows
	maxSearchResult = 48 << 10 // how much text one call returns, in bytes
	searchWorkers   = 2
)

func (c *call) searchFiles(ctx context.Context, in searchFilesArgs) (toolset.Result, error) {
	m, err := newMatcher(in.Pattern, in.Literal, in.IgnoreCase)
	if err != nil {
		return toolset.Result{}, toolset.Retry("%s.", cutText(err.Error(), maxRepeated))
	}
	if !checkGlob(in.Glob) {
		return toolset.Result{}, toolset.Retry("glob %q is not valid.", cutText(in.Glob, maxRepeated))
	}
	in.Path, _ = ParseLink(in.Path)
	f := &finder{call: c, dirs: c.everywhere(in.Path), glob: in.Glob, all: in.All, contents: true}
	r := report{call: c, contextual: in.Context > 0}
	err = search(ctx, f, func() *fileSearch {
		return &fileSearch{ws: c.ws, matcher: m, context: in.Context, limit: maxMatches + 1}
	}, r.add)
	if err != nil {
		return toolset.Result{}, c.failed(ctx, "search "+c.name(f.dirs[0]), err)
	}
	return toolset.Result{Text: r.text() + f.note()}, nil
}

// report is the output of a search.
type report struct {
	call               *call
	contextual         bool
	b                  strings.Builder
	searched, matches  int
	binary, unreadable int
	full               bool
}

// add adds what a file has. It reports whether there is room for more.
func (r *report) add(path string, got fileMatches) bool {
	switch {
	case got.err != nil:
		r.unreadable++
		return true
	case got.binary:
		r.binary++
		return true
	}
	r.searched++
	if got.matches == 0 {
		return true
	}
	name := r.call.entryName(path)
	last := -1
	for _, line := range got.lines {
		if !line.context && r.matches == maxMatches || r.b.Len() > maxSearchResult {
			r.full = true
			return false
		}
		separator := ":"
		if line.context {
			separator = "-"
		} else {
			r.matches++
		}
		if r.contextual && r.b.Len() > 0 && line.number != last+1 {
			r.b.WriteString("--\n")
		}
		last = line.number
		fmt.Fprintf(&r.b, "%s%s%d%s %s\n", name, separator, line.number, separator, line.text)
	}
	return true
}

func (r *report) text() string {
	if r.matches == 0 {
		fmt.Fprintf(&r.b, "[No matches in %d files.]\n", r.searched)
	}
	if r.full {
		fmt.Fprintf(&r.b, "[Stopped after %d matches. Use a more specific pattern, a path or a glob to see others.]\n", r.matches)
	}
	if r.binary > 0 {
		fmt.Fprintf(&r.b, "[%d binary files were not searched.]\n", r.binary)
	}
	if r.unreadable > 0 {
		fmt.Fprintf(&r.b, "[%d files could not be read.]\n", r.unreadable)
	}
	return r.b.String()
}

// job is a file to search, or what ended the walk.
type job struct {
	path  string
	err   error
	got   fileMatches
	panic any
	done  chan struct{}
}

// search searches what f finds, several files at a time, and calls add with what they have, in
// the order of the walk, until it returns false. The error is that of the walk.
func search(
	ctx context.Context, f *finder, newSearch func() *fileSearch,
	add func(path string, got fileMatches) bool,
) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	jobs, order := make(chan *job, 64), make(chan *job, 256)
	var workers sync.WaitGroup
	defer func() {
		cancel()
		for range order { // until the walk has ended
		}
		workers.Wait()
	}()
	workers.Go(func() {
		defer close(order)
		defer close(jobs)
		end := &job{done: make(chan struct{})}
		defer func() {
			if end.panic = recover(); end.panic != nil || end.err != nil {
				close(end.done)
				select {
				case order <- end:
				case <-ctx.Done():
				}
			}
		}()
		for entry, err := range f.files(ctx) {
			if err != nil {
				end.err = err
				return
			}
			if !entry.Mode.IsRegular() {
				continue
			}
			j := &job{path: entry.Path, done: make(chan struct{})}
			select {
			case order <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				close(j.done) // nobody will run it
				return
			}
		}
	})
	for range searchWorkers {
		workers.Go(func() {
			s := newSearch()
			for j := range jobs {
				j.run(ctx, s)
			}
		})
	}
	for j := range order {
		<-j.done
		switch {
		case j.panic != nil:
			panic(j.panic) // on the goroutine of the call, which knows what to do about it
		case j.err != nil:
			return j.err
		}
		if !add(j.path, j.got) {
			return nil
		}
	}
	return context.Cause(ctx) // what was found is not all if it has ended
}

// run searches the file.
func (j *job) run(ctx context.Context, s *fileSearch) {
	defer close(j.done)
	defer func() { j.panic = recover() }()
	j.got = s.file(ctx, j.path)
}

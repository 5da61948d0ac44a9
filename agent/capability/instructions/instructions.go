// SPDX-License-Identifier: Apache-2.0

package instructions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

const (
	// DefaultName is the name of the files if the options have none.
	DefaultName = "AGENTS.md"
	// DefaultMaxFile is the default of [Options.MaxFile].
	DefaultMaxFile = 32 << 10
	// DefaultMaxTotal is the default of [Options.MaxTotal].
	DefaultMaxTotal = 64 << 10
	// MaxDepth is how deep imports may be nested: a file may import one that imports one, and so
	// on, five times.
	MaxDepth = 5
)

// Options changes what [New] reads. The zero value reads AGENTS.md.
type Options struct {
	// Names are the names of the files, such as "AGENTS.md", "CLAUDE.md". In each directory the
	// first one counts that exists and is not blank. The default is [DefaultName].
	Names []string
	// Dir is the working directory, a path in the workspace. The default is the first root.
	Dir string
	// MaxFile bounds the text of one file, MaxTotal the text of all files that are added at once,
	// in bytes. 0 means the default.
	MaxFile, MaxTotal int
}

func (o *Options) check() error {
	for _, name := range o.Names {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return fmt.Errorf("instructions: Options.Names: %q is not the name of a file", name)
		}
	}
	if o.MaxFile < 0 || o.MaxTotal < 0 {
		return fmt.Errorf("instructions: Options.MaxFile is %d and MaxTotal %d; neither may be negative", o.MaxFile, o.MaxTotal)
	}
	return nil
}

// New returns a capability that adds the project's instructions to each run. session returns the
// session of a run, as for [workspace.Tools]. Without a session, or with a workspace that cannot
// read, there are no instructions.
//
// agent.New reports invalid options.
func New[D any](session func(deps D) *workspace.Session, o Options) agent.Capability[D] {
	p := &project{options: o}
	if len(p.options.Names) == 0 {
		p.options.Names = []string{DefaultName}
	}
	if o.MaxFile == 0 {
		p.options.MaxFile = DefaultMaxFile
	}
	if o.MaxTotal == 0 {
		p.options.MaxTotal = DefaultMaxTotal
	}
	p.err = o.check()
	if session == nil {
		p.err = errors.New("instructions: New: the function is nil")
	}
	return agent.Capability[D]{
		Name:     "project instructions",
		Toolsets: []toolset.Toolset[D]{&standing[D]{p, session}},
		Hooks: []agent.Hooks[D]{{
			Run: func(ctx context.Context, _ *toolset.RunContext[D], next agent.RunFunc) error {
				_, err := next(context.WithValue(ctx, p, new(touched)))
				return err
			},
			Call: func(ctx context.Context, run *toolset.RunContext[D], args any, next toolset.CallFunc) (toolset.Result, error) {
				res, err := next(ctx, args)
				if err != nil || res.Outcome != "" || p.err != nil {
					return res, err
				}
				s := session(run.Deps)
				if s == nil {
					return res, nil
				}
				about, ok := s.Subject(args)
				if !ok || about.Path == "" {
					return res, nil
				}
				return p.addTo(ctx, s.Workspace(), &run.RunInfo, about.Path, res)
			},
		}},
	}
}

// project reads the instructions of a project. As a key of contexts it leads to the [touched] of
// the run.
type project struct {
	options Options
	err     error
}

// readable reports whether there is anything to read.
func readable(w workspace.Workspace) bool {
	return w != nil && (w.Features().Read || w.Features().Saved) && len(w.Roots()) > 0
}

// standing is a toolset without tools. Its instructions are the ones at the beginning of a run.
type standing[D any] struct {
	project *project
	session func(D) *workspace.Session
}

func (s *standing[D]) Name() string { return "project instructions" }

// Check implements [toolset.Checker].
func (s *standing[D]) Check() error { return s.project.err }

func (s *standing[D]) Open(ctx context.Context, run *toolset.RunContext[D]) (toolset.Instance[D], error) {
	if s.project.err != nil {
		return nil, s.project.err
	}
	in := &opened[D]{}
	if work := s.session(run.Deps); work != nil && readable(work.Workspace()) {
		text, err := s.project.standing(ctx, work.Workspace())
		if err != nil {
			return nil, fmt.Errorf("instructions: %w", err)
		}
		in.listing.Instructions = text
	}
	return in, nil
}

// opened holds the instructions of one run, which do not change.
type opened[D any] struct{ listing toolset.Listing[D] }

func (o *opened[D]) Tools(context.Context, *toolset.RunContext[D]) (toolset.Listing[D], error) {
	return o.listing, nil
}

func (o *opened[D]) Close(context.Context) error { return nil }

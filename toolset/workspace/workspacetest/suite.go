// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// Env is a fresh workspace for one rule.
type Env struct {
	// Workspace has one root or more, which are empty directories.
	Workspace workspace.Workspace
	// Disk reaches the files of the workspace directly, and beyond its roots. Its methods take
	// absolute paths.
	Disk Disk
	// Outside is the path of an empty directory next to the roots and not in them.
	Outside string
	// Program is the program, and perhaps its first arguments, that behaves as [Program] does with
	// the arguments that follow. It is nil if the workspace runs no commands.
	Program []string
	// Unheld is set if something other than the workspace opens files, such as an editor: a link
	// that is changed between the check of a path and its use is followed. What happens then is not
	// checked.
	Unheld bool
	// Elsewhere means that Disk belongs to another machine. The workspace knows only the text
	// that an editor has.
	Elsewhere bool
	// Deny, for RunTruths of package editortest, sets the permissions of a file or directory on
	// Disk. They must hold for the workspace, which they do not for root. If it is set, files that
	// may not be read or written are checked, and no others.
	Deny func(path string, mode fs.FileMode) error
	// Asker answers the questions of RunTruths. It must allow everything, whatever it does with
	// the question. Nil allows everything.
	Asker toolset.Asker
	// Close is called in the end, if it is not nil.
	Close func()
}

// Disk is a file system as its owner sees it. A method that is impossible returns
// errors.ErrUnsupported, and what needs it is not checked.
type Disk interface {
	WriteFile(path string, data []byte, mode fs.FileMode) error // makes missing directories
	ReadFile(path string) ([]byte, error)
	Mkdir(path string) error               // with missing directories
	Symlink(target, path string) error     // with missing directories
	Pipe(path string) error                // something that is neither a file nor a directory
	Remove(path string) error              // with everything in it; of a link the link itself
	Mode(path string) (fs.FileMode, error) // of a link itself
}

// Run checks a workspace. newEnv is called once for each rule.
func Run(t *testing.T, newEnv func() (*Env, error)) {
	t.Helper()
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if err := r.run(t.Context(), newEnv); err != nil {
				t.Error(err)
			}
		})
	}
}

// rule is one promise of the contract.
type rule struct {
	name string
	// needs are the features that the rule is about; without them it is not checked.
	needs func(f workspace.Features) bool
	check func(p *probe)
}

func rules() []rule {
	var all []rule
	for _, group := range [][]rule{basicRules(), readRules(), writeRules(), raceRules(), pathRules(), walkRules(), commandRules()} {
		all = append(all, group...)
	}
	return all
}

func (r *rule) run(ctx context.Context, newEnv func() (*Env, error)) error {
	env, err := newEnv()
	if err != nil {
		return fmt.Errorf("new environment: %w", err)
	}
	if env.Close != nil {
		defer env.Close()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	p := &probe{Env: env, ctx: ctx, ws: env.Workspace}
	if r.needs == nil || r.needs(p.ws.Features()) {
		r.try(p)
	}
	return p.result()
}

// try runs the rule until it ends, fails or panics.
func (r *rule) try(p *probe) {
	defer func() {
		if v := recover(); v != nil && v != errStop {
			p.errorf("panic: %v", v)
		}
	}()
	r.check(p)
}

func needsRead(f workspace.Features) bool     { return f.Read }
func needsWrite(f workspace.Features) bool    { return f.Read && f.Write }
func needsRemove(f workspace.Features) bool   { return f.Read && f.Remove }
func needsWalk(f workspace.Features) bool     { return f.Walk }
func needsCommands(f workspace.Features) bool { return f.Commands }

// basicRules are about what holds for every workspace.
func basicRules() []rule {
	return []rule{
		{"roots are absolute and clean and stay the same", nil, func(p *probe) {
			roots := p.ws.Roots()
			if len(roots) == 0 {
				p.stop("there is no root")
			}
			style := workspace.StyleOf(roots[0])
			for i, r := range roots {
				abs, err := style.Abs(r, r)
				p.ok(err, "root %q", r)
				p.equal(abs, r, "root %d is not clean", i)
			}
			p.equal(strings.Join(p.ws.Roots(), "\n"), strings.Join(roots, "\n"), "the roots changed")
			p.equal(p.ws.Features(), p.ws.Features(), "the features changed")
		}},
		{"what the features leave out is errors.ErrUnsupported", nil, func(p *probe) { p.unsupported() }},
	}
}

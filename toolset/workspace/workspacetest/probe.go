// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// patience is how long a rule may take before it counts as hanging. Rules with thousands of files
// take long on a busy machine.
const patience = 2 * time.Minute

var (
	errPatience = errors.New("the rule took too long: something hangs")
	errStop     = errors.New("stop")
)

// probe is a workspace under examination. It collects what is wrong.
type probe struct {
	*Env
	ctx  context.Context
	ws   workspace.Workspace
	errs []error
}

// result returns all that is wrong, and that the time was over if that may be the cause.
func (p *probe) result() error {
	if len(p.errs) > 0 && context.Cause(p.ctx) == errPatience {
		p.errs = append(p.errs, errPatience)
	}
	return errors.Join(p.errs...)
}

func (p *probe) errorf(format string, args ...any) {
	if len(p.errs) < 20 {
		p.errs = append(p.errs, fmt.Errorf(format, args...))
	}
}

// stop ends the rule.
func (p *probe) stop(format string, args ...any) {
	p.errorf(format, args...)
	panic(errStop)
}

// ok checks that err is nil.
func (p *probe) ok(err error, format string, args ...any) bool {
	if err != nil {
		p.errorf("%s: unexpected error: %w", fmt.Sprintf(format, args...), err)
	}
	return err == nil
}

// must checks that err is nil, and ends the rule otherwise. An impossible preparation ends it
// without an error.
func (p *probe) must(err error, format string, args ...any) {
	if errors.Is(err, errors.ErrUnsupported) {
		panic(errStop)
	}
	if !p.ok(err, format, args...) {
		panic(errStop)
	}
}

// is checks that an error is one of those that are wanted.
func (p *probe) is(err error, format string, what any, want ...error) {
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	p.errorf("%s: got the error %v, want %v", fmt.Sprintf(format, what), err, want)
}

func (p *probe) equal(got, want any, format string, args ...any) {
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		p.errorf("%s: got %s, want %s", fmt.Sprintf(format, args...), short(g), short(w))
	}
}

func short(s string) string {
	if len(s) > 300 {
		return s[:150] + "…" + s[len(s)-150:]
	}
	return s
}

// sorted is a map in the order of its keys, so that what is wrong is found in the same order.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// root returns a path in a root. Names have slashes.
func (p *probe) root(i int, name string) string {
	roots := p.ws.Roots()
	return p.style().Join(roots[i], name)
}

func (p *probe) style() workspace.Style { return workspace.StyleOf(p.ws.Roots()[0]) }

// out returns a path outside.
func (p *probe) out(name string) string { return p.style().Join(p.Outside, name) }

// put prepares a file in the first root.
func (p *probe) put(name, text string) {
	p.must(p.Disk.WriteFile(p.root(0, name), []byte(text), 0o644), "prepare %s", name)
}

// linkable reports whether symbolic links can be made.
func (p *probe) link(target, path string) bool {
	err := p.Disk.Symlink(target, path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	p.must(err, "prepare link %s", path)
	return true
}

func (p *probe) read(path string) (workspace.File, error) {
	return p.ws.Read(p.ctx, path, workspace.Range{})
}

// holds checks the contents of a file without the workspace.
func (p *probe) holds(path, want string) {
	got, err := p.Disk.ReadFile(path)
	if p.ok(err, "read %s on disk", path) && string(got) != want {
		p.errorf("%s holds %q on disk, want %q", path, short(string(got)), short(want))
	}
}

// absent checks that the file does not exist.
func (p *probe) absent(path string) {
	if _, err := p.Disk.Mode(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, workspace.ErrNotDirectory) {
		p.errorf("%s exists on disk, or cannot be looked at: %v", path, err)
	}
}

// walk returns what a walk yields, each path relative to the first root, an error after its path.
func (p *probe) walk(dir string, o workspace.WalkOptions) []string {
	got := []string{}
	for info, err := range p.ws.Walk(p.ctx, dir, o) {
		name := p.style().Rel(p.ws.Roots()[0], info.Path)
		if p.style() == workspace.Windows {
			name = string(bytes.ReplaceAll([]byte(name), []byte(`\`), []byte("/")))
		}
		if err != nil {
			name += " error"
		}
		got = append(got, name)
		if len(got) > 10_000 {
			p.stop("the walk does not end")
		}
	}
	return got
}

// lastError returns the error that a walk ends with.
func (p *probe) lastError(ctx context.Context, dir string) (last error) {
	for _, err := range p.ws.Walk(ctx, dir, workspace.WalkOptions{}) {
		last = err
	}
	return last
}

// unsupported calls what the workspace says it cannot do.
func (p *probe) unsupported() {
	f := p.ws.Features()
	want := func(supported bool, op string, err error) {
		if !supported {
			p.is(err, "%s", op, errors.ErrUnsupported)
		}
	}
	_, err := p.read("a")
	want(f.Read, "read", err)
	_, err = p.ws.Read(p.ctx, "a", workspace.Range{Saved: true})
	want(f.Read || f.Saved, "read of saved text", err)
	_, err = p.ws.Stat(p.ctx, "a")
	want(f.Read, "stat", err)
	if !f.Write {
		_, err = p.ws.Write(p.ctx, "a", nil, workspace.AnyVersion)
		want(false, "write", err)
	}
	if !f.Remove {
		want(false, "remove", p.ws.Remove(p.ctx, "a", workspace.AnyVersion))
	}
	want(f.Walk, "walk", p.lastError(p.ctx, "."))
	if !f.Commands {
		_, err = p.ws.Start(p.ctx, workspace.Command{Line: "true"})
		want(false, "start", err)
	}
}

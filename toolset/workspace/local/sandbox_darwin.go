// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/guard"
)

func (*Sandbox) open(*Workspace) (box, error) {
	return nil, fmt.Errorf("%w: bubblewrap is for Linux, and this is macOS", ErrSandbox)
}

// seatbelt is the sandbox of macOS. No test has run it, so it is used as the weaker one: each
// command is asked about.
type seatbelt struct {
	*Sandbox
	roots, hide []string
	tmp         string
	protects    *names
}

const sandboxExec = "/usr/bin/sandbox-exec"

func (s *Sandbox) openWeaker(w *Workspace) (box, error) {
	b := &seatbelt{Sandbox: s, protects: newNames(s.Protected)}
	for _, path := range s.Writable {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("local: sandbox: the writable path: %w", err)
		}
		b.roots = append(b.roots, real)
	}
	b.roots = append(b.roots, w.real...)
	hide := s.Hidden
	if hide == nil {
		hide = Hidden()
	}
	for _, path := range hide {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			b.hide = append(b.hide, real)
		}
	}
	tmp, err := os.MkdirTemp("", "ponte-sandbox-")
	if err == nil {
		b.tmp, err = filepath.EvalSymlinks(tmp)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSandbox, err)
	}
	out, err := exec.Command(sandboxExec, "-p", b.profile(false), "/usr/bin/true").CombinedOutput()
	if err != nil {
		b.close()
		return nil, fmt.Errorf("%w: sandbox-exec does not work here: %w: %s", ErrSandbox, err, out)
	}
	return b, nil
}

// profile is what a command may do, in the language of the system's sandbox. The last rule that
// matches decides.
func (b *seatbelt) profile(network bool) string {
	var p strings.Builder
	p.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	paths := func(rule string, all []string) {
		for _, path := range all {
			fmt.Fprintf(&p, "(%s (subpath %s))\n", rule, quoted(path))
		}
	}
	paths("allow file-write*", append([]string{b.tmp}, b.roots...))
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/tty"} {
		fmt.Fprintf(&p, "(allow file-write-data (literal %s))\n", quoted(device))
	}
	paths("deny file-write*", b.protected())
	paths("deny file-read* file-write*", b.hide)
	if b.Unreadable != nil {
		for _, root := range b.roots {
			paths("deny file-read* file-write*", b.protects.unreadable(root, b.Unreadable))
		}
	}
	p.WriteString("(deny signal (target others))\n(deny process-info* (target others))\n")
	p.WriteString("(deny mach-task-name)\n(deny file-write-setugid)\n")
	if !network && !b.Network {
		p.WriteString("(deny network*)\n")
	} else if !b.Sockets {
		p.WriteString("(deny network-outbound (remote unix-socket))\n")
	}
	return p.String()
}

// quoted is a string of the language of profiles.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

func (b *seatbelt) protected() (all []string) {
	for _, root := range b.roots {
		for _, o := range b.protects.in(root) {
			all = append(all, o.path)
		}
	}
	return all
}

func (b *seatbelt) wrap(g *guard.Command, _, _ string, network bool) (started, error) {
	program, err := guard.Lookup(*g)
	if err != nil {
		return started{}, err
	}
	before := b.protected()
	g.Args = append([]string{"-p", b.profile(network), program}, g.Args...)
	g.Path, g.Env = sandboxExec, append(slices.Clone(g.Env), "TMPDIR="+b.tmp)
	created := func() (all []string) {
		for _, path := range b.protected() {
			if !slices.Contains(before, path) {
				all = append(all, path)
			}
		}
		return all
	}
	return started{created: created}, nil
}

func (*seatbelt) tight() bool { return false }

func (b *seatbelt) close() { _ = os.RemoveAll(b.tmp) }

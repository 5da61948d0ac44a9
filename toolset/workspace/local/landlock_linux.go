// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/internal/confine"
	"github.com/ponte-go/ponte/internal/guard"
)

// walls are the weaker sandbox, made by Landlock and a filter of system calls. It has what it needs
// of a bubble.
type walls struct {
	*bubble
	self    string
	read    []string
	tmp     string
	filters map[bool][]byte // by whether there is a network
}

// openWeaker opens the sandbox that can be had without bubblewrap.
func (s *Sandbox) openWeaker(w *Workspace) (_ box, err error) {
	if !confine.Ready() {
		return nil, fmt.Errorf("%w: the program does not call local.Helper first, "+
			"which Landlock needs", ErrSandbox)
	}
	b := &bubble{Sandbox: s, protects: newNames(s.Protected)}
	l := &walls{bubble: b, filters: map[bool][]byte{
		false: filterAlone(s.Sockets, false), true: filterAlone(s.Sockets, true),
	}}
	if l.filters[false] == nil {
		return nil, fmt.Errorf("%w: this processor has no filter of system calls", ErrSandbox)
	}
	if b.scratch, err = os.MkdirTemp("", "ponte-sandbox-"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSandbox, err)
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	l.tmp = filepath.Join(b.scratch, "tmp")
	if err := os.Mkdir(l.tmp, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSandbox, err)
	}
	if err := b.prepare(w); err != nil {
		return nil, err
	}
	if err := l.plan(); err != nil {
		return nil, err
	}
	return l, l.try(w.roots[0].real)
}

// plan works out what can be read. What is in a directory that can be read can be read, so hidden
// files are left out by naming all others.
func (l *walls) plan() (err error) {
	if l.self, err = os.Executable(); err == nil {
		l.self, err = filepath.EvalSymlinks(l.self)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSandbox, err)
	}
	hide, err := l.hides()
	if err != nil {
		return err
	}
	for _, path := range append(slices.Clone(hide), l.self) {
		if l.isWritable(path) {
			return fmt.Errorf("%w: Landlock cannot keep %s from commands, "+
				"which is in a directory that they can write to", ErrSandbox, path)
		}
	}
	for _, dir := range append(slices.Clone(masked), "/dev") {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			hide = append(hide, real)
		}
	}
	l.read = append(readable("/", hide), kept()...)
	return nil
}

// readable returns the files and directories that have all in a directory, except what is hidden
// and links, whose targets have names of their own.
func readable(dir string, hide []string) (all []string) {
	inside := func(h string) bool { _, ok := relative(dir, h); return ok }
	if !slices.ContainsFunc(hide, inside) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || slices.Contains(hide, dir) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(hide, path):
		case e.IsDir():
			all = append(all, readable(path, hide)...)
		case e.Type().IsRegular():
			all = append(all, path)
		}
	}
	return all
}

// devices are those that programs need.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// tight implements box: files in the roots are not protected, and modes and times of other files
// can be changed.
func (*walls) tight() bool { return false }

// try runs a command that does nothing.
func (l *walls) try(dir string) error {
	return try(l, dir, "Landlock does not work here")
}

// wrap implements box.
func (l *walls) wrap(g *guard.Command, real, dir string, network bool) (started, error) {
	program, err := guard.Lookup(*g)
	if err != nil {
		return started{}, err
	}
	if dir != real && samePlace(dir, real) {
		real = dir
	}
	p := &confine.Policy{
		Read: l.read, Write: append([]string{l.tmp}, l.roots...),
		Filter:  l.filters[network || l.Network],
		Program: program, Args: g.Args, Env: l.environ(g.Env), Dir: real,
	}
	for _, d := range devices {
		if _, err := os.Stat(d); err == nil {
			p.Devices = append(p.Devices, d)
		}
	}
	data, err := confine.Encode(p)
	if err != nil {
		return started{}, err
	}
	f, err := memory(data)
	if err != nil {
		return started{}, err
	}
	before := l.protected()
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	g.Path, g.Args, g.Files = l.self, confine.Args(), []*os.File{f}
	g.Env = []string{"PATH=/usr/bin:/bin"}
	return started{
		done:    func() { _ = f.Close() },
		created: func() []string { return missing(l.protected(), before) },
	}, nil
}

// environ returns the variables of a command.
func (l *walls) environ(env []string) []string {
	all := l.bubble.environ(env)
	for i, v := range all {
		if strings.HasPrefix(v, "TMPDIR=") {
			all[i] = "TMPDIR=" + l.tmp
		}
	}
	return all
}

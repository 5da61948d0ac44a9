// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ponte-go/ponte/internal/guard"
)

// bubble is a sandbox made by bubblewrap.
type bubble struct {
	*Sandbox
	bwrap    string
	roots    []string          // what commands can write to, without links
	links    map[string]string // names of roots that the sandbox does not show otherwise
	cache    string
	filter   []byte
	protects *names
	// Both are removed with the sandbox. Commands do not see scratch.
	scratch, temporary string
}

// open checks that the machine can have the sandbox.
func (s *Sandbox) open(w *Workspace) (_ box, err error) {
	b := &bubble{Sandbox: s, filter: filter(s.Sockets), protects: newNames(s.Protected)}
	if b.filter == nil {
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
	if err := b.prepare(w); err != nil {
		return nil, err
	}
	if b.bwrap, err = findBwrap(b.roots); err != nil {
		return nil, err
	}
	return b, b.try(w.roots[0].real)
}

// prepare makes the directories that the sandbox needs.
func (b *bubble) prepare(w *Workspace) error {
	b.links = map[string]string{}
	outer := outermost(w.named)
	for i, r := range w.roots {
		b.roots = append(b.roots, r.real)
		for _, dir := range masked {
			name := w.named[i]
			if _, ok := relative(dir, name); ok && name != r.real && slices.Contains(outer, name) {
				b.links[name] = r.real
			}
		}
	}
	for _, path := range b.Writable {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			return fmt.Errorf("local: sandbox: the writable path: %w", err)
		}
		b.roots = append(b.roots, real)
	}
	err := os.WriteFile(b.empty(), nil, 0o444)
	cache := b.Cache
	if cache == "" && err == nil {
		cache, err = os.MkdirTemp("", "ponte-cache-")
		b.temporary = cache
	} else {
		of := strings.Join(b.roots[:len(w.roots)], "\x00")
		if b.CacheOf != "" {
			of = b.CacheOf
		}
		roots := sha256.Sum256([]byte(of))
		cache = filepath.Join(cache, hex.EncodeToString(roots[:12]))
	}
	if err == nil {
		err = os.MkdirAll(cache, 0o700)
	}
	if err == nil {
		b.cache, err = filepath.EvalSymlinks(cache)
	}
	if err != nil {
		return fmt.Errorf("local: sandbox: the cache: %w", err)
	}
	for _, root := range b.roots {
		if slices.Contains([]string{"/", "/dev", "/proc", "/sys", "/run"}, root) {
			return fmt.Errorf("%w: commands must not write to all of %s", ErrSandbox, root)
		}
	}
	b.roots = append(b.roots, b.cache)
	return nil
}

// empty is a file without contents, which hides others.
func (b *bubble) empty() string { return filepath.Join(b.scratch, "empty") }

func (b *bubble) close() {
	_ = os.RemoveAll(b.scratch)
	if b.temporary != "" {
		_ = os.RemoveAll(b.temporary)
	}
}

// findBwrap finds bwrap, but not where commands can put another one.
func findBwrap(roots []string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, "bwrap"))
		if err != nil || !filepath.IsAbs(file) || unix.Access(file, unix.X_OK) != nil {
			continue
		}
		inside := func(root string) bool {
			_, named := relative(root, filepath.Join(dir, "bwrap"))
			_, real := relative(root, file)
			return named || real
		}
		if !slices.ContainsFunc(roots, inside) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%w: the program bwrap is not installed (package bubblewrap)", ErrSandbox)
}

// try runs a command that does nothing.
func (b *bubble) try(dir string) error {
	return try(b, dir, "bwrap does not work here, perhaps because user namespaces are forbidden")
}

// try runs a command that does nothing in a sandbox. The error has the problem and what the sandbox
// says.
func try(b box, dir, problem string) error {
	g := guard.Command{Path: "/bin/sh", Args: []string{"-c", "exit 0"}, Env: os.Environ()}
	s, err := b.wrap(&g, dir, dir, false)
	if err != nil {
		return err
	}
	defer s.done()
	cmd := exec.Command(g.Path, g.Args...)
	cmd.Env, cmd.Dir = g.Env, "/"
	cmd.ExtraFiles = append([]*os.File{nil, nil}, g.Files...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if text := bytes.TrimSpace(out); len(text) > 0 {
		err = fmt.Errorf("%s", text)
	}
	return fmt.Errorf("%w: %s: %w", ErrSandbox, problem, err)
}

// The descriptors that bwrap reads its arguments and the filter from. The guard has 3 and 4.
const (
	argsFD   = "5"
	filterFD = "6"
)

func (b *bubble) tight() bool { return !b.Network && !b.Sockets }

// wrap implements box. The environment of the command is not the environment of bwrap: variables
// such as LD_PRELOAD would affect programs outside of the sandbox.
func (b *bubble) wrap(g *guard.Command, real, dir string, network bool) (started, error) {
	program, err := guard.Lookup(*g) // bwrap would say what is missing only in the output
	if err != nil {
		return started{}, err
	}
	if dir != real && samePlace(dir, real) {
		real = dir // as the user knows it
	}
	before := b.protected()
	args, err := b.args(before, network || b.Network)
	if err != nil {
		return started{}, err
	}
	args = append(args, "--clearenv")
	for _, v := range b.environ(g.Env) {
		name, value, _ := strings.Cut(v, "=")
		args = append(args, "--setenv", name, value)
	}
	args = append(args, "--seccomp", filterFD, "--chdir", real)
	files := make([]*os.File, 0, 2)
	done := func() {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for _, data := range [][]byte{[]byte(strings.Join(args, "\x00") + "\x00"), b.filter} {
		f, err := memory(data)
		if err != nil {
			done()
			return started{}, err
		}
		files = append(files, f)
	}
	// A file that this process has inherited itself would reach the command.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	g.Args = append([]string{"--args", argsFD, "--", program}, g.Args...)
	g.Path, g.Files, g.Env = b.bwrap, files, []string{"PATH=/usr/bin:/bin"}
	return started{done: done, created: func() []string { return missing(b.protected(), before) }}, nil
}

// protected returns what is protected and there.
func (b *bubble) protected() (all []obeyed) {
	for _, root := range outermost(b.roots) {
		all = append(all, b.protects.in(root)...)
	}
	return all
}

// unreadable returns the files of the roots that must not be read.
func (b *bubble) unreadable() (all []string) {
	if b.Unreadable == nil {
		return nil
	}
	for _, root := range outermost(b.roots) {
		if root != b.cache {
			all = append(all, b.protects.unreadable(root, b.Unreadable)...)
		}
	}
	return all
}

// missing returns the paths of what is not known.
func missing(all, known []obeyed) (rest []string) {
	seen := map[obeyed]bool{}
	for _, o := range known {
		seen[o] = true
	}
	for _, o := range all {
		if !seen[o] {
			rest, seen[o] = append(rest, o.path), true
		}
	}
	return rest
}

// memory returns a file that has data and is nowhere on disk.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("ponte", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "ponte")
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
}

// samePlace reports whether both paths lead to the same directory.
func samePlace(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Variables that lead to what the sandbox does not have.
var outside = []string{
	"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY",
	"XAUTHORITY", "DOCKER_HOST", "TMPDIR",
}

// environ returns the variables of a command: caches are where it can write.
func (b *bubble) environ(env []string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(outside, name) && !(b.Sockets && name != "TMPDIR")
	})
	at := func(name string) string { return filepath.Join(b.cache, name) }
	return append([]string{
		"TMPDIR=/tmp", "XDG_CACHE_HOME=" + b.cache,
		"GOCACHE=" + at("go-build"), "CCACHE_DIR=" + at("ccache"),
		"npm_config_cache=" + at("npm"), "YARN_CACHE_FOLDER=" + at("yarn"), "PIP_CACHE_DIR=" + at("pip"),
		"UV_CACHE_DIR=" + at("uv"), "PYTHONPYCACHEPREFIX=" + at("pycache"),
	}, slices.DeleteFunc(kept, cached)...)
}

// cached reports whether a variable is the path of a cache.
func cached(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	return slices.Contains([]string{
		"XDG_CACHE_HOME", "GOCACHE", "CCACHE_DIR", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER",
		"PIP_CACHE_DIR", "UV_CACHE_DIR", "PYTHONPYCACHEPREFIX",
	}, strings.ToUpper(name))
}

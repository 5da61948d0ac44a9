// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// args returns the arguments of bwrap that do not depend on the command.
//
// Everything is read-only first. Writable directories follow, and in them the protected files, from
// the outside in: a directory within another one has the last word. Hidden files come last, and
// nothing brings them back. A directory between a root and what is protected or hidden in it is a
// mount too, because a command could rename it otherwise, and the next one would find the files
// unprotected.
func (b *bubble) args(protected []obeyed, network bool) ([]string, error) {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--remount-ro", "/proc", // root owns what is in it, even without capabilities
	}
	if !network {
		args = append(args, "--unshare-net")
	}
	for _, dir := range masked {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", dir)
		}
	}
	for _, path := range kept() {
		args = append(args, "--ro-bind", path, path)
	}
	hide, err := b.hides()
	if err != nil {
		return nil, err
	}
	hide = outermost(append(hide, b.unreadable()...))
	for _, m := range b.mounts(protected, hide) {
		args = append(args, m.how, m.path, m.path)
	}
	for named, real := range b.links {
		args = append(args, "--symlink", real, named)
	}
	for _, path := range hide {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			args = append(args, "--tmpfs", path)
		} else if err == nil {
			args = append(args, "--ro-bind", b.empty(), path)
		}
	}
	return args, nil
}

// masked are directories of which commands have their own, where these exist.
var masked = []string{"/tmp", "/var/tmp", "/run", "/var/run"}

// kept are the places below /run that programs need.
func kept() (all []string) {
	for _, path := range []string{"/etc/resolv.conf", "/run/current-system", "/run/opengl-driver"} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if _, ok := relative("/run", real); ok && path == "/etc/resolv.conf" {
			all = append(all, real)
		} else if ok || path != "/etc/resolv.conf" {
			all = append(all, path)
		}
	}
	return all
}

// mount is a place that is mounted onto itself.
type mount struct{ how, path string }

const (
	readWrite = "--bind"
	readOnly  = "--ro-bind"
)

// mounts returns what is writable, and what is not within that, from the outside in.
func (b *bubble) mounts(protected []obeyed, hide []string) []mount {
	how := map[string]string{}
	for _, o := range protected {
		b.pin(how, o.path)
		if o.link == "" {
			how[o.path] = readOnly
		}
	}
	for _, path := range hide {
		b.pin(how, path)
	}
	for _, root := range b.roots {
		how[root] = readWrite
	}
	all := make([]mount, 0, len(how))
	for path, h := range how {
		all = append(all, mount{h, path})
	}
	slices.SortFunc(all, func(a, b mount) int {
		depth := cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/"))
		return cmp.Or(depth, cmp.Compare(a.path, b.path))
	})
	return all
}

// pin mounts the directories between a root and a path in it, unless they are mounted.
func (b *bubble) pin(how map[string]string, path string) {
	for dir := filepath.Dir(path); b.isWritable(dir); dir = filepath.Dir(dir) {
		if how[dir] == "" {
			how[dir] = readWrite
		}
	}
}

// isWritable reports whether a path is within a root, and not the root itself.
func (b *bubble) isWritable(path string) bool {
	return slices.ContainsFunc(b.roots, func(root string) bool {
		rel, ok := relative(root, path)
		return ok && rel != "."
	})
}

// hides returns the hidden files that exist, without links, and mounts below roots of the file
// systems of the kernel.
func (b *bubble) hides() ([]string, error) {
	hide := b.Hidden
	if hide == nil {
		hide = Hidden()
	}
	var all []string
	if _, masked := relative("/tmp", b.scratch); !masked || b.isWritable(b.scratch) {
		all = append(all, b.scratch)
	}
	for _, path := range hide {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if real, err = filepath.Abs(real); err == nil {
			all = append(all, real)
		}
	}
	for _, root := range b.roots {
		for _, path := range all {
			if _, ok := relative(path, root); ok {
				return nil, fmt.Errorf("%w: %s is hidden, and %s is in it", ErrSandbox, path, root)
			}
		}
	}
	for _, path := range kernelMounts() {
		if b.isWritable(path) {
			all = append(all, path)
		}
	}
	return outermost(all), nil
}

// outermost leaves out what is in a directory that is listed itself.
func outermost(paths []string) (all []string) {
	for i, path := range paths {
		within := func(outer string) bool {
			_, ok := relative(outer, path)
			return ok && outer != path
		}
		if !slices.ContainsFunc(paths, within) && !slices.Contains(paths[:i], path) {
			all = append(all, path)
		}
	}
	return all
}

// kernelMounts returns where the file systems of the kernel are mounted, such as proc.
func kernelMounts() (all []string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	kinds := []string{
		"proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs",
		"configfs", "bpf", "efivarfs", "mqueue", "binfmt_misc", "fusectl", "pstore",
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) > 4 && len(kind) > 0 && slices.Contains(kinds, kind[0]) {
			all = append(all, unescape(fields[4]))
		}
	}
	return all
}

// unescape replaces octal numbers in mountinfo, such as \040 for a blank.
func unescape(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

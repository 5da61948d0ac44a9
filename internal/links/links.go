// SPDX-License-Identifier: Apache-2.0

// Package links follows symbolic links of this machine.
package links

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// most is how many links a path may lead through, as on Linux.
const most = 40

// Resolve returns the path without links, and without "." and "..", that the system means by an
// absolute path. What does not exist is where it would be made, also at the end of links that lead
// to nothing. A path with too many links stays as it is.
func Resolve(path string) string {
	root, todo := begin(path)
	done, followed := []byte(root), 0
	var missing []byte // a directory that is not there, with a separator: nothing below it is
	for len(todo) > 0 {
		name, above := todo[0], len(done)
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = done[:max(bytes.LastIndexByte(done, filepath.Separator), len(root))]
			continue
		}
		if above > len(root) {
			done = append(done, filepath.Separator)
		}
		done = append(done, name...)
		if missing != nil && bytes.HasPrefix(done, missing) {
			continue
		}
		target, err := os.Readlink(string(done))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) {
			missing = append(bytes.Clone(done), filepath.Separator)
		}
		if err != nil {
			continue
		}
		if followed++; followed > most {
			return path
		}
		done = done[:above]
		rest := elements(target)
		if filepath.IsAbs(target) {
			root, rest = begin(target)
			done = []byte(root)
		}
		todo = append(rest, todo...)
	}
	return string(done)
}

// begin takes an absolute path apart.
func begin(path string) (root string, rest []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), elements(path[len(volume):])
}

// elements takes a path apart at its separators.
func elements(path string) []string {
	return strings.Split(filepath.ToSlash(path), "/")
}

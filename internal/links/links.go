// SPDX-License-Identifier: Apache-2.0

// Package links follows symbolic links of this machine.
package links

import (
	"os"
	"path/filepath"
	"strings"
)

// most is how many links a path may lead through, as on Linux.
const most = 40

// Resolve returns the path without links, and without "." and "..", that the system means by an
// absolute path. What does not exist is where it would be made, also at the end of links that lead
// to nothing. A path with too many links stays as it is.
func Resolve(path string) string {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	done, todo, followed := volume+separator, elements(path[len(volume):]), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		target, err := os.Readlink(next)
		if err != nil {
			done = next
			continue
		}
		if followed++; followed > most {
			return path
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			done, target = volume+separator, target[len(volume):]
		}
		todo = append(elements(target), todo...)
	}
	return done
}

// elements takes a path apart at its separators.
func elements(path string) []string {
	return strings.Split(filepath.ToSlash(path), "/")
}

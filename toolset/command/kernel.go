// SPDX-License-Identifier: Apache-2.0

package command

import (
	"path"
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

// ofProcess matches names that Linux has for the directories of processes: the working directory,
// the root, and those that are open.
var ofProcess = lazy.Regexp(`^/proc/(?:[^/]+/task/[^/]+|[^/]+)/(cwd|root|fd/[^/]+)(/.*|$)`)

// toProcess cleans an absolute path up to such a name. What follows stays, as the name is a link.
// It is "" for other names.
func toProcess(name string) string {
	elements := strings.Split(name, "/")
	done := "/"
	for i, e := range elements {
		if done = path.Join(done, e); done == "/dev/fd" {
			done = "/proc/self/fd"
		}
		if m := ofProcess().FindStringSubmatch(done); m != nil && elements[i] != ".." {
			return strings.Join(append([]string{done}, elements[i+1:]...), "/")
		}
	}
	return ""
}

// behindKernel returns the path that an absolute path leads to, if it begins at a directory of a
// process that may be the command's, which is in dir. It is "" for other paths.
func behindKernel(name, dir string) string {
	found := ""
	for range maxNested {
		if !strings.Contains(name, "/proc/") && !strings.Contains(name, "fd/") {
			break
		}
		m := ofProcess().FindStringSubmatch(toProcess(name))
		switch {
		case m == nil:
			return found
		case m[1] == "cwd":
			return dir + m[2]
		case m[1] == "root":
			name = "/" + strings.TrimLeft(m[2], "/")
		default:
			return Computed + m[2]
		}
		found = name
	}
	return found
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

// Names that Linux has for the directories of processes: the working directory, the root, and those
// that are open.
var (
	ofProcess = lazy.Regexp(`^/proc/(?:[^/]+/task/[^/]+|[^/]+)/(cwd|root|fd/[^/]+)(/.*|$)`)
	ofOpen    = lazy.Regexp(`^/dev/fd/[^/]+(/.*)`)
)

// behindKernel returns the path that an absolute path leads to, if it begins at a directory of a
// process that may be the command's, which is in dir. It is "" for other paths.
func behindKernel(name, dir string) string {
	found := ""
	for range maxNested {
		if !strings.HasPrefix(name, "/proc/") && !strings.HasPrefix(name, "/dev/fd/") {
			break
		}
		if m := ofOpen().FindStringSubmatch(name); m != nil {
			return Computed + m[1]
		}
		m := ofProcess().FindStringSubmatch(name)
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

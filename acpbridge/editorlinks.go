// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// native reports whether paths of the style can be paths of this machine.
func native(s ws.Style) bool { return (s == ws.Windows) == (runtime.GOOS == "windows") }

// maxLinks is how many links a path may lead through, as on Linux.
const maxLinks = 40

var errTooManyLinks = errors.New("too many links")

// realPath follows the links in a clean absolute path for the part of it that exists on this
// machine. The rest is left as it is: the file may be about to be created, or the client may be on
// another machine. A link counts even if what it leads to does not exist, because writing to it
// would create that.
func realPath(name string) (string, error) {
	if !native(ws.StyleOf(name)) {
		return name, nil
	}
	volume := filepath.VolumeName(name)
	root := volume + string(filepath.Separator)
	done, todo := root, pathParts(name[len(volume):])
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, part)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			return filepath.Join(append([]string{next}, todo...)...), nil
		case err != nil:
			return "", err
		}
		target, isLink := linkTarget(next, info)
		if !isLink {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			done, target = volume+string(filepath.Separator), target[len(volume):]
		}
		todo = append(pathParts(target), todo...)
	}
	return done, nil
}

// linkTarget returns what a link leads to. Junctions of Windows are irregular files.
func linkTarget(name string, info fs.FileInfo) (string, bool) {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false
	}
	target, err := os.Readlink(name)
	return target, err == nil
}

func pathParts(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == filepath.Separator })
}

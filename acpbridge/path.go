// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"path"
	"runtime"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// paths are the rules for the names of files on the client's machine, which need not be ours. All is done on strings; only
// links are looked up, and only where the client's machine can be this one.
type paths interface {
	// abs returns name, cleaned; a relative name begins at dir. The error is for the model.
	abs(dir, name string) (string, error)
	// contains reports whether the clean path name is dir or lies in it.
	contains(dir, name string) bool
	// rel returns name relative to dir if it lies in it, else name.
	rel(dir, name string) string
	// parent returns the directory of a clean path; that of a root is the root.
	parent(name string) string
	// fold returns name such that equal files have equal names, as far as the platform's rules tell.
	fold(name string) string
	// native reports whether these are the rules of this machine.
	native() bool
}

// pathsOf returns the rules that a session's working directory follows.
func pathsOf(cwd string) paths {
	if isWindowsPath(cwd) {
		return windowsPaths{}
	}
	return posixPaths{}
}

func (w *workspace) paths() paths { return pathsOf(w.Session.Cwd) }

// resolve returns the absolute path of a file that a model named, or tells it that the file is out of bounds. Links count
// by what they lead to; what is returned is the path as it was named, cleaned, because that is what editors know files by.
func (w *workspace) resolve(name string) (string, error) {
	p := w.paths()
	abs, err := p.abs(w.Session.Cwd, name)
	if err != nil {
		return "", err
	}
	real, err := realPath(p, abs)
	if err != nil {
		return "", toolset.Failed("The path %s cannot be used: %v", name, err)
	}
	dirs := append([]string{w.Session.Cwd}, w.Session.AdditionalDirectories...)
	for _, dir := range dirs {
		root, err := p.abs(w.Session.Cwd, dir)
		if err != nil {
			continue
		}
		if root, err = realPath(p, root); err == nil && p.contains(root, real) {
			return abs, nil
		}
	}
	if real != abs && p.contains(w.Session.Cwd, abs) {
		return "", toolset.Failed("The path %s is a link that leads out of the session's directories (%s). Use a file inside of them.", name, strings.Join(dirs, ", "))
	}
	return "", toolset.Failed("The path %s lies outside of the session's directories (%s). Use a file inside of them.", name, strings.Join(dirs, ", "))
}

// displayed is a path for people: short is relative where that is possible.
type displayed struct{ absolute, short string }

// display works for any name, allowed or not.
func (w *workspace) display(name string) displayed {
	abs, err := w.paths().abs(w.Session.Cwd, name)
	if err != nil {
		return displayed{name, name}
	}
	return displayed{abs, w.short(abs)}
}

func (w *workspace) short(abs string) string {
	p := w.paths()
	root, err := p.abs(w.Session.Cwd, w.Session.Cwd)
	if err != nil {
		return abs
	}
	return p.rel(root, abs)
}

// fileScope is the scope of rules about a file or directory.
func (w *workspace) fileScope(abs string) string { return w.paths().fold(abs) }

// parentScopes are the scopes of the directories that a file lies in.
func (w *workspace) parentScopes(abs string) []string {
	p := w.paths()
	var scopes []string
	for dir := p.parent(abs); ; dir = p.parent(dir) {
		scopes = append(scopes, p.fold(dir))
		if dir == p.parent(dir) {
			return scopes
		}
	}
}

// posixPaths are the rules of everything but Windows.
type posixPaths struct{}

func (posixPaths) abs(dir, name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if !path.IsAbs(name) {
		name = dir + "/" + name
	}
	return path.Clean(name), nil
}

func (posixPaths) contains(dir, name string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

func (p posixPaths) rel(dir, name string) string {
	if name == dir || !p.contains(dir, name) {
		return name
	}
	return strings.TrimPrefix(name[len(dir):], "/")
}

func (posixPaths) parent(name string) string { return path.Dir(name) }

func (posixPaths) fold(name string) string { return name }

func (posixPaths) native() bool { return runtime.GOOS != "windows" }

func checkName(name string) error {
	if name == "" {
		return toolset.Failed("The path is empty.")
	}
	if strings.ContainsRune(name, 0) {
		return toolset.Failed("The path contains a zero byte.")
	}
	return nil
}

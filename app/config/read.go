// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxSize is how many bytes a configuration file may have.
const MaxSize = 1 << 20

// ProjectFile returns the name of the project's file for a program, relative to the directory of a
// session.
func ProjectFile(program string) string { return ".agents/" + program + ".json" }

// ProjectPrompts is the directory of the project's prompts, relative to the directory of a session.
const ProjectPrompts = ".agents/prompts"

// UserDir returns the directory of the user's configuration of a program.
func UserDir(program string) (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, program), err
}

// ReadUser reads the file of a user. That it does not exist is [fs.ErrNotExist].
func ReadUser(file string) (*User, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|openNoWait, 0)
	data, err := read(f, err)
	if err != nil {
		return nil, unreadable(file, err)
	}
	return ParseUser(file, data)
}

// ReadProject reads the file of the project in a directory, for a program. It is nil if there is
// none. Links that lead out of the directory are not followed, so a project cannot show what else
// is on this machine.
func ReadProject(program, dir string) (*Project, error) {
	name := ProjectFile(program)
	file := filepath.Join(dir, filepath.FromSlash(name))
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil // the directory is not on this machine
	}
	defer root.Close()
	data, err := read(OpenIn(root, name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !linked(root, name):
		return nil, nil
	case err != nil:
		return nil, unreadable(file, err)
	}
	return ParseProject(file, data)
}

// linked reports whether the file of a project is a dangling link, as opposed to missing.
func linked(root *os.Root, file string) bool {
	for _, name := range []string{filepath.Dir(file), file} {
		if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// OpenIn opens a file or directory below another one. It never waits for a pipe.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
}

// read reads an open file, which guarantees that the checked file is the one read.
func read(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		err = fmt.Errorf("larger than %d bytes", MaxSize)
	}
	return data, err
}

func unreadable(file string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return &unreadableError{Problem{File: file, Text: "cannot be read: " + err.Error()}, err}
}

// unreadableError is a [*Problem] with a file itself.
type unreadableError struct {
	problem Problem
	err     error
}

func (e *unreadableError) Error() string   { return e.problem.Error() }
func (e *unreadableError) Unwrap() []error { return []error{&e.problem, e.err} }

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var (
	errDirectory     = errors.New("it is a directory")
	errNotExecutable = errors.New("it is not executable")
)

// executable is X_OK of access(2).
const executable = 1

// Lookup returns the path of the program that [Start] would run. It returns the same errors as
// Start. A relative path begins at the command's directory.
func Lookup(c Command) (string, error) {
	if c.Env == nil {
		c.Env = os.Environ()
	}
	program, err := lookup(c)
	if err != nil {
		return "", startError(c.Path, err)
	}
	return program, nil
}

// lookup returns the path of the program to run. The shell that starts it would report an error
// only on standard error.
func lookup(c Command) (string, error) {
	if strings.ContainsRune(c.Path, 0) {
		return "", ErrNoProgram
	}
	if strings.Contains(c.Path, "/") {
		at := c.Path
		if !filepath.IsAbs(at) {
			at = filepath.Join(c.Dir, at)
		}
		return c.Path, check(at)
	}
	if c.Path == "" {
		return "", errNotInPath
	}
	var denied error
	for dir := range strings.SplitSeq(variable(c.Env, "PATH"), ":") {
		// A relative directory depends on where the command runs: a program there is named with a slash.
		if !filepath.IsAbs(dir) {
			continue
		}
		at := filepath.Join(dir, c.Path)
		err := check(at)
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, ErrNoProgram) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", errNotInPath
}

// check reports why the file cannot be executed.
func check(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return ErrNoProgram
	case err != nil:
		return errors.Unwrap(err)
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular() || syscall.Access(file, executable) != nil:
		return errNotExecutable
	}
	return nil
}

// variable returns the value of an environment variable; the last one counts.
func variable(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// foreign returns the variables whose names are not names to a shell. Some shells do not pass these on.
func foreign(env []string) (odd []string) {
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if ok && name != "" && name[0] != '-' && strings.Trim(name, shellName) != "" || ok && name != "" && '0' <= name[0] && name[0] <= '9' {
			odd = append(odd, e)
		}
	}
	return odd
}

const shellName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

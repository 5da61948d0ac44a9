// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// installed reports whether the program of a server is there.
func (s *Servers) installed(server *Server) bool {
	_, ok := s.program(server)
	return ok
}

// program returns the path of a server's program.
func (s *Servers) program(server *Server) (string, bool) {
	name := server.Command[0]
	if filepath.IsAbs(name) {
		info, err := os.Stat(name)
		return name, err == nil && info.Mode().IsRegular()
	}
	if strings.ContainsAny(name, `/\`) {
		return "", false // a program of the project
	}
	env := s.config.Run.Env
	if env == nil {
		if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
			return found, true
		}
		env = os.Environ()
	}
	value := func(name string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
	dirs := filepath.SplitList(value("PATH"))
	dirs = append(dirs, value("GOBIN"))
	for _, path := range filepath.SplitList(value("GOPATH")) {
		dirs = append(dirs, filepath.Join(path, "bin"))
	}
	if home := value("HOME"); home != "" {
		for _, dir := range []string{"go/bin", ".local/bin", ".cargo/bin"} {
			dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
		}
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue // a directory of the project, perhaps
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, true
		}
	}
	return "", false
}

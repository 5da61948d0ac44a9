// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// missing says that the server is not installed, and how to install it.
func (s *Server) missing() string {
	text := s.Name + " is not installed."
	if s.Install != "" {
		text += " The user can install it with: " + s.Install
	}
	return text
}

// installed reports whether the program of a server is there. A program that was there a moment ago
// is not looked for again, because that takes a good part of the time of a call.
func (s *Servers) installed(server *Server) bool {
	now := time.Now()
	if seen, ok := s.seen.Load(server); ok && now.Sub(seen.(time.Time)) < seenFor {
		return true
	}
	_, ok := s.program(server)
	if ok {
		s.seen.Store(server, now)
	}
	return ok
}

// seenFor is how long a program that was found counts as installed.
const seenFor = time.Second

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

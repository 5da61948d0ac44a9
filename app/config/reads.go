// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path/filepath"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
)

// NamesOf returns a directory as it is named, and without symbolic links.
func NamesOf(dir string) []string {
	if real := approval.ResolveLinks(dir); real != filepath.Clean(dir) {
		return []string{dir, real}
	}
	return []string{dir}
}

// Reads returns what the rules of a user and of projects say about reading a file, in the form of
// [approval.Config.Reads]. Of several rules the strictest decides. Roots are the directories of the
// session.
func Reads(
	u *User, roots []string, projects []*Project,
) (func(path string) (verdict toolset.Verdict, reason string), error) {
	var names []string
	for _, root := range roots {
		names = append(names, NamesOf(root)...)
	}
	user, err := u.Permissions.Reads(names...)
	if err != nil {
		return nil, err
	}
	decide := []func(string) (toolset.Verdict, string){user}
	for _, p := range projects {
		own, err := p.Permissions.Reads(NamesOf(filepath.Dir(filepath.Dir(p.File)))...)
		if err != nil {
			return nil, err
		}
		decide = append(decide, own)
	}
	return func(path string) (verdict toolset.Verdict, reason string) {
		for _, d := range decide {
			if v, why := d(path); v == toolset.VerdictDeny || verdict == "" {
				verdict, reason = v, why
			}
			if verdict == toolset.VerdictDeny {
				break
			}
		}
		return verdict, reason
	}, nil
}

// Unreadable returns whether the rules of a user, and of the project in a directory, deny reading a
// file, for the sandbox of commands.
func Unreadable(program string, u *User, dir string) (func(path string) bool, error) {
	project, err := ReadProject(program, dir)
	if err != nil {
		return nil, err
	}
	var projects []*Project
	if project != nil {
		projects = append(projects, project)
	}
	reads, err := Reads(u, []string{dir}, projects)
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		verdict, _ := reads(path)
		return verdict == toolset.VerdictDeny
	}, nil
}

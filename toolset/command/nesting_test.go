// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// deeper puts a line into another one, in one of the ways in which a shell gets a line.
var deeper = map[string]func(line string) string{
	"an argument": func(line string) string { return "sh -c " + quoted(line) },
	"eval":        func(line string) string { return "eval " + quoted(line) },
	"a pipe":      func(line string) string { return "echo " + quoted(line) + " | sh" },
	"a document":  func(line string) string { return "sh <<< " + quoted(line) },
}

func quoted(line string) string { return "'" + strings.ReplaceAll(line, "'", `'\''`) + "'" }

// Lines in a line are read: three levels of them. A command with more may do anything.
func TestThreeLevelsOfLinesAreRead(t *testing.T) {
	for name, put := range deeper {
		line := "rm precious"
		for level := range 6 {
			effects := command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{})
			found := slices.ContainsFunc(effects, func(e model.Effect) bool {
				return e.Kind == model.EffectWrite && e.Path == "/repo/precious"
			})
			require.Equal(t, level <= 3, found, "%s: %s", name, line)
			anything := slices.ContainsFunc(effects, func(e model.Effect) bool {
				return e.Kind == model.EffectWrite && e.Path == "/"
			})
			if name == "an argument" || name == "eval" {
				require.Equal(t, level > 3, anything, "%s: %s", name, line)
			}
			line = put(line)
		}
	}
	line := "rm precious"
	for level := range 6 { // no shell reads the first of these
		effects := command.Effects(command.Command{Args: []string{"sh", "-c", line}, Dir: "/repo"}, command.Place{})
		found := strings.Contains(written(effects), " write:precious")
		require.Equal(t, level <= 2, found, line)
		line = deeper["an argument"](line)
	}
}

// What is at the edges of commands: options without files, words without a place, and what only
// looks as if a program configured something.
func TestEffectsAtTheEdgesOfCommands(t *testing.T) {
	for line, want := range map[string]string{
		"rm -rf":                "run:rm_-rf",
		"touch -a":              "run:touch_-a",
		"rm -":                  "run:rm_- unknown:rm_-",
		"rm -- -x":              "run:rm_--_-x unknown:rm_--_-x",
		"cp a":                  "run:cp_a write:a",
		"mv a":                  "run:mv_a write:a",
		"yarn set":              "run:yarn_set unknown:yarn_set",
		"yarn set version 4":    "run:yarn_set_version_4 write:.yarnrc.yml unknown:yarn_set_version_4",
		"jj init":               "run:jj_init unknown:jj_init read",
		"git -p":                "run:git_-p unknown:git_-p",
		`grep "\\d" a`:          `unknown:grep_\d_a`,
		"true":                  "run:true",
		"cd":                    "run:cd",
		"cd -":                  "run:cd_-",
		"cd -P sub; rm a":       "run:cd_-P_sub run:rm_a write:a write:sub/a write:a",
		`echo "\\"`:             `unknown:echo_\`,
		"ssh u@a.example x@b.c": "run:ssh_u@a.example_x@b.c unknown:ssh_u@a.example_x@b.c host:a.example host:b.c",
	} {
		got := written(command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{}))
		assert.Equal(t, want, got, line)
	}
}

// A session with one directory has titles like one with several, and one without any has no place
// to compare with.
func TestTitlesOfSessionsWithFewDirectories(t *testing.T) {
	inside := func(string) bool { return true }
	for _, c := range []struct {
		roots []string
		dir   string
		want  string
	}{
		{[]string{"/repo"}, "/repo", "exactly `deploy`"},
		{[]string{"/repo"}, "/repo/sub", "exactly `deploy` in sub"},
		{[]string{"/repo"}, "/more", "exactly `deploy` in /more"},
		{[]string{"/repo", "/more"}, "/more", "exactly `deploy` in /more"},
		{nil, "/repo", "exactly `deploy`"},
	} {
		s := command.ScopeOf(command.Command{Line: "deploy", Dir: c.dir}, command.Place{Roots: c.roots, Inside: inside})
		require.Equal(t, c.want, s.Title, c)
	}
	s := command.ScopeOf(command.Command{Line: "git status", Dir: "/repo"}, command.Place{Roots: []string{"/repo"}, Inside: inside})
	require.Equal(t, "git status", s.Scope)
}

// The lines that sed prints are no file, whatever files have their names.
func TestLinesThatArePrintedAreNoFile(t *testing.T) {
	place := command.Place{Roots: []string{"/repo"}, Inside: func(path string) bool { return path != "/repo/1,5p" }}
	at := func(line string) string {
		return command.ScopeOf(command.Command{Line: line, Dir: "/repo"}, place).Scope
	}
	require.Equal(t, "sed -n", at("sed -n 1,5p a.txt"))
	require.Equal(t, "sed -n", at("sed -n 1,5p"))
	require.Contains(t, at("sed -n 1,5p 1,5p"), "exactly ")
	require.Contains(t, at("sed -n a.txt"), "exactly ")
}

// Backslashes between double quotes are not the same to all shells and programs, so a word with two
// of them is not a literal.
func TestTwoBackslashesAreNoLiteral(t *testing.T) {
	p := project(t)
	for line, named := range map[string]bool{
		`grep "\d" a.txt`: true, `grep "a\\d" a.txt`: false, `grep "\\d" a.txt`: false, `grep "\\" a.txt`: false, `grep '\\d' a.txt`: true,
	} {
		require.Equal(t, named, len(command.ScopeOf(at(p, line), p).Covers) == 1, line)
	}
}

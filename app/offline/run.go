// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

type runArgs struct {
	// Command is a whole line: the tool knows whether it needs a shell, and which one there is.
	Command string `json:"command"`
}

func (s *script) run(command string) bool {
	result, ok := s.call(toolRun, "run "+code(command), runArgs{command})
	if !ok {
		return false
	}
	output, how := ending(result)
	s.say("I ran %s%s", code(command), how)
	if output == "" {
		s.say(".\n\n")
		return true
	}
	shown, left := tail(output, 20)
	if left > 0 {
		s.say(". The last 20 of %s", count(left+20, "line"))
	}
	s.say(":\n\n%s", block("", shown))
	return true
}

// ending takes the last line, which says in brackets how a command has ended, off its output.
func ending(result string) (output, how string) {
	result = strings.TrimRight(result, "\n")
	i := strings.LastIndexByte(result, '\n')
	last := result[i+1:]
	if !strings.HasPrefix(last, "[") || !strings.HasSuffix(last, "]") {
		return result, ""
	}
	output = strings.Trim(result[:max(i, 0)], "\n")
	if output == "[no output]" {
		output = ""
	}
	return output, ": " + last[1:len(last)-1]
}

// testCommands are how the tests of a project are run, by a file that it has.
var testCommands = []struct{ file, command string }{
	{"go.mod", "go test ./..."}, {"go.work", "go test ./..."}, {"Cargo.toml", "cargo test"}, {
		"package.json", "npm test",
	}, {"deno.json", "deno test"},
	{"pyproject.toml", "python -m pytest"}, {"pytest.ini", "python -m pytest"}, {
		"setup.py", "python -m pytest",
	}, {"tox.ini", "python -m pytest"},
	{"pom.xml", "mvn test"}, {"gradlew", "./gradlew test"}, {"build.gradle", "gradle test"}, {
		"build.gradle.kts", "gradle test",
	}, {"mix.exs", "mix test"},
	{"Gemfile", "bundle exec rake test"}, {"Rakefile", "rake test"}, {
		"composer.json", "composer test",
	}, {"Package.swift", "swift test"}, {"Makefile", "make test"},
}

// tests looks at the project, and runs its tests as projects of its kind do.
func (s *script) tests() bool {
	found, ok := s.call(toolList, "look which tests there are", listArgs{Path: "."})
	if !ok {
		return false
	}
	files := strings.Split(found, "\n")
	for _, t := range testCommands {
		if slices.Contains(files, t.file) {
			s.say("There is a %s, so the tests are run with %s.\n\n", code(t.file), code(t.command))
			return s.run(t.command)
		}
	}
	s.say("I cannot tell how the tests of this project are run. Say it in full, for example `run make check`.\n\n")
	return false
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

// Words that tell a description from a text. `search the bug` does not ask for the text "the bug".
var (
	determiners = []string{
		"a", "an", "the", "some", "any", "all", "every", "each", "my", "your", "our", "its", "his", "her", "their", "this", "that", "these",
		"those", "another", "both", "two", "three", "several", "many", "few", "lots",
	}
	conjunctions = []string{
		"that", "which", "who", "whose", "why", "how", "if", "whether", "unless", "until", "while", "because", "but", "instead", "except", "please",
		"thanks", "and", "or", "then", "also", "not", "never", "don't", "without", "after", "before", "otherwise", "else",
	}
	// contents are what people ask to be invented.
	contents = []string{
		"tests", "test", "code", "function", "functions", "class", "classes", "comments", "comment", "docs", "documentation", "imports", "examples",
		"example", "boilerplate", "data", "stuff", "something", "everything", "anything", "content", "contents", "methods", "method", "handling",
		"implementation", "program", "script", "function.", "poem", "story", "summary", "essay",
	}
	// prose are words that appear in sentences and hardly ever in command lines.
	prose = []string{
		"the", "an", "my", "your", "our", "this", "that", "these", "those", "which", "who", "why", "how", "if", "whether", "unless", "until", "while",
		"because", "but", "instead", "except", "please", "thanks", "and", "or", "then", "also", "for", "me", "it", "with", "without", "using", "in",
		"on", "at", "of", "from", "to", "is", "are", "again", "twice", "times", "not", "never", "don't", "everything", "when", "after", "before",
		"should", "must", "again,", "once",
	}
)

// describes reports whether unquoted tokens describe a text rather than be one.
func describes(tokens []token) bool {
	if len(tokens) > 1 && tokens[0].is(determiners...) {
		return true
	}
	return len(tokens) > 1 && slices.ContainsFunc(tokens, func(t token) bool { return t.kind != quoted && t.is(conjunctions...) })
}

// invents reports whether unquoted tokens describe contents for a file.
func invents(tokens []token) bool {
	return describes(tokens) || len(tokens) > 1 && number(tokens[0]) > 0 || slices.ContainsFunc(tokens, func(t token) bool { return t.is(contents...) })
}

// programs are commands that people type as they stand. Those whose names are also words of
// sentences have the words that must follow.
var programs = map[string][]string{
	"go": {
		"test", "build", "vet", "run", "mod", "env", "fmt", "generate", "version", "list", "get",
		"install", "doc", "tool", "work", "clean", "fix", "telemetry",
	},
	"git": nil, "npm": nil, "npx": nil, "yarn": nil, "pnpm": nil, "node": nil, "deno": nil, "bun": nil, "cargo": nil, "rustc": nil, "python": nil,
	"python3": nil, "pytest": nil, "pip": nil, "pip3": nil, "uv": nil, "cmake": nil, "ctest": nil, "mvn": nil, "gradle": nil, "docker": nil, "kubectl": nil,
	"podman": nil, "pwd": nil, "rg": nil, "sed": nil, "awk": nil, "wc": nil, "mkdir": nil, "rm": nil, "rmdir": nil, "cp": nil, "mv": nil, "chmod": nil, "ps": nil,
	"whoami": nil, "uname": nil, "hostname": nil, "du": nil, "df": nil, "curl": nil, "wget": nil, "tar": nil, "gh": nil, "terraform": nil, "dotnet": nil, "ruby": nil,
	"rake": nil, "bundle": {"exec", "install", "update"}, "php": nil, "composer": {
		"install", "update", "test", "require",
	}, "java": nil, "javac": nil, "gcc": nil,
	"clang": nil, "gofmt": nil, "goimports": nil, "staticcheck": nil, "golangci-lint": nil, "tsc": nil, "eslint": nil, "ruff": nil, "mypy": nil, "jest": nil,
	"vitest": nil, "sh": nil, "bash": nil, "zsh": nil, "echo": nil, "printf": nil, "ls": nil, "mix": nil, "swift": {"test", "build", "run"}, "xcodebuild": nil,
}

// startsProgram reports whether the tokens begin with a command that is known, or with the path of
// one.
func startsProgram(tokens []token) bool {
	if len(tokens) == 0 || tokens[0].kind != word {
		return false
	}
	name := strings.TrimSuffix(trimSentence(tokens[0].text), "?")
	if strings.HasPrefix(name, "./") && len(name) > 2 && !strings.HasPrefix(name, "./.") {
		return len(tokens) > 1 || !strings.Contains(name[2:], ".") || strings.HasSuffix(name, ".sh")
	}
	if name == "make" {
		return len(tokens) == 1 || isTarget(tokens[1])
	}
	next, known := programs[name]
	return known && (next == nil || len(tokens) > 1 && slices.Contains(next, tokens[1].plain()))
}

// isTarget reports whether a token may be a target of make.
func isTarget(t token) bool {
	return t.kind != word || !t.is(prose...) && !t.is(determiners...) && !t.is(
		"sure", "changes", "something", "everything", "new", "file", "sense", "one",
	)
}

// operators are what only command lines have.
func hasOperator(tokens []token) bool {
	for _, t := range tokens {
		if t.kind == word && (strings.HasPrefix(t.text, "-") && t.text != "->" && !listMarker().MatchString(t.text) ||
			t.text == "|" || t.text == "||" || t.text == "&&" || t.text == ">" || t.text == ">>" || t.text == "<" || strings.HasPrefix(t.text, "$(")) {
			return true
		}
	}
	return false
}

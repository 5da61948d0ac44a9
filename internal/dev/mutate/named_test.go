// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const brokenRule = `# A comment.

rule: Own squares.
file: a/a.go
test: a TestOwn
---
func Own(n int) int { return n * n }
+++
func Own(n int) int {
	return n + n
}
===
`

func TestNamedMutantsAreRead(t *testing.T) {
	all, err := parseNamed("x.txt", brokenRule)
	require.NoError(t, err)
	require.Equal(t, []namedMutant{{
		at: "x.txt:3", rule: "Own squares.", file: "a/a.go", dir: "a", test: "TestOwn",
		find: "func Own(n int) int { return n * n }", put: "func Own(n int) int {\n\treturn n + n\n}",
	}}, all)
	for _, text := range []string{
		"file: x\n",
		"rule: r\nfile: f\ntest: TestX\n---\na\n+++\nb\n===\n",
		"rule: r\nfile: f\ntest: d TestX\na\n+++\nb\n===\n",
		"rule: r\nfile: f\ntest: d TestX\n---\na\n+++\nb\n",
		"rule: r\nfile: f\ntest: d TestX\n---\na\n+++\na\n===\n",
		"rule: r\nfile: f\ntest: d TestX\n---\n+++\na\n===\n",
	} {
		_, err := parseNamed("x.txt", text)
		require.Error(t, err, text)
	}
}

func TestNamedTestMustFailUnderItsMutant(t *testing.T) {
	runsGo(t)
	root := module(t)
	dir := filepath.Join(root, "named")
	require.NoError(t, os.Mkdir(dir, 0o700))
	r := &runner{root: root, scratch: t.TempDir()}
	try := func(text string) error {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.txt"), []byte(text), 0o600))
		return runNamed(t.Context(), r, dir, regexp.MustCompile(""), options{workers: 1})
	}
	require.NoError(t, try(brokenRule))
	const head, tail = "rule: r\nfile: a/a.go\ntest: ", "\n---\nn - n\n+++\nn + n\n===\n"
	require.ErrorContains(t, try(head+"a TestOwn"+tail), "not every rule is kept", "the test passes under the mutant")
	require.ErrorContains(t, try(head+"a TestMissing"+tail), "does not pass without a mutant")
	require.ErrorContains(t, try("rule: r\nfile: a/a.go\ntest: a TestOwn\n---\nnowhere\n+++\nx\n===\n"), "not every rule is kept")
}

// Each mutant of the list can be made, and its test exists. That the tests fail is shown by the command itself.
func TestNamedMutantsFitTheCode(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	all, err := readNamed(filepath.Join(root, own, "named"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 25)
	for _, m := range all {
		_, err := m.source(root)
		assert.NoError(t, err, "%s\nRewrite the mutant with the code.", m.rule)
		tests, err := filepath.Glob(filepath.Join(root, m.dir, "*_test.go"))
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(tests, func(path string) bool {
			data, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(data), "func "+m.test+"(")
		}), "%s: there is no %s in %s", m.at, m.test, m.dir)
	}
}

// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// files calls f for the files of the repository, with their path from its root.
func files(t *testing.T, f func(path string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "node_modules", ".venv", "bin"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		f(filepath.ToSlash(path))
		return nil
	})
	require.NoError(t, err)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// pinned is an action with a whole version, or a commit.
var pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})$`)

func TestWorkflowsPinTheirActions(t *testing.T) {
	found := 0
	files(t, func(path string) {
		if !strings.HasPrefix(path, ".github/workflows/") {
			return
		}
		for line := range strings.Lines(read(t, path)) {
			if _, action, ok := strings.Cut(line, "uses:"); ok {
				found++
				require.Regexp(t, pinned, strings.TrimSpace(action), path)
			}
		}
	})
	require.NotZero(t, found)
}

// Nested modules are developed together with the main one, so they must use the work tree and not a published version.
func TestNestedModulesUseTheWorkTree(t *testing.T) {
	found := 0
	requirement := regexp.MustCompile(`(?m)^\s*(?:require )?(` + regexp.QuoteMeta(module) + `\S*) v`)
	files(t, func(path string) {
		if filepath.Base(path) != "go.mod" || path == "go.mod" || strings.Contains(path, "testdata/") {
			return
		}
		found++
		text := read(t, path)
		for _, match := range requirement.FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `(?m)`+regexp.QuoteMeta(match[1])+` => \.\.?/`, text, "%s: replace %s with its directory", path, match[1])
		}
	})
	require.NotZero(t, found)
}

// TestNestedModulesAreTestedByTheScript finds tests that nobody runs: go test ./... leaves nested modules out.
func TestNestedModulesAreTestedByTheScript(t *testing.T) {
	script := read(t, ".ci/run")
	var modules, tests []string
	files(t, func(path string) {
		switch {
		case strings.HasPrefix(path, "internal/bench/"), strings.HasPrefix(path, "examples/demo/"): // benchmarks; fails on purpose
		case strings.HasSuffix(path, "/go.mod") && !strings.Contains(path, "testdata/"):
			modules = append(modules, filepath.ToSlash(filepath.Dir(path)))
		case strings.HasSuffix(path, "_test.go"):
			tests = append(tests, path)
		}
	})
	require.NotEmpty(t, modules)
	for _, m := range modules {
		if slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, m+"/") }) {
			require.True(t, strings.Contains(script, "(cd "+m+" && "), "no stage of .ci/run tests %s: add (cd %[1]s && go test ./...)", m)
		}
	}
}

// TestNoBuiltProgramsAreCommitted keeps programs that somebody built in the clone, and other large files, out of the repository.
func TestNoBuiltProgramsAreCommitted(t *testing.T) {
	root := filepath.Join("..", "..")
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is not a clone:", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil { // otherwise it is about to be removed
			require.LessOrEqual(t, info.Size(), int64(1<<20), "%s: is it a program that was built here?", name)
		}
	}
}

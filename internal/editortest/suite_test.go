// SPDX-License-Identifier: Apache-2.0

package editortest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/editortest"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/workspacetest"
)

// told runs a test inside another one, and returns what it says.
func told(t *testing.T, f func(*testing.T)) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	all := func(string, string) (bool, error) { return true, nil }
	verbose := flag.Lookup("test.v").Value.String()
	require.NoError(t, flag.Set("test.v", "true")) // so that skips are told
	defer func() { _ = flag.Set("test.v", verbose) }()
	ran := false
	testing.RunTests(all, []testing.InternalTest{{Name: "inner", F: func(t *testing.T) {
		if ran {
			return // with -count
		}
		ran = true
		f(t)
	}}})
	require.NoError(t, file.Close())
	data, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !notTold.MatchString(line) {
			b.WriteString(seconds.ReplaceAllString(where.ReplaceAllString(line, " "), ""))
		}
	}
	return b.String()
}

var (
	notTold = regexp.MustCompile(`^\s*(=== |--- PASS)`)
	seconds = regexp.MustCompile(`\(\d+\.\d+s\)`)
	where   = regexp.MustCompile(`\s+\w+\.go:\d+: `)
)

// rooted is a workspace in memory that says what it can do.
type rooted struct {
	workspace.Workspace
	can workspace.Features
}

func (r rooted) Features() workspace.Features { return r.can }

// TestWhatSuitesTell has what the law of files tells as a test: which files are checked, what is skipped, and what is wrong.
func TestWhatSuitesTell(t *testing.T) {
	if testing.Short() {
		t.Skip("without the large file the suites tell less")
	}
	var b strings.Builder
	for _, c := range []struct {
		name string
		make func(env *workspacetest.Env)
		fail int // the environment that is not made
	}{
		{"no environment", nil, 1},
		{"no second environment", nil, 2},
		{"capitals", func(env *workspacetest.Env) {
			l := &liar{Workspace: env.Workspace}
			lies["it writes capitals"](l, env)
			env.Workspace = l
		}, 0},
		{"it cannot write", func(env *workspacetest.Env) { env.Workspace = rooted{env.Workspace, workspace.Features{Read: true}} }, 0},
		{"permissions", func(env *workspacetest.Env) {
			env.Deny = func(string, os.FileMode) error { return errLie }
		}, 0},
	} {
		made, closed := 0, 0
		var editors []bool
		out := told(t, func(t *testing.T) {
			editortest.RunTruths(t, func() *editortest.Editor { return &editortest.Editor{} }, func(e *editortest.Editor) (*workspacetest.Env, error) {
				if made++; made == c.fail {
					return nil, errLie
				}
				editors = append(editors, e != nil)
				w, err := workspace.NewMemory(workspace.MemoryConfig{})
				if err != nil {
					return nil, err
				}
				env := &workspacetest.Env{Workspace: w, Disk: w.Disk(), Close: func() { closed++ }}
				if e.Disk = w.Disk(); c.make != nil {
					c.make(env)
				}
				return env, nil
			})
		})
		require.NotContains(t, editors, false)
		if c.fail == 2 {
			out, _, _ = strings.Cut(out, "--- FAIL: inner/CRLF")
		}
		fmt.Fprintf(&b, "# %s: %d made, %d closed\n%s\n", c.name, made, closed, out)
	}
	// Without an editor there is a large file, too, unless tests are short.
	made := 0
	out := told(t, func(t *testing.T) {
		editortest.RunTruths(t, nil, func(e *editortest.Editor) (*workspacetest.Env, error) {
			require.Nil(t, e)
			if made++; made > 1 {
				return nil, errLie
			}
			return &workspacetest.Env{}, nil
		})
	})
	fmt.Fprintf(&b, "# nothing: %d made\n%s\n", made, out)
	golden(t, "suite", b.String())
}

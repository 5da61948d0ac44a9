// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/examples/ideagent/internal/workspace"
	"github.com/ponte-go/ponte/toolset"
)

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

var project = map[string]string{
	"main.go":               "package main\n\nfunc main() { Greet() }\n",
	"lib/greet.go":          "package lib\n\n// Greet greets.\nfunc Greet() {}\r\n",
	"lib/deep/x.txt":        "greet\n",
	".git/config":           "Greet",
	"node_modules/a/b.js":   "Greet",
	"data.bin":              "Greet\x00",
	"lib/node_modules/c.js": "Greet",
}

func TestList(t *testing.T) {
	dir := tree(t, project)
	for _, c := range []struct {
		in   workspace.ListArgs
		want string
	}{
		{workspace.ListArgs{}, "data.bin\nlib/\nmain.go\n"},
		{workspace.ListArgs{Path: "lib"}, "lib/deep/\nlib/greet.go\n"},
		{workspace.ListArgs{Path: filepath.Join(dir, "lib")}, "lib/deep/\nlib/greet.go\n"},
		{workspace.ListArgs{Path: "lib/", Recursive: true}, "lib/deep/\nlib/deep/x.txt\nlib/greet.go\n"},
		{workspace.ListArgs{Pattern: "*.go"}, "lib/greet.go\nmain.go\n"},
		{workspace.ListArgs{Pattern: "lib/*/*.txt"}, "lib/deep/x.txt\n"},
		{workspace.ListArgs{Pattern: "*.rs"}, "(no files)\n"},
		{workspace.ListArgs{Path: "main.go"}, "main.go\n"},
	} {
		got, err := workspace.List(t.Context(), dir, c.in)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c.in)
	}
}

func TestSearch(t *testing.T) {
	dir := tree(t, project)
	left := "(files left out because they are no text: 1)\n"
	for _, c := range []struct {
		in   workspace.SearchArgs
		want string
	}{
		{workspace.SearchArgs{Text: "Greet()"}, "lib/greet.go:4: func Greet() {}\nmain.go:3: func main() { Greet() }\n" + left},
		{workspace.SearchArgs{Text: "GREET", IgnoreCase: true, Path: "lib"},
			"lib/deep/x.txt:1: greet\nlib/greet.go:3: // Greet greets.\nlib/greet.go:4: func Greet() {}\n"},
		{workspace.SearchArgs{Text: "Greet", Pattern: "main*"}, "main.go:3: func main() { Greet() }\n"},
		{workspace.SearchArgs{Text: "Greet", Path: "main.go"}, "main.go:3: func main() { Greet() }\n"},
		{workspace.SearchArgs{Text: "nowhere"}, "(not found; files searched: 3)\n" + left},
	} {
		got, err := workspace.Search(t.Context(), dir, c.in)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c.in)
	}
}

func TestNothingOutsideIsSeen(t *testing.T) {
	outside := tree(t, map[string]string{"secret.txt": "secret"})
	dir := tree(t, map[string]string{"a.txt": "open"})
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link.txt")))
	for _, path := range []string{"linked", "link.txt", "..", "../" + filepath.Base(outside), outside, "/"} {
		_, err := workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "secret", Path: path})
		_, failed := errors.AsType[*toolset.FailedError](err)
		require.True(t, failed, "%s: %v", path, err)
		_, err = workspace.List(t.Context(), dir, workspace.ListArgs{Path: path})
		require.Error(t, err, path)
	}
	got, err := workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "secret"})
	require.NoError(t, err)
	require.Equal(t, "(not found; files searched: 1)\n", got)
}

func TestResultsAreBoundedAndSaySo(t *testing.T) {
	files := map[string]string{"long.txt": strings.Repeat("needle\n", 150) + strings.Repeat("x", 10_000)}
	for i := range 600 {
		files[fmt.Sprintf("many/%03d.txt", i)] = ""
	}
	dir := tree(t, files)
	got, err := workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "needle"})
	require.NoError(t, err)
	require.Equal(t, 101, strings.Count(got, "\n"))
	require.Contains(t, got, "(stopped at 100 matches")
	got, err = workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "xxx"})
	require.NoError(t, err)
	require.Less(t, len(got), 1000)
	got, err = workspace.List(t.Context(), dir, workspace.ListArgs{Path: "many"})
	require.NoError(t, err)
	require.Equal(t, 501, strings.Count(got, "\n"))
	require.Contains(t, got, "(stopped at 500 files")
	require.NoError(t, os.Truncate(filepath.Join(dir, "long.txt"), 5<<20))
	got, err = workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "needle", Path: "long.txt"})
	require.NoError(t, err)
	require.Contains(t, got, "(files left out because they are larger than 4 MiB: 1)")
}

func TestMistakesAreExplained(t *testing.T) {
	dir := tree(t, project)
	_, err := workspace.List(t.Context(), dir, workspace.ListArgs{Path: "missing"})
	require.ErrorContains(t, err, "missing does not exist")
	_, err = workspace.List(t.Context(), dir, workspace.ListArgs{Pattern: "[a"})
	require.ErrorContains(t, err, `pattern "[a" is malformed`)
	_, err = workspace.Search(t.Context(), dir, workspace.SearchArgs{Text: "a\nb"})
	require.ErrorContains(t, err, "line breaks")
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err = workspace.Search(ctx, dir, workspace.SearchArgs{Text: "a"})
	require.ErrorIs(t, err, why)
}

func TestTheToolsAreWellDefined(t *testing.T) {
	ts := workspace.Toolset[deps.ACPDeps]()
	run := &toolset.RunContext[deps.ACPDeps]{Deps: deps.ACPDeps{Session: &deps.Session{Cwd: tree(t, project)}}}
	instance, err := ts.Open(t.Context(), run)
	require.NoError(t, err)
	listing, err := instance.Tools(t.Context(), run)
	require.NoError(t, err)
	require.Len(t, listing.Tools, 2)
	for _, tool := range listing.Tools {
		require.NoError(t, tool.Err())
		require.Equal(t, toolset.KindSearch, tool.Kind)
		require.Contains(t, string(tool.Def.Schema), "relative to the working directory")
	}
	args, err := listing.Tools[1].Decode([]byte(`{"text":"Greet()","path":"main.go"}`))
	require.NoError(t, err)
	result, err := listing.Tools[1].Call(t.Context(), run, args)
	require.NoError(t, err)
	require.Equal(t, "main.go:3: func main() { Greet() }\n", result.Text)

	_, err = listing.Tools[1].Call(t.Context(), &toolset.RunContext[deps.ACPDeps]{}, args)
	require.NoError(t, err, "a failure is a result that the model is told")
}

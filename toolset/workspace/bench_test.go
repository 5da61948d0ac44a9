// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// size returns how much work a benchmark has. The figures of docs/design.md are those of
// WORKSPACE_BENCH=100.
func size(b *testing.B, unit int) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("WORKSPACE_BENCH"))
	if err != nil || n < 1 {
		n = 1
	}
	return n * unit
}

// onDisk returns a function that calls a tool on a directory of this machine.
func onDisk(b *testing.B, dir string) func(tool string, a args) string {
	b.Helper()
	ws, err := local.Open(local.Config{Roots: []string{dir}, NoCommands: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, ws.Close()) })
	session := workspace.NewSession(ws)
	b.Cleanup(func() { require.NoError(b, session.Close(context.Background())) })
	run := &toolset.RunContext[deps]{Deps: deps{session}}
	in, err := workspace.Tools(deps.Session).Open(b.Context(), run)
	require.NoError(b, err)
	listing, err := in.Tools(b.Context(), run)
	require.NoError(b, err)
	return func(tool string, a args) string {
		raw, err := json.Marshal(a)
		require.NoError(b, err)
		for _, t := range listing.Tools {
			if t.Def.Name == tool {
				decoded, err := t.Decode(raw)
				require.NoError(b, err)
				res, err := t.Call(b.Context(), run, decoded)
				require.NoError(b, err)
				return res.Text
			}
		}
		b.Fatal("no tool", tool)
		return ""
	}
}

// ripgrep runs rg as a benchmark to compare with.
func ripgrep(b *testing.B, dir string, arguments ...string) {
	b.Run("ripgrep", func(b *testing.B) {
		rg, err := exec.LookPath("rg")
		if err != nil {
			b.Skip("needs ripgrep")
		}
		for b.Loop() {
			cmd := exec.Command(rg, append([]string{"--hidden", "--no-require-git", "--threads=2"}, arguments...)...)
			cmd.Dir = dir
			_ = cmd.Run() // which fails if there is no match
		}
	})
}

// The tree has a directory for each 100 files. Nothing matches the glob, so every name is looked
// at.
func BenchmarkListFiles(b *testing.B) {
	dir := b.TempDir()
	n := size(b, 1000)
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i/1000, i/100))
		if i%100 == 0 {
			require.NoError(b, os.MkdirAll(sub, 0o755))
		}
		require.NoError(b, os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%d.txt", i)), nil, 0o644))
	}
	require.NoError(b, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n/build/\n"), 0o644))
	b.Run("ponte", func(b *testing.B) {
		call := onDisk(b, dir)
		for b.Loop() {
			require.Equal(b, "[no files]\n", call("list_files", args{"pattern": "*.rs"}))
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "files/s")
	})
	ripgrep(b, dir, "--files", "-g", "*.rs")
}

// The files have 1 MiB each.
func BenchmarkSearchFiles(b *testing.B) {
	dir := b.TempDir()
	n := size(b, 10)
	var text strings.Builder
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, "func line%d(ctx context.Context) error { return nil } // and a comment\n", i)
	}
	for i := range n {
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), []byte(text.String()), 0o644))
	}
	for name, a := range map[string]args{
		"literal": {"pattern": "no such text anywhere", "literal": true}, "regexp": {"pattern": `line[0-9]+x\(`}, "ignore case": {"pattern": "NO SUCH TEXT", "literal": true, "ignore_case": true},
	} {
		b.Run(name, func(b *testing.B) {
			b.Run("ponte", func(b *testing.B) {
				call := onDisk(b, dir)
				b.SetBytes(int64(n) << 20)
				for b.Loop() {
					require.Contains(b, call("search_files", a), "No matches")
				}
			})
			arguments := []string{a["pattern"].(string)}
			if a["literal"] == true {
				arguments = append(arguments, "-F")
			}
			if a["ignore_case"] == true {
				arguments = append(arguments, "-i")
			}
			ripgrep(b, dir, arguments...)
		})
	}
}

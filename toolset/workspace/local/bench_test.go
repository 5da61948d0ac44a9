// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// BenchmarkWalk lists 100,000 files in 1,000 directories.
func BenchmarkWalk(b *testing.B) {
	w, root := open(b, local.Config{NoCommands: true})
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprintf("a%d/b%d", i%30, i))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		for j := range 100 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", j)), nil, 0o644))
		}
	}
	for b.Loop() {
		n := 0
		for _, err := range w.Walk(b.Context(), ".", workspace.WalkOptions{}) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 101_030, n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w, root := open(b, local.Config{NoCommands: true})
			defer local.SetSettled(0)()
			put(b, filepath.Join(root, "a/b/c/f"), string(bytes.Repeat([]byte("x"), size)))
			buf := make([]byte, size+1)
			for b.Loop() {
				_, err := w.Read(b.Context(), "a/b/c/f", workspace.Range{Limit: len(buf), Buf: buf})
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	w, _ := open(b, local.Config{NoCommands: true})
	data := bytes.Repeat([]byte("x"), 10_000)
	for b.Loop() {
		_, err := w.Write(b.Context(), "a/f", data, workspace.AnyVersion)
		require.NoError(b, err)
	}
}

func BenchmarkStat(b *testing.B) {
	w, root := open(b, local.Config{NoCommands: true})
	defer local.SetSettled(0)()
	put(b, filepath.Join(root, "a/b/c/f"), "x")
	for b.Loop() {
		_, err := w.Stat(b.Context(), "a/b/c/f")
		require.NoError(b, err)
	}
}

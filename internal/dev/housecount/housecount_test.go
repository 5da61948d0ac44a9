// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

func count(t *testing.T, files map[string]string) *house {
	t.Helper()
	root := t.TempDir()
	write(t, root, files)
	h, err := read(root)
	require.NoError(t, err)
	return h
}

// TestExportedSymbolsAreThoseOfTheDocumentation has every kind of declaration, exported and not.
func TestExportedSymbolsAreThoseOfTheDocumentation(t *testing.T) {
	h := count(t, map[string]string{
		"a/a.go": `package a
const A, b = 1, 2
var C, _ = 3, 4
type D struct{ Field int }
func (D) Method() {}
func (*D) hidden() {}
type E[T any] []T
func (e *E[T]) Method() {}
type F[K, V any] map[K]V
func (F[K, V]) Method() {}
type g struct{}
func (g) Method() {}
type H interface{ Ask() }
func I() {}
func j() {}
`,
		"a/a_windows.go": "package a\nfunc I() {}\n",
		"a/a_test.go":    "package a\nfunc TestX() {}\n",
	})
	require.Len(t, h.public(), 1)
	require.Equal(t, map[string]bool{"A": true, "C": true, "D": true, "D.Method": true, "E": true, "E.Method": true, "F": true, "F.Method": true, "H": true, "I": true}, h.public()[0].symbols)
}

func TestPublicPackagesAreThoseThatOthersCanImport(t *testing.T) {
	h := count(t, map[string]string{
		"a/a.go": "package a\n", "a/internal/b/b.go": "package b\n", "internal/c/c.go": "package c\n", "examples/d/d.go": "package d\n",
		"e/main.go": "package main\n", "f/g/g.go": "package g\n", "f/testdata/h.go": "no Go", "f/_x/h.go": "no Go", ".x/h.go": "no Go",
	})
	var dirs []string
	for _, p := range h.public() {
		dirs = append(dirs, p.dir)
	}
	require.Equal(t, []string{"a", "f/g"}, dirs)
}

func TestTwinsHaveTheSameFields(t *testing.T) {
	const fields = "A, B int; C string; D []other.T; E, F bool"
	h := count(t, map[string]string{
		"a/a.go": "package a\ntype One struct { " + fields + " }\ntype two struct { A int `json:\"a\"`; B int; C string; D []T; E, F bool; G int }\n",
		"b/b.go": "package b\ntype Less struct { A, B int; C string; D []T }\ntype Other struct { A, B string; C string; D []T; E, F bool }\n",
		"c/c.go": "package c\ntype S struct { A, B, C int }\ntype T struct { A, B, C int }\n",
		"d/d.go": "package d\ntype U struct { A, B, C int; other.E }\n", "e/e.go": "package e\ntype V struct { A, B, C int; E }\n",
	})
	require.Equal(t, []twin{{"d.U", "e.V", 1}, {"a.One", "a.two", 6.0 / 7}}, h.twins())
}

func TestLinesAreCounted(t *testing.T) {
	h := count(t, map[string]string{
		"a/a.go":      "package a\n\n// " + strings.Repeat("é", 97) + "\n// " + strings.Repeat("é", 98) + "\n\t// " + strings.Repeat("x", 93) + "\n\t// " + strings.Repeat("x", 94) + "\n",
		"a/a_test.go": "package a\n",
	})
	require.Equal(t, [2]int{6, 2}, [2]int{h.lines, h.long})
	var out bytes.Buffer
	h.print(&out, true, true)
	require.Equal(t, `lines of Go without tests  6
over 100 columns           33.3 %
public packages            1
exported symbols           0
struct twins               0

    0  a

`, out.String())
}

// TestRepositoryCanBeCounted reads this repository.
func TestRepositoryCanBeCounted(t *testing.T) {
	h, err := read(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	require.Greater(t, h.lines, 100_000)
	require.Contains(t, h.packages["agent"].symbols, "Agent.Run")
	for _, p := range h.public() {
		require.NotContains(t, p.dir, "internal/")
	}
}

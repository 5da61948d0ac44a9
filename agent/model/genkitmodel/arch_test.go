// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// genkit.Init handles signals, panics without a key and replaces a global tracer provider. Only a program may call it.
func TestNoLibraryCodeCallsInit(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "examples"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil // other tests report that
		}
		genkit := ""
		for _, i := range file.Imports {
			if i.Path.Value == `"github.com/firebase/genkit/go/genkit"` {
				if genkit = "genkit"; i.Name != nil {
					genkit = i.Name.Name
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && genkit != "" && s.Sel.Name == "Init" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == genkit {
					t.Errorf("%s calls genkit.Init", path)
				}
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 50, "the whole module is searched")
}

// A program links only the SDK of the provider it uses.
func TestDialectLinksOnlyItsSDK(t *testing.T) {
	sdks := map[string]string{
		"openai": "github.com/openai/openai-go", "anthropic": "github.com/anthropics/anthropic-sdk-go",
		"google": "google.golang.org/genai", "grpc": "google.golang.org/grpc", "plugins": "github.com/firebase/genkit/go/plugins",
	}
	for pkg, own := range map[string][]string{
		".": {}, "./openaidialect": {"openai", "plugins"}, "./anthropicdialect": {"anthropic", "plugins"},
		"./googledialect": {"google", "grpc", "plugins"}, "./ollamadialect": {"plugins"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
		require.NoError(t, err)
		for name, path := range sdks {
			linked := strings.Contains("\n"+string(out), "\n"+path)
			require.Equal(t, slices.Contains(own, name), linked, "%s links %s", pkg, path)
		}
	}
}

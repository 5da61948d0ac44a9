package genkitdev_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyProgramsInitializeGenkit keeps this package, and all that stand beside it, from changing the process.
func TestOnlyProgramsInitializeGenkit(t *testing.T) {
	files, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	below, err := filepath.Glob("../*/*.go")
	require.NoError(t, err)
	seen := 0
	for _, file := range append(files, below...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		seen++
		ast.Inspect(parsed, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				pkg, _ := sel.X.(*ast.Ident)
				require.False(t, pkg != nil && pkg.Name == "genkit" && sel.Sel.Name == "Init", "%s calls genkit.Init", file)
			}
			return true
		})
	}
	require.Greater(t, seen, 5)
}

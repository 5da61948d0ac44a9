// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExportedFunctionsOfTestsAreRun finds tests, examples and benchmarks whose names go test does not know.
func TestExportedFunctionsOfTestsAreRun(t *testing.T) {
	files(t, func(file string) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, read(t, file), parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && notRun(f) {
				t.Errorf("%s: go test never runs %s", file, f.Name.Name)
			}
		}
	})
}

// notRun reports whether a function looks like one that go test runs, but has another name.
func notRun(f *ast.FuncDecl) bool {
	name := f.Name.Name
	if !ast.IsExported(name) {
		return false
	}
	takes := ""
	if p := f.Type.Params.List; len(p) == 1 && len(p[0].Names) == 1 {
		takes = types.ExprString(p[0].Type)
	}
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	switch takes {
	case "*testing.T", "*testing.M":
		return f.Type.Results == nil && !begins("Test")
	case "*testing.B":
		return !begins("Benchmark")
	case "*testing.F":
		return !begins("Fuzz")
	}
	return strings.Contains(name, "Example") && !begins("Example") && len(f.Type.Params.List) == 0
}

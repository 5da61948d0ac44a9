// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCombinatorsAreListed finds functions that make a toolset of others and are not listed where
// people and tests look for them.
func TestCombinatorsAreListed(t *testing.T) {
	page, err := os.ReadFile("../docs/toolsets.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "| Combinator | Effect |")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasSuffix(name, "_test.go") || !combines(f) {
				continue
			}
			found++
			for list, has := range map[string]bool{
				"the table in docs/toolsets.md":                                     strings.Contains(table, "`"+f.Name.Name+"`"),
				"the list in toolset/doc.go":                                        strings.Contains(string(doc), "["+f.Name.Name+"]"),
				"combinators in toolset/helpers_test.go, for the conformance suite": combinators()[f.Name.Name] != nil,
			} {
				require.True(t, has, "%s does not have %s", list, f.Name.Name)
			}
		}
	}
	require.GreaterOrEqual(t, found, 17)
}

// combines reports whether a function is exported, takes a toolset first and returns one.
func combines(f *ast.FuncDecl) bool {
	isSet := func(e ast.Expr) bool {
		return strings.HasPrefix(strings.TrimPrefix(types.ExprString(e), "..."), "Toolset[")
	}
	in, out := f.Type.Params.List, f.Type.Results
	return f.Recv == nil && f.Name.IsExported() && len(in) > 0 && isSet(in[0].Type) &&
		out.NumFields() == 1 && isSet(out.List[0].Type)
}

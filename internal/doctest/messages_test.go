// SPDX-License-Identifier: Apache-2.0

package doctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTroubleshootingQuotesMessages keeps docs/troubleshooting.md: each message of its tables is a text of the code, with verbs of fmt, or with what is put
// between two texts, where the page has dots.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "troubleshooting.md"))
	require.NoError(t, err)
	texts := strings.Join(literals(t, "app", "acpbridge", "agent/session", "toolset/workspace"), "\x00")
	messages := 0
	for line := range strings.Lines(string(page)) {
		m := regexp.MustCompile("^\\| `([^`]+)` \\|").FindStringSubmatch(line)
		if m == nil {
			require.False(t, strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| Message |"), "a row without a message: %s", line)
			continue
		}
		messages++
		form := strings.ReplaceAll(regexp.QuoteMeta(m[1]), "…", "[^\x00]*")
		require.Regexp(t, form, texts, "the page has a message that the code does not have: %s", m[1])
	}
	require.Greater(t, messages, 20)
}

// literals returns the texts of the packages below some directories. Texts that are put together of constants and values have dots for the values.
func literals(t *testing.T, dirs ...string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				if !ok {
					return true
				}
				text, ok := textOf(e)
				if ok {
					all = append(all, text)
				}
				return !ok
			})
			return nil
		})
		require.NoError(t, err)
	}
	return all
}

// textOf returns the text of a literal, or of literals and values that are put together.
func textOf(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, l := textOf(e.X)
		right, r := textOf(e.Y)
		if e.Op == token.ADD && (l || r) {
			return left + right, true
		}
	}
	return "", false
}

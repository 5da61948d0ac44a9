// SPDX-License-Identifier: Apache-2.0

package secrettest

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/ponte-go/ponte"

// Exported returns a file of Go that lists the exported types of the public packages below a
// directory of a module, but not the types of modules within it. at is the directory's path in the
// repository.
func Exported(root, at, pkg string) ([]byte, error) {
	byPackage := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && (exists(filepath.Join(file, "go.mod")) || hidden(d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil || parsed.Name.Name == "main" {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if found := exportedOf(parsed); err == nil && len(found) > 0 {
			imported := path.Join(module, at, filepath.ToSlash(dir))
			byPackage[imported] = append(byPackage[imported], found...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return format.Source(table(pkg, byPackage))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func hidden(dir string) bool {
	return strings.HasPrefix(dir, ".") || slices.Contains([]string{"testdata", "node_modules", "internal", "examples", "deps"}, dir)
}

// exportedOf returns the exported types of a file.
func exportedOf(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || spec.Assign.IsValid() {
				continue
			}
			name := spec.Name.Name
			names = append(names, name+arguments(spec.TypeParams))
		}
	}
	return names
}

// arguments returns type arguments: the constraints, which are interfaces.
func arguments(params *ast.FieldList) string {
	if params == nil {
		return ""
	}
	var all []string
	for _, p := range params.List {
		all = append(all, slices.Repeat([]string{types.ExprString(p.Type)}, len(p.Names))...)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func table(pkg string, byPackage map[string][]string) []byte {
	var imports, list strings.Builder
	for i, p := range slices.Sorted(maps.Keys(byPackage)) {
		fmt.Fprintf(&imports, "\tp%d %q\n", i, p)
		for _, name := range slices.Sorted(slices.Values(byPackage[p])) {
			fmt.Fprintf(&list, "\treflect.TypeFor[p%d.%s](),\n", i, name)
		}
	}
	if strings.Contains(list.String(), "deps.") {
		fmt.Fprintf(&imports, "\t%q\n", module+"/deps")
	}
	return []byte("// SPDX-License-Identifier: Apache-2.0\n\npackage " + pkg + "\n\nimport (\n\t\"reflect\"\n\n" + imports.String() + ")\n\n" +
		"// exported are the exported types of all public packages: see [secrettest.Exported].\nvar exported = []reflect.Type{\n" + list.String() + "}\n")
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// touchy matches what a file of tests mentions if its tests can depend on who is quicker: bubbles
// of synctest, timers, goroutines, processes, sockets, and helpers of this repository that start
// processes or servers.
var touchy = regexp.MustCompile(`synctest\.|time\.(After|AfterFunc|NewTimer|NewTicker|Sleep|Tick)\(|context\.With(Timeout|Deadline)|` +
	`\bgo func|\.Go\(|exec\.Command|os\.StartProcess|syscall\.Kill|httptest\.|net\.(Listen|Dial|Pipe)|http\.(Get|Post|Serve)|io\.Pipe\(|os\.Pipe\(|` +
	`local\.Open|acptest\.|guard\.`)

// testPackage is a package with the tests to run.
type testPackage struct {
	ImportPath, Dir string
	names           []string
	binary          string
	took            map[string]time.Duration // by test; a test that was skipped or has failed is missing
	counts          map[string]int           // how often each test is run
}

// choose returns the packages and tests of the options.
func choose(ctx context.Context, o options, match *regexp.Regexp) ([]*testPackage, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{
		"list", "-race", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles",
	}, o.patterns...)...)
	cmd.Dir = o.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	part, parts, err := fraction(o.part)
	if err != nil {
		return nil, err
	}
	var chosen []*testPackage
	for dec, n := json.NewDecoder(bytes.NewReader(out)), 0; ; {
		var listed struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		p := &testPackage{
			ImportPath: listed.ImportPath, Dir: listed.Dir, took: map[string]time.Duration{},
			counts: map[string]int{},
		}
		var files []file
		for _, name := range append(listed.TestGoFiles, listed.XTestGoFiles...) {
			f := file{name: filepath.Join(listed.Dir, name)}
			if f.text, err = os.ReadFile(f.name); err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		tests, err := testsIn(files, o.all)
		if err != nil {
			return nil, err
		}
		for _, t := range tests {
			if match.MatchString(t) {
				p.names = append(p.names, t)
			}
		}
		if len(p.names) == 0 {
			continue
		}
		if n++; (n-1)%parts == part-1 {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no test is chosen")
	}
	return chosen, nil
}

// file is a file of tests.
type file struct {
	name string
	text []byte
}

// testsIn returns the names of the tests in the files of a package. Unless all are wanted, these
// are the tests of files that mention something touchy, and those that use functions or methods of
// other files that do, directly or through others. Methods count by their names.
func testsIn(files []file, all bool) (names []string, err error) {
	users := map[string][]string{} // who uses a name
	chosen := map[string]bool{}
	var mark func(function string)
	mark = func(function string) {
		if !chosen[function] {
			chosen[function] = true
			for _, user := range users[function] {
				mark(user)
			}
		}
	}
	var tests, found []string
	mode := parser.SkipObjectResolution
	for _, one := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), one.name, one.text, mode)
		if err != nil {
			return nil, err
		}
		for _, d := range syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			for n := range ast.Preorder(f.Body) {
				if used, ok := n.(*ast.Ident); ok {
					users[used.Name] = append(users[used.Name], f.Name.Name)
				}
			}
			test := f.Recv == nil && isTest(f)
			if test {
				tests = append(tests, f.Name.Name)
			}
			if all || touchy.Match(one.text[f.Pos()-1:f.End()-1]) || test && touchy.Match(one.text) {
				found = append(found, f.Name.Name)
			}
		}
	}
	for _, function := range found {
		mark(function)
	}
	return slices.DeleteFunc(tests, func(t string) bool { return !chosen[t] }), nil
}

// isTest reports whether go test runs a function as a test.
func isTest(f *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(f.Name.Name, "Test")
	if !ok || f.Name.Name == "TestMain" || f.Type.Params.NumFields() != 1 {
		return false
	}
	return rest == "" || rest[0] < 'a' || rest[0] > 'z'
}

// fraction reads a part, such as 2/4.
func fraction(s string) (part, parts int, err error) {
	before, after, _ := strings.Cut(s, "/")
	part, err1 := strconv.Atoi(before)
	parts, err2 := strconv.Atoi(after)
	if err1 != nil || err2 != nil || part < 1 || part > parts {
		return 0, 0, fmt.Errorf("-part %s: give a part and how many there are, such as 2/4", s)
	}
	return part, parts, nil
}

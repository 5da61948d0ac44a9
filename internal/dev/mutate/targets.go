// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A target is a package whose code is changed, and the packages whose tests are run for it, in this
// order. Directories are relative to the root of the repository, with slashes.
type target struct {
	module string // the directory of its module, "." for the main one
	dir    string
	path   string // import path
	tests  []string
	// printed marks packages whose types package printing prints in its tests.
	printed bool
}

// modules are the directories of the modules that users import.
var modules = []string{
	".", "agent/session/pgstore", "agent/engine/temporalengine", "agent/engine/dbosengine",
	"app/postgres", "app/telemetry", "app/temporal",
}

// leftOut are packages that have nothing to test.
var leftOut = []string{
	"examples/ideagent", "examples/webagent", "agent/evals/eval", // call a program that is tested
	"internal/bench/cmd/peerbench", "internal/bench/footprint", // measure
	"internal/dev/pricegen",                // asks a service
	"internal/pgtest",                      // starts servers for the tests of other modules
	"agent/engine/temporalengine/tutorial", // is run against a server
	"internal/dev/mutate",                  // is the tool
}

// groups name parts of the repository. A package belongs to the first group that has it.
var groups = []struct {
	name string
	dirs []string
}{
	{"postgres", []string{"agent/session/pgstore/..."}},
	{"temporal", []string{"agent/engine/temporalengine/..."}},
	{"dbos", []string{"agent/engine/dbosengine/..."}},
	{"core", []string{
		"agent", "agent/approval", "agent/engine/...", "agent/history", "agent/journal/...", "agent/model", "toolset", "toolset/toolsettest", "deps",
		"internal/loop", "internal/engine", "internal/schema", "internal/partial", "internal/plainjson", "internal/strictjson",
	}},
	{"evals", []string{
		"agent/evals/...", "agent/session/replay/...", "internal/evalstat", "internal/secretscan",
	}},
	{"sessions", []string{"agent/session/...", "agent/view"}},
	{"capabilities", []string{
		"agent/capability/...", "internal/frontmatter", "internal/verdict", "internal/fetch/...",
	}},
	{"models", []string{
		"agent/model/...", "internal/adapter/...", "internal/adaptertest", "internal/fakegemini",
		"internal/dev/matrix",
	}},
	{"tools", []string{"toolset/...", "internal/guard", "internal/linediff"}},
	{"editors", []string{"acpbridge/...", "internal/agentcall", "internal/elicit"}},
	{"web", []string{"webbridge/..."}},
	{"tracing", []string{"agent/otelagent"}},
	{"app", []string{"app/..."}},
	{"examples", []string{"examples/..."}},
	{"house", []string{"..."}},
}

// moreTests are packages whose tests are run too if the tests of the package itself find nothing. A
// package without tests is tested by its importers.
var moreTests = map[string][]string{
	"internal/loop":            {"agent", "internal/engine"}, // its own test only reads the source
	"internal/engine":          {"agent"},
	"internal/schema":          {"toolset", "agent"},
	"internal/adapter":         {"agent/model/openaimodel", "agent/model/anthropicmodel"},
	"agent":                    {"internal/engine", "toolset", "acpbridge"},
	"agent/evals":              {"agent/evals/online", "internal/evalcli"},
	"agent/approval":           {"internal/permissiontest", "acpbridge"},
	"agent/engine":             {"internal/engine", "agent/engine/enginetest"},
	"agent/journal":            {"internal/engine"},
	"agent/model":              {"agent/model/openaimodel"},
	"agent/session":            {"agent/session/host", "agent/session/sqlitestore"},
	"agent/session/host":       {"webbridge", "acpbridge"},
	"agent/session/transcript": {"agent/session/host", "acpbridge", "internal/sameview"},
	"agent/view":               {"agent/session/transcript", "webbridge"},
	"app":                      {"examples/desk"},
	"app/chat":                 {"examples/desk"},
	"app/ask":                  {"examples/desk"},
	"app/coding":               {"examples/ideagent/internal/program"},
	"app/config":               {"app", "examples/desk"},
	"app/editor":               {"examples/desk"},
	"app/evals":                {"examples/desk"},
	"app/internal/term/plain":  {"app/chat"},
	"app/internal/term/render": {"app/chat"},
	"app/internal/term/text":   {"app/chat"},
	"app/internal/term/tty":    {"app/chat"},
	"app/mcp":                  {"examples/desk"},
	"app/web":                  {"examples/desk"},
	"deps":                     {"acpbridge"},
	"internal/fetch":           {"agent/model/modelwrap"},
	"internal/links":           {"internal/permissiontest"},
	"internal/protect":         {"internal/permissiontest"},
	"toolset":                  {"toolset/toolsettest", "agent", "acpbridge"},
	"toolset/command":          {"internal/permissiontest", "agent/approval"},
	"toolset/mcptoolset":       {"acpbridge/acpmcp"},
	"toolset/workspace":        {"toolset/workspace/local", "acpbridge"},
	"webbridge":                {"examples/webagent/internal/program"},
	"acpbridge/acp":            {"acpbridge/acptest", "acpbridge"},
	"acpbridge/acpclient":      {"app/chat"},
	"acpbridge/acpproxy":       {"app/proxy"},
	"acpbridge/acptest":        {"acpbridge"},
}

// testArgs are arguments for the tests of some packages. They keep tests short that repeat
// something at random.
var testArgs = map[string][]string{
	"agent":           {"-random-runs", "300"},
	"internal/engine": {"-kills", "4"},
}

// Bounds of the time that the tests of a package may take before they count as failed. The tests of
// a package that takes long without a mutant may take several times as long.
const (
	minTimeout = 30 * time.Second
	maxTimeout = 6 * time.Minute
)

// listed is the output of go list for a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string

	target target
}

func (l *listed) tested() bool { return len(l.TestGoFiles)+len(l.XTestGoFiles) > 0 }

// findTargets returns all packages of the modules that are below a root and have code to change, in
// the order of their directories.
func findTargets(ctx context.Context, root string, modules []string) ([]target, error) {
	var all []target
	for _, m := range modules {
		packages, err := list(ctx, root, m)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if len(p.GoFiles) > 0 && !among(p.target.dir, leftOut) {
				p.target.tests, p.target.printed = testsFor(p, packages), printed(p, packages)
				all = append(all, p.target)
			}
		}
	}
	slices.SortFunc(all, func(a, b target) int { return cmp.Compare(a.dir, b.dir) })
	return all, nil
}

func list(ctx context.Context, root, module string) ([]*listed, error) {
	cmd := exec.CommandContext(
		ctx, "go", "list",
		"-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports",
		"./...",
	)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(module))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", module, err, stderr.Bytes())
	}
	var all []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		p.target = target{module: module, dir: filepath.ToSlash(rel), path: p.ImportPath}
		all = append(all, p)
	}
}

// printing has the tests of how the types of all packages are printed. They import everything, so
// they are for the mutants of what prints.
const printing = "internal/secrettest/everytype"

// prints matches the names of functions that print or encode a value.
var prints = regexp.MustCompile(`\)\.(Format|String|GoString|LogValue|Marshal[A-Z]\w*)$`)

// testsOf returns the directories of the tests for a mutant.
func testsOf(m *mutant) []string {
	if m.pkg.printed && prints.MatchString(m.function) {
		return append(slices.Clip(m.pkg.tests), printing)
	}
	return m.pkg.tests
}

// printed reports whether the tests of printing import a package.
func printed(p *listed, all []*listed) bool {
	return slices.ContainsFunc(all, func(t *listed) bool {
		return t.target.dir == printing && slices.Contains(t.XTestImports, p.ImportPath)
	})
}

// testsFor returns the directories of the tests for a package.
func testsFor(p *listed, all []*listed) []string {
	var tests []string
	if p.tested() {
		tests = append(tests, p.target.dir)
	}
	tests = append(tests, moreTests[p.target.dir]...)
	for seen, users := []*listed{p}, []*listed{p}; len(tests) == 0 && len(users) > 0; {
		users = importers(users, all)
		users = slices.DeleteFunc(users, func(u *listed) bool { return slices.Contains(seen, u) })
		seen = append(seen, users...)
		for _, u := range users {
			if u.tested() && len(tests) < 3 {
				tests = append(tests, u.target.dir)
			}
		}
	}
	return tests
}

// importers returns the packages that import one of some others, in their code or their tests.
func importers(of, all []*listed) []*listed {
	var users []*listed
	for _, u := range all {
		imports := slices.Concat(u.Imports, u.TestImports, u.XTestImports)
		if slices.ContainsFunc(of, func(p *listed) bool { return p != u && slices.Contains(imports, p.ImportPath) }) {
			users = append(users, u)
		}
	}
	return users
}

// among reports whether a directory matches one of some patterns. Patterns that end with /... also
// match everything below.
func among(dir string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		if below, ok := strings.CutSuffix(pattern, "/..."); ok {
			return dir == below || strings.HasPrefix(dir, below+"/")
		}
		return dir == path.Clean(pattern)
	})
}

// groupOf returns the name of a package's group.
func groupOf(dir string) string {
	for _, g := range groups {
		if among(dir, g.dirs) {
			return g.name
		}
	}
	return ""
}

// choose returns the targets that belong to one of the groups or patterns, or all of them if there
// are neither, without those that are left out. Lists are separated by commas.
func choose(all []target, names, only, without string) ([]target, error) {
	var wanted []string
	if names != "" {
		wanted = strings.Split(names, ",")
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(all, func(t target) bool { return groupOf(t.dir) == name }) {
			var known []string
			for _, g := range groups {
				known = append(known, g.name)
			}
			return nil, fmt.Errorf("-group: there is no group %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	patterns := func(flag, list string) ([]string, error) {
		if list == "" {
			return nil, nil
		}
		patterns := strings.Split(list, ",")
		for _, pattern := range patterns {
			if !slices.ContainsFunc(all, func(t target) bool { return among(t.dir, []string{pattern}) }) {
				return nil, fmt.Errorf("%s: %s is no package whose code is changed", flag, pattern)
			}
		}
		return patterns, nil
	}
	take, err := patterns("-packages", only)
	if err != nil {
		return nil, err
	}
	leave, err := patterns("-without", without)
	if err != nil {
		return nil, err
	}
	var chosen []target
	for _, t := range all {
		if (wanted == nil && take == nil || slices.Contains(wanted, groupOf(t.dir)) || among(t.dir, take)) && !among(t.dir, leave) {
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no package is chosen")
	}
	return chosen, nil
}

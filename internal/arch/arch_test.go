// SPDX-License-Identifier: Apache-2.0

// Package arch keeps the architecture: who may import whom, and what the run loop may not touch.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/ponte-go/ponte"

// rules say which of our own packages a package may import, by the longest prefix that fits. A trailing slash means all
// packages below, "*" means all of ours.
var rules = map[string][]string{
	"agent/model":                           {"internal/header", "internal/hide", "internal/nearest"},
	"agent/model/":                          {"agent/model", "internal/adapter", "internal/errs", "internal/header", "internal/hide"},
	"agent/model/modelwrap":                 {"agent/model", "internal/adapter", "internal/fetch", "internal/header", "internal/hide"},
	"agent/model/genkitmodel/":              {"agent/model", "agent/model/genkitmodel", "internal/adapter"},
	"agent/model/genkitmodel/genkitdev":     {"agent", "agent/model", "toolset"},
	"agent/model/genkitmodel/googledialect": {"agent/model", "agent/model/geminimodel", "agent/model/genkitmodel", "internal/adapter"},
	"agent/engine":                          {"agent/journal", "agent/model", "toolset", "internal/decision", "internal/errs", "internal/hide", "internal/plainjson"},
	"agent/engine/enginetest":               {"agent/engine", "agent/journal", "agent/model", "toolset", "internal/loop"},
	"agent/view":                            {},
	"agent/journal":                         {},
	"agent/journal/":                        {"agent/journal"},
	"agent":                                 {"agent/approval", "agent/engine", "agent/journal", "agent/model", "toolset", "internal/loop", "internal/engine", "internal/errs", "internal/hide", "internal/partial", "internal/plainjson", "internal/schema"},
	"toolset":                               {"agent/model", "internal/errs", "internal/plainjson", "internal/schema"},
	"toolset/toolsettest":                   {"agent/model", "toolset"},
	"toolset/command":                       {"agent/model", "internal/lazy", "internal/show"},
	"toolset/mcptoolset":                    {"agent", "agent/model", "toolset", "internal/adapter", "internal/fetch", "internal/guard", "internal/header", "internal/hide", "internal/lazy", "internal/nearest", "internal/schema", "internal/serverfile", "internal/show", "internal/wholefile"},
	"toolset/lsptoolset":                    {"agent", "agent/model", "agent/view", "toolset", "toolset/workspace", "toolset/workspace/local", "internal/clean", "internal/hide", "internal/lazy", "internal/linediff", "internal/lsp", "internal/protect", "internal/serverfile"},
	"toolset/workspace":                     {"agent/model", "toolset", "toolset/command", "internal/clean", "internal/lazy", "internal/linediff", "internal/links", "internal/protect"},
	"toolset/workspace/checkpoint":          {"agent/model", "toolset", "toolset/workspace", "internal/linediff"},
	"toolset/workspace/local":               {"agent/model", "toolset/workspace", "internal/confine", "internal/guard", "internal/hide"},
	"toolset/workspace/workspacetest":       {"toolset", "toolset/workspace"},
	"agent/approval":                        {"agent/model", "toolset", "toolset/command", "internal/lazy", "internal/linediff", "internal/links", "internal/nearest", "internal/protect", "internal/show", "internal/strictjson", "internal/verdict"},
	"agent/capability/guardrails":           {"agent", "agent/engine", "agent/model", "toolset", "internal/schema", "internal/show", "internal/verdict"},
	"agent/capability/spend":                {"agent", "agent/model", "agent/session", "toolset"},
	"internal/verdict":                      {"agent/model", "toolset", "internal/show"},
	"agent/capability/instructions":         {"agent", "agent/model", "toolset", "toolset/workspace", "internal/clean"},
	"agent/capability/compaction":           {"agent", "agent/history", "agent/model", "agent/view", "toolset", "toolset/workspace", "internal/clean", "internal/explain"},
	"agent/capability":                      {"agent", "agent/model", "agent/session", "toolset", "internal/clean", "agent/view"},
	"agent/capability/memory":               {"agent", "toolset", "toolset/workspace", "internal/clean"},
	"agent/capability/skills":               {"agent", "toolset", "toolset/workspace", "internal/clean", "internal/frontmatter"},
	"agent/capability/subagents":            {"agent", "agent/model", "toolset", "toolset/workspace", "internal/clean", "internal/explain", "internal/frontmatter"},
	"agent/capability/webfetch":             {"agent", "agent/model", "toolset", "internal/clean", "internal/fetch", "internal/header", "internal/hide", "internal/lazy", "internal/markdown"},
	"agent/capability/websearch":            {"agent", "agent/model", "toolset", "internal/clean", "internal/fetch", "internal/header"},
	"agent/history":                         {"agent/model", "toolset"},
	"agent/evals":                           {"agent", "agent/model", "toolset", "toolset/workspace", "internal/evalstat", "internal/hide", "internal/jsonvalue", "internal/loop", "internal/plainjson", "internal/schema", "internal/strictjson", "internal/wholefile"},
	"agent/evals/evalstest":                 {"agent/evals"},
	"internal/evalcli":                      {"agent/evals", "internal/hide"},
	"agent/evals/eval":                      {"internal/evalcli"},
	"agent/evals/online":                    {"agent", "agent/evals", "agent/model", "agent/session", "agent/session/host", "agent/session/transcript"},
	"internal/jsonvalue":                    {"internal/plainjson"},
	"internal/evalstat":                     {},
	"agent/otelagent":                       {"agent", "agent/engine", "agent/model", "toolset"},
	"agent/session":                         {"internal/hear"}, // the core does not import it
	"deps":                                  {"acpbridge/acp", "internal/acpview", "agent/approval", "agent/view", "toolset/workspace"},
	"agent/session/":                        {"agent/session", "internal/hear"},
	"agent/session/transcript":              {"agent", "agent/approval", "agent/journal", "agent/model", "agent/session", "agent/view", "toolset", "internal/decision", "internal/engine", "internal/explain", "internal/loop", "internal/show"},
	"agent/session/replay":                  {"agent", "agent/history", "agent/model", "agent/session", "agent/session/transcript", "toolset", "toolset/workspace", "toolset/workspace/checkpoint", "internal/hide", "internal/linediff", "internal/loop", "internal/secretscan", "internal/wholefile"},
	"agent/session/replay/replaytest":       {"agent", "agent/session/replay"},
	"internal/secretscan":                   {},
	"agent/session/host":                    {"agent", "agent/approval", "agent/model", "agent/session", "agent/session/transcript", "agent/view", "toolset", "internal/elicit", "internal/explain", "internal/nearest", "internal/show", "internal/markdown"},
	"acpbridge":                             {"agent", "agent/session", "agent/session/host", "agent/session/transcript", "agent/view", "agent/approval", "agent/model", "toolset", "toolset/command", "toolset/workspace", "toolset/workspace/local", "deps", "acpbridge/acp", "internal/acpview", "acpbridge/acp/unstable", "internal/"},
	"acpbridge/acp":                         {"internal/hide", "internal/show"},
	"internal/acpview":                      {"acpbridge/acp", "acpbridge/acp/unstable", "agent/view", "internal/linediff", "internal/markdown", "internal/show"},
	"acpbridge/acp/unstable":                {"acpbridge/acp", "internal/hide"},
	"acpbridge/acpclient":                   {"acpbridge/acp", "agent", "agent/model", "agent/view", "toolset", "internal/acpview", "acpbridge/acp/unstable", "agent/approval", "toolset/command", "toolset/workspace", "toolset/workspace/local", "internal/agentcall", "internal/boxmeta", "internal/elicit", "internal/guard", "internal/lazy", "internal/show", "internal/hide", "internal/nearest"},
	"acpbridge/acpmcp":                      {"acpbridge/acp", "acpbridge/acp/unstable", "deps", "toolset", "toolset/mcptoolset"},
	"acpbridge/acpproxy":                    {"acpbridge/acp", "acpbridge/acpclient", "agent/approval", "agent/model", "toolset", "toolset/workspace", "toolset/workspace/local", "internal/agentcall", "internal/guard", "internal/hide", "internal/show"},
	"acpbridge/acphttp":                     {"acpbridge/acp", "internal/hide"},
	"acpbridge/acptest":                     {"acpbridge", "acpbridge/acp", "acpbridge/acpproxy", "agent/approval", "deps"},
	"internal/agentcall":                    {"agent/model", "toolset", "toolset/workspace"},
	"internal/boxmeta":                      {"agent/model"},
	"internal/protect":                      {"agent/model", "toolset/command"},
	"webbridge":                             {"agent", "agent/model", "agent/session", "agent/session/host", "agent/session/transcript", "agent/view", "toolset", "internal/hide", "internal/plainjson", "internal/show"},
	"webbridge/":                            {"agent", "agent/model", "agent/session", "agent/session/host", "agent/session/transcript", "agent/view", "toolset", "webbridge", "internal/show"},
	"internal/adapter":                      {"agent/model", "internal/errs", "internal/plainjson"},
	"internal/adaptertest":                  {"agent/model"},
	"internal/adaptertest/endingtest":       {"agent", "agent/model", "agent/model/modeltest", "toolset"},
	"internal/fetch":                        {"internal/adapter"},
	"internal/fetch/fetchtest":              {},
	"internal/clean":                        {"internal/show"},
	"internal/elicit":                       {"acpbridge/acp", "internal/jsonvalue", "internal/lazy", "internal/show", "toolset"},
	"internal/explain":                      {"agent", "agent/model", "toolset"},
	"internal/frontmatter":                  {},
	"internal/linediff":                     {},
	"internal/lsp":                          {},
	"internal/nearest":                      {},
	"internal/serverfile":                   {},
	"internal/hide":                         {},
	"internal/show":                         {},
	"internal/plainjson":                    {},
	"internal/strictjson":                   {},
	"internal/errs":                         {},
	"internal/schema":                       {"internal/errs", "internal/nearest", "internal/plainjson"},
	"internal/loop":                         {"agent/engine", "agent/model", "toolset", "internal/errs"},
	"internal/engine":                       {"agent/engine", "agent/model", "agent/journal", "toolset", "internal/decision", "internal/loop"},
	"internal/decision":                     {"agent/model"},
	"internal/":                             {"*"},
	"app":                                   {"*"},
	"app/":                                  {"*"},
	"examples/":                             {"*"},
	"agent/model/modeltest":                 {"agent/model", "internal/generate", "internal/schema", "internal/plainjson", "internal/wholefile"},
	"internal/generate":                     {"internal/plainjson"},
}

// thirdParty says which packages of others a package may import outside of tests; a trailing slash means all packages below.
// Packages that are not listed get none.
var thirdParty = map[string][]string{
	"acpbridge/acphttp": {"github.com/coder/websocket"},
	"toolset/command":   {"mvdan.cc/sh/v3/pattern", "mvdan.cc/sh/v3/syntax"},
	"agent/otelagent": { // the API; the SDK is for programs and tests
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes",
		"go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/propagation", "go.opentelemetry.io/otel/trace",
	},
	"agent/evals":                              {"go.yaml.in/yaml/v3"},
	"internal/frontmatter":                     {"go.yaml.in/yaml/v3"},
	"agent/session/sqlitestore":                {"modernc.org/sqlite", "modernc.org/sqlite/lib"},
	"agent/model/anthropicmodel":               {"github.com/anthropics/anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go/"},
	"agent/model/geminimodel":                  {"google.golang.org/genai", "cloud.google.com/go/auth", "cloud.google.com/go/auth/credentials"},
	"agent/model/genkitmodel":                  {"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/core"},
	"agent/model/genkitmodel/anthropicdialect": {"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/core/", "github.com/firebase/genkit/go/plugins/anthropic", "github.com/anthropics/anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go/"},
	"agent/model/genkitmodel/googledialect":    {"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/core/", "github.com/firebase/genkit/go/plugins/googlegenai", "google.golang.org/genai"},
	"agent/model/genkitmodel/ollamadialect":    {"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/genkit", "github.com/firebase/genkit/go/plugins/ollama"},
	"agent/model/genkitmodel/openaidialect":    {"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/core/", "github.com/firebase/genkit/go/plugins/compat_oai/openai", "github.com/openai/openai-go", "github.com/openai/openai-go/"},
	"agent/model/genkitmodel/genkitdev": {
		"github.com/firebase/genkit/go/ai", "github.com/firebase/genkit/go/core", "github.com/firebase/genkit/go/core/",
		"github.com/firebase/genkit/go/genkit", "github.com/invopop/jsonschema",
		"go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/codes", "go.opentelemetry.io/otel/sdk/trace", "go.opentelemetry.io/otel/trace",
	},
	"internal/guard":                  {"golang.org/x/sys/unix", "golang.org/x/sys/windows"},
	"internal/confine":                {"github.com/landlock-lsm/go-landlock/landlock", "golang.org/x/sys/unix"},
	"toolset/workspace/local":         {"golang.org/x/net/bpf", "golang.org/x/sys/unix"},
	"internal/fetch/fetchtest":        {"golang.org/x/net/dns/dnsmessage"},
	"agent/capability/webfetch":       {"golang.org/x/net/html", "golang.org/x/net/html/", "golang.org/x/net/idna"},
	"toolset/mcptoolset":              {"github.com/google/jsonschema-go/jsonschema", "github.com/modelcontextprotocol/go-sdk/", "golang.org/x/oauth2", "github.com/modelcontextprotocol/go-sdk/mcp"},
	"acpbridge/acpmcp":                {"github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/modelcontextprotocol/go-sdk/mcp"}, // for servers that editors host
	"toolset/workspace":               {"github.com/bmatcuk/doublestar/v4", "github.com/wlynxg/chardet/consts", "github.com/wlynxg/chardet/probe", "golang.org/x/text/encoding", "golang.org/x/text/encoding/charmap", "golang.org/x/text/encoding/japanese"},
	"internal/adaptertest":            {"github.com/stretchr/testify/require"}, // only tests import it
	"internal/sealtest":               {"github.com/stretchr/testify/require"}, // only tests import it
	"internal/crowdtest":              {"github.com/stretchr/testify/require"}, // only tests import it
	"internal/fleettest":              {"github.com/stretchr/testify/require"}, // only tests import it
	"internal/inboxtest":              {"github.com/stretchr/testify/require"}, // only tests import it
	"internal/adaptertest/endingtest": {"github.com/stretchr/testify/require"},
	// The terminal.
	"app/internal/term/edit":     {"github.com/clipperhouse/displaywidth"},
	"app/internal/term/markdown": {"github.com/yuin/goldmark", "github.com/yuin/goldmark/"},
	"app/internal/term/text":     {"github.com/clipperhouse/displaywidth"},
	"app/internal/term/tty":      {"github.com/muesli/cancelreader", "golang.org/x/sys/windows", "golang.org/x/term"},
	"examples/support":           {"github.com/modelcontextprotocol/go-sdk/mcp"}, // it is an MCP server, too
	"internal/schema":            {"github.com/invopop/jsonschema", "github.com/go-playground/validator/v10"},
	// Programs.
	"app":                                {"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term"},
	"app/all":                            {"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"app/chat":                           {"github.com/spf13/cobra"},
	"app/editor":                         {"github.com/spf13/cobra"},
	"app/mcp":                            {"github.com/modelcontextprotocol/go-sdk/mcp", "github.com/spf13/cobra"},
	"app/proxy":                          {"github.com/spf13/cobra"},
	"app/web":                            {"github.com/spf13/cobra"},
	"examples/ideagent/internal/program": {"github.com/spf13/cobra", "github.com/spf13/pflag"},
	"examples/webagent/internal/program": {"github.com/spf13/pflag"},
	"app/keyring":                        {"github.com/zalando/go-keyring"},
	"app/config":                         {"github.com/invopop/jsonschema", "github.com/tailscale/hujson", "golang.org/x/sys/windows"},
}

type pkg struct {
	path    string // within the module
	imports map[string]token.Position
	files   []*ast.File
	fset    *token.FileSet
}

// packages parses every package of the root module, without its tests.
func packages(t *testing.T) []*pkg {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	byPath := map[string]*pkg{}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			nested := file != root && exists(filepath.Join(file, "go.mod"))
			if nested || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		p := byPath[dir]
		if p == nil {
			p = &pkg{path: dir, imports: map[string]token.Position{}, fset: token.NewFileSet()}
			byPath[dir] = p
		}
		parsed, err := parser.ParseFile(p.fset, file, nil, 0)
		if err != nil {
			return err
		}
		p.files = append(p.files, parsed)
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			p.imports[imported] = p.fset.Position(spec.Pos())
		}
		return nil
	})
	require.NoError(t, err)
	var all []*pkg
	for _, p := range byPath {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *pkg) int { return strings.Compare(a.path, b.path) })
	require.Greater(t, len(all), 5)
	return all
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// allowed returns the rule for a package.
func allowed(of string) ([]string, bool) {
	if r, ok := rules[of]; ok {
		return r, true
	}
	for dir := path.Dir(of); dir != "."; dir = path.Dir(dir) {
		if r, ok := rules[dir+"/"]; ok {
			return r, true
		}
	}
	return nil, false
}

// mayUse reports whether a package may import another module's package.
func mayUse(of, imported string) bool {
	return slices.ContainsFunc(thirdParty[of], func(m string) bool {
		return m == imported || strings.HasSuffix(m, "/") && strings.HasPrefix(imported, m)
	})
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range packages(t) {
		may, ok := allowed(p.path)
		if !ok {
			t.Errorf("package %s has no rule: say in rules what it may import", p.path)
		}
		for imported, at := range p.imports {
			ours, isOurs := strings.CutPrefix(imported, module+"/")
			if !isOurs {
				first, _, _ := strings.Cut(imported, "/")
				if strings.Contains(first, ".") && !mayUse(p.path, imported) &&
					!strings.HasPrefix(p.path, "internal/") && !strings.HasPrefix(p.path, "examples/") {
					t.Errorf("%s: package %s imports %s, which thirdParty does not list", at, p.path, imported)
				}
				continue
			}
			if !slices.ContainsFunc(may, func(m string) bool {
				return m == "*" || m == ours || strings.HasSuffix(m, "/") && strings.HasPrefix(ours, m)
			}) {
				t.Errorf("%s: package %s must not import %s", at, p.path, ours)
			}
			if strings.HasPrefix(ours, "examples/") && !strings.HasPrefix(p.path, "examples/") {
				t.Errorf("%s: only examples may import examples", at)
			}
			if of := strings.SplitN(p.path, "/", 2)[0]; strings.HasPrefix(ours+"/", "app/") && of != "app" && of != "examples" {
				t.Errorf("%s: app is the roof, which only programs import", at)
			}
		}
	}
}

// keepers are the packages that fold entities: of a session, of a peer's session, and of the pages of a test.
var keepers = []string{"agent/view", "agent/session/transcript", "deps", "acpbridge/acpclient", "internal/fleettest"}

// TestSurfacesChangeNoEntities keeps surfaces to what they may do: they read what a session shows, and report to it.
func TestSurfacesChangeNoEntities(t *testing.T) {
	surfaces := 0
	for _, p := range packages(t) {
		if _, views := p.imports[module+"/agent/view"]; !views || slices.Contains(keepers, p.path) {
			continue
		}
		surfaces++
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				changed := ""
				switch n := n.(type) {
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Apply" && !strings.HasPrefix(p.path, "app/internal/term/") {
						changed = "with Apply"
					}
				case *ast.AssignStmt:
					for _, to := range n.Lhs {
						if field, ok := to.(*ast.SelectorExpr); ok && (selects(field.X, "Entity") || selects(field.X, "Known")) {
							changed = "by assigning to " + field.Sel.Name
						}
					}
				}
				if changed != "" {
					t.Errorf("package %s changes entities %s: report to the session instead", p.path, changed)
				}
				return true
			})
		}
	}
	require.Greater(t, surfaces, 5)
}

// selects reports whether an expression is the field of something.
func selects(e ast.Expr, field string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == field
}

// TestSurfacesKnowNoToolByName keeps what is special about a tool where the tool is: surfaces show what it reports.
func TestSurfacesKnowNoToolByName(t *testing.T) {
	names := map[string]bool{}
	for _, p := range packages(t) {
		if p.path != "toolset/workspace" {
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				if constant, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(constant.Names[0].Name, "Tool") {
					names[constant.Names[0].Name] = true
				}
				return true
			})
		}
	}
	require.Greater(t, len(names), 5)
	isName := func(e ast.Expr) bool {
		if s, ok := e.(*ast.SelectorExpr); ok {
			return names[s.Sel.Name]
		}
		i, ok := e.(*ast.Ident)
		return ok && names[i.Name]
	}
	for _, p := range packages(t) {
		if _, views := p.imports[module+"/agent/view"]; !views || strings.HasPrefix(p.path, "agent/capability/") { // which tell models of tools
			continue
		}
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				compares := false
				switch n := n.(type) {
				case *ast.CaseClause:
					compares = slices.ContainsFunc(n.List, isName)
				case *ast.BinaryExpr:
					compares = isName(n.X) || isName(n.Y)
				}
				if compares {
					t.Errorf("package %s asks for the name of a tool: have the tool say what is special about it", p.path)
				}
				return true
			})
		}
	}
}

// TestNoCodeThatShipsImportsOurTools keeps what is below internal/dev for this repository: generators, measurements and checks.
func TestNoCodeThatShipsImportsOurTools(t *testing.T) {
	tools := 0
	for _, p := range packages(t) {
		if strings.HasPrefix(p.path, "internal/dev/") {
			tools++
			continue
		}
		for imported, at := range p.imports {
			if strings.HasPrefix(imported, module+"/internal/dev/") {
				t.Errorf("%s: package %s imports a tool of ours", at, p.path)
			}
		}
	}
	require.NotZero(t, tools)
}

func TestOnlyListedPackagesUseModulesOfOthers(t *testing.T) {
	for _, p := range packages(t) {
		for imported, at := range p.imports {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(imported, module+"/") {
				continue
			}
			if !mayUse(p.path, imported) {
				t.Errorf("%s: package %s imports %s", at, p.path, imported)
			}
		}
	}
}

// TestLoopTouchesTheWorldThroughItsSeamsOnly keeps what makes runs recordable: the loop has no clock, no locks, no chance
// and no concurrency of its own.
func TestLoopTouchesTheWorldThroughItsSeamsOnly(t *testing.T) {
	i := slices.IndexFunc(packages(t), func(p *pkg) bool { return p.path == "internal/loop" })
	loop := packages(t)[i]
	mayImport := []string{
		"context", "encoding/json", "errors", "fmt", "slices", "strings", module + "/agent/engine", module + "/agent/model", module + "/toolset", module + "/internal/errs",
	}
	for imported, at := range loop.imports {
		require.Contains(t, mayImport, imported, at.String())
	}
	for _, file := range loop.files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType, *ast.MapType:
				t.Errorf("%s: the loop uses no goroutine, channel or map", loop.fset.Position(n.Pos()))
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					t.Errorf("%s: the loop waits on no channel", loop.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build unix

package languages_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

var updateTasks = flag.Bool("update-tasks", false, "write the table of tasks into docs/lsp.md")

// task is something to do in golang.org/x/tools. Its policies are what a careful model would do,
// and they judge what they have read without a mistake: one has the tools for files and commands
// only, the other one has code intelligence, too. A policy returns its answer.
type task struct {
	name          string
	broken        map[string]string // files that are overwritten before
	without, with func(h *hand) string
	want          string // the answer, found by a person; empty if the project is judged
	judge         string // a command that must succeed afterwards
}

// hand is how a policy calls tools.
type hand struct {
	yield  func(model.Part) bool
	result string
	calls  int
	fresh  int // tokens of calls and results
	sent   int // tokens of all requests
	failed []string
}

// call calls a tool and returns the result.
func (h *hand) call(tool string, args map[string]any) string {
	data, _ := json.Marshal(args)
	h.calls++
	if !h.yield(model.ToolCall(fmt.Sprintf("call%d", h.calls), tool, string(data))) {
		panic("the run has ended")
	}
	return h.result
}

func (h *hand) sh(line string) string { return h.call("run_command", map[string]any{"command": line}) }

func (h *hand) search(pattern string) []hit {
	return hits(h.call("search_files", map[string]any{"pattern": pattern, "glob": "*.go"}))
}

func (h *hand) read(path string, line, limit int) string {
	return h.call("read_file", map[string]any{"path": path, "line": max(line, 1), "limit": limit})
}

func (h *hand) edit(path string, pairs ...string) string {
	var edits []map[string]any
	for i := 0; i < len(pairs); i += 2 {
		edits = append(edits, map[string]any{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return h.call("edit_file", map[string]any{"path": path, "edits": edits})
}

// hit is a line of an answer that has a place.
type hit struct {
	path string
	line int
	text string
}

var place = regexp.MustCompile(`(?m)^(\S+?):(\d+)(?::\d+)?:? ?(.*)$`)

func hits(answer string) (all []hit) {
	for _, m := range place.FindAllStringSubmatch(answer, -1) {
		n, _ := strconv.Atoi(m[2])
		all = append(all, hit{strings.TrimPrefix(m[1], "./"), n, strings.TrimSpace(m[3])})
	}
	return all
}

// places returns the places of hits as an answer.
func places(all []hit) string {
	found := map[string]bool{}
	for _, h := range all {
		found[fmt.Sprintf("%s:%d", h.path, h.line)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// only returns the hits that are among places.
func only(all []hit, places string) []hit {
	return slices.DeleteFunc(all, func(h hit) bool {
		return !slices.Contains(strings.Fields(places), fmt.Sprintf("%s:%d", h.path, h.line))
	})
}

// study reads what is around hits, as far as it has not been read, to tell what they are.
func (h *hand) study(all []hit) {
	path, end := "", 0
	for _, one := range all {
		if one.path == path && one.line <= end {
			continue
		}
		h.read(one.path, one.line-25, 30)
		path, end = one.path, one.line+5
	}
}

func symbolOf(name string) map[string]any { return map[string]any{"symbol": name} }

const (
	writers = "go/analysis/passes/buildssa/buildssa_test.go:26 go/analysis/passes/buildssa/buildssa_test.go:41 " +
		"go/analysis/passes/buildssa/buildssa_test.go:56 go/callgraph/vta/helpers_test.go:142 go/ssa/blockopt.go:159 " +
		"go/ssa/builder_test.go:369 go/ssa/builder_test.go:519 go/ssa/builder_test.go:773 go/ssa/example_test.go:85 " +
		"go/ssa/example_test.go:86 go/ssa/func.go:418 go/ssa/instantiate_test.go:231 go/ssa/sanity.go:50 go/ssa/source_test.go:240 go/ssa/ssautil/load_test.go:89"
	iterators = "go/callgraph/rta/rta_test.go:228 go/types/typeutil/example_test.go:55 go/types/typeutil/map.go:143 " +
		"go/types/typeutil/map.go:156 go/types/typeutil/map_test.go:141 go/types/typeutil/map_test.go:91 " +
		"internal/refactor/inline/inline.go:3439"
)

// tasks are ten.
var tasks = []task{{
	name: "Where is `AllFunctions` defined?", want: "go/ssa/ssautil/visit.go:51",
	without: func(h *hand) string { return places(h.search(`^func (\([^)]*\) )?AllFunctions\(`)) },
	with: func(h *hand) string {
		return places(hits(h.call("find_definition", symbolOf("AllFunctions")))[:1])
	},
}, {
	name: "Who calls `callgraph.AddEdge`?",
	want: "go/callgraph/cha/cha.go:45 go/callgraph/rta/rta.go:164 go/callgraph/static/static.go:40 go/callgraph/util.go:115 go/callgraph/vta/vta.go:111",
	without: func(h *hand) string {
		return places(slices.DeleteFunc(h.search(`\bAddEdge\(`), func(one hit) bool { return strings.HasPrefix(one.text, "func ") }))
	},
	with: func(h *hand) string { return places(hits(h.callers("callgraph.AddEdge"))) },
}, {
	name: "Who calls `WriteTo` of `ssa.Function`? Other types have it, too.", want: writers,
	without: func(h *hand) string {
		all := slices.DeleteFunc(h.search(`\.WriteTo\(`), func(one hit) bool { return strings.HasPrefix(one.text, "//") })
		h.study(all)
		return places(only(all, writers))
	},
	with: func(h *hand) string { return places(hits(h.callers("ssa.Function.WriteTo"))) },
}, {
	name: "Which types implement `ssa.CallInstruction`?", want: "Call Defer Go",
	without: func(h *hand) string {
		h.call("search_files", map[string]any{"pattern": `^type CallInstruction interface`, "glob": "*.go", "context": 10})
		return typesOf(h.search(`^func \([^)]*\) Common\(\) \*CallCommon`), `\*(\w+)\)`)
	},
	with: func(h *hand) string {
		answer := h.call("find_definition", map[string]any{"symbol": "ssa.CallInstruction", "kind": "implementations"})
		return typesOf(hits(answer), `^type (\w+) struct`)
	},
}, {
	name: "Rename the function `MustExtractDoc`, a unique name.", judge: "go build ./... && ! grep -rnw --include=*.go 'MustExtractDoc(' .",
	without: func(h *hand) string {
		h.search(`\bMustExtractDoc\b`)
		h.sh(`grep -rlw --include=*.go MustExtractDoc . | xargs sed -i 's/\bMustExtractDoc\b/MustReadDoc/g'`)
		h.sh("go build ./...")
		return ""
	},
	with: func(h *hand) string {
		h.call("rename_symbol", map[string]any{"symbol": "MustExtractDoc", "new_name": "MustReadDoc"})
		h.sh("go build ./...")
		return ""
	},
}, {
	name: "Rename the method `Iterate` of `typeutil.Map`. Other types have it, too.", judge: "go build ./... && go vet ./go/types/typeutil ./go/callgraph/rta && ! grep 'ap) Iterate(' go/types/typeutil/map.go",
	without: func(h *hand) string {
		all := h.search(`\bIterate\(`)
		h.study(all)
		by := map[string][]string{}
		for _, one := range only(all, iterators+" go/types/typeutil/map.go:127") {
			by[one.path] = append(by[one.path], one.text)
		}
		for _, path := range slices.Sorted(maps.Keys(by)) {
			var edits []map[string]any
			for _, text := range slices.Compact(by[path]) {
				edits = append(edits, map[string]any{"old_text": text, "new_text": strings.Replace(text, "Iterate(", "Each(", 1), "replace_all": true})
			}
			h.call("edit_file", map[string]any{"path": path, "edits": edits})
		}
		h.sh("go build ./... && go vet ./go/types/typeutil ./go/callgraph/rta")
		return ""
	},
	with: func(h *hand) string {
		h.call("rename_symbol", map[string]any{"symbol": "typeutil.Map.Iterate", "new_name": "Each"})
		h.sh("go build ./... && go vet ./go/types/typeutil ./go/callgraph/rta")
		return ""
	},
}, {
	name: "Fix a compile error: a missing import.", judge: "go vet ./txtar", broken: map[string]string{
		"txtar/count.go": "package txtar\n\n// Lines counts the lines of a file.\nfunc (f *File) Lines() int {\n\treturn bytes.Count(f.Data, []byte(\"\\n\")) + strings.Count(f.Name, \"\\n\")\n}\n",
	},
	without: func(h *hand) string {
		h.sh("go build ./txtar")
		h.read("txtar/count.go", 1, 20)
		h.edit("txtar/count.go", "package txtar\n", "package txtar\n\nimport (\n\t\"bytes\"\n\t\"strings\"\n)\n")
		h.sh("go build ./txtar")
		return ""
	},
	with: func(h *hand) string {
		h.call("get_diagnostics", map[string]any{"path": "txtar"})
		h.call("code_actions", map[string]any{"path": "txtar/count.go", "apply": "Organize Imports"})
		h.call("get_diagnostics", map[string]any{"path": "txtar"})
		return ""
	},
}, {
	name: "Fix a compile error: methods of an interface are missing.", judge: "go vet ./txtar", broken: map[string]string{
		"txtar/memory.go": "package txtar\n\nimport \"io/fs\"\n\ntype memory struct{ archive *Archive }\n\nvar _ fs.ReadDirFS = (*memory)(nil)\n",
	},
	without: func(h *hand) string {
		h.sh("go build ./txtar")
		h.read("txtar/memory.go", 1, 20)
		h.sh("go doc io/fs.ReadDirFS; go doc io/fs.FS")
		h.edit("txtar/memory.go", "(*memory)(nil)\n", "(*memory)(nil)\n\nfunc (m *memory) Open(name string) (fs.File, error) {\n\tpanic(\"unimplemented\")\n}\n\nfunc (m *memory) ReadDir(name string) ([]fs.DirEntry, error) {\n\tpanic(\"unimplemented\")\n}\n")
		h.sh("go build ./txtar")
		return ""
	},
	with: func(h *hand) string {
		h.call("get_diagnostics", map[string]any{"path": "txtar"})
		h.call("code_actions", map[string]any{"path": "txtar/memory.go", "line": 7})
		h.call("code_actions", map[string]any{"path": "txtar/memory.go", "line": 7, "apply": "Declare missing methods of fs.ReadDirFS"})
		h.call("get_diagnostics", map[string]any{"path": "txtar"})
		return ""
	},
}, {
	name: "Adapt the callers of `callgraph.AddEdge`, which got a parameter.", judge: "go build ./...",
	broken: map[string]string{"go/callgraph/callgraph.go": "s/func AddEdge(caller \\*Node,/func AddEdge(kind int, caller *Node,/"},
	without: func(h *hand) string {
		for {
			failed := slices.DeleteFunc(hits(h.sh("go build ./...")), func(one hit) bool { return !strings.HasSuffix(one.path, ".go") })
			if len(failed) == 0 {
				return ""
			}
			for _, one := range failed {
				text := h.read(one.path, one.line-2, 5)
				call := regexp.MustCompile(`(\w+\.)?AddEdge\([^\n]*`).FindString(text)
				h.edit(one.path, call, strings.Replace(call, "AddEdge(", "AddEdge(0, ", 1))
			}
		}
	},
	with: func(h *hand) string {
		for _, one := range hits(h.call("find_references", symbolOf("callgraph.AddEdge"))) {
			h.edit(one.path, one.text, strings.Replace(one.text, "AddEdge(", "AddEdge(0, ", 1))
		}
		h.sh("go build ./...")
		return ""
	},
}, {
	name: "Add a function after `ssa.Function.WriteTo`, in a file of 800 lines.", judge: "go vet ./go/ssa && grep -A 1 '^}' go/ssa/func.go | grep -c . && grep -q 'func (f \\*Function) Text' go/ssa/func.go",
	without: func(h *hand) string {
		at := h.search(`^func \(f \*Function\) WriteTo\(`)[0]
		h.read(at.path, at.line, 12)
		h.edit(at.path, "\tn, err := w.Write(buf.Bytes())\n\treturn int64(n), err\n}\n\n// WriteFunction", "\tn, err := w.Write(buf.Bytes())\n\treturn int64(n), err\n}\n\n"+textFunction+"\n\n// WriteFunction")
		h.sh("go build ./go/ssa")
		return ""
	},
	with: func(h *hand) string {
		h.call("edit_symbol", map[string]any{"path": "go/ssa/func.go", "symbol": "Function.WriteTo", "where": "after", "text": textFunction})
		h.call("get_diagnostics", map[string]any{"path": "go/ssa"})
		return ""
	},
}}

const textFunction = "// Text returns what WriteTo writes.\nfunc (f *Function) Text() string {\n\tvar buf bytes.Buffer\n\tWriteFunction(&buf, f)\n\treturn buf.String()\n}"

func (h *hand) callers(name string) string {
	return h.call("find_references", map[string]any{"symbol": name, "kind": "callers"})
}

// typesOf returns the names of types that the texts of hits have.
func typesOf(all []hit, pattern string) string {
	found := map[string]bool{}
	for _, one := range all {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(one.text); m != nil {
			found[m[1]] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " ")
}

// perform lets an agent do what a policy says, and returns what it cost and its answer.
func (b *bench) perform(name string, policy func(h *hand) string, capabilities ...agent.Capability[*workspace.Session]) (*hand, string) {
	h := &hand{}
	next, stop := iter.Pull(func(yield func(model.Part) bool) {
		h.yield = yield
		answer := policy(h)
		yield(model.Part{Kind: model.PartText, Text: answer})
	})
	defer stop()
	identity := func(s *workspace.Session) *workspace.Session { return s }
	a, err := agent.New(agent.Config[*workspace.Session, string]{
		Instructions: "You are a coding agent.",
		Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
			tools, err := json.Marshal(req.Tools)
			h.sent += (len(req.Instructions) + len(tools)) / 4
			for _, m := range req.Messages {
				h.sent += history.Estimate(m)
			}
			last := req.Messages[len(req.Messages)-1]
			for _, p := range last.Parts {
				if p.Kind == model.PartToolReturn {
					h.result = p.Text
					h.fresh += history.Estimate(last)
					if p.Outcome != "" {
						h.failed = append(h.failed, p.Text)
					}
				}
			}
			part, _ := next()
			m := &model.Message{Kind: model.KindResponse, Parts: []model.Part{part}}
			if part.Kind == model.PartToolCall {
				h.fresh += history.Estimate(m)
			} else if part.Text == "" {
				m.Parts[0].Text = "Done."
			}
			return m, err
		}),
		Toolsets:     []toolset.Toolset[*workspace.Session]{workspace.Tools(identity)},
		Capabilities: capabilities,
		Asker: toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
			return toolset.Allow(), nil
		}},
	})
	require.NoError(b, err)
	res, err := a.Run(b.Context(), b.session, name)
	require.NoError(b, err, name)
	require.Empty(b, h.failed, name)
	return h, strings.TrimSuffix(res.Output, "Done.")
}

// Ten tasks in a module of 240,000 lines are solved with and without the toolset. The table of
// docs/lsp.md is what that costs.
func TestTasks(t *testing.T) {
	languages(t)
	dir := goModule(t)
	b := newBench(t, dir, gopls(t))
	w, err := local.Open(local.Config{Roots: []string{dir}, PassEnv: []string{"GOFLAGS"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	b.session = workspace.NewSession(w)
	b.set = lsptoolset.Tools(b.servers, func(s *workspace.Session) *workspace.Session { return s }, lsptoolset.Options{Trust: true})
	b.call("get_diagnostics", `{"path":"txtar"}`) // starts the server
	code := lsptoolset.Capability(b.servers, func(s *workspace.Session) *workspace.Session { return s },
		lsptoolset.Options{Trust: true, Budget: time.Minute}) // a busy machine changes no result
	before := snapshot(t, dir)
	restore := func() {
		after := snapshot(t, dir)
		for _, name := range difference(before, after) {
			if text, there := before[name]; there {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			} else {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
	}
	var table strings.Builder
	table.WriteString("| Task | Calls | Tokens of calls and results | Tokens of all requests |\n|---|---|---|---|\n")
	var total [2]hand
	for _, task := range tasks {
		var costs [2]*hand
		for i, policy := range []func(h *hand) string{task.without, task.with} {
			for name, text := range task.broken {
				path := filepath.Join(dir, name)
				if _, there := before[name]; there {
					_, err := run(dir, nil, "sed", "-i", text, name)
					require.NoError(t, err)
					continue
				}
				require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			}
			var answer string
			if i == 0 {
				costs[i], answer = b.perform(task.name, policy)
			} else {
				costs[i], answer = b.perform(task.name, policy, code)
			}
			if task.want != "" {
				require.Equal(t, task.want, answer, "%s, policy %d", task.name, i)
			}
			if task.judge != "" {
				_, err := run(dir, nil, "sh", "-c", task.judge)
				require.NoError(t, err, "%s, policy %d", task.name, i)
			}
			restore()
			total[i].calls += costs[i].calls
			total[i].fresh += costs[i].fresh
			total[i].sent += costs[i].sent
		}
		fmt.Fprintln(&table, row(task.name, costs[0], costs[1]))
	}
	fmt.Fprintln(&table, row("All", &total[0], &total[1]))
	t.Logf("\n%s", table.String())
	compareTable(t, table.String())
}

func row(name string, without, with *hand) string {
	return fmt.Sprintf("| %s | %d → %d | %d → %d | %d → %d |", name, without.calls, with.calls, without.fresh, with.fresh, without.sent, with.sent)
}

const (
	tableBegin = "<!-- tasks -->\n"
	tableEnd   = "<!-- end of tasks -->\n"
)

// compareTable compares the table with that of the documentation, in which no number of tokens may be
// wrong by more than a fifth: what a server says depends a little on how busy the machine is.
func compareTable(t *testing.T, table string) {
	name := filepath.Join("..", "..", "..", "docs", "lsp.md")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	head, rest, ok := bytes.Cut(text, []byte(tableBegin))
	require.True(t, ok)
	told, tail, ok := bytes.Cut(rest, []byte(tableEnd))
	require.True(t, ok)
	if *updateTasks {
		all := slices.Concat(head, []byte(tableBegin+table+tableEnd), tail)
		require.NoError(t, os.WriteFile(name, all, 0o644))
		return
	}
	calls := regexp.MustCompile(`(?m)^\| [^|]* \| \d+ → \d+ \|`) // of tools, which a policy makes
	require.Equal(t, calls.FindAllString(table, -1), calls.FindAllString(string(told), -1))
	number := regexp.MustCompile(`\b\d+\b`)
	require.Equal(t, number.ReplaceAllString(table, "N"), number.ReplaceAllString(string(told), "N"))
	now, before := number.FindAllString(table, -1), number.FindAllString(string(told), -1)
	for i := range now {
		a, _ := strconv.Atoi(now[i])
		b, _ := strconv.Atoi(before[i])
		require.InDelta(t, a, b, max(60, float64(a)/5), "docs/lsp.md: number %d of the table: -update-tasks writes it", i)
	}
}

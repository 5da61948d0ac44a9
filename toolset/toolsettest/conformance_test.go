// SPDX-License-Identifier: Apache-2.0

package toolsettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

type deps struct{ Name string }

type set = toolset.Toolset[deps]

type runContext = toolset.RunContext[deps]

type query struct {
	City string `json:"city" validate:"required"`
}

func forecast() *toolset.Tool[deps] {
	return toolset.Func("forecast", "Forecast.", func(_ context.Context, run *runContext, q query) (string, error) {
		return q.City + " for " + run.Deps.Name, nil
	})
}

var oslo = toolsettest.Case{Tool: "forecast", Args: `{"city":"Oslo"}`}

func TestConformanceAcceptsGoodToolsets(t *testing.T) {
	toolsettest.Conformance(t, func() set { return toolset.Of(forecast()) }, deps{"Ada"}, oslo)
	toolsettest.Conformance(t, func() set { return toolset.Of[deps]() }, deps{})
	raw := func() set {
		return toolset.Combine(
			toolset.External[deps](model.ToolDef{Name: "external", Schema: json.RawMessage(`{"type":"object"}`)}),
			toolset.Of(toolset.Raw[deps]("raw", "", json.RawMessage(`{"type":"object"}`), func(_ context.Context, _ *runContext, args json.RawMessage) (toolset.Result, error) {
				return toolset.Result{Text: string(args)}, nil
			})))
	}
	toolsettest.Conformance(t, raw, deps{}, toolsettest.Case{Tool: "raw", Args: `{"n":1}`}, toolsettest.Case{Tool: "external", Args: ""})
}

// misfit is a toolset that breaks the rules it is told to break.
type misfit struct {
	name  func() string
	check error
	open  func(context.Context) error
	tools func(ctx context.Context, run *runContext, step int) ([]*toolset.Tool[deps], error)
	close func(opened *atomic.Int32) error
	// opened counts the open instances. With none set, Open returns no instance.
	opened atomic.Int32
	none   bool
}

func (m *misfit) Name() string {
	if m.name != nil {
		return m.name()
	}
	return "misfit"
}

func (m *misfit) Check() error { return m.check }

func (m *misfit) Open(ctx context.Context, _ *runContext) (toolset.Instance[deps], error) {
	if m.none {
		return nil, nil
	}
	if m.open != nil {
		if err := m.open(ctx); err != nil {
			return nil, err
		}
	}
	m.opened.Add(1)
	return &misfitInstance{misfit: m, fixed: []*toolset.Tool[deps]{forecast()}}, nil
}

type misfitInstance struct {
	*misfit
	fixed []*toolset.Tool[deps]
	step  int
}

func (m *misfitInstance) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	m.step++
	if m.tools == nil {
		return toolset.Listing[deps]{Tools: m.fixed}, nil
	}
	tools, err := m.tools(ctx, run, m.step)
	return toolset.Listing[deps]{Tools: tools}, err
}

func (m *misfitInstance) Close(context.Context) error {
	m.opened.Add(-1)
	if m.misfit.close != nil {
		return m.misfit.close(&m.opened)
	}
	return nil
}

func changed(change func(*toolset.Tool[deps])) func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
	t := *forecast()
	change(&t)
	list := []*toolset.Tool[deps]{&t}
	return func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) { return list, nil }
}

func named(name string) *toolset.Tool[deps] {
	t := *forecast()
	t.Def.Name = name
	return &t
}

func TestConformanceFindsEveryBrokenRule(t *testing.T) {
	renames := 0
	shared := forecast()
	var everybody atomic.Bool
	for rule, c := range map[string]struct {
		make  func() set
		want  string
		cases []toolsettest.Case
	}{
		"the name does not change": {
			func() set { return &misfit{name: func() string { renames++; return fmt.Sprint(renames) }} }, `the name was "1" and is now "2"`, nil},
		"tool names are valid and unique": {
			func() set {
				list := []*toolset.Tool[deps]{named("a.b"), named("c"), named("c")}
				return &misfit{tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) { return list, nil }}
			}, "tool name \"a.b\": must be 1 to 64 letters, digits, '_' and '-'\ntool \"c\" is listed twice", nil},
		"every schema describes an object": {
			func() set {
				return &misfit{tools: changed(func(t *toolset.Tool[deps]) { t.Def.Schema = json.RawMessage(`{"type":"string"}`) })}
			}, `tool "forecast": the schema's type is "string", must be "object"`, nil},
		"every tool can be called": {
			func() set { return &misfit{tools: changed(func(t *toolset.Tool[deps]) { t.Call = nil })} }, `tool "forecast" has no Call function and is not external`, nil},
		"the order of tools is stable": {
			func() set {
				return &misfit{tools: func(_ context.Context, _ *runContext, step int) ([]*toolset.Tool[deps], error) {
					if step == 2 {
						return []*toolset.Tool[deps]{named("b"), named("new"), named("a")}, nil
					}
					return []*toolset.Tool[deps]{named("a"), named("b")}, nil
				}}
			}, "one step lists [a b], the next step [b new a]", nil},
		"tools are not modified": {
			func() set {
				t := forecast()
				list := []*toolset.Tool[deps]{t}
				return &misfit{tools: func(_ context.Context, run *runContext, step int) ([]*toolset.Tool[deps], error) {
					if run.RunID == "run" { // only if runs are not concurrent, because the race detector would report it first
						t.Def.Description = fmt.Sprint("step ", step)
					}
					return list, nil
				}}
			}, `tool "forecast" was modified after it was listed`, nil},
		"invalid arguments are errors for the model": {
			func() set {
				return &misfit{tools: changed(func(t *toolset.Tool[deps]) {
					t.Decode = func(args []byte) (any, error) {
						if len(args) == 0 {
							panic("empty")
						}
						return nil, errors.New("bad")
					}
				})}
			}, `tool "forecast": Decode of "" panics: empty`, nil},
		"closing one run does not affect another": {
			func() set {
				everybody.Store(false)
				return &misfit{
					close: func(*atomic.Int32) error { everybody.Store(true); return nil },
					tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
						if everybody.Load() {
							return nil, errors.New("closed")
						}
						return []*toolset.Tool[deps]{shared}, nil
					},
				}
			}, "after another run was closed: tools in step 1: closed", nil},
		"a run that ends early can be closed": {
			func() set {
				m := &misfit{}
				m.close = func(*atomic.Int32) error { return errors.New("stuck") }
				return m
			}, "before its first step: close: stuck", nil},
		"nothing blocks after cancellation": {
			func() set {
				return &misfit{open: func(ctx context.Context) error {
					if ctx.Err() != nil {
						time.Sleep(time.Hour)
					}
					return nil
				}}
			}, "Open blocks after its context is done", nil},
		"the cases succeed": {
			func() set { return toolset.Of(forecast()) }, `call of "forecast" with {}: `, []toolsettest.Case{{Tool: "forecast", Args: "{}"}}},
		"concurrent runs work": {
			func() set {
				m := &misfit{}
				m.tools = func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
					time.Sleep(time.Second) // so that runs overlap
					if m.opened.Load() > 2 {
						return nil, errors.New("too many")
					}
					return []*toolset.Tool[deps]{shared}, nil
				}
				return m
			}, "tools in step 1: too many", nil},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				broken, _ := toolsettest.Broken(t.Context(), c.make, deps{"Ada"}, c.cases...)
				require.Contains(t, broken, rule)
				require.Contains(t, broken[rule], c.want)
				time.Sleep(2 * time.Hour) // until blocked calls have ended
			})
		})
	}
}

func TestConformanceReportsBrokenOpenAndListings(t *testing.T) {
	for want, m := range map[string]*misfit{
		"open: boom": {open: func(context.Context) error { return errors.New("boom") }},
		"open returned neither an instance nor an error": {none: true},
		"tools in step 1: boom":                          {tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) { return nil, errors.New("boom") }},
		"tool 0 is nil": {tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
			return make([]*toolset.Tool[deps], 1), nil
		}},
	} {
		broken, _ := toolsettest.Broken(t.Context(), func() set { return m }, deps{})
		require.Contains(t, broken["every schema describes an object"], want)
		require.Contains(t, broken["concurrent runs work"], want)
	}
	broken, _ := toolsettest.Broken(t.Context(), func() set { return &misfit{name: func() string { return "" }, check: errors.New("wrong")} }, deps{}, toolsettest.Case{Tool: "missing"})
	require.Equal(t, "the name is empty", broken["the name does not change"])
	require.Equal(t, "check: wrong", broken["every tool can be called"])
	require.Contains(t, broken["the cases succeed"], `unknown tool "missing"; available tools: [forecast]`)
}

func TestConformanceWarnsAboutNewSlices(t *testing.T) {
	tool := forecast()
	broken, warnings := toolsettest.Broken(t.Context(), func() set {
		return &misfit{tools: func(context.Context, *runContext, int) ([]*toolset.Tool[deps], error) {
			return []*toolset.Tool[deps]{tool}, nil
		}}
	}, deps{}, oslo)
	require.Empty(t, broken)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "in a new slice")
}

// hides embeds a toolset, so that nobody sees that it is a Checker and Fixed. Within is such a toolset in a slice, and wraps one that has a
// field of another name.
type (
	hides  struct{ set }
	within struct {
		name string
		all  []set
	}
	wraps struct {
		state struct{ inner set }
	}
	renames struct{ toolset.Base[deps] }
)

func (w *within) Name() string { return w.name }

func (w *within) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return toolset.Combine(w.all...).Open(ctx, run)
}

func (w *wraps) Name() string { return "wraps" }

func (w *wraps) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.state.inner.Open(ctx, run)
}

func (r *renames) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return toolset.Prefixed(r.Toolset, "x_").Open(ctx, run)
}

// Each of these has a toolset inside in another way.
type (
	own interface {
		set
		Extra()
	}
	more     struct{ set }
	state    struct{ deep set }
	narrowed struct{ in own }
	concrete struct{ in toolset.Base[deps] }
	pointed  struct{ *state }
	mapped   struct{ all map[string]set }
	arrayed  struct{ all [1]state }
	looped   struct {
		self *looped
		in   set
	}
)

func (more) Extra()       {}
func (more) Check() error { return nil }
func (more) FixedTools() []*toolset.Tool[deps] {
	return nil
}

func (narrowed) Name() string { return "narrowed" }
func (concrete) Name() string { return "concrete" }
func (pointed) Name() string  { return "pointed" }
func (mapped) Name() string   { return "mapped" }
func (arrayed) Name() string  { return "arrayed" }
func (*looped) Name() string  { return "looped" }

func (w narrowed) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.in.Open(ctx, run)
}

func (w concrete) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.in.Open(ctx, run)
}

func (w pointed) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.deep.Open(ctx, run)
}

func (w mapped) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.all["a"].Open(ctx, run)
}

func (w arrayed) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.all[0].deep.Open(ctx, run)
}

func (w *looped) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	return w.in.Open(ctx, run)
}

func TestConformanceFindsToolsetsWhereverTheyAre(t *testing.T) {
	inner := toolset.Of(forecast())
	loop := &looped{in: inner}
	loop.self = loop
	for field, s := range map[string]set{
		"in, a toolsettest_test.more": narrowed{more{inner}}, "in, a toolset.Base": concrete{toolset.Base[deps]{Toolset: inner}}, "deep": pointed{&state{inner}},
		"all[a]": mapped{map[string]set{"a": inner, "b": nil}}, "deep, ": arrayed{[1]state{{inner}}}, "in, a *toolset": loop,
	} {
		broken, _ := toolsettest.Broken(t.Context(), func() set { return s }, deps{})
		found := broken["toolsets inside are checked before a run"]
		require.Contains(t, found, "hides from agent.New that its "+field)
		require.Contains(t, found, "is a toolset.Checker: embed toolset.Base")
		require.Contains(t, found, "is a toolset.Fixed: embed toolset.Base")
	}
}

func TestConformanceFindsCombinatorsThatHideMistakes(t *testing.T) {
	inner := toolset.Of(forecast())
	w := &wraps{}
	w.state.inner = inner
	for field, s := range map[string]set{"set": hides{inner}, "all[1]": &within{"w", []set{toolset.Of[deps](), inner}}, "inner": w} {
		broken, _ := toolsettest.Broken(t.Context(), func() set { return s }, deps{})
		require.Len(t, broken, 1, field)
		found := broken["toolsets inside are checked before a run"]
		require.Contains(t, found, "hides from agent.New that its "+field)
		require.Contains(t, found, "is a toolset.Checker: embed toolset.Base")
		require.Contains(t, found, "is a toolset.Fixed: embed toolset.Base")
	}
	broken, _ := toolsettest.Broken(t.Context(), func() set { return &renames{toolset.Base[deps]{Toolset: inner}} }, deps{})
	require.Equal(t, map[string]string{"fixed tools are listed": `FixedTools has "forecast", which is not listed: the tools are [x_forecast]`}, broken)
}

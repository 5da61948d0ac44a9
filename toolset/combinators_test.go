// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// Tests of what all combinators have in common.

func TestCombinatorsConform(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			both(t, tells("tell", "second"), func(t *testing.T, inner set) {
				_, offered := combine(inner)
				toolsettest.Conformance(t, func() set { s, _ := combine(inner); return s }, deps{"Ada"}, toolsettest.Case{Tool: offered, Args: "{}"})
			})
		})
	}
}

func TestToolSeesItsOriginalName(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			both(t, tells("tell", "second"), func(t *testing.T, inner set) {
				s, offered := combine(inner)
				tr := run(t, []set{s}, say(offered), done)
				require.NoError(t, tr.err)
				require.Contains(t, tr.offered[0], offered)
				require.Equal(t, []string{"tell for Ada"}, tr.answers)
			})
		})
	}
}

func TestToolsetsAreOpenedAndClosedOnce(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			for ending, c := range map[string]struct {
				prepare func(*recorder)
				step    modeltest.Step
				want    string // the error must contain it
			}{
				"well":                {func(*recorder) {}, done, ""},
				"with an error":       {func(*recorder) {}, modeltest.Fail(errBoom), "boom"},
				"listing fails":       {func(r *recorder) { r.listErr = errBoom }, done, `toolset "inner": boom`},
				"listing panics":      {func(r *recorder) { r.panics = "tools" }, done, "tools panics"},
				"closing fails":       {func(r *recorder) { r.closeErr = errBoom }, modeltest.Fail(errors.New("end")), `close toolset "inner": boom`},
				"opening fails":       {func(r *recorder) { r.openErr = errBoom }, done, `open toolset "inner": boom`},
				"opening panics":      {func(r *recorder) { r.panics = "open" }, done, "open panics"},
				"closing panics":      {func(r *recorder) { r.panics = "close" }, modeltest.Fail(errors.New("end")), "close panics"},
				"definition is wrong": {func(r *recorder) { r.inner = toolset.Of(tell("bad name")) }, done, `tool name "bad name"`},
			} {
				t.Run(ending, func(t *testing.T) {
					before, inner, after := record("before", tells("before")), record("inner", tells("tell", "second")), record("after", tells("after"))
					c.prepare(inner)
					s, _ := combine(toolset.Combine[deps](inner))
					tr := run(t, []set{before, s, after}, c.step)
					if c.want == "" {
						require.NoError(t, tr.err)
					} else {
						require.ErrorContains(t, tr.err, c.want)
					}
					require.Equal(t, 1, inner.count("open"))
					opened := 1
					if inner.panics == "open" || inner.openErr != nil {
						opened = 0
					}
					if ending != "definition is wrong" {
						require.Equal(t, opened, inner.count("close"), "each instance is closed once")
					}
					for _, r := range []*recorder{before, after} {
						require.Equal(t, r.count("open"), r.count("close"), "%s: the others are closed too", r.name)
					}
				})
			}
		})
	}
}

func TestUnchangedToolsKeepTheirSlice(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			both(t, tells("tell", "second"), func(t *testing.T, inner set) {
				s, _ := combine(inner)
				in := open(t, s)
				first, err := in.Tools(t.Context(), &runContext{})
				require.NoError(t, err)
				for range 3 {
					again, err := in.Tools(t.Context(), &runContext{})
					require.NoError(t, err)
					require.Equal(t, len(first.Tools), len(again.Tools))
					require.Same(t, &first.Tools[0], &again.Tools[0])
				}
				require.NoError(t, in.Close(t.Context()))
			})
		})
	}
}

func TestCombinatorsFollowToolsetsThatChange(t *testing.T) {
	for name, combine := range combinators() {
		t.Run(name, func(t *testing.T) {
			small, large := tells("tell", "second"), tells("tell", "second", "third")
			s, offered := combine(perStep(func(step int) set {
				if step == 2 {
					return large
				}
				return small
			}))
			tr := run(t, []set{s}, say(offered), say(offered), done)
			require.NoError(t, tr.err)
			more := 1
			if name == "Searchable" {
				more = 0
			}
			require.Len(t, tr.offered[1], len(tr.offered[0])+more)
			require.Equal(t, tr.offered[0], tr.offered[2])
			require.Equal(t, []string{"tell for Ada", "tell for Ada"}, tr.answers)
		})
	}
}

func TestDefinitionErrorsAreReportedByNew(t *testing.T) {
	for name, combine := range combinators() {
		if name == "PerRun" || name == "PerStep" { // nothing is known before the run
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, _ := combine(tells("tell", "second", "bad name"))
			_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{s}})
			require.ErrorContains(t, err, `tool name "bad name"`)
			_, err = s.Open(t.Context(), &runContext{})
			require.ErrorContains(t, err, `tool name "bad name"`)

			s, _ = combine(toolset.Named(record("hidden", tells("tell", "second")), "outer"))
			_, err = agent.New(agent.Config[deps, string]{Toolsets: []set{s}})
			require.NoError(t, err, "not an error: unknown before a run")
		})
	}
}

func TestNilArgumentsAreDefinitionErrors(t *testing.T) {
	ok := tells("a")
	for want, s := range map[string]set{
		"toolset 0 is nil":                                                toolset.Combine[deps](nil, ok),
		"toolset n: the toolset is nil":                                   toolset.Named[deps](nil, "n"),
		"toolset RenamedFunc(): the toolset is nil":                       toolset.Prefixed[deps](nil, "p"),
		"toolset of(a): RenamedFunc: the function is nil":                 toolset.RenamedFunc(ok, nil),
		"toolset Renamed(): the toolset is nil":                           toolset.Renamed[deps](nil, nil),
		"toolset Filtered(): the toolset is nil":                          toolset.Filtered[deps](nil, nil),
		"toolset of(a): Filtered: the function is nil":                    toolset.Filtered(ok, nil),
		"toolset Prepared(): the toolset is nil":                          toolset.Prepared[deps](nil, nil),
		"toolset of(a): Prepared: the function is nil":                    toolset.Prepared(ok, nil),
		"toolset of(a): PreparedAll: the function is nil":                 toolset.PreparedAll(ok, nil),
		"toolset Wrapped(): the toolset is nil":                           toolset.Wrapped[deps](nil),
		"toolset of(a): Wrapped: hook 0 is nil":                           toolset.Wrapped(ok, nil),
		"toolset of(a): Wrapped: hook 1 is nil":                           toolset.Wrapped(ok, pass, nil),
		"toolset Approved(): the toolset is nil":                          toolset.Approved[deps](nil, nil),
		"toolset n: PerRun: the function is nil":                          toolset.PerRun[deps]("n", nil),
		"toolset n: PerStep: the function is nil":                         toolset.PerStep[deps]("n", nil),
		"toolset Adapt(): the toolset is nil":                             toolset.Adapt[int](nil, func(deps) int { return 1 }),
		"toolset of(a): Adapt: the function is nil":                       toolset.Adapt[deps, deps](ok, nil),
		"toolset Limited(): the toolset is nil":                           toolset.Limited[deps](nil, 1),
		"toolset of(a): Limited: limit 0 must":                            toolset.Limited(ok, 0),
		"toolset LimitedPerRun(): the toolset is nil":                     toolset.LimitedPerRun[deps](nil, 1),
		"toolset of(a): LimitedPerRun: limit -1 must":                     toolset.LimitedPerRun(ok, -1),
		"toolset Searchable(): the toolset is nil":                        toolset.Searchable(nil, toolset.Search[deps]{}),
		"toolset of(a): Searchable: Max -1 must":                          toolset.Searchable(ok, toolset.Search[deps]{Max: -1}),
		`toolset of(a): Searchable: tool name "find it": invalid charact`: toolset.Searchable(ok, toolset.Search[deps]{Name: "find it"}),
		"toolset Instructed(): the toolset is nil":                        toolset.Instructed[deps](nil, ""),
		"toolset Defaults(): the toolset is nil":                          toolset.Defaults[deps](nil),
		"toolset n: toolset of(): tool 0 is nil":                          toolset.Named(toolset.Of[deps](nil), "n"),
	} {
		require.NotEmpty(t, s.Name())
		_, err := agent.New(agent.Config[deps, string]{Toolsets: []set{s}})
		require.ErrorContains(t, err, want)
		_, err = s.Open(t.Context(), &runContext{})
		require.ErrorContains(t, err, want)
	}
	_, err := toolset.Combine(toolset.Toolset[deps](record("r", ok)), nil).Open(t.Context(), &runContext{})
	require.ErrorContains(t, err, "toolset 1 is nil")
	require.Equal(t, "r+nil", toolset.Combine(toolset.Toolset[deps](record("r", ok)), nil).Name())
}

func pass(ctx context.Context, _ *runContext, args any, next toolset.CallFunc) (toolset.Result, error) {
	return next(ctx, args)
}

func TestStaticToolsetsDoNotAllocate(t *testing.T) {
	s := toolset.Combine(
		toolset.Prefixed(toolset.Combine(tells("x", "y"), tells("z")), "a_"),
		toolset.Instructed(toolset.Limited(toolset.Defaults(toolset.Adapt(tells("b"), func(d deps) deps { return d }), toolset.Sequential()), 3), "Use b."),
		toolset.Named(toolset.Approved(toolset.Wrapped(toolset.Renamed(tells("c"), map[string]string{"c": "d"}), pass), nil), "approved"),
	)
	rc := &runContext{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		in, err := s.Open(t.Context(), rc)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if _, err := in.Tools(t.Context(), rc); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}))
}

func TestCombinatorsAllocateInTheFirstStepOnly(t *testing.T) {
	for name, combine := range combinators() {
		if name == "Prepared" || name == "Adapt" { // a changed definition, and a run context for the inner toolset
			continue
		}
		s, _ := combine(perRun(tells("tell", "second")))
		in := open(t, toolset.Combine(toolset.Prefixed(s, "x_")))
		rc := &runContext{}
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if _, err := in.Tools(context.Background(), rc); err != nil {
				t.Fatal(err)
			}
		}), name)
	}
}

// fixedSet is a third-party toolset whose tools are known before any run.
type fixedSet struct{ set }

func (f fixedSet) FixedTools() []*toolset.Tool[deps] { return []*toolset.Tool[deps]{tell("twice")} }

func TestNewReportsClashesOfFixedTools(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{Model: modeltest.Script(), Toolsets: []set{fixedSet{tells("twice")}, tells("twice")}})
	var clash *toolset.NameClashError
	require.ErrorAs(t, err, &clash)
	require.Equal(t, "twice", clash.Tool)
}

func TestInstructionsFollowToolsetsThatChange(t *testing.T) {
	said := func(step int) set { return toolset.Instructed(tells("tell"), fmt.Sprint("In step ", step)) }
	instance, err := toolset.Combine(perStep(said), toolset.Instructed(tells("second"), "Always.")).Open(t.Context(), &runContext{})
	require.NoError(t, err)
	for _, step := range []int{1, 2, 2, 3} {
		run := &runContext{}
		run.Step = step
		l, err := instance.Tools(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("In step %d\n\nAlways.", step), l.Instructions)
	}
	require.NoError(t, instance.Close(t.Context()))
}

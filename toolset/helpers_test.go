// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

var errBoom = errors.New("boom")

type set = toolset.Toolset[deps]

type runContext = toolset.RunContext[deps]

type noArgs struct{}

// tell makes a tool that returns the name it is called by and the name in the deps.
func tell(name string) *toolset.Tool[deps] {
	return toolset.Func(name, "Tells what it sees.", func(_ context.Context, run *runContext, _ noArgs) (string, error) {
		return run.Call.Tool + " for " + run.Deps.Name, nil
	})
}

func tells(names ...string) set {
	var tools []*toolset.Tool[deps]
	for _, n := range names {
		tools = append(tools, tell(n))
	}
	return toolset.Of(tools...)
}

// fails makes a tool without arguments that returns an error.
func fails(name string, err error) *toolset.Tool[deps] {
	return toolset.Func(name, "", func(context.Context, *runContext, noArgs) (string, error) { return "", err })
}

// perRun hides from combinators that a toolset is static.
func perRun(inner set) set {
	return toolset.PerRun(inner.Name(), func(context.Context, *runContext) (set, error) { return inner, nil })
}

// both tests a toolset that is known before the run, and one that is not.
func both(t *testing.T, inner set, test func(t *testing.T, inner set)) {
	t.Helper()
	t.Run("static", func(t *testing.T) { test(t, inner) })
	t.Run("dynamic", func(t *testing.T) { test(t, perRun(inner)) })
}

func newAgent(t testing.TB, m model.Model, sets ...set) *agent.Agent[deps, string] {
	t.Helper()
	a, err := agent.New(agent.Config[deps, string]{Model: m, Toolsets: sets})
	require.NoError(t, err)
	return a
}

// transcript records a run over a script: what each request offered, what the tools returned, and how the run ended.
type transcript struct {
	offered [][]string
	answers []string
	res     *agent.Result[string]
	err     error
	script  *modeltest.Scripted
}

func run(t testing.TB, sets []set, steps ...modeltest.Step) transcript {
	t.Helper()
	tr := transcript{script: modeltest.Script(steps...)}
	tr.res, tr.err = newAgent(t, tr.script, sets...).Run(context.Background(), deps{"Ada"}, "go")
	var messages []*model.Message
	if tr.err != nil {
		var e *agent.RunError
		require.ErrorAs(t, tr.err, &e)
		messages = e.Messages
	} else {
		messages = tr.res.Messages
	}
	for _, r := range tr.script.Requests() {
		tr.offered = append(tr.offered, offeredBy(r))
	}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolReturn || p.Kind == model.PartRetry {
				tr.answers = append(tr.answers, strings.TrimSpace(string(p.Outcome)+" "+p.Text))
			}
		}
	}
	return tr
}

func offeredBy(r *model.Request) []string {
	names := []string{}
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return names
}

// say calls tools without arguments in a single response.
func say(tools ...string) modeltest.Step {
	var parts []model.Part
	for i, name := range tools {
		parts = append(parts, model.ToolCall(fmt.Sprint("call", i), name, "{}"))
	}
	return modeltest.Say(parts...)
}

var done = modeltest.SayText("done")

// recorder is a toolset that records what happens to it.
type recorder struct {
	mu      sync.Mutex
	name    string
	inner   set
	log     []string
	openErr error
	// listErr and closeErr are returned by the instances.
	listErr, closeErr error
	panics            string // the method that panics
}

func record(name string, inner set) *recorder { return &recorder{name: name, inner: inner} }

func (r *recorder) note(what string) {
	r.mu.Lock()
	r.log = append(r.log, what)
	r.mu.Unlock()
	if r.panics == what {
		panic(what + " panics")
	}
}

func (r *recorder) count(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, l := range r.log {
		if l == what {
			n++
		}
	}
	return n
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) Open(ctx context.Context, run *runContext) (toolset.Instance[deps], error) {
	r.note("open")
	if r.openErr != nil {
		return nil, r.openErr
	}
	in, err := r.inner.Open(ctx, run)
	return &recorded{r, in}, err
}

type recorded struct {
	*recorder
	instance toolset.Instance[deps]
}

func (r *recorded) Tools(ctx context.Context, run *runContext) (toolset.Listing[deps], error) {
	r.note("tools")
	l, err := r.instance.Tools(ctx, run)
	return l, errors.Join(err, r.listErr)
}

func (r *recorded) Close(ctx context.Context) error {
	r.note("close")
	return errors.Join(ctx.Err(), r.closeErr, r.instance.Close(ctx))
}

// combinators returns all combinators, each around the same toolset, with the name the tool "tell" is offered under.
func combinators() map[string]func(set) (set, string) {
	return map[string]func(set) (set, string){
		"Named":    func(s set) (set, string) { return toolset.Named(s, "named"), "tell" },
		"Combine":  func(s set) (set, string) { return toolset.Combine(s, tells("other")), "tell" },
		"Prefixed": func(s set) (set, string) { return toolset.Prefixed(s, "p_"), "p_tell" },
		"Renamed":  func(s set) (set, string) { return toolset.Renamed(s, map[string]string{"tell": "say"}), "say" },
		"RenamedFunc": func(s set) (set, string) {
			return toolset.RenamedFunc(s, func(n string) string { return n + "_it" }), "tell_it"
		},
		"Filtered": func(s set) (set, string) {
			return toolset.Filtered(s, func(context.Context, *runContext, *toolset.Tool[deps]) (bool, error) { return true, nil }), "tell"
		},
		"Prepared": func(s set) (set, string) {
			return toolset.Prepared(s, func(_ context.Context, _ *runContext, def model.ToolDef) (*model.ToolDef, error) {
				def.Description += " Now."
				return &def, nil
			}), "tell"
		},
		"PreparedAll": func(s set) (set, string) {
			return toolset.PreparedAll(s, func(_ context.Context, _ *runContext, defs []model.ToolDef) ([]model.ToolDef, error) {
				slices.Reverse(defs)
				return defs, nil
			}), "tell"
		},
		"Wrapped": func(s set) (set, string) {
			return toolset.Wrapped(s, pass), "tell"
		},
		"Approved": func(s set) (set, string) {
			return toolset.Approved(s, func(context.Context, *runContext, *toolset.Tool[deps], any) (*toolset.Approval, error) {
				return nil, nil
			}), "tell"
		},
		"PerRun":  func(s set) (set, string) { return perRun(s), "tell" },
		"PerStep": func(s set) (set, string) { return perStep(func(int) set { return s }), "tell" },
		"Adapt": func(s set) (set, string) {
			return toolset.Adapt(toolset.Adapt(s, func(w wider) deps { return w.deps }), func(d deps) wider { return wider{d, 1} }), "tell"
		},
		"Limited":       func(s set) (set, string) { return toolset.Limited(s, 2), "tell" },
		"LimitedPerRun": func(s set) (set, string) { return toolset.LimitedPerRun(s, 2), "tell" },
		"Searchable": func(s set) (set, string) {
			return toolset.Searchable(s, toolset.Search[deps]{Visible: func(t *toolset.Tool[deps]) bool { return t.Def.Name == "tell" }}), "tell"
		},
		"Instructed": func(s set) (set, string) { return toolset.Instructed(s, "Tell."), "tell" },
		"Defaults":   func(s set) (set, string) { return toolset.Defaults(s, toolset.Retries(3)), "tell" },
		"Stateless":  func(s set) (set, string) { return toolset.Stateless(s), "tell" },
	}
}

type wider struct {
	deps
	n int
}

func perStep(build func(step int) set) set {
	return toolset.PerStep("steps", func(_ context.Context, run *runContext) (set, error) { return build(run.Step), nil })
}

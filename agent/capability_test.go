// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

type capability = agent.Capability[deps]

// trail records what the parts of capabilities do, in order.
type trail struct {
	mu    sync.Mutex
	notes []string
}

func (tr *trail) add(note string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.notes = append(tr.notes, note)
}

func (tr *trail) String() string { return strings.Join(tr.notes, " ") }

// everything makes a capability that sets every field, with name in all of them.
func (tr *trail) everything(name string, include ...capability) capability {
	return capability{
		Name:         name,
		Instructions: "static " + name,
		Dynamic:      []agent.InstructionFunc[deps]{agent.Instruct(func(deps) string { return "dynamic " + name })},
		Tools:        []*toolset.Tool[deps]{says(name+"_tool", name)},
		Toolsets:     []toolset.Toolset[deps]{toolset.Instructed(toolset.Of(says(name+"_set", name)), "tools "+name)},
		Hooks: []agent.Hooks[deps]{{
			Run: func(ctx context.Context, _ *toolset.RunContext[deps], next agent.RunFunc) error {
				tr.add("run:" + name)
				_, err := next(ctx)
				tr.add("end:" + name)
				return err
			},
			Request: func(ctx context.Context, _ *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				tr.add("request:" + name)
				return next(ctx, req)
			},
			Call: func(ctx context.Context, _ *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
				tr.add("call:" + name)
				return next(ctx, args)
			},
		}},
		History: []agent.HistoryProcessor[deps]{func(_ context.Context, _ *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
			tr.add("history:" + name)
			return messages, nil
		}},
		Settings: &model.Settings{Stop: []string{name}, ExtraHeaders: map[string]string{"X-" + name: name, "X-Shared": name}},
		Commands: []agent.Command[deps]{{Name: name, Prompt: "do " + name}},
		Include:  include,
	}
}

// config makes a configuration of what a capability has, for the agent itself.
func (tr *trail) config(capabilities ...capability) cfg {
	own := tr.everything("own")
	return cfg{
		Instructions: own.Instructions, Dynamic: own.Dynamic, Tools: own.Tools, Toolsets: own.Toolsets, Hooks: own.Hooks,
		History: own.History, Settings: own.Settings, Commands: own.Commands, Capabilities: capabilities,
	}
}

func TestCapabilitiesAreInstalledInOrder(t *testing.T) {
	var tr trail
	config := tr.config(tr.everything("a", tr.everything("b", tr.everything("c"))), tr.everything("d"))
	script := modeltest.Script(modeltest.Say(call("1", "c_tool")), modeltest.SayText("done"))
	config.Model = script
	a := newAgent(t, config)
	_, err := a.Run(t.Context(), deps{}, "go", agent.WithInstructions("static run"))
	require.NoError(t, err)

	req := script.Requests()[0]
	require.Equal(t, "static own\n\nstatic a\n\nstatic b\n\nstatic c\n\nstatic d\nstatic run"+
		"\n\ndynamic own\n\ndynamic a\n\ndynamic b\n\ndynamic c\n\ndynamic d"+
		"\n\ntools own\n\ntools a\n\ntools b\n\ntools c\n\ntools d", req.Instructions)
	var tools []string
	for _, def := range req.Tools {
		tools = append(tools, def.Name)
	}
	require.Equal(t, "own_tool own_set a_tool a_set b_tool b_set c_tool c_set d_tool d_set", strings.Join(tools, " "))
	require.Equal(t, []string{"own"}, req.Settings.Stop, "the agent's settings win")
	require.Equal(t, map[string]string{"X-own": "own", "X-a": "a", "X-b": "b", "X-c": "c", "X-d": "d", "X-Shared": "own"}, req.Settings.ExtraHeaders)
	require.Equal(t, "run:own run:a run:b run:c run:d "+
		"history:own history:a history:b history:c history:d "+
		"request:own request:a request:b request:c request:d "+
		"call:own call:a call:b call:c call:d "+
		"history:own history:a history:b history:c history:d "+
		"request:own request:a request:b request:c request:d "+
		"end:d end:c end:b end:a end:own", tr.String())
	var commands []string
	for _, c := range a.Commands() {
		commands = append(commands, c.Name)
	}
	require.Equal(t, []string{"own", "a", "b", "c", "d"}, commands)
}

func TestEarlierCapabilityWinsSettings(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("done"))
	_, err := newAgent(t, cfg{Model: script, Capabilities: []capability{
		{Name: "a", Settings: &model.Settings{MaxTokens: 1}},
		{Name: "b", Settings: &model.Settings{MaxTokens: 2, Temperature: new(0.5)}},
	}}).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, &model.Settings{MaxTokens: 1, Temperature: new(0.5)}, script.Requests()[0].Settings)
}

func TestEqualCapabilitiesAreInstalledOnce(t *testing.T) {
	var tr trail
	shared := tr.everything("shared")
	config := tr.config(tr.everything("a", shared), tr.everything("b", shared), shared)
	script := modeltest.Script(modeltest.SayText("done"))
	config.Model = script
	_, err := newAgent(t, config).Run(t.Context(), deps{}, "go")
	require.NoError(t, err)
	require.Equal(t, "static own\n\nstatic a\n\nstatic shared\n\nstatic b", strings.SplitAfter(script.Requests()[0].Instructions, "static b")[0],
		"where it comes first")

	loop := []capability{{Name: "loop", Instructions: "Round and round."}}
	loop[0].Include = loop
	_, err = agent.New(cfg{Capabilities: loop})
	require.NoError(t, err, "a capability that includes itself is installed once, too")
}

func TestNewReportsAllErrorsOfCapabilities(t *testing.T) {
	_, err := agent.New(agent.Config[deps, string]{
		Name:  "busy",
		Tools: []*toolset.Tool[deps]{says("read", "")},
		Commands: []agent.Command[deps]{
			{Name: "plan", Prompt: "Plan."}, {Name: "no spaces", Prompt: "x"}, {Name: "empty"},
		},
		Capabilities: []capability{
			{Name: "files", Tools: []*toolset.Tool[deps]{says("read", "")}},
			{Name: "plan", Commands: []agent.Command[deps]{{Name: "plan", Prompt: "Make a plan."}}, Include: []capability{
				{Name: "files", Instructions: "Other files."},
				{Instructions: "Nameless."},
			}},
			{Name: "odd", Dynamic: []agent.InstructionFunc[deps]{nil}, History: []agent.HistoryProcessor[deps]{nil}, Toolsets: []toolset.Toolset[deps]{toolset.Of(says("my tool", "")), nil}},
			agent.Adapt[deps, deps](capability{Name: "adapted"}, nil),
		},
	})
	for _, want := range []string{
		"agent: new busy: ",
		`the agent: command "no spaces": the name must have 1 to 64 characters: letters, digits, or one of "_-.:"`,
		`the agent: command "empty": set either Prompt or Run`,
		`two commands are called "plan": one is of the agent, the other of capability plan`,
		`two different capabilities are called "files": one is included by the agent, the other by capability plan`,
		"capability plan: capability 1 has no name",
		"capability odd: Dynamic[0] is nil",
		"capability odd: History[0] is nil",
		`toolset capability odd: of(my tool): toolset of(my tool): tool name "my tool"`,
		"capability odd: Toolsets[1] is nil",
		"toolset capability adapted: of(): toolset of(): Adapt: the function is nil",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestToolClashNamesBothCapabilities(t *testing.T) {
	read := func() []*toolset.Tool[deps] { return []*toolset.Tool[deps]{says("read", "")} }
	static, perRun := toolset.Of(read()...), toolset.PerRun("fresh", func(context.Context, *toolset.RunContext[deps]) (toolset.Toolset[deps], error) {
		return toolset.Of(read()...), nil
	})
	for name, test := range map[string]struct {
		config cfg
		want   string
	}{
		"tools":           {cfg{Capabilities: []capability{{Name: "a", Tools: read()}, {Name: "b", Tools: read()}}}, `toolsets "capability a" and "capability b" both have a tool "read"`},
		"toolsets":        {cfg{Tools: read(), Capabilities: []capability{{Name: "b", Toolsets: []toolset.Toolset[deps]{static}}}}, `toolsets "Config.Tools" and "capability b: of(read)" both have a tool "read"`},
		"with a dynamic":  {cfg{Tools: read(), Capabilities: []capability{{Name: "b", Toolsets: []toolset.Toolset[deps]{perRun, static}}}}, `toolsets "Config.Tools" and "capability b: of(read)" both have a tool "read"`},
		"included":        {cfg{Capabilities: []capability{{Name: "a", Tools: read(), Include: []capability{{Name: "b", Tools: read()}}}}}, `toolsets "capability a" and "capability b" both have a tool "read"`},
		"with the output": {cfg{Capabilities: []capability{{Name: "a", Tools: []*toolset.Tool[deps]{says("read", "")}}}, Alternatives: []agent.Alternative[deps, string]{agent.As[deps]("read", "", func(s string) string { return s })}}, `toolsets "the agent's output" and "capability a" both have a tool "read"`},
	} {
		_, err := agent.New(test.config)
		require.ErrorContains(t, err, test.want, name)
	}

	_, err := newAgent(t, cfg{Model: modeltest.Script(), Capabilities: []capability{{Name: "a", Tools: read()}, {Name: "b", Toolsets: []toolset.Toolset[deps]{perRun}}}}).
		Run(t.Context(), deps{}, "go")
	require.ErrorContains(t, err, `toolsets "capability a" and "capability b: fresh" both have a tool "read"`, "one that is known in a run only")
}

func TestCapabilityServesWiderDeps(t *testing.T) {
	type wide struct{ inner deps }
	var tr trail
	seen := func(where string, run *toolset.RunContext[deps]) {
		tr.add(where)
		require.Equal(t, 7, run.Deps.base, where)
	}
	narrow := capability{
		Name:         "math",
		Instructions: "Add up.",
		Dynamic: []agent.InstructionFunc[deps]{func(_ context.Context, run *toolset.RunContext[deps]) (string, error) {
			seen("dynamic", run)
			return "dynamic", nil
		}},
		Tools:    []*toolset.Tool[deps]{addTool()},
		Toolsets: []toolset.Toolset[deps]{toolset.Of(says("hi", ""))},
		Hooks: []agent.Hooks[deps]{{}, {
			Run: func(ctx context.Context, run *toolset.RunContext[deps], next agent.RunFunc) error {
				seen("run", run)
				_, err := next(ctx)
				return err
			},
			Request: func(ctx context.Context, run *toolset.RunContext[deps], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
				seen("request", run)
				return next(ctx, req)
			},
			Call: func(ctx context.Context, run *toolset.RunContext[deps], args any, next toolset.CallFunc) (toolset.Result, error) {
				seen("call", run)
				require.Equal(t, "add", run.Call.Tool, "the rest of the run is the same")
				return next(ctx, args)
			},
		}},
		History: []agent.HistoryProcessor[deps]{func(_ context.Context, run *toolset.RunContext[deps], messages []*model.Message) ([]*model.Message, error) {
			seen("history", run)
			return messages, nil
		}},
		Settings: &model.Settings{MaxTokens: 9},
		Commands: []agent.Command[deps]{{Name: "base", Run: func(_ context.Context, call agent.CommandCall[deps]) (agent.CommandResult, error) {
			require.Equal(t, 7, call.Deps.base)
			return agent.CommandResult{Notice: "seven"}, nil
		}}, {Name: "sum", Hint: "numbers", Description: "Add.", Prompt: "Add up:"}},
		Include: []capability{{Name: "more", Instructions: "And check."}},
	}
	script := modeltest.Script(modeltest.Say(add("1", 1, 2)), modeltest.SayText("done"))
	a := agent.Must(agent.New(agent.Config[wide, string]{Model: script, Capabilities: []agent.Capability[wide]{
		agent.Adapt(narrow, func(w wide) deps { return w.inner }),
	}}))
	w := wide{deps{base: 7}}
	res, err := a.Run(t.Context(), w, "go")
	require.NoError(t, err)
	require.Equal(t, "10", res.Messages[2].Parts[0].Text)
	require.Equal(t, "run history dynamic request call history dynamic request", tr.String())
	require.Equal(t, "Add up.\n\nAnd check.\n\ndynamic", script.Requests()[0].Instructions)
	require.Equal(t, 9, script.Requests()[0].Settings.MaxTokens)
	done, ok, err := a.Command(t.Context(), w, "/base", nil)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "seven", done.Notice)
	require.Equal(t, "numbers", a.Commands()[1].Hint)
}

// counter counts the calls of a run: its state is in the toolset's instance.
type counter struct{}

type counting struct{ calls int }

func (counter) Name() string { return "counter" }

func (counter) Open(context.Context, *toolset.RunContext[deps]) (toolset.Instance[deps], error) {
	return &counting{}, nil
}

func (c *counting) Tools(context.Context, *toolset.RunContext[deps]) (toolset.Listing[deps], error) {
	return toolset.Listing[deps]{Tools: []*toolset.Tool[deps]{toolset.Func("count", "Count.", func(context.Context, *toolset.RunContext[deps], none) (int, error) {
		c.calls++
		return c.calls, nil
	})}}, nil
}

func (c *counting) Close(context.Context) error { return nil }

func TestCapabilityServesManyAgentsAndRuns(t *testing.T) {
	c := capability{Name: "counter", Instructions: "Count.", Toolsets: []toolset.Toolset[deps]{counter{}}, Settings: &model.Settings{MaxTokens: 5}}
	var agents []*agent.Agent[deps, string]
	for range 2 {
		agents = append(agents, newAgent(t, cfg{
			Model: modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
				if last := req.Messages[len(req.Messages)-1].Parts[0]; len(req.Messages) > 3 {
					return model.Response(model.Text(last.Text)), nil
				}
				return model.Response(call("1", "count")), nil
			}),
			Capabilities: []capability{c},
		}))
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			res, err := agents[i%2].Run(context.Background(), deps{}, "go")
			if err == nil && res.Output != "2" {
				err = errors.New("the run sees the state of another: " + res.Output)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	c.Settings.MaxTokens = 6
	script := modeltest.Script(modeltest.SayText("done"))
	_, err := agents[0].Run(t.Context(), deps{}, "go", agent.WithModel(script))
	require.NoError(t, err)
	require.Equal(t, 5, script.Requests()[0].Settings.MaxTokens, "an agent has copies of its own")
}

func TestErrorOfACapabilityNamesIt(t *testing.T) {
	script := func() *modeltest.Scripted { return modeltest.Script(modeltest.SayText("done")) }
	_, err := newAgent(t, cfg{Model: script(), Capabilities: []capability{{Name: "a", Dynamic: []agent.InstructionFunc[deps]{
		func(context.Context, *toolset.RunContext[deps]) (string, error) { return "", errBoom },
	}}}}).Run(t.Context(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "instruction 0 of capability a: boom")

	_, err = newAgent(t, cfg{Model: script(), Capabilities: []capability{{Name: "a", History: []agent.HistoryProcessor[deps]{
		func(context.Context, *toolset.RunContext[deps], []*model.Message) ([]*model.Message, error) {
			return nil, errBoom
		},
	}}}}).Run(t.Context(), deps{}, "go")
	require.ErrorIs(t, err, errBoom)
	require.ErrorContains(t, err, "history processor 0 of capability a: boom")
}

func TestOverrideReplacesToolsOfCapabilities(t *testing.T) {
	script := modeltest.Script(modeltest.SayText("done"))
	a := newAgent(t, cfg{Model: script, Tools: []*toolset.Tool[deps]{says("own", "")}, Capabilities: []capability{{Name: "a", Tools: []*toolset.Tool[deps]{says("theirs", "")}}}})
	_, err := a.Run(a.Override(t.Context(), agent.Overrides[deps]{Toolsets: []toolset.Toolset[deps]{toolset.Of(says("other", ""))}}), deps{}, "go")
	require.NoError(t, err)
	require.Len(t, script.Requests()[0].Tools, 1)
	require.Equal(t, "other", script.Requests()[0].Tools[0].Name)
}

func TestInstructOfNothingIsAnErrorOfNew(t *testing.T) {
	_, err := agent.New(cfg{Dynamic: []agent.InstructionFunc[deps]{agent.Instruct[deps](nil)}})
	require.ErrorContains(t, err, "Config: Dynamic[0] is nil")
}

func TestMustPanicsWithTheError(t *testing.T) {
	require.PanicsWithError(t, `agent: new: unknown end strategy "soon"`, func() {
		agent.Must(agent.New(cfg{EndStrategy: "soon"}))
	})
}

// SPDX-License-Identifier: Apache-2.0

package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

// Each mistake of a definition is told in words, and what is just within the limits is taken.
func TestMistakesOfDefinitionsAreTold(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	whole := func(name, description, more, body string) string {
		return "---\nname: " + name + "\ndescription: " + description + "\n" + more + "---\n" + body
	}
	for text, want := range map[string]string{
		whole(x(64), x(1024), "", "Do."):                              "",
		whole("aZ09-_", "é", "tools: [a, b]\nmodel: m\n", "Do."):      "",
		whole("a", strings.Repeat("é", 1024), "tools: a,, b ,\n", ""): "there are no instructions after the front matter",
		whole(x(65), "d", "", "Do."):                                  `the name "` + x(65) + `" must have 1 to 64 letters, digits, hyphens and underscores`,
		whole("a.b", "d", "", "Do."):                                  `the name "a.b" must have 1 to 64 letters, digits, hyphens and underscores`,
		whole("ä", "d", "", "Do."):                                    `the name "ä" must have 1 to 64 letters, digits, hyphens and underscores`,
		whole(`""`, "d", "", "Do."):                                   `the name "" must have 1 to 64 letters, digits, hyphens and underscores`,
		whole("a", `" "`, "", "Do."):                                  "the description is missing",
		whole("a", x(1025), "", "Do."):                                "the description has more than 1024 characters",
		whole("a", "d", "tools: 7\n", "Do."):                          "tools must be a list of names",
		whole("a", "d", "tools: [a, 7]\n", "Do."):                     "tools must be names",
		whole("a", "d", "", "Do.\x00"):                                "it is not UTF-8 text",
		whole("a", "d", "", "Do.\xff"):                                "it is not UTF-8 text",
		whole("a", "d", "", " \n\t"):                                  "there are no instructions after the front matter",
	} {
		d, err := subagents.Parse(text)
		if want != "" {
			require.EqualError(t, err, want, "%.80q", text)
			continue
		}
		require.NoError(t, err, "%.80q", text)
		require.Equal(t, "Do.", d.Instructions)
	}
	d, err := subagents.Parse(whole("a", `" d "`, "tools: a,, b ,\nmodel: m\n", "Do."))
	require.NoError(t, err)
	require.Equal(t, subagents.Definition{Name: "a", Description: "d", Model: "m", Tools: []string{"a", "b"}, Instructions: "Do."}, d)
	d, err = subagents.Parse(whole("a", "d", "tools: [a, b]\n", "Do."))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, d.Tools)
}

// All mistakes of the agents are told by New.
func TestMistakesOfAgentsAreTold(t *testing.T) {
	inner := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: modeltest.Script()}))
	tool := func(name, description string) *toolset.Tool[none] {
		return toolset.Func(name, description, func(context.Context, *toolset.RunContext[none], prompts) (string, error) { return "", nil })
	}
	fails := func(o subagents.Options[none]) string {
		_, err := agent.New(agent.Config[none, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[none]{subagents.New(o)}})
		if err == nil {
			return ""
		}
		return err.Error()
	}
	many := func(n int) (all []sub) {
		for i := range n {
			all = append(all, answering(fmt.Sprint("a", i)))
		}
		return all
	}
	require.Contains(t, fails(subagents.Options[none]{}), "subagents: Options has neither Agents nor Load")
	require.Empty(t, fails(subagents.Options[none]{Load: func(context.Context, none) ([]sub, error) { return nil, nil }}))
	require.Empty(t, fails(subagents.Options[none]{Agents: many(subagents.MaxAgents)}))
	require.Contains(t, fails(subagents.Options[none]{Agents: many(subagents.MaxAgents + 1)}), "subagents: there are 51 agents, at most 50 are allowed")
	got := fails(subagents.Options[none]{Agents: []sub{
		{}, subagents.Of[none, none, string]("nil", "d", nil, same), subagents.Of("no deps", "d", inner, (func(none) none)(nil)), subagents.FromTool[none](nil),
		subagents.FromTool(toolset.ExternalTool[none, none]("outside", "d")), subagents.Of("a b", "d", inner, same), subagents.Of("blank", " ", inner, same), subagents.FromTool(tool("twice", "d")), subagents.Of("twice", "d", inner, same),
	}})
	for _, want := range []string{
		`subagents: agent 0 (""): use Of or FromTool`, `subagents: agent 1 ("nil"): the agent or the function is nil`, `subagents: agent 2 ("no deps"): the agent or the function is nil`,
		`subagents: agent 3 (""): the tool is nil`, `subagents: agent 4 ("outside"): an external tool is not a sub-agent`, `subagents: agent 5: the name "a b" must have 1 to 64 letters`,
		`subagents: agent "blank" has no description`, `subagents: two agents are called "twice"`,
	} {
		require.Contains(t, got, want)
	}
	require.Equal(t, 7, strings.Count(got, "\n"), "one line for each: %s", got)

	boom := errors.New("boom")
	a := agent.Must(agent.New(agent.Config[none, string]{Model: modeltest.Script(), Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{
		Load: func(context.Context, none) ([]sub, error) { return nil, boom },
	})}}))
	_, err := a.Run(t.Context(), none{}, "go")
	require.ErrorIs(t, err, boom)
	require.ErrorContains(t, err, "subagents: boom")
	named := subagents.Of("named", "d", inner, same)
	require.Equal(t, "named", named.Name())
}

type prompts struct {
	Prompt string `json:"prompt"`
}

// What the model is told of the agents and by the tools, word for word.
func TestModelsAreToldOfAgents(t *testing.T) {
	long := subagents.FromTool(toolset.Func("long", "Says much.", func(_ context.Context, _ *toolset.RunContext[none], in prompts) (string, error) {
		return strings.Repeat("x", len(in.Prompt)<<10), nil
	}))
	fails := subagents.FromTool(toolset.Func("fails", "Fails.", func(context.Context, *toolset.RunContext[none], prompts) (toolset.Result, error) {
		return toolset.Result{}, toolset.Failed("no luck")
	}))
	script := modeltest.Script(
		modeltest.Say(delegate("1", "nobody", "x", false), delegate("2", "a", "x", false), delegate("3", "long", strings.Repeat("k", 64), false), delegate("4", "long", strings.Repeat("k", 65), false)),
		modeltest.Say(delegate("1", "a", "y", true)), modeltest.Say(delegate("1", "a", "z", true)), modeltest.Say(delegate("1", "fails", "x", true)),
		modeltest.Say(wait(`"a-3"`)), modeltest.Say(wait(`"a-2","a-2","a-1"`)), modeltest.Say(wait(``)), modeltest.Say(wait(``)),
		modeltest.Say(model.ToolCall("c", subagents.ToolCancel, `{"handle":"a-1"}`)), modeltest.SayText("done"),
	)
	a := agentOn(t, script, []sub{answering("a"), long, fails})
	res, err := a.Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	all := told(res.Messages)
	for i, want := range []string{
		`unknown agent "nobody". Agents: a, long, fails`, "a did x", strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10) + "\n[Cut here: the result has 66560 bytes.]",
		"a works in the background. Its handle is a-1: get the result with wait_for_agents.", "a works in the background. Its handle is a-2: get the result with wait_for_agents.",
		"fails works in the background. Its handle is fails-1: get the result with wait_for_agents.", "Unknown handle a-3. Background agents: a-1, a-2, fails-1.",
		"# a-2 (a)\na did z\n\n# a-1 (a)\na did y", "# fails-1 (fails)\nFailed: no luck", "No background agents.", "Unknown handle a-1. Background agents: none.",
	} {
		require.True(t, want == all[i], "%d: %.200q", i, all[i])
	}
	require.Len(t, all, 12)
	for _, n := range []int{300, 301} {
		handles := []string{strings.Repeat("x", 100), strings.Repeat("y", 100), strings.Repeat("z", n-204)}
		a := agentOn(t, modeltest.Script(modeltest.Say(wait(`"`+strings.Join(handles, `","`)+`"`)), modeltest.SayText("done")), []sub{answering("a")})
		res, err := a.Run(t.Context(), none{}, "go")
		require.NoError(t, err)
		want := strings.Join(handles, ", ")
		if n > 300 {
			want = want[:297] + "…"
		}
		require.Equal(t, []string{"Unknown handle " + want + ". Background agents: none."}, told(res.Messages))
	}
	first := script.Requests()[0]
	require.Contains(t, first.Instructions, "You can delegate tasks to other agents with delegate. They see the task and nothing of this conversation, so say all that they need. Delegate tasks that do not depend on each other in one response: they run in parallel. Set background to continue your own work in the meantime, and get the results with wait_for_agents before you finish.\n\n- a: Answers.\n- long: Says much.\n- fails: Fails.")
	var names []string
	for _, def := range first.Tools {
		names = append(names, def.Name+": "+def.Description)
	}
	require.Equal(t, []string{"delegate: Give a task to another agent and get its result.", "wait_for_agents: Wait for background agents and get their results.", "cancel_agent: Stop a background agent whose result is no longer needed."}, names)

	script = modeltest.Script(modeltest.Say(model.ToolCall("1", "delegate", `{"agent":"a","task":"x"}`)), modeltest.SayText("done"))
	plain := agent.Must(agent.New(agent.Config[none, string]{Model: script, Capabilities: []agent.Capability[none]{subagents.New(subagents.Options[none]{Agents: []sub{answering("a")}, NoBackground: true})}}))
	res, err = plain.Run(t.Context(), none{}, "go")
	require.NoError(t, err)
	require.Equal(t, []string{"a did x"}, told(res.Messages))
	require.Len(t, script.Requests()[0].Tools, 1)
	require.NotContains(t, script.Requests()[0].Instructions, "background")
}

// SPDX-License-Identifier: Apache-2.0

package guardrails_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/guardrails"
	"github.com/ponte-go/ponte/agent/capability/subagents"
	"github.com/ponte-go/ponte/agent/journal"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// speaker is a model that says the next response of a list, going by how many its history has: like any model, it has no state. It streams
// a few bytes at a time.
func speaker(said ...[]model.Part) model.Model {
	info := model.Info{Name: "speaker", NativeOutput: true}
	return model.Func(info, func(_ context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
		n := 0
		for _, m := range req.Messages {
			if m.Kind == model.KindResponse {
				n++
			}
		}
		parts := said[min(n, len(said)-1)]
		for i := range parts {
			p := &parts[i]
			text := p.Text
			if p.Kind == model.PartToolCall {
				text = string(p.Args)
			}
			for first := true; sink != nil && (text != "" || first); first = false {
				cut := min(3, len(text))
				d := model.Delta{Part: i, Kind: p.Kind, Text: text[:cut], CallID: p.CallID, Tool: p.Tool}
				if err := sink(d); err != nil {
					return nil, err
				}
				text = text[cut:]
			}
		}
		resp := model.Response(parts...)
		resp.Usage = model.Usage{InputTokens: 2, OutputTokens: 3}
		return resp, nil
	})
}

func says(text string) []model.Part { return []model.Part{model.Text(text)} }

func calls(tool, args string) []model.Part { return []model.Part{model.ToolCall("1", tool, args)} }

// seenOf is all that can be seen of a run, and its output.
type seenOf struct {
	output, seen string
	messages     []*model.Message
	err          error
}

// plays is an agent of any output type.
type plays func(ctx context.Context, prompt string, streamed bool, opts ...agent.RunOption) seenOf

func agentOf[O any](t *testing.T, c agent.Config[none, O]) plays {
	a, err := agent.New(c)
	require.NoError(t, err)
	return func(ctx context.Context, prompt string, streamed bool, opts ...agent.RunOption) (o seenOf) {
		var all strings.Builder
		var res *agent.Result[O]
		if streamed {
			s := a.Stream(ctx, none{}, prompt, append(opts, agent.WithPartials())...)
			for e := range s.Events() {
				data, err := json.Marshal(e)
				require.NoError(t, err)
				fmt.Fprintf(&all, "%s %v %v\n", data, e.Value, e.Err)
			}
			res, o.err = s.Result()
		} else {
			res, o.err = a.Run(ctx, none{}, prompt, opts...)
		}
		var failed *agent.RunError
		if errors.As(o.err, &failed) {
			o.messages = failed.Messages
		} else {
			require.NoError(t, o.err)
			o.messages = res.Messages
			data, err := json.Marshal(res.Output)
			require.NoError(t, err)
			o.output = string(data)
		}
		o.seen = all.String() + fmt.Sprintf("%v %+v", o.err, o.err)
		return o
	}
}

type note struct {
	Text string `json:"text"`
}

// spelled is the secret as JSON may spell it.
const spelled = `4111\u002d1111`

// TestOutputsOfTheWholeTreePassTheOutermostGuard attacks the door of outputs: an output with the secret is made everywhere in a tree and in
// every form, and the guard is the outermost policy of a run that knows nothing of what is inside. Whole and streamed, with a journal, and
// by a run that goes on from JSON with other agents.
func TestOutputsOfTheWholeTreePassTheOutermostGuard(t *testing.T) {
	leaky := says("It is " + secret + ".")
	asks := toolset.Func("asks", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { return "asked", nil },
		toolset.Approve(func(context.Context, *toolset.RunContext[none], none) (*toolset.Approval, error) {
			return &toolset.Approval{}, nil
		}))
	inner := func(said ...[]model.Part) *agent.Agent[none, string] {
		return agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: speaker(said...), Tools: []*toolset.Tool[none]{asks}}))
	}
	structured := func(mode agent.OutputMode, parts []model.Part) *agent.Agent[none, note] {
		return agent.Must(agent.New(agent.Config[none, note]{Name: "inner", Model: speaker(parts), Output: agent.Output{Mode: mode}}))
	}
	outer := func(t *testing.T, c agent.Config[none, string], said ...[]model.Part) plays {
		c.Model = speaker(said...)
		return agentOf(t, c)
	}
	over := func(t *testing.T, a agent.Alternative[none, string]) plays {
		return outer(t, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{a}}, calls("inner", `{"prompt":"go"}`), says("done"))
	}
	asTool := func(t *testing.T, tool *toolset.Tool[none]) plays {
		return outer(t, agent.Config[none, string]{Tools: []*toolset.Tool[none]{tool}}, calls("inner", `{"prompt":"go"}`), says("done"))
	}
	told := func(_ context.Context, _ *toolset.RunContext[none], n note) (string, error) {
		return "It is " + n.Text, nil
	}
	again := func(secretly bool) agent.Validator[none, string] {
		return func(_ context.Context, run *toolset.RunContext[none], text string) (string, error) {
			if run.Step == 1 {
				return "", toolset.Retry("again, not %s", text)
			}
			if secretly {
				text += secret
			}
			return text, nil
		}
	}
	within := toolset.Func("inner", "", func(ctx context.Context, run *toolset.RunContext[none], _ note) (string, error) {
		res, err := inner(leaky).Run(ctx, none{}, "go", agent.Within(run))
		if err != nil {
			return "", err
		}
		run.Emit(res.Output)
		return res.Output, nil
	})
	lies := agent.Hooks[none]{Request: func(ctx context.Context, _ *toolset.RunContext[none], req *model.Request, next agent.RequestFunc) (*model.Message, error) {
		if _, err := next(ctx, req); err != nil {
			return nil, err
		}
		return model.Response(model.Text("It is " + secret)), nil
	}}
	background := subagents.New(subagents.Options[none]{Agents: []subagents.Agent[none]{subagents.Of("inner", "Inner.", inner(leaky), sameDeps)}})
	for name, c := range map[string]struct {
		make func(t *testing.T) plays
		// made is set if the program makes the secret: then only the output is checked.
		made bool
		// waits is set if the run waits for approval first.
		waits bool
		// inside is set if the outer run may go on after a block.
		inside bool
	}{
		"text": {make: func(t *testing.T) plays { return outer(t, agent.Config[none, string]{}, leaky) }},
		"thinking": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{}, []model.Part{model.Thinking(secret), model.Text("ok")})
		}},
		"text beside a call": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Tools: []*toolset.Tool[none]{echo}}, append(leaky, calls("echo", `{"text":"x"}`)...), says("ok"))
		}},
		"a tool": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker(calls("final_result", `{"text":"`+spelled+`"}`))})
		}},
		"several calls of it": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker([]model.Part{
				model.ToolCall("1", "final_result", `{"text":"x"}`), model.ToolCall("2", "final_result", `{"text":"`+spelled+`"}`),
			}), EndStrategy: agent.EndExhaustive})
		}},
		"invalid calls of it": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker(calls("final_result", `{"text":"`+spelled+`","more":1}`), calls("final_result", `{"text":"`+spelled+`"}`))})
		}},
		"native JSON": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker(says(`{ "text" : "` + spelled + `" }`)), Output: agent.Output{Mode: agent.OutputNative}})
		}},
		"prompted JSON in a fence": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker(says("```json\n{\"text\":\"" + spelled + "\"}\n```")), Output: agent.Output{Mode: agent.OutputPrompted}})
		}},
		"prompted JSON to be repaired": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, note]{Model: speaker(says(`{"text":"` + spelled + `",}`)), Output: agent.Output{Mode: agent.OutputPrompted}})
		}},
		"a list": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, []string]{Model: speaker(calls("final_result", `{"value":["x","`+spelled+`"]}`))})
		}},
		"a map's key": {make: func(t *testing.T) plays {
			return agentOf(t, agent.Config[none, map[string]int]{Model: speaker(calls("final_result", `{"value":{"`+spelled+`":1}}`))})
		}},
		"a union": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{
				agent.OutputFunc("first", "", told), agent.OutputFunc("second", "", told),
			}}, calls("second", `{"text":"`+spelled+`"}`))
		}},
		"text of a union": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{
				agent.OutputFunc("first", "", told), agent.Text(func(_ context.Context, _ *toolset.RunContext[none], text string) (string, error) { return text, nil }),
			}}, leaky)
		}},
		"a function": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{
				agent.OutputFunc("make", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { return secret, nil }),
			}}, calls("make", `{}`))
		}},
		"a retry": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Validators: []agent.Validator[none, string]{again(false)}}, leaky, leaky)
		}},
		"a validator, in a second round": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Validators: []agent.Validator[none, string]{again(true)}}, says("x"), says("y"))
		}},
		"a validator of a sub-agent": {inside: true, make: func(t *testing.T) plays {
			return asTool(t, agent.AsTool("inner", "", agent.Must(agent.New(agent.Config[none, string]{Model: speaker(says("x"), says("y")), Validators: []agent.Validator[none, string]{again(true)}})), sameDeps))
		}},
		"a hook of a hand-over": {make: func(t *testing.T) plays {
			return over(t, agent.HandOver("inner", "", agent.Must(agent.New(agent.Config[none, string]{Model: speaker(says("x")), Hooks: []agent.Hooks[none]{lies}})), sameDeps))
		}},
		"a function that asks the model": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Alternatives: []agent.Alternative[none, string]{
				agent.OutputFunc("make", "", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
					resp, err := run.Generate(ctx, &model.Request{Messages: []*model.Message{model.UserText("go"), model.Response(), model.UserText("go")}})
					if err != nil {
						return "", err
					}
					return resp.Text(), nil
				}),
			}}, calls("make", `{}`), leaky)
		}},
		"a sub-agent": {inside: true, make: func(t *testing.T) plays { return asTool(t, agent.AsTool("inner", "", inner(leaky), sameDeps)) }},
		"a structured sub-agent": {inside: true, make: func(t *testing.T) plays {
			return asTool(t, agent.AsTool("inner", "", structured(agent.OutputTool, calls("final_result", `{"text":"`+spelled+`"}`)), sameDeps))
		}},
		"a native sub-agent": {inside: true, make: func(t *testing.T) plays {
			return asTool(t, agent.AsTool("inner", "", structured(agent.OutputNative, says(`{"text":"`+spelled+`"}`)), sameDeps))
		}},
		"a sub-agent that waited": {inside: true, waits: true, make: func(t *testing.T) plays {
			return asTool(t, agent.AsTool("inner", "", inner(calls("asks", `{}`), leaky), sameDeps))
		}},
		"an agent within a tool": {inside: true, make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Tools: []*toolset.Tool[none]{within}}, calls("inner", `{"text":"x"}`), says("done"))
		}},
		"in the background": {inside: true, make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Capabilities: []agent.Capability[none]{background}},
				calls("delegate", `{"agent":"inner","task":"go","background":true}`), calls("wait_for_agents", `{}`), says("done"))
		}},
		"a hand-over": {make: func(t *testing.T) plays { return over(t, agent.HandOver("inner", "", inner(leaky), sameDeps)) }},
		"a hand-over that stays": {make: func(t *testing.T) plays {
			return over(t, agent.HandOver("inner", "", inner(leaky), sameDeps, agent.Stay()))
		}},
		"a hand-over by text": {make: func(t *testing.T) plays {
			return outer(t, agent.Config[none, string]{Output: agent.Output{Mode: agent.OutputPrompted}, Alternatives: []agent.Alternative[none, string]{agent.HandOver("inner", "", inner(leaky), sameDeps)}},
				says("```json\n{\"prompt\":\"go\"}\n```"))
		}},
		"words of a hand-over before its end": {make: func(t *testing.T) plays {
			chatty := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: speaker(append(leaky, calls("echo", `{"text":"x"}`)...), says("ok")), Tools: []*toolset.Tool[none]{echo}}))
			return over(t, agent.HandOver("inner", "", chatty, sameDeps))
		}},
		"a hand-over that waited": {waits: true, make: func(t *testing.T) plays {
			return over(t, agent.HandOver("inner", "", inner(calls("asks", `{}`), leaky), sameDeps))
		}},
		"a hand-over to a hand-over": {make: func(t *testing.T) plays {
			middle := agent.Must(agent.New(agent.Config[none, string]{Name: "middle", Model: speaker(calls("inner", `{"prompt":"go"}`)), Alternatives: []agent.Alternative[none, string]{agent.HandOver("inner", "", inner(leaky), sameDeps)}}))
			return over(t, agent.HandOver("inner", "", middle, sameDeps))
		}},
		"a function of a hand-over": {make: func(t *testing.T) plays {
			maker := agent.Must(agent.New(agent.Config[none, string]{Name: "inner", Model: speaker(calls("make", `{}`)), Alternatives: []agent.Alternative[none, string]{
				agent.OutputFunc("make", "", func(context.Context, *toolset.RunContext[none], none) (string, error) { return secret, nil }),
			}}))
			return over(t, agent.HandOver("inner", "", maker, sameDeps))
		}},
	} {
		for verdict, g := range map[string]guard{
			"rewritten": {Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
				if strings.Contains(s.Text, secret) && s.At("") == nil && !strings.Contains(fmt.Sprint(valuesOf(s)), secret) {
					return guardrails.Block("a card number in a key"), nil
				}
				return s.Rewrite(func(text string) string { return strings.ReplaceAll(text, secret, "[card]") }, "card number"), nil
			}},
			"replaced": {Check: redact},
			"blocked": {Check: func(_ context.Context, _ *toolset.RunContext[none], s *subject) (guardrails.Verdict, error) {
				if strings.Contains(s.Text, secret) {
					return guardrails.Block("a card number"), nil
				}
				return guardrails.Pass(), nil
			}},
			"streamed": {Check: redact, Stream: 20},
		} {
			g.Name, g.On = "cards", guardrails.Output
			house := agent.WithPolicies(guardrails.Policy("house", g))
			for _, streamed := range []bool{false, true} {
				where := fmt.Sprintf("%s, %s, streamed %t", name, verdict, streamed)
				t.Run(where, func(t *testing.T) {
					j := new(noted)
					o := c.make(t)(t.Context(), "go", streamed, house, agent.WithJournal(j), agent.WithRunID("run"))
					all := o.seen
					if c.waits {
						var pending *agent.PendingError
						require.ErrorAs(t, o.err, &pending)
						data, err := json.Marshal(o.messages)
						require.NoError(t, err)
						var stored []*model.Message
						require.NoError(t, json.Unmarshal(data, &stored))
						var answers agent.DeferredResults
						answers.Decide(pending.Calls[0].Key(), toolset.Allow())
						all += string(data)
						o = c.make(t)(t.Context(), "", streamed, house, agent.WithHistory(stored), agent.WithResults(answers))
						all += o.seen
					}
					data, err := json.Marshal(o.messages)
					require.NoError(t, err)
					all += string(data) + j.content(t)
					require.NotContains(t, o.output, secret)
					require.NotContains(t, strings.ReplaceAll(o.output, `\u002d`, "-"), secret)
					if !c.made {
						require.NotContains(t, strings.ReplaceAll(all, `\u002d`, "-"), secret)
						require.NotContains(t, strings.ReplaceAll(all, `\\u002d`, "-"), secret)
					}
					switch {
					case verdict == "blocked" && !c.inside:
						require.ErrorIs(t, o.err, guardrails.ErrBlocked)
					case verdict == "blocked" && name != "in the background":
						require.ErrorIs(t, o.err, guardrails.ErrBlocked)
					case o.err != nil:
						require.ErrorIs(t, o.err, guardrails.ErrBlocked)
					default:
						require.NotEmpty(t, o.output)
					}
				})
			}
		}
	}
}

// valuesOf returns the values of a subject.
func valuesOf(s *subject) (all []any) {
	for _, v := range s.All() {
		all = append(all, v)
	}
	return all
}

// noted is a journal that knows the ids of its runs.
type noted struct {
	journal.Memory
	mu  sync.Mutex
	ids map[string]bool
}

func (n *noted) Open(ctx context.Context, run string) (journal.Log, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids == nil {
		n.ids = map[string]bool{}
	}
	n.ids[run] = true
	return n.Memory.Open(ctx, run)
}

// content returns the records of all runs.
func (n *noted) content(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for id := range n.ids {
		all.WriteString(records(t, &n.Memory, id))
	}
	return all.String()
}

// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// tree is a random tree of agents: each has others as tools, or can hand over to them. What its models, tools and people do
// depends on the seed and on what they are asked alone, so that each way to execute a run must come to the same.
type tree struct {
	seed uint64
	log  *treeLog
}

// How an agent of a tree is reached.
const (
	linkTool = "tool"
	linkOver = "over"
	linkStay = "stay"
)

// What a hand-over passes on.
const (
	passNothing = iota
	passAll
	passPrompts
)

// node is an agent of a tree. Its name has that of the agent around it in front.
type node struct {
	name, link string
	pass       int
	inner      []*node
}

func (n *node) handsOver() bool { return n.link == linkOver || n.link == linkStay }

func (w *tree) random(of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, of...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// nodes returns the root of the tree. It is four levels deep at most.
func (w *tree) nodes() *node { return w.node("root", "", 1) }

func (w *tree) node(name, link string, level int) *node {
	rnd := w.random("node", name)
	n := &node{name: name, link: link, pass: rnd.IntN(3)}
	most := []int{3, 3, 2, 1}[level-1]
	if level == 1 {
		most = 1 + rnd.IntN(most)
	} else {
		most = rnd.IntN(most)
	}
	for i := range most {
		n.inner = append(n.inner, w.node(fmt.Sprint(name, "-", i), []string{linkTool, linkOver, linkStay}[rnd.IntN(3)], level+1))
	}
	return n
}

func (n *node) find(name string) *node {
	if n.name == name {
		return n
	}
	for _, inner := range n.inner {
		if name == inner.name || strings.HasPrefix(name, inner.name+"-") {
			return inner.find(name)
		}
	}
	return nil
}

type treeDeps struct{}

type treeRun = toolset.RunContext[treeDeps]

// treeArgs are the arguments of a call. Its name stays the same whatever a person does to the rest.
type treeArgs struct {
	Name string `json:"name"`
	Path string `json:"path" validate:"oneof=a b"`
	N    int    `json:"n" validate:"min=0,max=99"`
}

func pathOf(args string) string {
	var in treeArgs
	_ = json.Unmarshal([]byte(args), &in)
	return in.Path
}

// responseOf returns the name of the response that a call is part of.
func responseOf(name string) string { return name[:strings.LastIndexByte(name, '.')] }

func (w *tree) basis(name, path string) string {
	return fmt.Sprint(path, " ", w.log.version(responseOf(name), path))
}

// hasBasis says which tools show the state that they go by.
func hasBasis(tool string) bool {
	return tool == "guarded" || tool == "guarded_sequential" || tool == "guarded_question"
}

func (w *tree) tool(name string, opts ...toolset.Option) *toolset.Tool[treeDeps] {
	return toolset.Func(name, "", func(ctx context.Context, run *treeRun, in treeArgs) (string, error) {
		said := ""
		switch name {
		case "asks":
			if !run.Call.Approved {
				return "", toolset.ApprovalRequired(toolset.Approval{Scope: in.Path})
			}
		case "later":
			return "", toolset.Deferred(json.RawMessage(`1`))
		case "flaky":
			if run.Call.Attempt == 0 {
				return "", toolset.Retry("again")
			}
		case "question", "guarded_question":
			for k := range 1 + w.random("questions", in.Name).IntN(2) {
				key := fmt.Sprintf("%s?%d", in.Name, k)
				reply, err := run.Ask(ctx, toolset.Question{Message: key, Schema: json.RawMessage(`{"type":"object"}`)})
				if errors.Is(err, toolset.ErrNobody) {
					said += " nobody"
					continue
				} else if err != nil {
					return "", err
				}
				w.log.add(entry{Said: saidGot, Name: key, Text: string(reply.Content)})
				said += fmt.Sprint(" ", reply.Action, string(reply.Content))
			}
		}
		return fmt.Sprint(name, " ", in.Path, in.N, said), nil
	}, opts...)
}

func (w *tree) approval() toolset.Option {
	return toolset.Approve(func(_ context.Context, run *treeRun, in treeArgs) (*toolset.Approval, error) {
		a := &toolset.Approval{Scope: in.Path}
		if hasBasis(run.Call.Tool) {
			a.Basis = w.basis(in.Name, in.Path)
		}
		return a, nil
	})
}

// hooks write down which calls run.
func (w *tree) hooks() agent.Hooks[treeDeps] {
	return agent.Hooks[treeDeps]{Call: func(ctx context.Context, run *treeRun, args any, next toolset.CallFunc) (toolset.Result, error) {
		e := entry{Said: saidBegin, Agent: run.Agent, Args: canonical(run.Call.Args), Approved: run.Call.Approved}
		var in struct{ Name, Prompt, Path string }
		if err := json.Unmarshal(run.Call.Args, &in); err != nil {
			return toolset.Result{}, err
		}
		if e.Name = in.Name; in.Prompt != "" {
			e.Name = taskOf(in.Prompt)
		}
		if in.Path != "" && hasBasis(run.Call.Tool) {
			e.Basis = w.basis(e.Name, in.Path)
		}
		if run.Call.Approval != nil {
			e.Shown = run.Call.Approval.Basis
		}
		w.log.add(e)
		res, err := next(ctx, args)
		end := entry{Said: saidEnd, Name: e.Name, Args: e.Args, Over: err == nil || errors.As(err, new(*toolset.RetryError))}
		if !end.Over && !errors.As(err, new(*toolset.ApprovalRequiredError)) && !errors.As(err, new(*toolset.DeferredError)) && !errors.As(err, new(*toolset.PendingError)) {
			end.Text = err.Error()
		}
		w.log.add(end)
		return res, err
	}}
}

// canonical writes JSON in one way.
func canonical(data []byte) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	data, _ = json.Marshal(v)
	return string(data)
}

// taskOf returns the name of the call that gave an agent its prompt.
func taskOf(prompt string) string {
	_, name, _ := strings.Cut(prompt, ":")
	return name
}

func (w *tree) strategy(n *node) agent.EndStrategy {
	return []agent.EndStrategy{agent.EndGraceful, agent.EndEarly, agent.EndExhaustive}[w.random("strategy", n.name).IntN(3)]
}

// refuses says whether the validators of an agent refuse an output.
func (w *tree) refuses(agent, out string) bool { return w.random("refuse", agent, out).IntN(9) == 0 }

func (w *tree) agent(t testing.TB) *agent.Agent[treeDeps, string] { return w.make(t, w.nodes()) }

func (w *tree) make(t testing.TB, n *node) *agent.Agent[treeDeps, string] {
	t.Helper()
	same := func(d treeDeps) treeDeps { return d }
	rnd := w.random("config", n.name)
	many := 1000
	text := agent.Text(func(_ context.Context, _ *treeRun, text string) (string, error) { return text, nil })
	config := agent.Config[treeDeps, string]{
		Name: n.name, Model: model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
			return w.answer(n, req)
		}),
		Hooks: []agent.Hooks[treeDeps]{w.hooks()}, Limits: agent.Limits{Requests: agent.Unlimited},
		ToolRetries: &many, OutputRetries: &many, MaxParallelCalls: rnd.IntN(3),
		EndStrategy:  w.strategy(n),
		Alternatives: []agent.Alternative[treeDeps, string]{text},
		Validators: []agent.Validator[treeDeps, string]{func(_ context.Context, _ *treeRun, out string) (string, error) {
			if w.refuses(n.name, out) {
				return out, toolset.Retry("not this")
			}
			return out, nil
		}},
		Tools: []*toolset.Tool[treeDeps]{
			w.tool("free"), w.tool("sequential", toolset.Sequential()), w.tool("flaky"), w.tool("guarded", w.approval()), w.tool("loose", w.approval()),
			w.tool("guarded_sequential", w.approval(), toolset.Sequential()), w.tool("asks"), w.tool("later"),
			w.tool("question"), w.tool("guarded_question", w.approval()), toolset.ExternalTool[treeDeps, treeArgs]("external", ""),
		},
	}
	if n.handsOver() {
		config.Alternatives = append(config.Alternatives, agent.HandBack[treeDeps, string]("hand_back", ""))
	}
	for _, inner := range n.inner {
		a := w.make(t, inner)
		if inner.link == linkTool {
			config.Tools = append(config.Tools, agent.AsTool(inner.name, "", a, same))
			continue
		}
		var how []agent.HandOverOption
		if inner.link == linkStay {
			how = append(how, agent.Stay())
		}
		switch inner.pass {
		case passAll:
			how = append(how, agent.PassHistory(nil))
		case passPrompts:
			how = append(how, agent.PassHistory(promptsOf))
		}
		config.Alternatives = append(config.Alternatives, agent.HandOver[treeDeps, treeDeps, string](inner.name, "", a, same, how...))
	}
	a, err := agent.New(config)
	require.NoError(t, err)
	return a
}

// promptsOf returns the requests of a history in which a user says something.
func promptsOf(history []*model.Message) (prompts []*model.Message) {
	for _, m := range history {
		if m.Kind == model.KindRequest && len(m.Parts) > 0 && m.Parts[0].Kind == model.PartUser {
			prompts = append(prompts, m)
		}
	}
	return prompts
}

// answer is a response: one of calls, some of other agents, or an output.
func (w *tree) answer(n *node, req *model.Request) (*model.Message, error) {
	if err := answersItsCalls(req.Messages); err != nil {
		return nil, err
	}
	e := entry{Said: saidModel, Agent: n.name, Visible: true}
	steps := 0
	for _, m := range req.Messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == model.PartUser {
				e.Users = append(e.Users, p.Text)
				steps = 0
			}
		}
		if m.Kind == model.KindResponse {
			e.Responses++
			steps++
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, n.name, e.Users, len(req.Messages))
	e.Name = fmt.Sprintf("r%x", h.Sum64())
	for _, text := range e.Users {
		e.Visible = e.Visible && !strings.HasPrefix(text, "hidden:")
	}
	rnd := w.random("answer", e.Name)
	resp := model.Response()
	resp.Usage = model.Usage{InputTokens: int64(len(req.Messages)), OutputTokens: 3}
	call := func(tool, args, path string) {
		i := len(e.Calls)
		e.Calls = append(e.Calls, treeCall{fmt.Sprintf("%s.%d", e.Name, i), tool, path})
		resp.Parts = append(resp.Parts, model.ToolCall(fmt.Sprint("c", i), tool, args))
	}
	next := func() string { return fmt.Sprintf("%s.%d", e.Name, len(e.Calls)) }
	last := steps >= 3 || len(req.Messages) > 30
	if last || rnd.IntN(3) == 0 {
		w.end(n, rnd, last && rnd.IntN(3) > 0 || len(req.Messages) > 30, e.Visible, call, next)
	} else {
		w.calls(n, rnd, call, next)
	}
	if len(e.Calls) == 0 || rnd.IntN(3) == 0 {
		e.Text = "say " + e.Name + "\n"
		resp.Parts = append([]model.Part{model.Text(e.Text)}, resp.Parts...)
	}
	w.log.add(e)
	return resp, nil
}

// end ends a turn: with a text, by handing over or by handing back.
func (w *tree) end(n *node, rnd *rand.Rand, plain, visible bool, call func(tool, args, path string), next func() string) {
	if plain {
		return
	}
	if n.handsOver() && rnd.IntN(3) == 0 {
		call("hand_back", fmt.Sprintf(`{"reason":"back:%s"}`, next()), "")
		return
	}
	for _, inner := range n.inner {
		if inner.link != linkTool && rnd.IntN(3) > 0 {
			prompt := "over:"
			if !visible {
				prompt = "hidden:"
			}
			call(inner.name, fmt.Sprintf(`{"prompt":%q}`, prompt+next()), "")
			if rnd.IntN(8) > 0 || w.strategy(n) == agent.EndExhaustive { // which would have both answer
				break
			}
		}
	}
}

var treeTools = []string{"free", "free", "sequential", "flaky", "guarded", "guarded", "loose", "guarded_sequential", "asks", "later", "external", "question", "guarded_question"}

// calls makes calls, a third of them of other agents.
func (w *tree) calls(n *node, rnd *rand.Rand, call func(tool, args, path string), next func() string) {
	var delegates []string
	for _, inner := range n.inner {
		if inner.link == linkTool {
			delegates = append(delegates, inner.name)
		}
	}
	for i := range 1 + rnd.IntN(4) {
		if len(delegates) > 0 && rnd.IntN(3) == 0 {
			call(delegates[rnd.IntN(len(delegates))], fmt.Sprintf(`{"prompt":"hidden:%s"}`, next()), "")
			continue
		}
		path := []string{"a", "b"}[rnd.IntN(2)]
		call(treeTools[rnd.IntN(len(treeTools))], fmt.Sprintf(`{"name":%q,"path":%q,"n":%d}`, next(), path, i), path)
	}
}

// answersItsCalls reports what is wrong with a history that a model gets: each call has one answer, in the request after it.
func answersItsCalls(messages []*model.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Kind == model.KindResponse && len(open) > 0 {
			return fmt.Errorf("message %d follows calls without answers: %v", i, open)
		}
		for j := range m.Parts {
			switch p := &m.Parts[j]; {
			case p.Kind == model.PartToolCall:
				open[p.CallID] = true
			case p.Kind == model.PartToolReturn, p.Kind == model.PartRetry && p.CallID != "":
				if !open[p.CallID] {
					return fmt.Errorf("message %d answers %q, which has an answer or was not called", i, p.CallID)
				}
				delete(open, p.CallID)
			}
		}
	}
	if len(open) > 0 || len(messages) == 0 || messages[len(messages)-1].Kind != model.KindRequest {
		return fmt.Errorf("the history does not end in a request that answers all calls")
	}
	return nil
}

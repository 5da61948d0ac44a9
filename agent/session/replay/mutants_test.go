// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// shop is what can be changed of an agent. All that it does follows from it.
type shop struct {
	instructions string
	tools        []shopTool
	limits       agent.Limits
	denies       string // the policy denies this tool
	masks        string // the policy replaces this text in results
}

// shopTool is a tool of the shop.
type shopTool struct {
	name, description string
	schema            string
	result, err       string
	approved          bool
}

var shopTools = []string{"find", "price", "stock", "refund"}

func newShop() *shop {
	s := &shop{instructions: "You run a shop.", limits: agent.Limits{Requests: 9, ToolCalls: 12}}
	for i, name := range shopTools {
		s.tools = append(s.tools, shopTool{
			name: name, description: "To " + name + ".", result: fmt.Sprint(name, " is ", i),
			schema: `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`,
		})
	}
	s.tools[2].err = "no stock"
	s.tools[3].approved = true
	return s
}

// mutate changes one thing.
func (s *shop) mutate(r *rand.Rand) (what string) {
	t := &s.tools[r.IntN(len(s.tools))]
	n := fmt.Sprint(r.IntN(100))
	switch r.IntN(9) {
	case 0:
		t.description += " " + n
		return "description of " + t.name
	case 1:
		t.schema = strings.Replace(t.schema, `"integer"`, `"integer","maximum":`+n, 1)
		return "schema of " + t.name
	case 2:
		t.result += n
		return "result of " + t.name
	case 3:
		t.err += "failed " + n
		return "error of " + t.name
	case 4:
		s.instructions += " " + n
		return "instructions"
	case 5:
		s.denies = t.name
		return "policy that denies " + t.name
	case 6:
		s.masks = t.name
		return "policy that masks " + t.name
	case 7:
		i := r.IntN(len(s.tools) - 1)
		s.tools[i], s.tools[i+1] = s.tools[i+1], s.tools[i]
		return "order of tools"
	}
	if r.IntN(2) == 0 {
		s.limits.Requests = 1 + r.IntN(5)
	} else {
		s.limits.ToolCalls = 1 + r.IntN(4)
	}
	return "limits"
}

// agent makes the agent.
func (s *shop) agent() *agent.Agent[none, string] {
	c := agent.Config[none, string]{
		Model: model.Func(model.Info{Provider: "fake", Name: "whim"}, whim), Instructions: s.instructions,
		Limits: s.limits,
	}
	for _, t := range s.tools {
		tool := toolset.Raw(t.name, t.description, json.RawMessage(t.schema), func(context.Context,
			*toolset.RunContext[none], json.RawMessage) (toolset.Result, error) {
			if t.err != "" {
				return toolset.Result{}, toolset.Failed("%s", t.err)
			}
			return toolset.Result{Text: t.result}, nil
		})
		if t.approved {
			tool.Approval = func(context.Context, *toolset.RunContext[none], any) (*toolset.Approval, error) {
				return &toolset.Approval{}, nil
			}
		}
		c.Tools = append(c.Tools, tool)
	}
	c.Policies = []*agent.Policy{agent.NewPolicy(agent.PolicyConfig[any]{
		Name: "shop", Doors: agent.Hooks[any]{Call: func(ctx context.Context, run *toolset.RunContext[any],
			args any, next toolset.CallFunc) (toolset.Result, error) {
			if run.Call.Tool == s.denies {
				return toolset.Result{}, toolset.Denied("not here")
			}
			res, err := next(ctx, args)
			if s.masks != "" {
				res.Text = strings.ReplaceAll(res.Text, s.masks, "***")
			}
			return res, err
		}},
	})}
	return agent.Must(agent.New(c))
}

// whim is a model whose calls and answers depend on everything that it is told.
func whim(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	told, _ := json.Marshal([]any{req.Instructions, req.Tools})
	h := fnv.New64a()
	_, _ = h.Write(told)
	steps := 0
	for _, m := range req.Messages {
		if m.Kind == model.KindResponse {
			steps++
		}
		for i := range m.Parts {
			_, _ = h.Write([]byte(m.Parts[i].Text))
		}
	}
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	if steps > 0 && r.IntN(3) == 0 {
		return model.Response(model.Text(fmt.Sprint("answer ", r.IntN(1000)))), nil
	}
	var parts []model.Part
	for i := range 1 + r.IntN(2) {
		parts = append(parts, model.ToolCall(fmt.Sprintf("c%d-%d", steps, i),
			shopTools[r.IntN(len(shopTools))], fmt.Sprintf(`{"n":%d}`, r.IntN(9))))
	}
	return model.Response(parts...), nil
}

// live has the session of a shop: a line for each call and output.
func (s *shop) live(t *testing.T) (session.Store, string) {
	st := new(session.Memory)
	_, err := st.Create(t.Context(), session.New{ID: "s"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), st, "s", session.Claim{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close(t.Context())) }()
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	allow := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Allow(), nil
	}}
	var did strings.Builder
	for n := range 6 {
		prompt := fmt.Sprint("customer ", n)
		turn, err := c.Begin(t.Context(), model.User(prompt))
		require.NoError(t, err)
		res, err := s.agent().Run(t.Context(), none{}, prompt, append(turn.Options(), agent.WithAsker(allow))...)
		require.NoError(t, transcript.End(t.Context(), turn, res, err))
		for _, m := range c.Messages() {
			for i := range m.Parts {
				p := &m.Parts[i]
				fmt.Fprintln(&did, m.Kind, p.Tool, string(p.Args), p.Outcome, p.Kind == model.PartRetry)
				if m.Kind == model.KindResponse {
					fmt.Fprintln(&did, p.Text)
				}
			}
		}
		fmt.Fprintln(&did, err)
	}
	return st, did.String()
}

// TestMutantsAreFound changes an agent in 100 ways. A change of what it does, with a model that
// heeds everything it is told, is found by a replay of the session before.
func TestMutantsAreFound(t *testing.T) {
	st, before := newShop().live(t)
	r, err := replay.Make(t.Context(), st, "s", replay.Options{})
	require.NoError(t, err)
	real := replay.PlayOptions{Real: shopTools}
	for i := range r.Turns {
		require.NoError(t, replay.Fill(t.Context(), r, i, newShop().agent(), none{}, real))
	}
	changed, found := 0, 0
	for seed := range uint64(100) {
		s := newShop()
		what := s.mutate(rand.New(rand.NewPCG(seed, 3)))
		_, after := s.live(t)
		var difference error
		for i := range r.Turns {
			if difference == nil {
				difference = replay.Play(t.Context(), r, i, s.agent(), none{}, real)
			}
		}
		if difference != nil {
			require.ErrorAs(t, difference, new(*replay.Difference), what)
			found++
		}
		if after != before {
			changed++
			require.Error(t, difference, "seed %d: %s changes what the agent does", seed, what)
		}
	}
	t.Logf("%d mutants change what the agent does, %d are found", changed, found)
	require.Greater(t, changed, 70)
}

// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// keeper keeps rules in memory.
type keeper struct{ rules []approval.Rule }

func (k *keeper) Kept() ([]approval.Rule, error) { return k.rules, nil }

func (k *keeper) Keep(rules ...approval.Rule) error {
	for _, r := range rules {
		if !slices.Contains(k.rules, r) {
			k.rules = append(k.rules, r)
		}
	}
	return nil
}

func (k *keeper) Drop(r approval.Rule) error {
	k.rules = slices.DeleteFunc(k.rules, func(o approval.Rule) bool { return o == r })
	return nil
}

func boxed(line, sandbox string, kinds ...model.EffectKind) toolset.ApprovalRequest {
	a := toolset.Approval{
		Scope: "exactly x", Covers: []string{"in the sandbox"}, Wider: []toolset.WiderScope{{Scope: "in the sandbox", Title: "all commands in the sandbox"}},
		Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: line, Dir: "/repo", Sandbox: sandbox}}},
	}
	if sandbox != "" {
		a.Covers, a.Wider = nil, nil
	}
	for _, k := range kinds {
		e := model.Effect{Kind: k}
		if k == model.EffectHost {
			e.Host = "*"
		}
		a.Effects = append(a.Effects, e)
	}
	return toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run_command", Path: []string{"1"}}, Approval: a}
}

// One rule allows all commands in the sandbox, and no others.
func TestOneRuleAllowsCommandsInTheSandbox(t *testing.T) {
	const inside, outside, host = model.EffectSandbox, model.EffectOutside, model.EffectHost
	for name, c := range map[string]struct {
		rules string
		r     toolset.ApprovalRequest
		want  toolset.Verdict
	}{
		"inside":                       {`{"decision":"allow","sandbox":"inside"}`, boxed("make x", "", inside, model.EffectUnknown), toolset.VerdictAllow},
		"no sandbox":                   {`{"decision":"allow","sandbox":"inside"}`, boxed("make x", "", model.EffectUnknown), ""},
		"outside":                      {`{"decision":"allow","sandbox":"inside"}`, boxed("make x", "none", outside, model.EffectUnknown), ""},
		"the network":                  {`{"decision":"allow","sandbox":"inside"}`, boxed("make x", "network", inside, host), ""},
		"the network, allowed":         {`{"decision":"allow","sandbox":"inside"},{"decision":"allow","host":"*"}`, boxed("make x", "network", inside, host), toolset.VerdictAllow},
		"the network, for one host":    {`{"decision":"allow","sandbox":"inside"},{"decision":"allow","host":"a.example"}`, boxed("make x", "network", inside, host), ""},
		"the network, without a rule":  {`{"decision":"allow","host":"*"}`, boxed("make x", "network", inside, host), ""},
		"a host that is denied":        {`{"decision":"allow","sandbox":"inside"},{"decision":"allow","host":"*"},{"decision":"deny","host":"a.example"}`, boxed("make x", "network", inside, host), approval.VerdictAsk},
		"a command that is denied":     {`{"decision":"allow","sandbox":"inside"},{"decision":"deny","command":"make"}`, boxed("make x", "", inside), toolset.VerdictDeny},
		"a protected file":             {`{"decision":"allow","sandbox":"inside"}`, boxed("echo x >.envrc", "", inside, model.EffectUnknown), toolset.VerdictAllow}, // the layer; who asks is tested below
		"outside is denied":            {`{"decision":"deny","sandbox":"outside"}`, boxed("make x", "none", outside), toolset.VerdictDeny},
		"without a sandbox, too":       {`{"decision":"deny","sandbox":"outside"}`, boxed("make x", "", model.EffectUnknown), toolset.VerdictDeny},
		"outside is denied, inside":    {`{"decision":"deny","sandbox":"outside"}`, boxed("make x", "", inside), ""},
		"outside is asked about, auto": {`{"decision":"ask","sandbox":"outside"}`, boxed("make x", "none", outside), approval.VerdictAsk},
		"another tool":                 {`{"decision":"allow","tool":"other","sandbox":"inside"}`, boxed("make x", "", inside), ""},
	} {
		require.Equal(t, c.want, decided(t, `{"rules":[`+c.rules+`]}`, c.r).Verdict, name)
	}
	for rule, want := range map[string]string{
		`"allow","sandbox":"outside"`:              "allow each with command",
		`"deny","sandbox":"inside"`:                "deny or ask about outside",
		`"allow","sandbox":"x"`:                    "use inside or outside",
		`"allow","sandbox":"inside","command":"x"`: "make a rule of each",
	} {
		_, err := approval.ParseConfig([]byte(`{"rules":[{"decision":` + rule + `}]}`))
		require.ErrorContains(t, err, want, rule)
	}
}

func TestChoicesOfWiderAndLastingAnswers(t *testing.T) {
	r := boxed("make x", "", model.EffectSandbox)
	ids := func(remembers bool) (all []string) {
		for _, c := range approval.Choices(&r, remembers) {
			all = append(all, c.ID)
		}
		return all
	}
	require.Equal(t, []string{"allow_once", "allow_always", "allow_always_wider_1", "reject_once", "reject_always"}, ids(true))
	r.Lasting = true
	require.Equal(t, []string{"allow_once", "allow_always", "allow_always_project", "allow_always_wider_1", "reject_once", "reject_always"}, ids(true))
	wider := approval.Choices(&r, true)[3]
	require.Equal(t, "Always allow all commands in the sandbox in this project", wider.Title)
	require.Equal(t, toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Lasting: true, Scope: "in the sandbox"}, wider.Decision)
	require.Equal(t, []string{"allow_once", "reject_once"}, ids(false))
	r.Once = true
	require.Equal(t, []string{"allow_once", "reject_once"}, ids(true))
}

// Rules of the project hold as those of the session do, below what the layers before them say.
func TestRulesThatAreKeptHoldInLaterSessions(t *testing.T) {
	k := &keeper{}
	r := boxed("make x", "", model.EffectSandbox)
	for _, c := range approval.Choices(&r, true) {
		if c.Decision.Scope != "" {
			require.NoError(t, k.Keep(approval.RulesOf("run_command", &r.Approval, c.Decision)...))
		}
	}
	require.Equal(t, []approval.Rule{{Tool: "run_command", Scope: "in the sandbox", Verdict: toolset.VerdictAllow}}, k.rules)
	decide := func(r toolset.ApprovalRequest, layers ...approval.Layer) toolset.Decision {
		asker := approval.Layered(approval.Remember(new(approval.Policy), nil), append(layers, approval.Kept(k))...)
		d, err := asker.Approve(t.Context(), r)
		require.NoError(t, err)
		return d
	}
	d := decide(r)
	require.Equal(t, toolset.VerdictAllow, d.Verdict)
	require.Equal(t, approval.KeptBy, d.By)
	require.Equal(t, toolset.VerdictDefer, decide(boxed("make x", "none", model.EffectOutside)).Verdict)
	require.Equal(t, toolset.VerdictDefer, decide(boxed("make x", "network", model.EffectSandbox, model.EffectHost)).Verdict)
	protected := boxed("echo x >.envrc", "", model.EffectSandbox)
	protected.Approval.Once = true
	require.Equal(t, toolset.VerdictDefer, decide(protected).Verdict, "what is protected is asked about in the sandbox too")
	ask := approval.Layer{Name: "a", Decide: func(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
		return approval.Ruling{Verdict: approval.VerdictAsk}, nil
	}}
	require.Equal(t, toolset.VerdictDefer, decide(r, ask).Verdict)
	require.NoError(t, k.Drop(k.rules[0]))
	require.Equal(t, toolset.VerdictDefer, decide(r).Verdict)
	require.Empty(t, approval.RulesOf("run_command", &r.Approval, toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Scope: "not offered"}))
	require.Empty(t, approval.RulesOf("run_command", &protected.Approval, toolset.Decision{Verdict: toolset.VerdictAllow, Always: true, Scope: "in the sandbox"}))
}

// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ponte-go/ponte/toolset"
)

// Rule is a decision that holds for all actions of a tool in a scope.
type Rule struct {
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// Source is whose tool it is, as in [toolset.Approval]. It is empty for tools of the program.
	Source string `json:"source,omitempty"`
	// Scope is what the rule covers, in a form that the tool defines, such as a path or the first words of a command. The
	// empty scope covers every call of the tool.
	Scope string `json:"scope,omitempty"`
	// Verdict is [toolset.VerdictAllow] or [toolset.VerdictDeny].
	Verdict toolset.Verdict `json:"verdict"`
}

// String describes the rule in a few words.
func (r Rule) String() string {
	text := string(r.Verdict) + " " + r.Tool
	if r.Source != "" {
		text += " of " + r.Source
	}
	if r.Scope == "" {
		return text + ": every call"
	}
	return text + ": " + r.Scope
}

// Policy remembers decisions for the rest of a session. The zero value is ready to use and has no rules. A nil Policy has no
// rules and remembers nothing. A Policy must not be copied.
type Policy struct {
	mu    sync.Mutex
	rules map[ruleKey]toolset.Verdict
	turn  chan struct{} // holds a token while a question is open; nil until first used
}

type ruleKey struct{ tool, source, scope string }

// stricter returns the verdict that wins: a denial over a permission over none.
func stricter(a, b toolset.Verdict) toolset.Verdict {
	switch {
	case a == toolset.VerdictDeny || b == toolset.VerdictDeny:
		return toolset.VerdictDeny
	case a == toolset.VerdictAllow || b == toolset.VerdictAllow:
		return toolset.VerdictAllow
	}
	return toolset.VerdictDefer
}

// Decide returns the verdict of the rules about an action of a tool of the program that lies in all the given scopes, and in the
// empty one. A rule that denies wins over all that allow. Without a rule the verdict is [toolset.VerdictDefer].
func (p *Policy) Decide(tool string, scopes ...string) toolset.Verdict {
	return p.decide(&call{tool: tool, covers: append([]string{""}, scopes...)})
}

func (p *Policy) decide(c *call) toolset.Verdict {
	if p == nil {
		return toolset.VerdictDefer
	}
	p.mu.Lock()
	var t table
	for key, v := range p.rules {
		if key.tool != c.tool || key.source != c.source {
			continue
		}
		answer := &Rule{key.tool, key.source, key.scope, v}
		t.rules = append(t.rules, compiled{ConfigRule: ConfigRule{Decision: v}, answer: answer})
	}
	p.mu.Unlock()
	ruling, _ := t.ruling(c)
	return cmp.Or(ruling.Verdict, toolset.VerdictDefer)
}

// DecideApproval returns the verdict of the rules about a call of a tool with this approval. It decides as [Policy.Decide] does about its scope
// and what it covers, or else about its parts, if it has any: deny if one is denied, allow if all are allowed. Only rules about
// tools of the approval's Source apply. A call that a person must be asked about ([toolset.Approval].Once), or that may write a protected path
// ([ProtectedPaths]), is not allowed by rules.
func (p *Policy) DecideApproval(tool string, a *toolset.Approval) toolset.Verdict {
	c := &call{tool: tool, source: a.Source}
	c.scoped(a)
	verdict := p.decide(c)
	if verdict == toolset.VerdictAllow && mustAsk(a) {
		return toolset.VerdictDefer
	}
	return verdict
}

// RememberApproval makes the rules of an answer "always" about a call of a tool with this approval. It makes none that allows what rules do not
// allow: see [Policy.DecideApproval].
func (p *Policy) RememberApproval(tool string, a *toolset.Approval, v toolset.Verdict) {
	if v == toolset.VerdictAllow && mustAsk(a) {
		return
	}
	if v != toolset.VerdictAllow || len(a.Parts) == 0 {
		p.remember(ruleKey{tool, a.Source, a.Scope}, v)
		return
	}
	for _, part := range a.Parts {
		p.remember(ruleKey{tool, a.Source, part}, v)
	}
}

// RememberDecision makes the rules of a decision about a call of a tool with this approval: of the
// wider scope that it names, or else as [Policy.RememberApproval] does. A decision that is not
// Always, that is Lasting (a [Keeper] has its rules), or names a scope that the approval does not
// offer, makes none.
func (p *Policy) RememberDecision(tool string, a *toolset.Approval, d toolset.Decision) {
	if !d.Always || d.Lasting {
		return
	}
	if d.Scope == "" {
		p.RememberApproval(tool, a, d.Verdict)
		return
	}
	offered := slices.ContainsFunc(a.Wider, func(w toolset.WiderScope) bool {
		return w.Scope == d.Scope
	})
	if offered && (d.Verdict == toolset.VerdictDeny || !mustAsk(a)) {
		p.remember(ruleKey{tool, a.Source, d.Scope}, d.Verdict)
	}
}

// Remember makes a rule about a tool of the program. A scope that is denied stays denied whatever is remembered later;
// [Policy.Forget] removes the rule. A verdict other than allow and deny changes nothing.
func (p *Policy) Remember(tool, scope string, v toolset.Verdict) {
	p.remember(ruleKey{tool, "", scope}, v)
}

func (p *Policy) remember(key ruleKey, v toolset.Verdict) {
	if p == nil || v != toolset.VerdictAllow && v != toolset.VerdictDeny {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil {
		p.rules = map[ruleKey]toolset.Verdict{}
	}
	p.rules[key] = stricter(v, p.rules[key])
}

// Forget removes the rules about a tool and a scope, whatever the source of the tool is.
func (p *Policy) Forget(tool, scope string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.rules, func(key ruleKey, _ toolset.Verdict) bool { return key.tool == tool && key.scope == scope })
}

// Rules returns the rules, sorted by tool, source and scope.
func (p *Policy) Rules() []Rule {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := make([]Rule, 0, len(p.rules))
	for key, v := range p.rules {
		rules = append(rules, Rule{Tool: key.tool, Source: key.source, Scope: key.scope, Verdict: v})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Scope, b.Scope))
	})
	return rules
}

// AskOnce decides about an action: as [Policy.Decide] does if there is a rule, and by calling ask if there is none. One ask
// is in progress at a time, so that of two equal actions the second one finds the rule that the first one made. ask makes rules
// itself, with [Policy.Remember]. Waiting for another ask ends with ctx, with its cause.
func (p *Policy) AskOnce(ctx context.Context, tool string, scopes []string, ask func(context.Context) (toolset.Verdict, error)) (toolset.Verdict, error) {
	return p.askOnce(ctx, func() toolset.Verdict { return p.Decide(tool, scopes...) }, ask)
}

func (p *Policy) askOnce(ctx context.Context, decide func() toolset.Verdict, ask func(context.Context) (toolset.Verdict, error)) (toolset.Verdict, error) {
	if v := decide(); v != toolset.VerdictDefer {
		return v, nil
	}
	if p == nil {
		return ask(ctx)
	}
	turn := p.turnstile()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return toolset.VerdictDefer, context.Cause(ctx)
	}
	defer func() { <-turn }()
	if v := decide(); v != toolset.VerdictDefer {
		return v, nil
	}
	return ask(ctx)
}

func (p *Policy) turnstile() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.turn == nil {
		p.turn = make(chan struct{}, 1)
	}
	return p.turn
}

// policyVersion is the version of the JSON form of policies.
const policyVersion = 1

// policyJSON is a policy on disk.
type policyJSON struct {
	Version int    `json:"version"`
	Rules   []Rule `json:"rules"`
}

// MarshalJSON implements [json.Marshaler]. Rules are sorted.
func (p *Policy) MarshalJSON() ([]byte, error) {
	out := policyJSON{Version: policyVersion, Rules: p.Rules()}
	if out.Rules == nil {
		out.Rules = []Rule{}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. It replaces all rules.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var in policyJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("approval: policy: %w", err)
	}
	if in.Version != policyVersion {
		return fmt.Errorf("approval: policy: version %d is not supported, this program reads version %d", in.Version, policyVersion)
	}
	rules := make(map[ruleKey]toolset.Verdict, len(in.Rules))
	for _, r := range in.Rules {
		key := ruleKey{r.Tool, r.Source, r.Scope}
		switch r.Verdict {
		case toolset.VerdictAllow:
			rules[key] = stricter(rules[key], r.Verdict)
		case toolset.VerdictDeny:
			rules[key] = toolset.VerdictDeny
		default:
			return fmt.Errorf("approval: policy: rule for %q: unknown verdict %q", r.Tool, r.Verdict)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
	return nil
}

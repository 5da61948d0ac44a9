package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Verdict is what a [Policy] says about an action.
type Verdict uint8

// Verdicts.
const (
	// Ask is the zero value: nothing has been decided, ask the user.
	Ask Verdict = iota
	Allow
	Reject
)

// String returns the verdict's name, as in JSON.
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Reject:
		return "reject"
	}
	return "ask"
}

// Rule is a decision that holds for all actions of a tool in a scope.
type Rule struct {
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// Scope says what the rule covers. Its form is the tool's own business: a path, the first words of a command. The
	// empty scope covers everything that the tool does.
	Scope string `json:"scope,omitempty"`
	// Verdict is [Allow] or [Reject].
	Verdict Verdict `json:"-"`
}

// Policy remembers the decisions that are to hold for the rest of a session. The zero value is ready to use and asks about
// everything; nil does too, and remembers nothing. It must not be copied.
type Policy struct {
	mu    sync.Mutex
	rules map[ruleKey]Verdict
	turn  chan struct{} // holds a token while somebody asks the user; nil until first used
}

type ruleKey struct{ tool, scope string }

// Decide says what has been decided about an action of a tool that lies in all the given scopes, and in the empty one. A
// rule that rejects wins over all that allow.
func (p *Policy) Decide(tool string, scopes ...string) Verdict {
	if p == nil {
		return Ask
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	verdict := p.rules[ruleKey{tool, ""}]
	for _, scope := range scopes {
		verdict = max(verdict, p.rules[ruleKey{tool, scope}])
	}
	return verdict
}

// Remember makes a rule. A scope that is rejected stays so whatever is remembered later; [Policy.Forget] takes it back.
// [Ask] changes nothing.
func (p *Policy) Remember(tool, scope string, v Verdict) {
	if p == nil || v == Ask {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rules == nil {
		p.rules = map[ruleKey]Verdict{}
	}
	key := ruleKey{tool, scope}
	p.rules[key] = max(v, p.rules[key])
}

// Forget takes a rule back.
func (p *Policy) Forget(tool, scope string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rules, ruleKey{tool, scope})
}

// Rules returns the rules, sorted by tool and scope.
func (p *Policy) Rules() []Rule {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rules := make([]Rule, 0, len(p.rules))
	for key, v := range p.rules {
		rules = append(rules, Rule{Tool: key.tool, Scope: key.scope, Verdict: v})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Scope, b.Scope))
	})
	return rules
}

// AskOnce decides about an action: as [Policy.Decide] does if there is a rule, and by calling ask if there is none. One ask
// goes on at a time, so that of two equal actions the second one finds the rule that the first one made. ask makes rules
// itself, with [Policy.Remember]. Waiting for another ask ends with ctx, with its cause.
func (p *Policy) AskOnce(ctx context.Context, tool string, scopes []string, ask func(context.Context) (Verdict, error)) (Verdict, error) {
	if v := p.Decide(tool, scopes...); v != Ask {
		return v, nil
	}
	if p == nil {
		return ask(ctx)
	}
	turn := p.turnstile()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return Ask, context.Cause(ctx)
	}
	defer func() { <-turn }()
	if v := p.Decide(tool, scopes...); v != Ask {
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

// policyJSON is a policy on disk.
type policyJSON struct {
	Version int        `json:"version"`
	Rules   []ruleJSON `json:"rules"`
}

type ruleJSON struct {
	Rule
	Verdict string `json:"verdict"`
}

// MarshalJSON implements [json.Marshaler]. Rules are sorted.
func (p *Policy) MarshalJSON() ([]byte, error) {
	out := policyJSON{Version: 1, Rules: []ruleJSON{}}
	for _, r := range p.Rules() {
		out.Rules = append(out.Rules, ruleJSON{r, r.Verdict.String()})
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. It replaces all rules.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var in policyJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("approval: policy: %w", err)
	}
	if in.Version != 1 {
		return fmt.Errorf("approval: policy: version %d is not supported", in.Version)
	}
	rules := make(map[ruleKey]Verdict, len(in.Rules))
	for _, r := range in.Rules {
		key := ruleKey{r.Tool, r.Scope}
		switch r.Verdict {
		case Allow.String():
			rules[key] = max(rules[key], Allow)
		case Reject.String():
			rules[key] = Reject
		default:
			return fmt.Errorf("approval: policy: rule for %q: unknown verdict %q", r.Tool, r.Verdict)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
	return nil
}

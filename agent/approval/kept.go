// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/toolset"
)

// Keeper keeps the rules of answers "always in this project" beyond a session. Its methods may be
// called by several goroutines.
type Keeper interface {
	// Kept returns the rules. It is called for each call that needs approval.
	Kept() ([]Rule, error)
	// Keep adds rules. Those that are there stay.
	Keep(rules ...Rule) error
	// Drop removes a rule, if it is there.
	Drop(rule Rule) error
}

// KeptBy is the name of the layer of [Kept].
const KeptBy = "always in this project"

// Kept returns a layer that decides by the rules of a keeper, as a session's [Policy] does.
func Kept(k Keeper) Layer {
	decide := func(_ context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
		rules, err := k.Kept()
		if err != nil {
			return Ruling{}, fmt.Errorf("the rules cannot be read: %w", err)
		}
		var p Policy
		for _, rule := range rules {
			p.remember(ruleKey{rule.Tool, rule.Source, rule.Scope}, rule.Verdict)
		}
		switch p.DecideApproval(r.Tool, &r.Approval) {
		case toolset.VerdictDeny:
			return Ruling{Verdict: toolset.VerdictDeny, Reason: remembered.Reason}, nil
		case toolset.VerdictAllow:
			scope := ScopeTitle(r.Tool, &r.Approval)
			return Ruling{Verdict: toolset.VerdictAllow, Rule: "always " + scope}, nil
		}
		return Ruling{}, nil
	}
	return Layer{Name: KeptBy, Decide: decide}
}

// RulesOf returns the rules that a decision about a call makes, as [Policy.RememberDecision] does.
func RulesOf(tool string, a *toolset.Approval, d toolset.Decision) []Rule {
	var p Policy
	d.Lasting = false
	p.RememberDecision(tool, a, d)
	return p.Rules()
}

// Drop removes a rule, and reports whether the policy had it.
func (p *Policy) Drop(r Rule) bool {
	if p == nil || !slices.Contains(p.Rules(), r) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rules, ruleKey{r.Tool, r.Source, r.Scope})
	return true
}

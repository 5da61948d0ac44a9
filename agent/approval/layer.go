// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ponte-go/ponte/toolset"
)

// VerdictAsk is the verdict of a [Layer] that wants a person asked, whatever the layers below it say. It is not a verdict of a
// [toolset.Decision].
const VerdictAsk toolset.Verdict = "ask"

// Layer decides about calls that need approval, without asking a person. [Layered] puts layers
// before an asker.
type Layer struct {
	// Name names the layer in [toolset.Decision.By], in logs and to people, as in "denied by the configuration". It is required.
	Name string
	// Decide returns what the layer says about a call. It may be called for several calls at once. An error ends the run.
	Decide func(ctx context.Context, r *toolset.ApprovalRequest) (Ruling, error)
	// Rules returns the rules of the layer, for people. It may be nil.
	Rules func() []LayerRule
}

// LayerRule is a rule of a layer.
type LayerRule struct {
	// Text describes the rule. Origin names its source; empty means the layer's name.
	Text, Origin string
	// Drop takes the rule back. Nil means that it cannot be.
	Drop func() error
}

// Ruling is a layer's decision about a call. The zero value leaves the decision to others.
type Ruling struct {
	// Verdict is [toolset.VerdictAllow], [toolset.VerdictDeny] or [VerdictAsk]. Empty and [toolset.VerdictDefer] leave the decision to
	// others.
	Verdict toolset.Verdict
	// Rule names the rule that decided, for people and logs.
	Rule string
	// Reason is sent to the model when the call is denied. If it is empty, the model is told which
	// layer denied it.
	Reason string
	// Yields lets a permission give way to any layer that wants a person asked, including layers of
	// an inner asker. Use it for layers that may be mistaken, such as a [Judge].
	Yields bool
}

// Layered returns an asker that consults the layers, in order, before it asks asker. Typical layers are what the program forbids,
// what the user's configuration says ([Config.Layer]), and a mode such as [ReadOnly]. What a session remembers is part of asker: see
// [Remember].
//
//   - A denial of any layer wins, and so does one that a session remembers.
//   - Otherwise the first layer that allows the call, or wants a person asked, decides. A permission that yields counts only if no layer
//     wants a person asked.
//   - If no layer decides, asker does.
//   - A call with [toolset.ApprovalRequest.Once], or one that may write a protected path ([ProtectedPaths]), is allowed by no layer.
//
// A person who is asked because of [VerdictAsk] is asked every time: see
// [toolset.ApprovalRequest.Once]. Decision.By names the layer that decided; [RuleOf] returns its
// rule. Questions in the middle of calls go to asker. With a nil asker, no person is asked.
func Layered(asker toolset.Asker, layers ...Layer) toolset.Asker {
	if asker == nil {
		asker = toolset.AskerFuncs{}
	}
	return &layered{asker, layers}
}

type layered struct {
	asker  toolset.Asker
	layers []Layer
}

// denier is an asker that knows, without asking a person, which calls are denied, and which calls a
// person must decide about in any case.
type denier interface {
	denied(ctx context.Context, r *toolset.ApprovalRequest) (toolset.Decision, bool, error)
	insists(ctx context.Context, r *toolset.ApprovalRequest) (bool, error)
}

// insists asks an asker that may be a denier.
func insists(ctx context.Context, a toolset.Asker, r *toolset.ApprovalRequest) (bool, error) {
	if d, ok := a.(denier); ok {
		return d.insists(ctx, r)
	}
	return false, nil
}

// checked is an asker that can be told that the Once of a request says already what mustAsk does.
type checked interface {
	approve(ctx context.Context, r *toolset.ApprovalRequest) (toolset.Decision, error)
}

// approve has an asker decide about a request whose Once says what mustAsk does.
func approve(ctx context.Context, a toolset.Asker, r *toolset.ApprovalRequest) (toolset.Decision, error) {
	if c, ok := a.(checked); ok {
		return c.approve(ctx, r)
	}
	return a.Approve(ctx, *r)
}

// Approve implements [toolset.Asker].
func (l *layered) Approve(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	r.Once = r.Once || mustAsk(&r.Approval)
	return l.approve(ctx, &r)
}

// approve implements checked.
func (l *layered) approve(ctx context.Context, r *toolset.ApprovalRequest) (toolset.Decision, error) {
	first, name, err := l.rule(ctx, r)
	switch {
	case err != nil:
		return toolset.Decision{}, err
	case first.Verdict == toolset.VerdictDeny:
		return decisionOf(name, first), nil
	case first.Verdict == toolset.VerdictAllow:
		if d, ok := l.asker.(denier); ok {
			if decision, denied, err := d.denied(ctx, r); denied || err != nil {
				return decision, err
			}
		}
		if first.Yields {
			if asks, err := insists(ctx, l.asker, r); asks || err != nil {
				return l.asked(ctx, r, err)
			}
		}
		return decisionOf(name, first), nil
	case first.Verdict == VerdictAsk && !r.Once:
		once := *r
		once.Once, r = true, &once
	}
	return approve(ctx, l.asker, r)
}

// asked asks the inner asker, unless there is an error.
func (l *layered) asked(ctx context.Context, r *toolset.ApprovalRequest, err error) (toolset.Decision, error) {
	if err != nil {
		return toolset.Decision{}, err
	}
	return approve(ctx, l.asker, r)
}

// insists implements denier.
func (l *layered) insists(ctx context.Context, r *toolset.ApprovalRequest) (bool, error) {
	ruling, _, err := l.rule(ctx, r)
	if err != nil || ruling.Verdict == VerdictAsk {
		return err == nil, err
	}
	return insists(ctx, l.asker, r)
}

// rule returns the ruling of the layers: the first denial, or else the first that says anything and does not yield.
func (l *layered) rule(ctx context.Context, r *toolset.ApprovalRequest) (first Ruling, name string, err error) {
	for _, layer := range l.layers {
		ruling, err := layer.Decide(ctx, r)
		if err != nil {
			return Ruling{}, "", fmt.Errorf("approval: %s: %w", layer.Name, err)
		}
		switch ruling.Verdict {
		case toolset.VerdictDeny:
			return ruling, layer.Name, nil
		case toolset.VerdictAllow, VerdictAsk:
			if r.Once && ruling.Verdict == toolset.VerdictAllow {
				continue // a person is asked
			}
			if first.Verdict == "" || first.Yields && ruling.Verdict == VerdictAsk {
				first, name = ruling, layer.Name
			}
		case "", toolset.VerdictDefer:
		default:
			return Ruling{}, "", fmt.Errorf("approval: %s: unknown verdict %q: use allow, deny, ask or defer", layer.Name, ruling.Verdict)
		}
	}
	return first, name, nil
}

// denied implements denier.
func (l *layered) denied(ctx context.Context, r *toolset.ApprovalRequest) (toolset.Decision, bool, error) {
	ruling, name, err := l.rule(ctx, r)
	if err != nil || ruling.Verdict == toolset.VerdictDeny {
		return decisionOf(name, ruling), err == nil, err
	}
	if d, ok := l.asker.(denier); ok {
		return d.denied(ctx, r)
	}
	return toolset.Decision{}, false, nil
}

// Answer implements [toolset.Asker].
func (l *layered) Answer(ctx context.Context, q toolset.Question) (toolset.Reply, error) {
	return l.asker.Answer(ctx, q)
}

// ruledMeta is the Meta of a decision that a layer made.
type ruledMeta struct {
	Rule string `json:"rule"`
}

func decisionOf(layer string, r Ruling) toolset.Decision {
	d := toolset.Decision{Verdict: r.Verdict, By: layer}
	if r.Verdict == toolset.VerdictDeny {
		d.Reason = cmp.Or(r.Reason, "Not permitted ("+layer+"). Do not try to do the same in another way.")
	}
	if r.Rule != "" {
		d.Meta, _ = json.Marshal(ruledMeta{r.Rule}) // a string has a JSON form
	}
	return d
}

// RuleOf returns the rule that a layer applied, or "" if it is not known.
func RuleOf(d toolset.Decision) string {
	var meta ruledMeta
	if json.Unmarshal(d.Meta, &meta) != nil {
		return ""
	}
	return meta.Rule
}

// ReadOnly returns a layer that denies every call that needs approval, except calls of tools of the kinds read, search and think whose effects
// and previews say nothing else.
func ReadOnly() Layer {
	return Layer{Name: "read-only mode", Decide: func(_ context.Context, r *toolset.ApprovalRequest) (Ruling, error) {
		switch r.Kind {
		case toolset.KindRead, toolset.KindSearch, toolset.KindThink:
			if onlyReads(&r.Approval) {
				return Ruling{}, nil
			}
		}
		return Ruling{Verdict: toolset.VerdictDeny, Reason: "Not permitted in read-only mode. Describe the change instead of making it."}, nil
	}}
}

// Auto returns a layer that allows everything. Denials of other layers win. Use it for agents that run unattended.
func Auto() Layer {
	return Layer{Name: "automatic mode", Decide: func(context.Context, *toolset.ApprovalRequest) (Ruling, error) {
		return Ruling{Verdict: toolset.VerdictAllow}, nil
	}}
}

// Logged returns an asker that logs every decision of asker: the tool, the verdict, who made it and
// which rule applied. Arguments are not logged.
func Logged(asker toolset.Asker, log *slog.Logger) toolset.Asker { return &logged{asker, log} }

type logged struct {
	toolset.Asker
	log *slog.Logger
}

// Approve implements [toolset.Asker].
func (l *logged) Approve(ctx context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
	d, err := l.Asker.Approve(ctx, r)
	attrs := []any{"tool", r.Tool, "run", r.RunID, "call", r.CallID(), "agent", r.Agent}
	if err != nil {
		if !errors.Is(err, toolset.ErrNobody) && ctx.Err() == nil {
			l.log.WarnContext(ctx, "approval: no decision", append(attrs, "error", fmt.Sprintf("%T", err))...)
		}
		return d, err
	}
	l.log.InfoContext(ctx, "approval: decided", append(attrs, "verdict", string(d.Verdict), "by", d.By, "rule", RuleOf(d), "always", d.Always)...)
	return d, nil
}

func (l *logged) insists(ctx context.Context, r *toolset.ApprovalRequest) (bool, error) {
	return insists(ctx, l.Asker, r)
}

func (l *logged) denied(ctx context.Context, r *toolset.ApprovalRequest) (toolset.Decision, bool, error) {
	if d, ok := l.Asker.(denier); ok {
		return d.denied(ctx, r)
	}
	return toolset.Decision{}, false, nil
}

// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Redact replaces what rules match, wherever the conversation holds it as text: in what users,
// models and tools said, in thinking, and in the arguments of calls. The rules are applied in
// order, again and again until none matches.
//
// Arguments and tool returns that are JSON stay so: their strings and numbers, names of fields too,
// are matched one by one in their decoded form, and all else is left byte for byte. Values are
// matched once more behind their names, as "name: value", for rules that keep the name. A part whose
// content was signed by a provider loses signature and id with the change. A provider that demands
// signatures refuses such a call while the turn lasts, so do not match what the model's own calls
// are made of.
//
// Only text is examined, and what tools keep ([model.Part.Keep]): no media and their URLs, no
// opaque parts, no other metadata, and not the record of instructions. Unanswered calls are left
// alone, because they have not been executed yet.
//
// A message is examined once, as long as it stays in memory.
func Redact[D any](rules ...Rule) Processor[D] {
	r := &redactor{rules: slices.Clone(rules)}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.Pattern == nil {
			return broken[D]("Redact: rule %d (%s) has no pattern", i, rule.Name)
		}
		if rule.Replacement == "" {
			rule.Replacement = "[redacted " + rule.Name + "]"
		}
	}
	for i := range r.rules {
		for j := range r.rules {
			if text := r.rules[i].Replacement; !strings.Contains(text, "$") && r.rules[j].Pattern.MatchString(text) {
				return broken[D]("Redact: rule %d (%s) matches %q, by which rule %d replaces", j, r.rules[j].Name, text, i)
			}
		}
	}
	return func(ctx context.Context, _ *toolset.RunContext[D], messages []*model.Message) ([]*model.Message, error) {
		return r.redact(ctx, messages)
	}
}

type redactor struct {
	rules []Rule
	// looked records how much of a history has been examined, clean the messages with nothing to
	// replace.
	looked extents[struct{}]
	clean  weakMap[model.Message, struct{}]
}

func (r *redactor) redact(ctx context.Context, messages []*model.Message) ([]*model.Message, error) {
	settled := messages[:frontier(messages)]
	from, _ := r.looked.find(settled)
	if from == len(settled) {
		return messages, nil
	}
	out := messages
	for i, m := range settled[from:] {
		if _, ok := r.clean.get(m); ok {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("history: redact: %w", err)
		}
		redacted, err := r.message(m)
		if err != nil {
			return nil, fmt.Errorf("history: redact: %w", err)
		}
		r.clean.set(redacted, struct{}{})
		if redacted == m {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[from+i] = redacted
	}
	r.looked.save(out[:len(settled)], struct{}{})
	return out, nil
}

// frontier returns how many messages precede the calls without an answer that a history ends with.
func frontier(messages []*model.Message) int {
	n := len(messages)
	if n > 0 && messages[n-1].Pending {
		n--
	}
	end := n
	for n > 0 && messages[n-1].Kind == model.KindResponse {
		n--
	}
	if !slices.ContainsFunc(messages[n:end], (*model.Message).HasToolCalls) {
		return len(messages)
	}
	return n
}

// message returns the message without what the rules match: the message itself if they match
// nothing.
func (r *redactor) message(m *model.Message) (*model.Message, error) {
	parts, err := r.parts(m.Parts)
	if err != nil {
		return nil, err
	}
	kept, err := r.parts(m.Kept)
	if err != nil {
		return nil, err
	}
	cleared, err := r.cleared(m)
	if err != nil || parts == nil && kept == nil && cleared == nil {
		return m, err
	}
	out := marked(m, MetaRedacted, "1")
	if parts != nil {
		out.Parts = parts
	}
	if kept != nil {
		out.Kept = kept
	}
	maps.Copy(out.Metadata, cleared)
	return out, nil
}

// parts returns parts without what the rules match, or nil if they match nothing.
func (r *redactor) parts(parts []model.Part) (out []model.Part, err error) {
	for i := range parts {
		p := parts[i]
		if err := r.part(&p); err != nil {
			return nil, err
		}
		old := &parts[i]
		if p.Text == old.Text && string(p.Args) == string(old.Args) && string(p.Meta) == string(old.Meta) && p.Decision == old.Decision {
			continue
		}
		if out == nil {
			out = slices.Clone(parts)
		}
		p.Signature, p.ID = nil, ""
		out[i] = p
	}
	return out, nil
}

func (r *redactor) part(p *model.Part) (err error) {
	if p.Text, err = r.partText(p); err != nil {
		return err
	}
	if p.Kind == model.PartToolCall {
		if p.Args, err = r.data(p.Args); err != nil {
			return err
		}
	}
	if p.Keep != "" {
		if p.Meta, err = r.data(p.Meta); err != nil {
			return err
		}
	}
	p.Decision, err = r.decision(p.Decision)
	return err
}

// cleared returns the results in the metadata of a message that match the rules.
func (r *redactor) cleared(m *model.Message) (changed map[string]string, err error) {
	for key, text := range m.Metadata {
		if !strings.HasPrefix(key, MetaClearedText) {
			continue
		}
		without, err := r.partText(&model.Part{Kind: model.PartToolReturn, Text: text})
		if err != nil {
			return nil, err
		}
		if without != text {
			if changed == nil {
				changed = map[string]string{}
			}
			changed[key] = without
		}
	}
	return changed, nil
}

// decision returns a decision without what the rules match: the decision itself if they match
// nothing.
func (r *redactor) decision(d *model.Decision) (*model.Decision, error) {
	if d == nil {
		return nil, nil
	}
	out := *d
	var err error
	if len(d.Args) > 0 {
		if out.Args, err = r.data(d.Args); err != nil {
			return nil, err
		}
	}
	if out.Reason, err = r.text(d.Reason); err != nil {
		return nil, err
	}
	if string(out.Args) == string(d.Args) && out.Reason == d.Reason {
		return d, nil
	}
	return &out, nil
}

func (r *redactor) partText(p *model.Part) (string, error) {
	if p.Text == "" {
		return "", nil
	}
	if p.Kind == model.PartToolReturn && isStructured(p.Text) {
		data, err := r.data([]byte(p.Text))
		return string(data), err
	}
	return r.text(p.Text)
}

// maxPasses bounds how often the rules are applied to a text.
const maxPasses = 8

// text applies the rules until none of them changes anything.
func (r *redactor) text(s string) (string, error) {
	for range maxPasses {
		before := s
		for i := range r.rules {
			rule := &r.rules[i]
			if strings.Contains(s, rule.Hint) && rule.Pattern.MatchString(s) {
				s = rule.Pattern.ReplaceAllString(s, rule.Replacement)
			}
		}
		if s == before {
			return s, nil
		}
	}
	return "", fmt.Errorf("the rules match their own replacements: no end after %d passes", maxPasses)
}

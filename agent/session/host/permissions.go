// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/show"
)

// Permission is a rule that decides about calls of a session before a person is asked.
type Permission struct {
	// ID identifies the rule. Text describes it, and Origin names its source.
	ID, Text, Origin string
	// Removable is set if the rule can be taken back here: see [Session.DropPermission].
	Removable bool

	drop func() error
}

// The origins of rules that answers have made.
const (
	OriginSession = "always in this session"
	OriginProject = approval.KeptBy
)

// ErrNoPermission means that a session has no rule with an id, or that it cannot be taken back.
var ErrNoPermission = errors.New("host: no such rule, or it cannot be taken back here")

// Permissions returns the rules that decide about calls of the session. The rules of its layers
// come first ([approval.Layer].Rules), then the rules of the project, then the rules of the
// session.
func (s *Session) Permissions() (all []Permission, err error) {
	add := func(text, origin string, drop func() error) {
		id := sha256.Sum256([]byte(origin + "\x00" + text))
		all = append(all, Permission{fmt.Sprintf("%x", id[:8]), text, origin, drop != nil, drop})
	}
	if s.instance != nil {
		layers, err := s.instance.layers()
		if err != nil {
			return nil, err
		}
		for _, l := range layers {
			if l.Rules == nil {
				continue
			}
			for _, r := range l.Rules() {
				add(r.Text, cmp.Or(r.Origin, l.Name), r.Drop)
			}
		}
	}
	if k := s.keeper(); k != nil {
		rules, err := k.Kept()
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			add(r.String(), OriginProject, func() error { return k.Drop(r) })
		}
	}
	for _, r := range s.policy.Rules() {
		add(r.String(), OriginSession, func() error { s.policy.Drop(r); return nil })
	}
	return all, nil
}

// DropPermission takes a rule back, by its id. The next call is asked about again. Its error is
// [ErrNoPermission] if there is no such rule. If the store cannot record that a rule of the session
// is gone, the error says so: it is gone here, and comes back with the next process unless the end
// of a turn records that.
func (s *Session) DropPermission(ctx context.Context, id string) error {
	c, done, err := s.useSoon(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	return s.dropPermission(ctx, c, id)
}

func (s *Session) dropPermission(ctx context.Context, c *conversation, id string) error {
	all, err := s.Permissions()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.ID != id || p.drop == nil {
			continue
		}
		if err := p.drop(); err != nil || p.Origin != OriginSession {
			return err
		}
		return s.saveRules(context.WithoutCancel(ctx), c.w)
	}
	return ErrNoPermission
}

// permissions lists the rules, or takes one back.
func permissions(ctx context.Context, call *CommandCall) (res agent.CommandResult, err error) {
	all, err := call.Session.Permissions()
	if err != nil {
		return agent.CommandResult{}, err
	}
	verb, which, _ := strings.Cut(strings.TrimSpace(call.Args), " ")
	n, wrong := strconv.Atoi(strings.TrimSpace(which))
	switch {
	case verb == "":
	case verb != "remove" || wrong != nil || n < 1 || n > len(all):
		res.Notice = "Use `/permissions`, or `/permissions remove NUMBER` with a number of the list."
		return res, nil
	case !all[n-1].Removable:
		res.Notice = "This rule cannot be taken back here: it is from " + show.Line(all[n-1].Origin) + "."
		return res, nil
	default:
		p := all[n-1]
		if err := call.Session.dropPermission(ctx, call.turn.c, p.ID); err != nil {
			return agent.CommandResult{}, err
		}
		res.Notice = "Taken back: " + inCode(p.Text) + "."
		return res, nil
	}
	var b strings.Builder
	for i, p := range all {
		fmt.Fprintf(&b, "%d. %s (%s)\n", i+1, inCode(p.Text), show.Line(p.Origin))
	}
	if len(all) == 0 {
		b.WriteString("No rules decide about calls.\n")
	} else {
		b.WriteString("\nTo take one back: `/permissions remove NUMBER`.\n")
	}
	b.WriteString("\nWhat other programs execute or obey is asked about every time.")
	res.Notice = b.String()
	return res, nil
}

// inCode shows a text as code. Nothing in it ends that.
func inCode(text string) string {
	return "`` " + strings.ReplaceAll(show.Line(text), "`", "'") + " ``"
}

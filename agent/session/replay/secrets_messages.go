// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

func (w *walker) message(m *model.Message) {
	w.parts(m.Parts)
	w.parts(m.Kept)
	w.string(&m.Instructions)
	for name, value := range m.Metadata {
		w.string(&value)
		m.Metadata[name] = value
	}
	m.PendingCalls = slices.Clone(m.PendingCalls)
	for i := range m.PendingCalls {
		c := &m.PendingCalls[i]
		c.Args, c.Meta = w.json(c.Args), w.json(c.Meta)
		w.string(&c.Invalid)
		if c.Approval != nil {
			a := *c.Approval
			w.approval(&a)
			c.Approval = &a
		}
		if c.Decision != nil {
			d := *c.Decision
			w.decision(&d)
			c.Decision = &d
		}
	}
	m.SuspendedCalls = slices.Clone(m.SuspendedCalls)
	for i := range m.SuspendedCalls {
		m.SuspendedCalls[i].State = w.json(m.SuspendedCalls[i].State)
	}
}

func (w *walker) parts(parts []model.Part) {
	for i := range parts {
		p := &parts[i]
		w.string(&p.Text)
		p.Args, p.Meta = w.json(p.Args), w.json(p.Meta)
		w.string(&p.URL)
		w.string(&p.Name)
		p.Data = w.bytes(p.Data)
		if p.Decision != nil {
			d := *p.Decision
			w.decision(&d)
			p.Decision = &d
		}
	}
}

func (w *walker) decision(d *model.Decision) {
	d.Args, d.Meta = w.json(d.Args), w.json(d.Meta)
	w.string(&d.Reason)
	w.string(&d.By)
}

func (w *walker) approval(a *model.Approval) {
	for _, s := range []*string{&a.Title, &a.Reason, &a.Scope, &a.Source, &a.ScopeTitle, &a.Basis} {
		w.string(s)
	}
	a.Covers, a.Parts = slices.Clone(a.Covers), slices.Clone(a.Parts)
	for _, list := range [][]string{a.Covers, a.Parts} {
		for i := range list {
			w.string(&list[i])
		}
	}
	// The tool makes these again.
	a.Preview, a.Effects, a.Meta = nil, nil, w.json(a.Meta)
}

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
		copied(&c.Approval, w.approval)
		copied(&c.Decision, w.decision)
	}
	m.SuspendedCalls = slices.Clone(m.SuspendedCalls)
	for i := range m.SuspendedCalls {
		c := &m.SuspendedCalls[i]
		c.Args, c.State, c.Told = w.json(c.Args), w.json(c.State), slices.Clone(c.Told)
		copied(&c.Approval, w.approval)
		copied(&c.Decision, w.decision)
		for j := range c.Told {
			c.Told[j] = c.Told[j].Clone()
			w.message(c.Told[j])
		}
	}
	copied(&m.HandOver, func(h *model.HandOver) {
		h.Args, h.State, h.Earlier = w.json(h.Args), w.json(h.State), slices.Clone(h.Earlier)
		for i := range h.Earlier {
			h.Earlier[i] = w.json(h.Earlier[i])
		}
	})
}

// copied visits a copy of what may be there.
func copied[T any](at **T, visit func(*T)) {
	if *at != nil {
		c := **at
		visit(&c)
		*at = &c
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
		copied(&p.Decision, w.decision)
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
	a.Wider = slices.Clone(a.Wider)
	for i := range a.Wider {
		w.string(&a.Wider[i].Scope)
		w.string(&a.Wider[i].Title)
	}
	// The tool makes these again.
	a.Preview, a.Effects, a.Meta = nil, nil, w.json(a.Meta)
}

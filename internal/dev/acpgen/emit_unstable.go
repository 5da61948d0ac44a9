// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const acpPackage = "github.com/ponte-go/ponte/acpbridge/acp"

// emitTypes writes the types.
func (u *unstable) emitTypes(p *printer) {
	same := u.stableTwins()
	for _, name := range slices.Sorted(maps.Keys(u.all.defs)) {
		d := u.all.defs[name]
		switch {
		case u.fresh[name] && d.isString:
			emitNamedString(p, d)
		case u.fresh[name] && d.union != nil:
			emitUnion(p, name, docOf(d), d.union)
		case u.grown[name] != nil:
			emitUnion(p, name, fmt.Sprintf("%s holds the unstable variants of acp.%s. Exactly one of them, or Unknown, is set.", name, name), u.grown[name])
		case u.fresh[name]:
			u.emitStruct(p, same, name, docOf(d), d.fields, false)
		case len(u.extended[name]) > 0:
			u.emitStruct(
				p, same, name, fmt.Sprintf("%s holds the unstable fields of acp.%s.", name, name),
				u.extended[name], true,
			)
		}
	}
}

func emitNamedString(p *printer, d *def) {
	p.p("// %s", docOf(d))
	p.p("type %s string\n", d.goName)
	if len(d.enum) == 0 {
		return
	}
	p.p("// Values of [%s].\nconst (", d.goName)
	for _, c := range d.enum {
		p.p("%s%s %s = %q", d.goName, goName(c), d.goName, c)
	}
	p.p(")\n")
}

// emitStruct writes a type. All fields of an extension are optional.
func (u *unstable) emitStruct(
	p *printer, same twins, name, doc string, fields []field, extension bool,
) {
	p.p("// %s", doc)
	fields = slices.Clone(fields)
	var body printer
	for i := range fields {
		f := &fields[i]
		if extension {
			f.required, f.hasDefault, f.pointer = false, false, f.pointer || f.typ.kind == kindStruct
		}
		emitField(&body, *f, u.typeName(f.typ, extension))
	}
	same.emit(p, name, body.String(), len(fields))
	if needsCodec(fields) {
		emitUnstableCodec(p, name)
	}
}

func emitUnion(p *printer, name, doc string, x *union) {
	p.p("// %s\ntype %s struct {", doc, name)
	emitVariants(p, x)
	p.p("}\n")
	emitUnstableCodec(p, name)
}

func emitUnstableCodec(p *printer, name string) {
	emitCodec(p, name, "acp.Marshal", "acp.Unmarshal")
}

// stableTwins returns the types of package acp by their fields, as package unstable writes them.
func (u *unstable) stableTwins() twins {
	same := twins{}
	for _, d := range u.stable.sorted() {
		if d.union != nil || d.isString || d.number != "" {
			continue
		}
		var body printer
		for _, f := range d.fields {
			emitField(&body, f, u.typeName(f.typ, false))
		}
		same[body.String()] = "acp." + d.goName
	}
	return same
}

// typeName returns a type as package unstable writes it. What package acp has is its, except where
// an extension nests another one.
func (u *unstable) typeName(t goType, extension bool) string {
	switch {
	case t.kind == kindSlice:
		return "[]" + u.typeName(*t.elem, extension)
	case t.kind == kindMap:
		return "map[string]" + u.typeName(*t.elem, extension)
	case u.fresh[t.name], extension && len(u.extended[t.name]) > 0:
		return t.name
	case u.all.defs[t.name] != nil, handWritten[t.name]:
		return "acp." + t.name
	}
	return t.name
}

var unstableRoleDocs = map[string]string{
	"Agent": `Agent is what an agent may do beyond [acp.Agent]. Whoever writes one implements it, embedding [UnsupportedAgent], and serves it
with [ServeAgent]; [CallAgent] implements it by calling the peer. Handlers are under the rules of [acp.Agent].`,
	"Client": `Client is what a client may do beyond [acp.Client]. See [ServeClient] and [CallClient].`,
}

func emitUnstableRoles(p *printer, roles []role) {
	p.p("// Names of the methods on the wire.\nconst (")
	seen := map[string]bool{}
	for _, r := range roles {
		for _, m := range r.methods {
			if !seen[m.wire] {
				p.p("Method%s = %q", constName(m), m.wire)
			}
			seen[m.wire] = true
		}
	}
	p.p(")\n")
	for _, r := range roles {
		p.p("// %s\ntype %s interface {", strings.ReplaceAll(unstableRoleDocs[r.name], "\n", "\n// "), r.name)
		for _, m := range r.methods {
			what := "request"
			if m.result == "" {
				what = "notification"
			}
			p.p("// %s handles the %s %s.\n%s", m.name, what, m.wire, signature(m))
		}
		p.p("}\n")
		p.p("// Unsupported%s answers every request with acp.ErrMethodNotFound and ignores every notification. Embed it in implementations.", r.name)
		p.p("type Unsupported%s struct{}\n\nvar _ %s = Unsupported%s{}\n", r.name, r.name, r.name)
		lower := strings.ToLower(r.name)
		for _, m := range r.methods {
			sig := strings.Replace(strings.Replace(signature(m), "ctx context", "context", 1), "params *", "*", 1)
			p.p("// %s implements [%s].", m.name, r.name)
			if m.result == "" {
				p.p("func (Unsupported%s) %s { return nil }\n", r.name, sig)
			} else {
				p.p("func (Unsupported%s) %s { return nil, methodNotFound(Method%s) }\n", r.name, sig, constName(m))
			}
		}
		p.p("type %sCalls struct{ peer Peer }\n", lower)
		for _, m := range r.methods {
			if m.result == "" {
				p.p(
					"func (c %sCalls) %s { return c.peer.Notify(ctx, Method%s, params) }\n", lower,
					signature(m), constName(m),
				)
			} else {
				p.p(
					"func (c %sCalls) %s { return call[%s](ctx, c.peer, Method%s, params) }\n",
					lower, signature(m), m.result, constName(m),
				)
			}
		}
		for _, kind := range []string{"request", "notification"} {
			p.p(
				"func %s%s(%s %s) map[string]handler {\nreturn map[string]handler{", lower,
				goName(kind)+"s", lower, r.name,
			)
			for _, m := range r.methods {
				if (m.result == "") == (kind == "notification") {
					p.p("Method%s: %sHandler(%s.%s),", constName(m), kind, lower, m.name)
				}
			}
			p.p("}\n}\n")
		}
	}
}

// constName is the name of a method's constant: one that both sides have has one.
func constName(m method) string { return m.name }

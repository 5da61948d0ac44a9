// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

func (m *model) emitEnums(p *printer) {
	for _, d := range m.sorted() {
		switch {
		case d.number != "":
			p.p("// %s", docOf(d))
			p.p("type %s %s\n", d.goName, d.number)
		case d.isString:
			p.p("// %s", docOf(d))
			p.p("type %s string\n", d.goName)
			if len(d.enum) == 0 {
				continue
			}
			p.p("// Values of [%s].", d.goName)
			p.p("const (")
			for _, c := range d.enum {
				p.p("%s%s %s = %q", d.goName, goName(c), d.goName, c)
			}
			p.p(")\n")
		}
	}
}

// twins are the names of types by their fields, as they are written.
type twins map[string]string

// minTwin is the number of fields from which on a type that has those of an earlier one is
// defined by it.
const minTwin = 4

// emit writes a struct with the body, or a type of an earlier struct with the same one.
func (t twins) emit(p *printer, name, body string, fields int) {
	twin := t[body]
	switch {
	case twin != "" && fields >= minTwin:
		p.p("type %s %s\n", name, twin)
	default:
		t[body] = name
		p.p("type %s struct {\n%s}\n", name, body)
	}
}

func (m *model) emitTypes(p *printer) {
	same := twins{}
	for _, d := range m.sorted() {
		if d.isString || d.number != "" {
			continue
		}
		p.p("// %s", docOf(d))
		var body printer
		for _, f := range d.fields {
			emitField(&body, f, f.typ.name)
		}
		if d.union != nil {
			if len(d.fields) > 0 {
				body.p("")
			}
			emitVariants(&body, d.union)
		}
		same.emit(p, d.goName, body.String(), len(d.fields))
		if d.union != nil || needsCodec(d.fields) {
			emitCodec(p, d.goName, "marshalJSON", "unmarshalJSON")
		}
	}
}

// emitField writes a field with the tags that package acp's shape gives it.
func emitField(p *printer, f field, typ string) {
	tag := f.json
	if !f.required && !f.hasDefault {
		tag += ",omitzero"
	}
	tag = fmt.Sprintf("json:%q", tag)
	if r := rules(f); r != "" {
		tag += fmt.Sprintf(" acp:%q", r)
	}
	if f.pointer {
		typ = "*" + typ
	}
	p.p("%s %s `%s`", f.name, typ, tag)
}

func rules(f field) string {
	var out []string
	if f.hasDefault {
		out = append(out, strings.TrimSuffix("default="+f.defaultValue, "="))
	}
	for _, r := range []struct {
		name string
		set  bool
	}{
		{"strict", !f.required && !f.lenient},
		{"lenient", f.required && f.lenient},
		{"nullable", f.required && f.nullable},
		{"emptynull", f.nullEmpty},
	} {
		if r.set {
			out = append(out, r.name)
		}
	}
	return strings.Join(out, ",")
}

// emitVariants writes the fields of a union.
func emitVariants(p *printer, u *union) {
	for _, v := range u.variants {
		field := v.field
		if field == "Unknown" {
			field = v.typ
		}
		p.p("%s *%s `acp:%q`", field, v.typ, variantRules(u, v))
	}
	if !u.closed {
		p.p("// Unknown is the whole value, verbatim, if it is of a variant that this package does not know.")
		p.p("Unknown json.RawMessage")
	}
}

func variantRules(u *union, v variant) string {
	switch {
	case u.tag == "":
		return "has " + v.key
	case v.tag != "":
		return u.tag + "=" + v.tag
	case u.fallback:
		return u.tag + "=|" + v.alias + ",fallback"
	default:
		return u.tag + "=|" + v.alias
	}
}

// needsCodec reports whether package encoding/json would write a struct with these fields in
// another way than package acp does, or read a valid message to another value.
func needsCodec(fields []field) bool {
	return slices.ContainsFunc(fields, func(f field) bool {
		list := f.typ.kind == kindSlice || f.typ.kind == kindMap // is never nil if it is always there
		return list && (f.required || f.hasDefault) || f.nullEmpty || f.defaultValue != ""
	})
}

// emitCodec writes the methods that package encoding/json calls. The package's comment documents
// them, once for all types.
func emitCodec(p *printer, name, encode, decode string) {
	p.p("func (v %s) MarshalJSON() ([]byte, error) { return %s(&v) }", name, encode)
	p.p("func (v *%s) UnmarshalJSON(data []byte) error { return %s(data, v) }\n", name, decode)
}

// docOf returns the doc comment of a type, in our own words.
func docOf(d *def) string {
	text := summaryOf(d)
	switch {
	case len(d.enum) > 0:
		text += " A value that is not among the constants is kept as it is."
	case d.union != nil && d.union.closed:
		text += " Exactly one of the variants is set."
	case d.union != nil:
		text += " Exactly one of the variants, or Unknown, is set."
	}
	return strings.ReplaceAll(text, "\n", "\n// ")
}

func summaryOf(d *def) string {
	if s, ok := summaries[d.goName]; ok {
		return d.goName + " " + s
	}
	switch {
	case d.method != "" && strings.HasSuffix(d.name, "Response"):
		return fmt.Sprintf("%s is the result of %s.", d.goName, d.method)
	case d.method != "":
		return fmt.Sprintf("%s holds the parameters of %s.", d.goName, d.method)
	case strings.HasSuffix(d.name, "Capabilities") && len(d.fields) <= 1:
		return fmt.Sprintf("%s announces a capability by its presence: %s.", d.goName, strings.Join(d.usedBy, ", "))
	case d.isString && len(d.enum) == 0:
		return fmt.Sprintf("%s is an opaque string: %s.", d.goName, uses(d))
	case len(d.usedBy) > 0:
		return fmt.Sprintf("%s is the type of %s.", d.goName, uses(d))
	}
	return d.goName + " is part of the protocol."
}

// uses names at most three places that the type is used in.
func uses(d *def) string {
	const most = 3
	if len(d.usedBy) == 0 {
		return "not used by a stable method"
	}
	if len(d.usedBy) > most {
		return strings.Join(d.usedBy[:most], ", ") + " and others"
	}
	return strings.Join(d.usedBy, ", ")
}

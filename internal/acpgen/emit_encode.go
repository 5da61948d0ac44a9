// SPDX-License-Identifier: Apache-2.0

package main

// emitEncoders writes append-style encoders: static calls, no reflection, and nothing that makes the argument escape.
func (m *model) emitEncoders(p *printer) {
	for _, d := range m.sorted() {
		switch {
		case d.isString || d.number != "":
		case d.union == nil:
			p.p("func (v *%s) encode(e *encoder) {\ne.open()", d.goName)
			if len(d.fields) > 0 {
				p.p("v.encodeFields(e)")
			}
			p.p("e.close()\n}\n")
			if len(d.fields) > 0 {
				p.p("func (v *%s) encodeFields(e *encoder) {", d.goName)
				emitEncodeFields(p, d)
				p.p("}\n")
			}
		default:
			emitEncodeUnion(p, d)
		}
	}
}

func emitEncodeUnion(p *printer, d *def) {
	u := d.union
	if u.closed {
		p.p("func (v *%s) encode(e *encoder) {\ne.open()\nv.encodeFields(e)\ne.close()\n}\n", d.goName)
		p.p("func (v *%s) encodeFields(e *encoder) {", d.goName)
	} else {
		p.p("func (v *%s) encode(e *encoder) {", d.goName)
	}
	p.p("n := 0")
	for _, v := range u.variants {
		p.p("if v.%s != nil { n++ }", v.field)
	}
	if !u.closed {
		p.p("if v.Unknown != nil { n++ }")
	}
	p.p("if n != 1 { e.badUnion(%q, n)\nreturn }", d.goName)
	if !u.closed {
		p.p("if v.Unknown != nil { e.raw(v.Unknown)\nreturn }")
		p.p("e.open()")
	}
	emitEncodeFields(p, d)
	p.p("switch {")
	for _, v := range u.variants {
		p.p("case v.%s != nil:", v.field)
		if v.tag != "" {
			p.p("e.key(`%q:`)\ne.string(%q)", u.tag, v.tag)
		}
		if len(v.def.fields) > 0 || v.def.union != nil {
			p.p("v.%s.encodeFields(e)", v.field)
		}
	}
	p.p("}")
	if !u.closed {
		p.p("e.close()")
	}
	p.p("}\n")
}

func emitEncodeFields(p *printer, d *def) {
	for _, f := range d.fields {
		x := "v." + f.name
		key := func() { p.p("e.key(`%q:`)", f.json) }
		if f.required || f.hasDefault {
			key()
			if f.defaultValue != "" {
				p.p("if %s == \"\" { e.string(%q) } else { e.string(string(%s)) }", x, f.defaultValue, x)
			} else {
				emitEncodeValue(p, x, f.typ)
			}
			continue
		}
		switch {
		case f.typ.kind == kindPatch:
			p.p("if !%s.IsZero() {", x)
		case f.typ.kind == kindString && !f.pointer:
			p.p("if %s != \"\" {", x)
		default:
			p.p("if %s != nil {", x)
		}
		key()
		if f.pointer && f.typ.kind != kindStruct {
			x = "*" + x
		}
		emitEncodeValue(p, x, f.typ)
		p.p("}")
	}
}

func emitEncodeValue(p *printer, x string, t goType) {
	switch t.kind {
	case kindString:
		if t.name != "string" {
			x = "string(" + x + ")"
		}
		p.p("e.string(%s)", x)
	case kindBool:
		p.p("e.bool(%s)", x)
	case kindNumber:
		switch t.name {
		case "float64":
			p.p("e.float(%s)", x)
		case "int32", "int64":
			p.p("e.int(int64(%s))", x)
		default:
			p.p("e.uint(uint64(%s))", x)
		}
	case kindRaw:
		p.p("e.raw(%s)", x)
	case kindStruct, kindPatch:
		p.p("%s.encode(e)", x)
	case kindSlice:
		p.p("e.openArray()\nfor i := range %s {\ne.comma()", x)
		emitEncodeValue(p, x+"[i]", *t.elem)
		p.p("}\ne.closeArray()")
	case kindMap:
		if t.elem.kind == kindRaw {
			p.p("e.rawMap(%s)", x)
			return
		}
		p.p("e.open()\nfor _, k := range sortedKeys(%s) {\nx := %s[k]\ne.keyOf(k)", x, x)
		emitEncodeValue(p, "x", *t.elem)
		p.p("}\ne.close()")
	}
}

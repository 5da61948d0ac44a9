// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// emitDecoders writes decoders over the pull decoder of package acp.
func (m *model) emitDecoders(p *printer) {
	for _, d := range m.sorted() {
		switch {
		case d.isString || d.number != "":
		case d.union == nil:
			p.p("func (v *%s) decode(d *decoder) {\n*v = %s{}", d.goName, d.goName)
			emitDecodeFields(p, d)
			p.p("}\n")
		default:
			emitDecodeUnion(p, d)
		}
	}
}

// emitDecodeFields reads an object. The bits of have stand for the required fields.
func emitDecodeFields(p *printer, d *def) {
	var required []string
	for _, f := range d.fields {
		if f.required {
			required = append(required, f.json)
		}
	}
	for _, f := range d.fields {
		emitDecodeDefault(p, f)
	}
	if len(required) > 0 {
		p.p("have := 0")
	}
	p.p("for d.object() {")
	if len(d.fields) == 0 {
		p.p("d.skip()")
	} else {
		p.p("switch string(d.key) {")
		bit := 0
		for _, f := range d.fields {
			p.p("case %q:", f.json)
			if f.required {
				p.p("have |= 1 << %d", bit)
				bit++
			}
			emitDecodeField(p, f)
		}
		p.p("default:\nd.skip()\n}")
	}
	p.p("}")
	if len(required) > 0 {
		p.p("d.end(%q, have, \"%s\")", d.goName, strings.Join(required, `", "`))
	} else {
		p.p("d.end(%q, 0)", d.goName)
	}
}

// emitDecodeDefault sets what a field has when it is absent, if that is not the zero value.
func emitDecodeDefault(p *printer, f field) {
	switch {
	case f.defaultValue != "":
		p.p("v.%s = %q", f.name, f.defaultValue)
	case f.typ.kind == kindSlice && (f.required || f.hasDefault), f.typ.kind == kindMap && (f.required || f.hasDefault):
		p.p("v.%s = %s{}", f.name, f.typ.name)
	case f.hasDefault && f.typ.kind == kindStruct:
		// An absent struct has the defaults of its own fields, all of which are zero.
	}
}

func emitDecodeField(p *printer, f field) {
	x := "v." + f.name
	if f.json == "_meta" {
		p.p("%s = d.meta()", x)
		return
	}
	if f.lenient {
		p.p("m := d.mark()")
	}
	if f.nullable && f.typ.kind != kindPatch && f.typ.kind != kindRaw {
		p.p("if !d.null() {")
	}
	switch {
	case f.typ.kind == kindSlice:
		emitDecodeSlice(p, x, f)
	case f.typ.kind == kindMap:
		if f.typ.elem.kind == kindRaw {
			p.p("%s = d.rawMap()", x)
		} else {
			p.p("%s = decodeMap(d, %s)", x, decodeFunc(*f.typ.elem))
		}
	case f.typ.kind == kindStruct && f.pointer:
		p.p("%s = new(%s)\n%s.decode(d)", x, f.typ.name, x)
	case f.typ.kind == kindStruct || f.typ.kind == kindPatch:
		p.p("%s.decode(d)", x)
	case f.pointer:
		p.p("%s = new(%s)", x, decodeExpr(f.typ))
	default:
		p.p("%s = %s", x, decodeExpr(f.typ))
	}
	if f.nullable && f.typ.kind != kindPatch && f.typ.kind != kindRaw {
		if f.nullEmpty {
			p.p("} else { %s = %s{} }", x, f.typ.name)
		} else {
			p.p("}")
		}
	}
	if f.lenient {
		p.p("if d.forgive(m) { %s = %s }", x, zeroOf(f))
	}
}

func emitDecodeSlice(p *printer, x string, f field) {
	elem := *f.typ.elem
	if elem.kind == kindString {
		p.p("%s = decodeStrings[%s](d, %v)", x, elem.name, f.skipInvalid)
		return
	}
	p.p("%s = decodeSlice(d, %v, %s)", x, f.skipInvalid, decodeFunc(elem))
}

func decodeFunc(t goType) string {
	if t.kind == kindStruct {
		return fmt.Sprintf("(*%s).decode", t.name)
	}
	return fmt.Sprintf("func(v *%s, d *decoder) { *v = %s }", t.name, decodeExpr(t))
}

func decodeExpr(t goType) string {
	switch t.kind {
	case kindString:
		if t.name == "string" {
			return "d.string()"
		}
		return t.name + "(d.string())"
	case kindBool:
		return "d.bool()"
	case kindRaw:
		return "d.raw()"
	}
	switch t.name {
	case "float64":
		return "d.float()"
	case "int64":
		return "d.int()"
	case "uint64":
		return "d.uint(64)"
	case "uint32":
		return "uint32(d.uint(32))"
	default: // the named number, ProtocolVersion
		return t.name + "(d.uint(16))"
	}
}

func zeroOf(f field) string {
	switch {
	case f.typ.kind == kindSlice && (f.required || f.hasDefault), f.typ.kind == kindMap && (f.required || f.hasDefault):
		return f.typ.name + "{}"
	case f.pointer, f.typ.kind == kindSlice, f.typ.kind == kindMap, f.typ.kind == kindRaw:
		return "nil"
	case f.typ.kind == kindString:
		return fmt.Sprintf("%q", f.defaultValue)
	case f.typ.kind == kindBool:
		return "false"
	case f.typ.kind == kindNumber:
		return "0"
	}
	return f.typ.name + "{}"
}

func emitDecodeUnion(p *printer, d *def) {
	u := d.union
	p.p("func (v *%s) decode(d *decoder) {\n*v = %s{}", d.goName, d.goName)
	if len(d.fields) > 0 { // the fields that all variants share: the object is read twice
		p.p("start := d.mark()")
		emitDecodeFields(p, d)
		p.p("if d.err != nil { return }\nd.reset(start)")
	}
	if u.tag == "" {
		emitDecodeByKey(p, d)
	} else {
		emitDecodeByTag(p, d)
	}
	p.p("}\n")
}

func emitDecodeByTag(p *printer, d *def) {
	u := d.union
	var untagged *variant
	p.p("tag, ok := d.tag(%q, %q)", d.goName, u.tag)
	p.p("switch {\ncase d.err != nil:")
	for i := range u.variants {
		if v := &u.variants[i]; v.tag == "" {
			untagged = v
		}
	}
	if untagged == nil {
		p.p("case !ok:\nd.missing(%q, %q)", d.goName, u.tag)
	} else {
		accept := fmt.Sprintf("!ok || string(tag) == %q", untagged.alias)
		p.p("case %s:", accept)
		emitDecodeVariant(p, *untagged)
	}
	for _, v := range u.variants {
		if v.tag != "" {
			p.p("case string(tag) == %q:", v.tag)
			emitDecodeVariant(p, v)
		}
	}
	p.p("default:")
	if u.fallback {
		p.p("m := d.mark()")
		emitDecodeVariant(p, *untagged)
		p.p("if d.err != nil {\nd.err, v.%s = nil, nil\nd.reset(m)\nv.Unknown = d.raw()\n}", untagged.field)
	} else {
		p.p("v.Unknown = d.raw()")
	}
	p.p("}")
}

func emitDecodeByKey(p *printer, d *def) {
	u := d.union
	var keys []string
	for _, v := range u.variants {
		keys = append(keys, fmt.Sprintf("%q", v.key))
	}
	p.p("switch d.firstKey(%q, %s) {", d.goName, strings.Join(keys, ", "))
	for i, v := range u.variants {
		p.p("case %d:", i)
		emitDecodeVariant(p, v)
	}
	if u.closed {
		p.p("default:\nd.missing(%q, %q)", d.goName, u.variants[0].key)
	} else {
		p.p("default:\nif d.err == nil { v.Unknown = d.raw() }")
	}
	p.p("}")
}

func emitDecodeVariant(p *printer, v variant) {
	p.p("v.%s = new(%s)\nv.%s.decode(d)", v.field, v.typ, v.field)
}

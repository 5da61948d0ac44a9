// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// unstableMethods lists each side's unstable methods, as methodOrder does.
var unstableMethods = map[string][]string{
	"agent": {
		"session/fork", "session/archive", "session/unarchive", "session/set_title", "session/status", "auth/status", "providers/list",
		"providers/set", "providers/disable", "mcp/message",
	},
	"client": {"auth/status_update", "mcp/message"},
}

// dropped are definitions that only programs between a client and an agent use, and what is not
// needed.
var dropped = []string{
	"ProxyRequest", "ProxyResponse", "ProxyNotification", "InitializeProxyRequest", "InitializeProxyResponse", "ProxySuccessorRequest",
	"ProxySuccessorResponse", "ProxySuccessorNotification",
	"ErrorStopReason", // see simplify
}

// unstable holds the additions of the unstable schema to the stable one.
type unstable struct {
	stable, all *model
	fresh       map[string]bool    // types that are new, by Go name
	extended    map[string][]field // the new fields of types that are not; of a type in which one is nested too
	grown       map[string]*union  // the new variants of unions that are not new
}

// generateUnstable returns the generated files of package unstable.
func generateUnstable(stableJSON, unstableJSON []byte) ([]file, error) {
	u, err := compare(stableJSON, unstableJSON)
	if err != nil {
		return nil, err
	}
	roles, err := u.roles()
	if err != nil {
		return nil, err
	}
	return emitFiles("unstable", []emitter{
		{"types_gen.go", []string{"encoding/json", acpPackage}, u.emitTypes},
		{"roles_gen.go", []string{"context"}, func(p *printer) { emitUnstableRoles(p, roles) }},
	})
}

func compare(stableJSON, unstableJSON []byte) (*unstable, error) {
	stable, err := modelOf(stableJSON)
	if err != nil {
		return nil, err
	}
	r, err := parseSchema(unstableJSON)
	if err != nil {
		return nil, err
	}
	for _, name := range dropped {
		delete(r.Defs, name)
	}
	if err := simplify(r); err != nil {
		return nil, err
	}
	all, err := buildModel(r)
	if err != nil {
		return nil, err
	}
	u := &unstable{
		stable: stable, all: all, fresh: map[string]bool{}, extended: map[string][]field{},
		grown: map[string]*union{},
	}
	for name := range all.defs {
		u.fresh[name] = stable.defs[name] == nil
	}
	u.findGrown()
	u.findExtended()
	return u, nil
}

// simplify makes plain objects of unions whose variants differ in a single member.
func simplify(r *root) error {
	failure := property{"error", &schema{AnyOf: []*schema{{Ref: "#/$defs/McpError"}, {Type: typeSet{"null"}}}}}
	for name, more := range map[string][]property{
		"IdleStateUpdate":    {failure},
		"MessageMcpResponse": {{"result", &schema{}}, failure},
	} {
		d := r.Defs[name]
		if d == nil {
			return fmt.Errorf("schema has no %s", name)
		}
		d.AnyOf, d.Type, d.Properties = nil, typeSet{"object"}, append(d.Properties, more...)
	}
	return nil
}

func (u *unstable) findGrown() {
	for name, d := range u.all.defs {
		if u.fresh[name] || d.union == nil {
			continue
		}
		more := &union{tag: d.union.tag}
		for _, v := range d.union.variants {
			if u.fresh[v.typ] {
				more.variants = append(more.variants, v)
			}
		}
		if len(more.variants) > 0 {
			u.grown[name] = more
		}
	}
}

// findExtended finds new fields, and then the types that have such a type in a field, until it
// finds none.
func (u *unstable) findExtended() {
	for again := true; again; {
		again = false
		for name, d := range u.all.defs {
			if u.fresh[name] || d.union != nil || d.isString || d.number != "" {
				continue
			}
			var more []field
			for _, f := range d.fields {
				old := slices.ContainsFunc(u.stable.defs[name].fields, func(s field) bool { return s.json == f.json })
				if !old || u.extended[leaf(f.typ)] != nil {
					more = append(more, f)
				}
			}
			if len(more) != len(u.extended[name]) {
				u.extended[name], again = more, true
			}
		}
	}
}

// leaf returns the name of a type, or of its elements.
func leaf(t goType) string {
	for t.elem != nil {
		t = *t.elem
	}
	return t.name
}

func (u *unstable) roles() ([]role, error) {
	out := []role{{name: "Agent"}, {name: "Client"}}
	for i := range out {
		side := strings.ToLower(out[i].name)
		for _, wire := range unstableMethods[side] {
			x, err := u.all.method(side, wire)
			if err != nil {
				return nil, err
			}
			out[i].methods = append(out[i].methods, x)
		}
	}
	for name, d := range u.all.defs {
		if u.fresh[name] && d.method != "" && !slices.Contains(unstableMethods[d.side], d.method) {
			return nil, fmt.Errorf("method %s of side %q has no place in unstableMethods of internal/dev/acpgen/unstable.go", d.method, d.side)
		}
	}
	return out, nil
}

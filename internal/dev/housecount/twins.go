// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
)

// What makes two structs twins.
const (
	minFields = 4
	minEqual  = 0.85
)

// structType is a named struct type with its fields: the types by the names.
type structType struct {
	name   string // with its package
	fields map[string]string
}

// twin is a pair of structs, and the share of their fields that are equal.
type twin struct {
	a, b  string
	equal float64
}

// qualifier is the name of a package before that of a type.
var qualifier = regexp.MustCompile(`\b\w+\.`)

func newStruct(name string, t *ast.StructType) *structType {
	made := &structType{name: name, fields: map[string]string{}}
	for _, f := range t.Fields.List {
		of := qualifier.ReplaceAllString(types.ExprString(f.Type), "")
		if len(f.Names) == 0 {
			made.fields["embedded "+of] = of
		}
		for _, n := range f.Names {
			made.fields[n.Name] = of
		}
	}
	return made
}

// twins returns the twins of all packages, those that are most alike first.
func (h *house) twins() []twin {
	var all []*structType
	for _, p := range h.packages {
		for _, s := range p.structs {
			if len(s.fields) >= minFields {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b *structType) int { return cmp.Compare(a.name, b.name) })
	var found []twin
	for i, a := range all {
		for _, b := range all[i+1:] {
			if equal := a.likeness(b); equal >= minEqual && a.name != b.name { // of the same name are those of several systems
				found = append(found, twin{a.name, b.name, equal})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b twin) int { return cmp.Compare(b.equal, a.equal) })
	return found
}

// likeness returns which share of the fields of the larger struct the other one has, too.
func (s *structType) likeness(of *structType) float64 {
	larger := max(len(s.fields), len(of.fields))
	if float64(min(len(s.fields), len(of.fields))) < minEqual*float64(larger) {
		return 0
	}
	equal := 0
	for name, t := range s.fields {
		if of.fields[name] == t {
			equal++
		}
	}
	return float64(equal) / float64(larger)
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ponte-go/ponte/agent/model"
)

// assign adds variables to the environment. It reports whether their values are known.
func (r *effectReader) assign(assigns []*syntax.Assign) bool {
	known := true
	values := r.set(assigns)
	for _, a := range assigns {
		text, ok := "", a.Value == nil
		if a.Value != nil {
			text, ok = literal(a.Value)
		}
		if !ok || a.Append || a.Array != nil || a.Index != nil || a.Name == nil {
			known = false
			continue
		}
		r.env = append(slices.Clip(r.env), a.Name.Value+"="+text)
	}
	if len(assigns) > 0 {
		r.unknown(values)
	}
	return known
}

// set returns the values of variables, which may be used for anything.
func (r *effectReader) set(assigns []*syntax.Assign) (values []string) {
	for _, a := range assigns {
		values = append(values, known(r.vars.assigned(a))...)
		if a.Value != nil && substitutes(a.Value) {
			r.file(model.EffectRead, "./")
			r.said(a.Value, maxNested)
		}
	}
	return values
}

// guessed adds the effects of a command with words that only a shell can work out.
func (r *effectReader) guessed(args []*syntax.Word, depth int) {
	all := known(r.vars.seemings(args[0])) // a program is not written when it runs
	if len(all) == 0 {
		all = []string{""}
	}
	texts := slices.Contains(inert, all[0])
	plain := all[:1:1] // one word for each
	found := substitutes(args[0])
	for _, w := range args[1:] {
		words := r.vars.seemings(w)
		if texts {
			words = known(words)
		}
		if certain := known(slices.Clone(words)); len(certain) > 0 {
			plain = append(plain, certain[0])
		}
		all = append(all, words...)
		found = found || substitutes(w)
	}
	r.adrift = r.adrift || slices.Contains([]string{"cd", "pushd", "popd"}, all[0])
	if found && !slices.Contains(printers, all[0]) {
		r.file(model.EffectRead, "./")
	}
	if found && !slices.Contains(inert, all[0]) {
		for _, w := range args {
			if substitutes(w) {
				r.said(w, depth)
			}
		}
	}
	r.certain = r.certain && !slices.Contains(rebinding, all[0])
	r.configured(plain)
	r.opaque(all, depth)
	r.moved(all)
}

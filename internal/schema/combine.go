// SPDX-License-Identifier: Apache-2.0

package schema

// combined reports whether n has schemas for the same value.
func (n *node) combined() bool {
	return n.allOf != nil || n.anyOf != nil || n.oneOf != nil || n.not != nil
}

// combine checks a value against the schemas that n combines.
func (w *walker) combine(n *node, text []byte) {
	for _, part := range n.allOf {
		w.adopt(problemsOf(part, text))
	}
	if n.anyOf != nil {
		w.oneOf(n.anyOf, text, len(n.anyOf))
	}
	if n.oneOf != nil {
		w.oneOf(n.oneOf, text, 1)
	}
	if n.not != nil && len(problemsOf(n.not, text)) == 0 {
		w.report("not", "must not be such a value", text)
	}
}

// oneOf checks that a value has at least one of some alternatives, and at most the given number of
// them. If it has none, the problems come from the first one that allows the type of the value.
func (w *walker) oneOf(alternatives []*node, text []byte, most int) {
	var first []Problem
	other := false // first is about the type of the value itself
	matches, types := 0, typeSet(0)
	for _, a := range alternatives {
		types |= a.values().types
		problems := problemsOf(a, text)
		if len(problems) == 0 {
			matches++
			continue
		}
		is := problems[0].Rule == "type" && problems[0].Path == ""
		if first == nil || other && !is {
			first, other = problems, is
		}
	}
	switch {
	case matches == 0 && other && types != typeAny:
		w.report("type", "must be "+types.article(), text)
	case matches == 0:
		w.adopt(first)
	case matches > most:
		w.report("oneOf", "must match only one of the alternatives", text)
	}
}

func problemsOf(n *node, text []byte) []Problem {
	w := walkers.Get().(*walker)
	problems := w.check(n, text)
	w.release()
	return problems
}

// adopt reports the problems of a part of the text that was checked on its own.
func (w *walker) adopt(problems []Problem) {
	at := w.where()
	for _, p := range problems {
		if at != "" && p.Path != "" && p.Path[0] != '[' {
			p.Path = "." + p.Path
		}
		p.Path = at + p.Path
		w.add([]Problem{p})
	}
}

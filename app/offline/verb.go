// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// A verb is a way to begin a clause.
type verb struct {
	words []string
	// parse reads what follows. It returns the steps, or describes the problem; an empty problem
	// without steps means that the clause is not understood.
	parse func(p *parser, k *cursor) (steps []step, problem string)
	// alone is set if the verb makes sense by itself.
	alone bool
	// raw is set if the end of the clause belongs to a command or a text, courtesies included.
	raw bool
	// needs, if not nil, decides whether what follows makes the word a verb at all.
	needs func(rest []token) bool
}

func (v verb) plausible(rest []token) bool { return v.needs == nil || v.needs(rest) }

// verbs in the order in which they are tried: longer phrases before their beginnings. It is filled
// by init, since the parse functions come back to it.
var verbs []verb

func init() {
	add := func(v verb, phrases ...string) {
		for _, p := range phrases {
			v.words = strings.Fields(p)
			verbs = append(verbs, v)
		}
	}
	add(verb{parse: (*parser).list, alone: true},
		"what files are in", "what files are there", "which files are in", "which files are there", "list", "ls", "dir")
	add(verb{parse: (*parser).whereIs}, "where is", "where are", "where's")
	add(verb{parse: (*parser).whoCalls}, "who calls", "what calls")
	add(verb{parse: (*parser).diagnose, alone: true},
		"what is broken", "what's broken", "what is wrong", "what's wrong", "diagnose", "diagnostics")
	add(verb{parse: (*parser).search}, "search for", "search", "look for", "find", "grep for", "grep")
	add(verb{parse: (*parser).read},
		"take a look at", "have a look at", "look at", "what is in", "what's in", "what does", "show me", "show", "read",
		"open", "print", "cat", "display", "view")
	add(verb{parse: (*parser).replace}, "replace", "substitute")
	add(verb{parse: (*parser).rename, needs: hasWord("to", "into", "->", "→")}, "rename")
	add(verb{parse: (*parser).change, needs: hasWord("to", "into", "with", "->", "→")}, "change", "rename")
	add(verb{parse: (*parser).remove}, "remove", "delete")
	add(verb{parse: (*parser).appendTo}, "append")
	add(verb{parse: (*parser).add, needs: hasWord("to")}, "add")
	add(verb{parse: (*parser).create, raw: true}, "create")
	add(verb{parse: (*parser).write, raw: true}, "write", "save")
	add(verb{parse: (*parser).create, raw: true, needs: firstWord("a", "an", "the", "new")}, "make")
	add(verb{parse: (*parser).runTests, alone: true, needs: isTests}, "run", "execute", "start", "test")
	add(verb{parse: (*parser).run, raw: true}, "run", "execute", "exec")
	add(verb{parse: (*parser).runLine, raw: true}, "$")
	add(verb{parse: (*parser).use, needs: callsTool}, "use", "call")
	add(verb{parse: (*parser).undo, alone: true}, "undo", "revert", "take")
	add(verb{parse: (*parser).redo, alone: true}, "redo")
	add(verb{parse: (*parser).pause, alone: true}, "wait for", "wait", "sleep")
	add(verb{parse: (*parser).think, raw: true}, "think about", "think of", "think")
	add(verb{parse: (*parser).help, alone: true}, "help", "what can you do", "who are you", "what are you", "?")
}

func hasWord(words ...string) func([]token) bool {
	return func(rest []token) bool {
		for _, t := range rest[:min(len(rest), 100)] {
			if t.is(words...) {
				return true
			}
		}
		return false
	}
}

func firstWord(words ...string) func([]token) bool {
	return func(rest []token) bool { return len(rest) > 0 && rest[0].is(words...) }
}

// matchVerb returns the verb that the tokens begin with and how many of them it takes, or 0.
func matchVerb(tokens []token) (verb, int) {
next:
	for _, v := range verbs {
		if len(tokens) < len(v.words) {
			continue
		}
		for i, w := range v.words {
			if !tokens[i].is(w) {
				continue next
			}
		}
		if v.plausible(tokens[len(v.words):]) {
			return v, len(v.words)
		}
	}
	return verb{}, 0
}

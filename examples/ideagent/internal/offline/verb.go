// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// A verb is a way to begin a clause.
type verb struct {
	words []string
	parse func(p *parser, c clause) []step
	// alone says that the verb makes sense with nothing behind it.
	alone bool
	// needs, if not nil, decides whether what follows makes the word a verb at all.
	needs func(rest []token) bool
}

func (v verb) plausible(rest []token) bool { return v.needs == nil || v.needs(rest) }

// verbs in the order in which they are tried: longer phrases before their beginnings. It is filled by init, since the
// parse functions come back to it.
var verbs []verb

func init() {
	add := func(parse func(*parser, clause) []step, needs func([]token) bool, alone bool, phrases ...string) {
		for _, p := range phrases {
			verbs = append(verbs, verb{strings.Fields(p), parse, alone, needs})
		}
	}
	add((*parser).list, nil, true,
		"what files are in", "what files are there", "which files are in", "which files are there", "list", "ls", "dir")
	add((*parser).search, nil, false,
		"search for", "search", "look for", "find", "grep for", "grep", "where is", "where are", "where's")
	add((*parser).read, nil, false,
		"take a look at", "have a look at", "look at", "what is in", "what's in", "what does", "show me", "show", "read",
		"open", "print", "cat", "display", "view")
	add((*parser).replace, nil, false, "replace", "substitute")
	add((*parser).replace, hasWord("to", "into", "with", "->", "→"), false, "change", "rename")
	add((*parser).remove, nil, false, "remove", "delete")
	add((*parser).appendTo, hasWord("to"), false, "append", "add")
	add((*parser).create, nil, false, "create", "write", "save")
	add((*parser).create, firstWord("a", "an", "the", "new"), false, "make")
	add((*parser).run, nil, false, "run", "execute", "exec", "$")
	add((*parser).pause, nil, true, "wait for", "wait", "sleep")
	add((*parser).think, nil, false, "think about", "think of", "think")
	add((*parser).help, nil, true, "help", "what can you do", "who are you", "what are you", "?")
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
		return v, len(v.words)
	}
	return verb{}, 0
}

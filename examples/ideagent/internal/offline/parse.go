// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"strings"
)

// parser turns clauses into steps. It remembers the last file that was named, for "it" and for what is left out.
type parser struct {
	file string
}

// parse returns the steps that a request asks for, in order. A clause that is not understood becomes a step too.
func parse(request string) []step {
	var p parser
	var steps []step
	for _, c := range split(request) {
		for _, s := range p.clause(c) {
			if s.path != "" && (s.act == actRead || s.changes()) {
				p.file = s.path
			}
			steps = append(steps, s)
		}
	}
	return steps
}

func (p *parser) clause(c clause) []step {
	start := skipFiller(c.tokens)
	if start == len(c.tokens) {
		return nil // "please", "and then"
	}
	c.tokens = c.tokens[start:]
	if s, ok := p.inFile(c); ok {
		return s
	}
	v, n := matchVerb(c.tokens)
	if n == 0 || !v.plausible(c.tokens[n:]) {
		if courtesy(c.tokens) {
			return nil
		}
		return unclear("I did not understand %s", quote(c.raw(0, len(c.tokens))))
	}
	rest := clause{c.src, c.tokens[n:]}
	if len(rest.tokens) == 0 && !v.alone {
		return unclear("%s what?", code(strings.Join(v.words, " ")))
	}
	return v.parse(p, rest)
}

// inFile reads "in FILE", which says what the next clauses are about, and "in FILE replace A with B".
func (p *parser) inFile(c clause) ([]step, bool) {
	if len(c.tokens) < 2 || !c.tokens[0].is("in") {
		return nil, false
	}
	rest := c.tokens[1:]
	for len(rest) > 1 && rest[0].is("the", "file") {
		rest = rest[1:]
	}
	p.file = path(rest[0])
	rest = rest[1:]
	for len(rest) > 0 && rest[0].kind == comma {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return nil, true
	}
	return p.clause(clause{c.src, rest}), true
}

// courtesy reports whether the tokens say nothing but please and thank you.
func courtesy(tokens []token) bool {
	if len(tokens) > 20 {
		return false
	}
	for _, t := range tokens {
		if t.kind <= quoted && !t.is("thanks", "thank", "you", "please", "cheers", "much", "very", "a", "lot", "that's",
			"that", "is", "all", "it", "good", "morning", "hi", "hello", "there", "everyone") {
			return false
		}
	}
	return true
}

func unclear(format string, args ...any) []step {
	return []step{{act: actUnclear, problem: fmt.Sprintf(format, args...)}}
}

// path returns the path that a token names.
func path(t token) string {
	if t.kind == quoted {
		return t.text
	}
	s := strings.TrimRight(t.text, ":")
	s = strings.TrimLeft(s, "(")
	s = strings.TrimRight(s, ")")
	if s == "" {
		return t.text
	}
	return trimSentence(s)
}

// pathish reports whether a token looks like the path of a file: it has a dot or a slash inside, or is a name that
// people know.
func pathish(t token) bool {
	s := path(t)
	return t.kind <= quoted && (strings.ContainsAny(s, "./\\") && strings.Trim(s, ".") != "" || wellKnown[s])
}

var wellKnown = map[string]bool{
	"Makefile": true, "Dockerfile": true, "LICENSE": true, "README": true, "CHANGELOG": true, "NOTICE": true,
}

// isIt reports whether the tokens stand for the file named before.
func isIt(tokens []token) bool {
	switch len(tokens) {
	case 1:
		return tokens[0].is("it", "there", "that", "this", "file")
	case 2:
		return tokens[0].is("that", "this", "the", "same") && tokens[1].is("file", "one")
	case 3:
		return tokens[0].is("the") && tokens[1].is("same") && tokens[2].is("file")
	}
	return false
}

// oneFile returns the file that the tokens name, or the last one if they say "it" or nothing.
func (p *parser) oneFile(tokens []token) string {
	if len(tokens) == 0 || isIt(tokens) {
		return p.file
	}
	tokens = without(tokens, "the", "file", "called", "named", "a", "new")
	switch len(tokens) {
	case 0:
		return p.file
	case 1:
		return path(tokens[0])
	}
	var names []string
	for _, t := range tokens {
		if pathish(t) {
			return path(t)
		}
		names = append(names, path(t))
	}
	return strings.Join(names, " ")
}

// without returns the tokens without punctuation and the given words. Quoted tokens stay.
func without(tokens []token, words ...string) []token {
	var kept []token
	for _, t := range tokens {
		if t.kind <= quoted && !t.is(words...) {
			kept = append(kept, t)
		}
	}
	return kept
}

// index returns where the first of the words stands in tokens, at or after from, or -1.
func index(tokens []token, from int, words ...string) int {
	for i := from; i < len(tokens); i++ {
		if tokens[i].is(words...) {
			return i
		}
	}
	return -1
}

// lastIndex returns where the last of the words stands in tokens, at or after from, or -1.
func lastIndex(tokens []token, from int, words ...string) int {
	for i := len(tokens) - 1; i >= from; i-- {
		if tokens[i].is(words...) {
			return i
		}
	}
	return -1
}

// text returns what the tokens from i to before j say: the inside of a lone quotation, else the source.
func (c clause) text(i, j int) string {
	for i < j && c.tokens[i].kind == comma {
		i++
	}
	for i < j && c.tokens[j-1].kind == comma {
		j--
	}
	if j-i == 1 && c.tokens[i].kind == quoted {
		return c.tokens[i].text
	}
	return c.raw(i, j)
}

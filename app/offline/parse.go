// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// parser turns clauses into steps. It remembers the last file that was named, for "it" and for what
// is left out.
type parser struct {
	file string
	// context is an "in FILE" that nothing has followed yet.
	context string
}

// parse returns the steps that a request asks for, in order. If any part of the request is not
// understood, it returns no steps, and problem describes the problem. earlier are the requests
// before this one, the last one last.
func parse(request string, earlier []string) (steps []step, problem string) {
	clauses := split(request)
	if len(clauses) == 1 && isAgain(clauses[0]) {
		return repeat(earlier)
	}
	var p parser
	for _, c := range clauses {
		found, problem := p.clause(c)
		if problem != "" {
			return nil, problem
		}
		for _, s := range found {
			if s.path != "" && (s.act == actRead || s.changes()) {
				p.file = s.path
			}
			steps = append(steps, s)
		}
	}
	if p.context != "" {
		return nil, "what should I do " + quote(p.context) + "?"
	}
	return steps, ""
}

// isAgain reports whether a clause asks for the last request once more.
func isAgain(c clause) bool {
	k := &cursor{clause: c, at: skipFiller(c.tokens)}
	for _, phrase := range []string{
		"again", "once more", "one more time", "do it again", "do that again", "do this again", "do the same again", "same again", "try again",
		"try it again", "repeat that", "repeat it", "repeat the last request", "repeat",
	} {
		at := k.at
		if k.phrase(phrase) {
			for k.accept("please", "thanks", "now") || k.more() && k.peek(0).kind == comma {
				k.done() // reads commas
			}
			return k.done()
		}
		k.at = at
	}
	return false
}

// repeat returns the steps of the last request that did not itself ask for a repetition.
func repeat(earlier []string) ([]step, string) {
	for i := len(earlier) - 1; i >= 0; i-- {
		clauses := split(earlier[i])
		if len(clauses) == 1 && isAgain(clauses[0]) {
			continue
		}
		steps, problem := parse(earlier[i], nil)
		if problem != "" {
			return nil, "there is nothing to repeat: of your last request, " + problem
		}
		return steps, ""
	}
	return nil, "there is nothing to repeat yet"
}

// clause returns the steps of a clause, or describes its problem.
func (p *parser) clause(c clause) ([]step, string) {
	start := skipFiller(c.tokens)
	if start == len(c.tokens) {
		return nil, "" // "please", "and then"
	}
	c.tokens = c.tokens[start:]
	if k := (&cursor{clause: c}); k.is("in") && len(c.tokens) > 1 {
		return p.inFile(k)
	}
	v, n := matchVerb(c.tokens)
	switch {
	case isToolCall(c.tokens):
		v, n = verb{parse: (*parser).use, words: []string{"use"}}, 0
	case n == 1 && c.tokens[0].is("ls", "cat", "grep", "find") && hasOperator(c.tokens), n == 0 && startsProgram(c.tokens):
		v, n = verb{parse: (*parser).run, words: []string{"run"}, raw: true}, 0
	case n == 0 && courtesy(c.tokens):
		return nil, ""
	case n == 0:
		return nil, "I did not understand " + quote(c.raw(0, len(c.tokens)))
	}
	p.context = ""
	if !v.raw {
		c = c.trimCourtesy()
	}
	k := &cursor{clause: c, at: n}
	if !k.more() && !v.alone {
		return nil, code(strings.Join(v.words, " ")) + " what?"
	}
	steps, problem := v.parse(p, k)
	if problem == "" {
		problem = misnamed(steps)
	}
	switch {
	case problem != "":
		return nil, problem
	case len(steps) == 0:
		return nil, "I did not understand " + quote(c.raw(0, len(c.tokens)))
	case !k.done():
		k.skipMost("and", "then", "also")
		return nil, "I did not understand " + quote(k.rest())
	}
	return steps, ""
}

// misnamed describes what is wrong with the names of files in steps. A block of code cannot be a
// name.
func misnamed(steps []step) string {
	for _, s := range steps {
		switch {
		case s.path == "" && (s.act == actRead || s.changes()):
			return "which file do you mean?"
		case strings.ContainsAny(s.path, "\r\n\x00"):
			return quote(s.path) + " is not the name of a file: a name is one line"
		}
	}
	return ""
}

// inFile reads "in FILE", which names the file of the next clauses, and "in FILE replace A with B".
func (p *parser) inFile(k *cursor) ([]step, string) {
	from := k.at
	k.at++
	k.skipMost("the", "file")
	t, ok := k.take()
	if !ok {
		return nil, "I did not understand " + quote(k.rest())
	}
	p.file = path(t)
	where := k.raw(from, k.at)
	if k.done() {
		p.context = where
		return nil, ""
	}
	steps, problem := p.clause(clause{k.src, k.tokens[k.at:]})
	if problem == "" && len(steps) == 0 {
		problem = "I did not understand " + quote(k.raw(from, len(k.tokens)))
	}
	return steps, problem
}

// courtesy reports whether the tokens say nothing but please and thank you.
func courtesy(tokens []token) bool {
	if len(tokens) > 20 {
		return false
	}
	for _, t := range tokens {
		if t.isText() && !t.is("thanks", "thank", "you", "please", "cheers", "much", "very", "a", "lot", "that's",
			"that", "is", "all", "it", "good", "morning", "hi", "hello", "there", "everyone") {
			return false
		}
	}
	return true
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

// pathish reports whether a token looks like the path of a file: it has a dot or a slash inside, or
// is a name that people know.
func pathish(t token) bool {
	s := path(t)
	return t.isText() && (t.kind == quoted || strings.ContainsAny(s, "./\\") && strings.Trim(s, ".") != "" || wellKnown[s])
}

var wellKnown = map[string]bool{
	"Makefile": true, "Dockerfile": true, "LICENSE": true, "README": true, "CHANGELOG": true, "NOTICE": true,
}

// oneFile reads the name of a file, or words that refer to the last one.
func (p *parser) oneFile(k *cursor) (string, bool) {
	for _, it := range []string{"the same file", "the same one", "that file", "this file", "the same", "it", "there", "that", "this"} {
		if k.phrase(it) {
			return p.file, p.file != ""
		}
	}
	k.skipMost("the", "a", "new", "file", "called", "named")
	if k.is("file") && p.file != "" { // "the file"
		k.at++
		return p.file, true
	}
	t, ok := k.take()
	if !ok {
		return "", false
	}
	return path(t), true
}

// index returns the position of the first of the words in tokens, at or after from, or -1.
func index(tokens []token, from int, words ...string) int {
	for i := from; i < len(tokens); i++ {
		if tokens[i].is(words...) {
			return i
		}
	}
	return -1
}

// lastIndex returns the position of the last of the words in tokens, at or after from, or -1.
func lastIndex(tokens []token, from int, words ...string) int {
	for i := len(tokens) - 1; i >= from; i-- {
		if tokens[i].is(words...) {
			return i
		}
	}
	return -1
}

// text returns what the tokens from i to before j say: the inside of a lone quotation, else the
// source.
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

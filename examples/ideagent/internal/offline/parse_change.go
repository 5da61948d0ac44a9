// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strings"
)

var aboutText = []string{"the", "all", "every", "each", "any", "text", "word", "string", "line", "occurrence", "occurrences", "of", "phrase"}

// skip returns the index of the first token at or after from that is none of the words, but leaves one token.
func skip(tokens []token, from int, words ...string) int {
	for from < len(tokens)-1 && tokens[from].is(words...) {
		from++
	}
	return from
}

// replace understands "A with B in FILE" and, for change and rename, "A to B in FILE". Without FILE the last one is meant.
func (p *parser) replace(c clause) []step {
	s := step{act: actReplace}
	from := skip(c.tokens, 0, aboutText...)
	if c.tokens[from].is("first") {
		s.once = true
		from = skip(c.tokens, from+1, aboutText...)
	}
	separator := index(c.tokens, from+1, "with", "by", "to", "into", "->", "→")
	if from >= len(c.tokens) || separator < 0 {
		return unclear("replace %s with what?", quote(c.raw(0, len(c.tokens))))
	}
	begin := skip(c.tokens, separator+1, "the", "text", "word", "string")
	if begin >= len(c.tokens) {
		return unclear("replace %s with what?", quote(c.text(from, separator)))
	}
	end := in(c.tokens, begin)
	s.text, s.with = c.text(from, separator), c.text(begin, end)
	if end == begin+1 && c.tokens[begin].is("nothing") {
		s.with = ""
	}
	return p.inPlace(s, c.tokens[min(end+1, len(c.tokens)):])
}

// in returns where "in FILE" begins behind the text that begins at from, or the number of tokens.
func in(tokens []token, from int) int {
	find := lastIndex
	if tokens[from].kind == quoted {
		find = index
	}
	if at := find(tokens, from+1, "in", "inside", "within"); at >= 0 {
		return at
	}
	return len(tokens)
}

// remove understands "TEXT from FILE".
func (p *parser) remove(c clause) []step {
	from := skip(c.tokens, 0, aboutText...)
	at := lastIndex(c.tokens, from+1, "from", "in")
	if at < 0 {
		return unclear("I cannot delete files; say `remove TEXT from FILE` to take text out of one")
	}
	return p.inPlace(step{act: actReplace, text: c.text(from, at)}, c.tokens[at+1:])
}

// inPlace completes a replacement with the file that it is about.
func (p *parser) inPlace(s step, tokens []token) []step {
	tokens = slices.DeleteFunc(without(tokens), func(t token) bool { return t.is("everywhere", "only", "once") })
	s.path = p.oneFile(tokens)
	switch {
	case s.text == "":
		return unclear("which text should I replace?")
	case s.path == "":
		return unclear("in which file should I replace %s?", quote(s.text))
	}
	return []step{s}
}

// create understands "FILE with CONTENT", "FILE: CONTENT" and "CONTENT to FILE".
func (p *parser) create(c clause) []step {
	n := len(c.tokens)
	from := skip(c.tokens, 0, "a", "an", "the", "new", "empty", "file", "called", "named")
	to := func(at int) int { return index(c.tokens, at, "to", "into", "in") }
	if at := to(from + 1); c.tokens[from].kind == quoted && at == from+1 && at < n-1 {
		return written(c.tokens[from].text, p.oneFile(c.tokens[at+1:]))
	}
	with := index(c.tokens, from+1, "with", "containing", "saying", "says")
	if strings.HasSuffix(c.tokens[from].text, ":") && c.tokens[from].kind == word {
		with = from
	}
	if at := to(from + 1); with < 0 && at > 0 && at < n-1 && !pathish(c.tokens[from]) {
		return written(c.text(from, at), p.oneFile(c.tokens[at+1:]))
	}
	if with < 0 {
		if n-from > 1 && c.tokens[from+1].kind == quoted { // FILE "content"
			return written(c.tokens[from+1].text, path(c.tokens[from]))
		}
		return written("", p.oneFile(c.tokens[from:]))
	}
	name := p.oneFile(c.tokens[from:max(with, from+1)])
	begin := skip(c.tokens, with+1, "the", "content", "contents", "text", "line", "following", ":")
	if begin >= n {
		return unclear("what should I write to %s?", code(name))
	}
	return written(c.text(begin, n), name)
}

// written makes the step that writes text, which ends with a line break as text files do, to a file.
func written(text, file string) []step {
	if file == "" {
		return unclear("to which file should I write?")
	}
	return []step{{act: actCreate, path: file, text: endLine(text)}}
}

func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// appendTo understands "TEXT to FILE".
func (p *parser) appendTo(c clause) []step {
	from := skip(c.tokens, 0, "the", "a", "line", "text", "lines")
	at := lastIndex(c.tokens, from+1, "to")
	if at < 0 || at == len(c.tokens)-1 {
		return unclear("append %s to which file?", quote(c.raw(0, len(c.tokens))))
	}
	s := step{act: actAppend, path: p.oneFile(without(c.tokens[at+1:], "end", "of")), text: endLine(c.text(from, at))}
	if s.path == "" {
		return unclear("to which file should I append?")
	}
	return []step{s}
}

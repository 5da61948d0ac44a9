// SPDX-License-Identifier: Apache-2.0

package offline

import "strings"

// aboutText reads the words before a text that is to be changed, such as "every occurrence of the
// word". It reports whether they announce a text.
func aboutText(k *cursor) bool {
	at := k.at
	k.skipMost("all", "every", "each", "any", "the")
	literal := k.at
	for k.at < len(k.tokens)-1 && k.accept("text", "word", "string", "line", "phrase", "occurrence", "occurrences", "of", "the") {
	}
	if k.at == literal {
		if !k.is("first") {
			k.at = at
			if k.is("all", "every", "each", "any") && k.at < len(k.tokens)-1 {
				k.at++ // "replace all x with y"
			}
		}
		return false
	}
	return true
}

// change is replace for verbs that mean other things as well: the file has to be named.
const inWhichFile = "in which file? Say, for example, `replace old with new in main.go`"

func (p *parser) change(k *cursor) ([]step, string) {
	if k.lastIndex(1, "in", "inside", "within") < 0 {
		return nil, inWhichFile
	}
	return p.replace(k)
}

// replace understands "A with B in FILE" and "A to B in FILE". Without FILE the last one is meant.
func (p *parser) replace(k *cursor) ([]step, string) {
	s := step{act: actReplace}
	aboutText(k)
	if k.is("first") && k.at < len(k.tokens)-1 {
		k.at++
		s.once = true
		aboutText(k)
	}
	from := k.at
	separator := k.index(1, "with", "by", "to", "into", "->", "→")
	if separator < 0 {
		return nil, "replace " + quote(k.rest()) + " with what?"
	}
	k.at = separator + 1
	if k.more() {
		at := k.at
		k.skipMost("the")
		if k.is("text", "word", "string") {
			k.skipMost("text", "word", "string")
		} else {
			k.at = at
		}
	}
	begin := k.at
	if !k.more() {
		return nil, "replace " + quote(k.text(from, separator)) + " with what?"
	}
	end := in(k.tokens, begin)
	s.text, s.with = k.text(from, separator), k.text(begin, end)
	if end == begin+1 && k.tokens[begin].is("nothing") {
		s.with = ""
	}
	k.at = end
	switch {
	case k.tokens[from].kind == quoted && separator > from+1 || k.tokens[begin].kind == quoted && end > begin+1:
		return nil, ""
	case isNumberedLine(k.tokens, from):
		return nil, "I replace texts and do not count lines. Put the text in quotes"
	case describes(k.tokens[from:separator]) || describes(k.tokens[begin:end]):
		return nil, "which text should I replace? Put both texts in quotes"
	}
	return p.inPlace(s, k)
}

// isNumberedLine reports whether the text at from is the number of a line: "line 5".
func isNumberedLine(tokens []token, from int) bool {
	return from > 0 && tokens[from-1].is("line", "lines") && lineRange().MatchString(tokens[from].plain())
}

// in returns where "in FILE" begins after the text that begins at from, or the number of tokens.
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

// inPlace reads the file that a replacement is about.
func (p *parser) inPlace(s step, k *cursor) ([]step, string) {
	s.path = p.file
	if k.accept("in", "inside", "within", "from") {
		var ok bool
		if s.path, ok = p.oneFile(k); !ok {
			return nil, "in which file?"
		}
		k.skip("everywhere")
	}
	switch {
	case s.text == "":
		return nil, "which text should I replace?"
	case s.path == "":
		return nil, "in which file should I replace " + quote(s.text) + "?"
	}
	return []step{s}, ""
}

// remove understands "TEXT from FILE". The text must be in quotes, or said to be one.
func (p *parser) remove(k *cursor) ([]step, string) {
	literal := aboutText(k)
	from := k.at
	at := k.lastIndex(1, "from", "in")
	if k.more() && k.peek(0).kind == quoted {
		at = k.index(1, "from", "in")
	}
	switch {
	case at < 0:
		return nil, "I cannot delete files. Say `remove \"TEXT\" from FILE` to take text out of one"
	case k.peek(0).kind != quoted && !literal || at > from+1 && k.peek(0).kind == quoted:
		return nil, "put the text to remove in quotes"
	case isNumberedLine(k.tokens, from):
		return nil, "I remove texts and do not count lines. Put the text in quotes"
	}
	k.at = at
	return p.inPlace(step{act: actReplace, text: k.text(from, at)}, k)
}

// create understands "FILE", "FILE with CONTENT" and "FILE: CONTENT".
func (p *parser) create(k *cursor) ([]step, string) {
	k.skipMost("a", "an", "the", "new")
	empty := k.accept("empty")
	k.skipMost("new", "text")
	named := k.accept("file")
	if k.accept("called", "named") {
		named = true
	}
	if !k.more() {
		return nil, "which file should I create?"
	}
	if k.peek(0).kind == quoted && k.peek(1).is("to", "into", "in") {
		return p.write(k)
	}
	t, ok := k.take()
	name := path(t)
	if !ok || !named && !pathish(t) {
		return nil, "which file should I create? Say, for example, `create notes.txt with \"hello\"`"
	}
	with := t.kind == word && strings.HasSuffix(t.text, ":")
	if !with && k.done() || empty {
		if end := clause.trimCourtesy(k.clause); len(end.tokens) == k.at {
			k.at = len(k.tokens)
		}
		return []step{{act: actCreate, path: name}}, ""
	}
	return p.contents(k, name, with)
}

// contents reads the contents of a new file. with is set after a colon.
func (p *parser) contents(k *cursor, name string, with bool) ([]step, string) {
	literal := with
	if k.accept("containing", "saying", "says", "with") {
		with = true
		literal = literal || k.tokens[k.at-1].is("saying", "says")
		marked := k.is("the") && k.peek(1).is("content", "contents", "text", "line", "following")
		if marked {
			k.at++
		}
		for k.at < len(k.tokens)-1 && k.is("content", "contents", "text", "line", "following", ":") && (marked || strings.HasSuffix(k.peek(0).text, ":")) {
			literal = true
			k.at++
		}
	}
	if k.peek(0).kind == quoted {
		t, _ := k.take()
		k.finish()
		return []step{{act: actCreate, path: name, text: endLine(t.text)}}, ""
	}
	switch {
	case !with:
		return nil, "I did not understand " + quote(k.rest()) + ". Say what to write in quotes: " + code("create "+name+" with \"TEXT\"")
	case !k.more():
		return nil, "what should I write to " + code(name) + "?"
	case !literal && invents(k.tokens[k.at:]):
		return nil, "I cannot make up " + quote(k.rest()) + ". Put the text in quotes: " + code(
			"create "+name+" with \"TEXT\"",
		)
	}
	text := k.text(k.at, len(k.tokens))
	k.at = len(k.tokens)
	return []step{{act: actCreate, path: name, text: endLine(text)}}, ""
}

// finish reads the courtesies at the end of a clause.
func (k *cursor) finish() {
	if len(k.clause.trimCourtesy().tokens) <= k.at {
		k.at = len(k.tokens)
	}
}

// write understands "CONTENT to FILE", and what create does.
func (p *parser) write(k *cursor) ([]step, string) {
	to := k.index(1, "to", "into")
	if k.peek(0).kind == quoted && to < 0 {
		to = k.index(1, "in")
	}
	if with := k.index(1, "with", "containing", "saying", "says"); to < 0 || with > 0 && with < to || k.peek(0).kind == word && pathish(k.peek(0)) || k.is("a", "an", "the", "new", "empty", "file") {
		steps, problem := p.create(k)
		if len(steps) == 1 && steps[0].text == "" {
			return nil, "what should I write to " + code(steps[0].path) + "?"
		}
		return steps, problem
	}
	text, problem := p.text(k, to, "write")
	if problem != "" {
		return nil, problem
	}
	name, ok := p.oneFile(k)
	if !ok {
		return nil, "to which file should I write?"
	}
	k.finish()
	return []step{{act: actCreate, path: name, text: endLine(text)}}, ""
}

// text reads a text that ends before the token at end, and that token.
func (p *parser) text(k *cursor, end int, verb string) (string, string) {
	if k.peek(0).kind == quoted && end != k.at+1 {
		return "", "I did not understand " + quote(k.raw(k.at+1, end))
	}
	if k.peek(0).kind != quoted && invents(k.tokens[k.at:end]) {
		return "", "I cannot make up " + quote(k.raw(k.at, end)) + ". Put the text to " + verb + " in quotes"
	}
	text := k.text(k.at, end)
	k.at = end + 1
	return text, ""
}

// appendTo understands "TEXT to FILE".
func (p *parser) appendTo(k *cursor) ([]step, string) {
	if k.is("the", "a") && k.peek(1).is("line", "text") {
		k.at += 2
	}
	end := k.lastIndex(1, "to")
	if k.peek(0).kind == quoted {
		end = k.index(1, "to")
	}
	if end < 0 || end == len(k.tokens)-1 {
		return nil, "append " + quote(k.rest()) + " to which file?"
	}
	text, problem := p.text(k, end, "append")
	if problem != "" {
		return nil, problem
	}
	if !k.phrase("the end of") {
		k.phrase("end of")
	}
	name, ok := p.oneFile(k)
	if !ok {
		return nil, "to which file should I append?"
	}
	return []step{{act: actAppend, path: name, text: endLine(text)}}, ""
}

// add is append for a verb that means other things as well: the text has to be quoted, or said to
// be one.
func (p *parser) add(k *cursor) ([]step, string) {
	if k.peek(0).kind != quoted && !(k.is("the", "a") && k.peek(1).is("line", "text")) {
		return nil, "I cannot make up " + quote(k.rest()) + ". Say `add \"TEXT\" to FILE`"
	}
	return p.appendTo(k)
}

func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

var (
	lineRange  = lazy.Regexp(`^(\d{1,9})(?:(?:-|–|\.\.)(\d{1,9}))?$`)
	pathSuffix = lazy.Regexp(`^(.+?):(\d{1,9})(?:(?:-|–)(\d{1,9}))?$`)
)

// read understands FILES, "lines A-B of FILE", "FILE from line A to B", "the first N lines of FILE"
// and FILE:A-B. "Show files" is a list.
func (p *parser) read(k *cursor) ([]step, string) {
	if asksForList(k) {
		return p.list(k)
	}
	var ranges int
	tokens, line, limit, ranges := lines(k.tokens[k.at:])
	*k = cursor{clause: clause{k.src, tokens}}
	if ranges > 1 {
		return nil, "I can read one range of lines at a time"
	}
	var steps []step
	for !k.done() || ranges > 0 && len(steps) == 0 {
		s := step{act: actRead, line: line, limit: limit}
		begin := k.at
		k.skip(
			"me", "all", "of", "the", "whole", "entire", "content", "contents", "text", "files",
			"in", "from", "my", "our",
		)
		article := index(k.tokens[begin:k.at], 0, "the", "all", "whole", "entire", "my", "our") >= 0
		if k.done() && len(steps) > 0 {
			return nil, ""
		}
		named := k.is("file")
		quotedName := k.peek(0).kind == quoted
		var ok bool
		if !k.more() { // "read lines 1-2" of the last file
			s.path, ok = p.file, p.file != "" && ranges > 0
		} else {
			s.path, ok = p.oneFile(k)
		}
		if !ok {
			return nil, "which file should I read?"
		}
		if len(steps) > 0 && !named && !quotedName && !pathish(token{text: s.path}) {
			k.at-- // "read a.txt and explain"
			return steps, ""
		}
		if article && !named && !quotedName && !pathish(token{text: s.path}) && s.path != p.file {
			return nil, "which file should I read?" // "read the code"
		}
		m := pathSuffix().FindStringSubmatch(s.path)
		if m != nil && line == 0 && !quotedName && !strings.Contains(s.path, "#") {
			s.path = m[1]
			s.line, s.limit = span(m[2], m[3], true)
		}
		k.skip("file")
		if len(steps) == 0 && !k.done() { // of "what does FILE say"
			k.skip("say", "says", "contain", "contains", "look", "like")
		}
		steps = append(steps, s)
		if !k.done() && !k.accept("and", "&") && k.at > 0 && k.tokens[k.at-1].kind != comma {
			return steps, ""
		}
	}
	if len(steps) > 1 && ranges > 0 {
		return nil, "I can read a range of lines of one file at a time"
	}
	if len(steps) == 0 {
		return nil, "which file should I read?"
	}
	return steps, ""
}

// asksForList reports whether "show" is followed by "the files in DIR" rather than by a file.
func asksForList(k *cursor) bool {
	at := k.at
	defer func() { k.at = at }()
	k.skip("me", "all", "the", "of", "in", "this", "that", "my", "your")
	if !k.accept("files", "directory", "directories", "folder", "folders", "dir", "tree") {
		return false
	}
	return k.done() || k.is("in", "under", "inside", "of", "here", "there", "and")
}

// lines takes what is said about lines out of the tokens.
func lines(tokens []token) (rest []token, line, limit, ranges int) {
	open := false // "from line N" goes on to the end of the file
	for i := 0; i < len(tokens); i++ {
		next := func(n int) token {
			if i+n < len(tokens) {
				return tokens[i+n]
			}
			return token{kind: comma}
		}
		switch {
		case tokens[i].is("first") && number(next(1)) > 0 && next(2).is("line", "lines"):
			limit = number(next(1))
			ranges++
			i += 2
		case tokens[i].is("from") && next(1).is("line", "lines") && lineRange().MatchString(next(2).plain()):
			open = true
		case tokens[i].is("line", "lines") && lineRange().MatchString(next(1).plain()):
			m := lineRange().FindStringSubmatch(next(1).plain())
			i++
			ranges++
			upper := m[2]
			if next(1).is("to", "through", "until", "-", "–") {
				at := 2
				if next(at).is("line") {
					at++
				}
				if n := number(next(at)); n > 0 {
					upper = strconv.Itoa(n)
					i += at
				}
			}
			line, limit = span(m[1], upper, !open)
		default:
			rest = append(rest, tokens[i])
		}
	}
	return rest, line, limit, ranges
}

// span returns first line and number of lines of a range. Without an upper end it is one line or
// all that follow.
func span(lower, upper string, single bool) (line, limit int) {
	line, _ = strconv.Atoi(lower)
	line = max(line, 1)
	last, err := strconv.Atoi(upper)
	switch {
	case err == nil && last >= line:
		return line, last - line + 1
	case err == nil:
		return max(last, 1), line - max(last, 1) + 1
	case single:
		return line, 1
	}
	return line, 0
}

func number(t token) int {
	n, _ := strconv.Atoi(t.plain())
	if n < 0 || n > 1e9 {
		return 0
	}
	return n
}

// list understands a directory, a pattern such as *.go, "files named PATTERN", or nothing.
func (p *parser) list(k *cursor) ([]step, string) {
	s := step{act: actList, path: "."}
	k.skip("me", "all", "every", "of", "the", "my", "our", "your", "content", "contents")
	nouns := k.at
	k.skip("file", "files", "directory", "directories", "dir", "folder", "folders", "tree", "everything")
	noun := k.at > nouns
	if k.is("and") && k.peek(1).is("directories", "folders", "files") {
		k.at += 2
	}
	placed := false
	for k.more() {
		switch {
		case k.accept("here", "there"):
		case k.accept("in", "under", "inside", "of", "from"):
			if placed {
				k.at--
				return []step{s}, ""
			}
			placed = true
			where, problem := p.place(k)
			if problem != "" {
				return nil, problem
			}
			s.path = where
		case k.accept("named", "called", "matching") && s.pattern == "":
			t, ok := k.take()
			if !ok {
				return nil, "which files should I list?"
			}
			s.pattern = path(t)
		case isPattern(k.peek(0)) && s.pattern == "":
			t, _ := k.take()
			s.pattern = path(t)
			k.skip("file", "files")
		case !placed && k.peek(0).isText() && (!noun || pathish(k.peek(0))):
			placed = true
			where, problem := p.place(k)
			if problem != "" {
				return nil, problem
			}
			s.path = where
		default:
			return []step{s}, ""
		}
	}
	return []step{s}, ""
}

// isPattern reports whether a token is a pattern for names of files.
func isPattern(t token) bool {
	name := path(t)
	return t.isText() && strings.ContainsAny(name, "*?") && strings.Trim(name, "?") != ""
}

// place reads the file or directory in which to list or search.
func (p *parser) place(k *cursor) (string, string) {
	if p.file != "" {
		for _, it := range []string{"it", "that file", "this file", "the same file"} {
			if k.phrase(it) {
				return p.file, ""
			}
		}
	}
	articles := k.at
	k.skip("the", "this", "my", "our", "your", "current", "working", "all", "whole", "entire", "every")
	if k.accept("project", "repo", "repository", "workspace", "codebase", "code", "here", "directory", "folder", "dir", "file", "files") && !k.more() {
		return ".", ""
	}
	t, ok := k.take()
	switch {
	case !ok && k.at > articles:
		return ".", ""
	case !ok:
		return "", "where should I look?"
	case t.is("it", "them", "there"):
		return ".", ""
	}
	k.skip("directory", "folder", "dir", "file")
	return path(t), ""
}

// search understands TEXT, "TEXT in PLACE", "PLACE for TEXT", and "files named PATTERN", which is a
// list.
func (p *parser) search(k *cursor) ([]step, string) {
	at := k.at
	k.skip("all", "the", "every", "any")
	if k.accept("file", "files") && k.is("named", "called", "matching") || k.at == at && isPattern(k.peek(0)) && k.peek(0).kind == word {
		k.at = at
		return p.list(k)
	}
	k.at = at
	s := step{act: actSearch, path: "."}
	if k.peek(1).is("for") && pathish(k.peek(0)) { // "search main.go for TODO"
		t, _ := k.take()
		s.path = path(t)
		k.at++
	}
	k.skipMost("for")
	aboutUses(k)
	from := k.at
	end := k.lastIndex(1, "in", "inside", "within", "under", "across")
	if s.path != "." || end < 0 {
		end = len(k.tokens)
	}
	if k.peek(0).kind == quoted {
		end = from + 1
	}
	k.at = end
	if describes(k.tokens[from:k.at]) {
		return nil, "which text should I search for? Put it in quotes"
	}
	s.text = k.text(from, k.at)
	if s.text == "" {
		return nil, "what should I search for?"
	}
	k.skip("defined", "used", "declared", "called", "mentioned")
	if s.path == "." && k.accept("in", "inside", "within", "under", "across") {
		where, problem := p.place(k)
		if problem != "" {
			return nil, problem
		}
		s.path = where
	}
	return []step{s}, ""
}

// aboutUses reads what stands before a text to search for, such as "all occurrences of".
func aboutUses(k *cursor) {
	at := k.at
	k.skipMost("all", "the", "any", "every")
	nouns := k.at
	k.skipMost("text", "string", "word", "phrase")
	if k.accept("occurrence", "occurrences", "use", "uses", "usage", "usages") && k.accept("of") && k.more() {
		return
	}
	if k.at = nouns; k.is("text", "string", "word", "phrase") {
		k.skipMost("text", "string", "word", "phrase")
		return
	}
	k.at = at
}

// whereIs understands "NAME", "NAME defined" and both with "in PLACE".
func (p *parser) whereIs(k *cursor) ([]step, string) {
	t, ok := k.take()
	if !ok || t.is(determiners...) {
		return nil, ""
	}
	s := step{act: actSearch, path: ".", text: path(t)}
	if k.is("defined", "declared") {
		s.act = actDefinition
	}
	k.skip("defined", "used", "declared", "called", "mentioned")
	if k.accept("in", "inside", "within", "under") {
		where, problem := p.place(k)
		if problem != "" {
			return nil, problem
		}
		s.path = where
	}
	return []step{s}, ""
}

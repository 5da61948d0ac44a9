// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	lineRange  = regexp.MustCompile(`^(\d{1,9})(?:(?:-|–|\.\.)(\d{1,9}))?$`)
	pathSuffix = regexp.MustCompile(`^(.+?):(\d{1,9})(?:(?:-|–)(\d{1,9}))?$`)
)

// read understands FILES, "lines A-B of FILE", "FILE from line A to B", "the first N lines of FILE" and FILE:A-B.
func (p *parser) read(c clause) []step {
	if kinds := without(c.tokens, "me", "all", "the", "of", "in", "this", "that", "my", "your"); len(kinds) > 0 &&
		kinds[0].is("files", "directory", "directories", "folder", "folders", "dir", "tree") {
		return p.list(c)
	}
	tokens, line, limit := lines(c.tokens)
	if isIt(without(tokens)) {
		if p.file == "" {
			return unclear("which file should I read?")
		}
		return []step{{act: actRead, path: p.file, line: line, limit: limit}}
	}
	var steps []step
	var name []token // of one file
	flush := func() {
		if len(name) == 0 {
			return
		}
		s := step{act: actRead, path: p.oneFile(name), line: line, limit: limit}
		if m := pathSuffix.FindStringSubmatch(s.path); m != nil && line == 0 {
			s.path = m[1]
			s.line, s.limit = span(m[2], m[3], true)
		}
		name = nil
		if s.path == "" {
			steps = append(steps, unclear("which file should I read?")...)
			return
		}
		steps = append(steps, s)
	}
	for _, t := range tokens {
		switch {
		case t.kind == comma || t.is("and", "&"):
			flush()
		case t.is("me", "the", "file", "files", "content", "contents", "text", "of", "in", "from", "whole", "entire", "all",
			"say", "contain", "my", "our"):
		default:
			name = append(name, t)
		}
	}
	flush()
	if len(steps) == 0 {
		if p.file != "" && line+limit > 0 {
			return []step{{act: actRead, path: p.file, line: line, limit: limit}}
		}
		return unclear("which file should I read?")
	}
	return steps
}

// lines takes what is said about lines out of the tokens.
func lines(tokens []token) (rest []token, line, limit int) {
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
			i += 2
		case tokens[i].is("from") && next(1).is("line", "lines"):
			open = true
		case tokens[i].is("line", "lines") && lineRange.MatchString(next(1).plain()):
			m := lineRange.FindStringSubmatch(next(1).plain())
			i++
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
	return rest, line, limit
}

// span returns first line and number of lines of a range. Without an upper end it is one line or all that follow.
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
	n, err := strconv.Atoi(t.plain())
	if err != nil || n < 0 || n > 1e9 {
		return 0
	}
	return n
}

var (
	aboutFiles = []string{
		"all", "the", "me", "a", "of", "in", "under", "inside", "from", "content", "contents", "file", "files",
		"directory", "directories", "dir", "folder", "folders", "tree", "and", "every",
	}
	here = []string{
		"everything", "here", "project", "repo", "repository", "workspace", "codebase", "code", "this", "current", "working",
		"anywhere", "everywhere", "it", "them", "my", "our", "is", "are", "there", "what", "named", "called", "matching", "with", "name",
	}
)

// list understands a directory, a pattern such as *.go, or nothing.
func (p *parser) list(c clause) []step {
	s := step{act: actList, path: "."}
	for _, t := range without(without(c.tokens, aboutFiles...), here...) {
		if name := path(t); strings.ContainsAny(name, "*?") && strings.Trim(name, "?") != "" {
			s.pattern = name
		} else if name != "" {
			s.path = name
		}
	}
	return []step{s}
}

// search understands TEXT, "TEXT in PLACE", and "files named PATTERN", which is a list.
func (p *parser) search(c clause) []step {
	n := len(c.tokens)
	if c.tokens[0].is("file", "files", "all", "the", "every") && index(c.tokens, 0, "named", "called", "matching") > 0 {
		return p.listNamed(c)
	}
	from := 0
	for from < n-1 && c.tokens[from].is("for", "all", "the", "any", "every", "text", "string", "word", "phrase",
		"occurrence", "occurrences", "use", "uses", "usage", "usages", "of", "me", "where") {
		from++
	}
	end := lastIndex(c.tokens, from+1, "in", "inside", "within", "under", "across")
	if c.tokens[from].kind == quoted {
		end = index(c.tokens, from+1, "in", "inside", "within", "under", "across")
	}
	s := step{act: actSearch, path: "."}
	if end >= 0 {
		s.path = p.placeOf(c.tokens[end+1:])
	} else {
		end = n
	}
	if c.tokens[from].kind == quoted {
		end = from + 1
	}
	for end > from+1 && c.tokens[end-1].is("defined", "used", "declared", "called", "mentioned") {
		end--
	}
	s.text = c.text(from, end)
	if end == from+1 && c.tokens[from].kind == word && strings.HasPrefix(s.text, "*.") {
		return []step{{act: actList, path: s.path, pattern: s.text}}
	}
	if s.text == "" {
		return unclear("what should I search for?")
	}
	return []step{s}
}

func (p *parser) listNamed(c clause) []step {
	at := index(c.tokens, 0, "named", "called", "matching")
	rest := without(c.tokens[at+1:])
	if len(rest) == 0 {
		return unclear("which files should I find?")
	}
	s := step{act: actList, path: ".", pattern: path(rest[0])}
	if in := index(rest, 1, "in", "under", "inside"); in > 0 {
		s.path = p.placeOf(rest[in+1:])
	}
	return []step{s}
}

// placeOf returns the file or directory in which to search.
func (p *parser) placeOf(tokens []token) string {
	if isIt(tokens) && p.file != "" {
		return p.file
	}
	if left := without(without(tokens, aboutFiles...), here...); len(left) > 0 {
		return path(left[0])
	}
	return "."
}

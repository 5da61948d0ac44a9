// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"

	"github.com/ponte-go/ponte/internal/lazy"
)

// A clause is the part of a request that asks for one thing.
type clause struct {
	src    string
	tokens []token
}

// raw returns the source of the tokens from index i to before j. At the end of the clause the
// punctuation of the sentence is taken off.
func (c clause) raw(i, j int) string {
	if i >= j {
		return ""
	}
	s := c.src[c.tokens[i].start:c.tokens[j-1].end]
	if j == len(c.tokens) {
		s = trimSentence(s)
	}
	return s
}

// trimSentence takes a final full stop, question or exclamation mark off s, but none that a command
// or path needs (".", "..", "./...").
func trimSentence(s string) string {
	cut := strings.TrimRight(s, "?!")
	if strings.HasSuffix(cut, ".") && !strings.HasSuffix(cut, "..") {
		cut = cut[:len(cut)-1]
	}
	cut = strings.TrimRight(cut, " \t\r\n")
	if cut == "" || strings.HasSuffix(cut, "/") {
		return s
	}
	if i := strings.LastIndexAny(s, " \t"); i >= 0 && strings.Trim(s[i:], " \t.?!*") == "" {
		return s // the last word is punctuation only, such as the "." of "ls ."
	}
	return cut
}

// listMarker matches the marker of a list item: "1.", "2)", "-", "*".
var listMarker = lazy.Regexp(`^(\d{1,3}[.)]|[-*•])$`)

// split cuts a request into clauses: at line breaks, semicolons and list markers, and at a comma,
// "and", "then" or full stop if a verb follows.
func split(src string) []clause {
	tokens := tokenize(src)
	var clauses []clause
	from := 0
	cut := func(end, next int) {
		if end > from {
			clauses = append(clauses, clause{src, tokens[from:end]})
		}
		from = next
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.kind == semicolon:
			cut(i, i+1)
		case (t.newline || i == 0) && t.kind == word && listMarker().MatchString(t.text):
			cut(i, i+1)
		case i > from && t.newline && t.kind == word && !continues(tokens[i-1], t):
			cut(i, i)
		case t.kind == comma && startsStep(tokens[i+1:]):
			cut(i, i+1)
		case i > from && t.is("and", "then", "&") && startsStep(tokens[i+1:]):
			cut(i, i+1)
		case i > from && endsSentence(tokens[i-1]) && (startsStep(tokens[i:]) || courtesy(tokens[i:])):
			cut(i, i)
		}
	}
	cut(len(tokens), len(tokens))
	return clauses
}

// continues reports whether the line that begins with next continues the line that ends with last.
func continues(last, next token) bool {
	if last.kind == quoted {
		return next.is("with", "by", "to", "into", "in", "from")
	}
	return strings.HasSuffix(last.text, ":") || last.is("with", "by", "to", "in", "containing", "saying", "content")
}

// endsSentence reports whether t ends with a full stop outside of a path.
func endsSentence(t token) bool {
	return t.kind == word && len(t.text) > 1 && strings.TrimRight(t.text, ".!?") != "" &&
		strings.ContainsAny(t.text[len(t.text)-1:], ".!?") && !strings.HasSuffix(t.text, "..")
}

// filler are words before a verb that say nothing about the work.
var filler = []string{
	"please", "kindly", "now", "then", "and", "also", "next", "first", "firstly", "second", "secondly", "third",
	"finally", "lastly", "afterwards", "after", "that", "can", "could", "would", "will", "you", "i", "want", "i'd",
	"like", "need", "let's", "let", "us", "me", "to", "go", "ahead", "just", "ok", "okay", "hey", "hi", "hello", "so",
}

// skipFiller returns how many tokens stand before the verb.
func skipFiller(tokens []token) int {
	n := 0
	for n < min(len(tokens), 20) && (tokens[n].kind == comma || tokens[n].is(filler...)) && !startsProgram(tokens[n:]) {
		n++
	}
	return n
}

// startsStep reports whether the tokens begin with something that can be done.
func startsStep(tokens []token) bool {
	tokens = tokens[skipFiller(tokens):]
	if len(tokens) > 2 && tokens[0].is("in") { // "in FILE replace A with B"
		tokens = tokens[2:]
		tokens = tokens[skipFiller(tokens):]
	}
	if startsProgram(tokens) || isToolCall(tokens) {
		return true
	}
	v, n := matchVerb(tokens)
	return n > 0 && (v.alone || n < len(tokens) && tokens[n].isText() && !tokens[n].newline) && v.plausible(tokens[n:])
}

// isToolCall reports whether the tokens begin with the name of a tool and its arguments.
func isToolCall(tokens []token) bool {
	return len(tokens) > 1 && tokens[0].kind == word && tokens[1].kind == object
}

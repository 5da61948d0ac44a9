// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
)

const (
	// maxMissing limits the closing brackets that a repair adds. If more are missing, the text was
	// cut off.
	maxMissing = 8
	// maxReadings limits the readings of a text that are tried before it counts as ambiguous.
	maxReadings = 32
)

// Repair returns the JSON document that the author of text must have meant, if text is not valid
// JSON and has only one possible meaning. It removes a markdown code fence, space around the
// document, and a comma after the last item of an object or array. If complete is set, it adds
// missing closing brackets at the end. Complete reports that the author had finished: a text cut
// off by a token limit is not completed.
//
// Only closing brackets are added, and only if the text ends with a complete value. After a comma,
// a colon, an opening bracket, or a number that might continue, it is unknown what is missing.
// Brackets may also be missing earlier in the text, so they are added only if accepts returns true
// for the result, and for no text with the brackets in other places. Accepts is called only with
// valid JSON, and must be fast.
//
// Repair returns nil and false if text is valid JSON or cannot be repaired.
func Repair(text []byte, complete bool, accepts func([]byte) bool) (repaired []byte, ok bool) {
	if json.Valid(text) {
		return nil, false
	}
	m := mend(text)
	if m == nil || len(m.missing) > 0 && !complete || !accepts(m.result) {
		return nil, false
	}
	if len(m.missing) > 0 && m.ambiguous(accepts) {
		return nil, false
	}
	return m.result, true
}

// mended is a text that has been repaired in the simplest way, by adding brackets at its end.
type mended struct {
	text    []byte
	tokens  []jsonToken
	missing []byte // the brackets that were added
	result  []byte
}

// jsonToken is a token of a JSON text. Its kind is its first byte, or '0' for numbers.
type jsonToken struct {
	kind       byte
	start, end int
}

// mend repairs a text or returns nil.
func mend(text []byte) *mended {
	inner := TrimFences(text)
	tokens, ok := tokenize(inner)
	if !ok || len(tokens) == 0 {
		return nil
	}
	m := &mended{text: inner, tokens: tokens}
	at := place{}
	var commas []int // tokens
	for i, t := range tokens {
		if at.afterComma(t.kind) {
			commas = append(commas, i-1)
			at.phase = afterValue
		}
		if !at.take(t.kind) {
			return nil
		}
	}
	if at.phase != afterValue {
		return nil
	}
	m.missing = at.closers()
	last := tokens[len(tokens)-1]
	if len(m.missing) > 0 && (len(commas) > 0 || len(m.missing) > maxMissing || last.kind == '0' && !goesOn(text, inner)) {
		return nil
	}
	from := 0
	for _, i := range commas {
		m.result = append(m.result, inner[from:tokens[i].start]...)
		from = tokens[i].end
	}
	m.result = append(append(m.result, inner[from:]...), m.missing...)
	return m
}

// goesOn reports whether text continues after inner, which is a part of it. A number at the end of
// inner is then complete.
func goesOn(text, inner []byte) bool {
	return cap(text)-cap(inner)+len(inner) < len(text)
}

// tokenize splits a text into tokens. It returns false if something is not a token. Strings,
// numbers and literals must be valid JSON.
func tokenize(text []byte) ([]jsonToken, bool) {
	w := walker{data: text}
	var tokens []jsonToken
	for w.skipSpace(); w.pos < len(text); w.skipSpace() {
		t := jsonToken{kind: text[w.pos], start: w.pos}
		ok := true
		switch t.kind {
		case '{', '}', '[', ']', ',', ':':
			w.pos++
		case '"':
			_, _, ok = w.text()
		case 't':
			ok = w.word("true")
		case 'f':
			ok = w.word("false")
		case 'n':
			ok = w.word("null")
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			t.kind = '0'
			_, ok = w.number()
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
		t.end = w.pos
		tokens = append(tokens, t)
	}
	return tokens, true
}

// place is a position between two tokens of a JSON text.
type place struct {
	open  []byte // the open brackets, outermost first
	phase phase
}

// phase tells what may come next.
type phase uint8

const (
	wantValue phase = iota
	firstValue
	wantName
	firstName
	wantColon
	afterValue
)

// top returns the innermost open bracket, or 0.
func (p *place) top() byte {
	if len(p.open) == 0 {
		return 0
	}
	return p.open[len(p.open)-1]
}

// afterComma reports whether a token of the given kind completes what a comma started. A name, and
// in an array a value, is required after a comma.
func (p *place) afterComma(kind byte) bool {
	return p.phase == wantName && kind == '}' || p.phase == wantValue && kind == ']' && p.top() == '['
}

// take advances by a token, or returns false if it is not allowed here.
func (p *place) take(kind byte) bool {
	switch p.phase {
	case wantValue, firstValue:
		switch kind {
		case '{':
			p.open, p.phase = append(p.open, kind), firstName
		case '[':
			p.open, p.phase = append(p.open, kind), firstValue
		case ']':
			return p.phase == firstValue && p.close(kind)
		case '}', ',', ':':
			return false
		default:
			p.phase = afterValue
		}
		return true
	case wantName, firstName:
		if kind == '}' {
			return p.phase == firstName && p.close(kind)
		}
		p.phase = wantColon
		return kind == '"'
	case wantColon:
		p.phase = wantValue
		return kind == ':'
	}
	if kind != ',' {
		return p.close(kind)
	}
	if p.phase = wantValue; p.top() == '{' {
		p.phase = wantName
	}
	return len(p.open) > 0
}

// close processes a closing bracket.
func (p *place) close(kind byte) bool {
	if len(p.open) == 0 || p.top() != kind-2 { // '}'-2 is '{', ']'-2 is '['
		return false
	}
	p.open, p.phase = p.open[:len(p.open)-1], afterValue
	return true
}

// closers returns the brackets that close all open ones, innermost first.
func (p *place) closers() []byte {
	var closers []byte
	for i := len(p.open) - 1; i >= 0; i-- {
		closers = append(closers, p.open[i]+2)
	}
	return closers
}

// ambiguous reports whether the missing brackets could be in other places, with a different result.
func (m *mended) ambiguous(accepts func([]byte) bool) bool {
	s := search{mended: m, accepts: accepts, steps: 64*len(m.tokens) + 1000, readings: maxReadings}
	s.plain = s.document(nil)
	return s.from(0, place{}, nil)
}

// search looks for other readings. If it runs out of steps or readings, it reports that there is
// one.
type search struct {
	*mended
	accepts         func([]byte) bool
	plain           []byte // the result, without space
	steps, readings int
}

// added is a closing bracket inserted before a token.
type added struct {
	before int
	kind   byte
}

// from continues at a token and reports whether there is another reading, with the given brackets
// inserted so far.
func (s *search) from(i int, at place, brackets []added) bool {
	for ; i < len(s.tokens); i++ {
		if s.steps--; s.steps < 0 {
			return true
		}
		if at.phase == afterValue && len(at.open) > 0 && len(brackets) < len(s.missing) {
			closed := place{open: bytes.Clone(at.open)}
			kind := closed.top() + 2
			closed.close(kind)
			with := append(brackets[:len(brackets):len(brackets)], added{i, kind})
			if s.from(i, closed, with) {
				return true
			}
		}
		if !at.take(s.tokens[i].kind) {
			return false
		}
	}
	if at.phase != afterValue {
		return false
	}
	doc := s.document(brackets)
	if bytes.Equal(doc, s.plain) {
		return false
	}
	s.readings--
	return s.readings < 0 || s.accepts(doc)
}

// document returns the text without space, with the given brackets inserted, in order, and those
// still missing added at the end.
func (s *search) document(brackets []added) []byte {
	var doc []byte
	var at place
	put := func(kind byte, text []byte) {
		at.take(kind)
		doc = append(doc, text...)
	}
	for i, t := range s.tokens {
		for len(brackets) > 0 && brackets[0].before == i {
			put(brackets[0].kind, []byte{brackets[0].kind})
			brackets = brackets[1:]
		}
		put(t.kind, s.text[t.start:t.end])
	}
	return append(doc, at.closers()...)
}

// SPDX-License-Identifier: Apache-2.0

// Package strictjson reads JSON that people write. It records the position of each value, and
// refuses likely mistakes that encoding/json accepts: duplicate members, and text that is not
// UTF-8.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Kind is the kind of a [Value].
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as errors do.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// Value is a value and where it is.
type Value struct {
	Kind Kind
	// Start and End are offsets in the text: the value is data[Start:End].
	Start, End int
	// Text is the content of a string, and the source text of another simple value.
	Text string
	// Members are the members of an object and Items the items of a list, in the order of the text.
	Members []Member
	Items   []*Value
}

// Member is a member of an object. Start is where its name is.
type Member struct {
	Name  string
	Start int
	Value *Value
}

// Get returns the value of a member, nil if there is none.
func (v *Value) Get(name string) *Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// Error is a mistake in the text.
type Error struct {
	Offset  int
	Problem string
}

func (e *Error) Error() string { return e.Problem }

// maxDepth bounds how deep lists and objects may be in each other.
const maxDepth = 64

// Parse reads a text. A byte order mark at its beginning is skipped. Its error is an [*Error].
func Parse(data []byte) (*Value, error) {
	p := parser{data: data, at: len(data) - len(bytes.TrimPrefix(data, []byte("\uFEFF")))}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, size := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return nil, &Error{at, "not UTF-8"}
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data[p.at:], &raw); err != nil {
		at := p.at
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = min(p.at+max(int(syntax.Offset)-1, 0), len(data))
		}
		return nil, &Error{at, err.Error()}
	}
	v := p.value(0)
	if p.err != nil {
		return nil, p.err
	}
	return v, nil
}

// Position returns the line and the column of an offset in a text, from 1. Columns count characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	if rest, ok := bytes.CutPrefix(before, []byte("\uFEFF")); ok {
		before = rest
	}
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

// parser walks over a text that is known to be JSON.
type parser struct {
	data []byte
	at   int
	err  *Error
}

func (p *parser) skip(also string) {
	for p.at < len(p.data) && (bytes.IndexByte([]byte(" \t\r\n"), p.data[p.at]) >= 0 || bytes.IndexByte([]byte(also), p.data[p.at]) >= 0) {
		p.at++
	}
}

func (p *parser) value(depth int) *Value {
	p.skip("")
	v := &Value{Start: p.at}
	if depth > maxDepth {
		p.err = &Error{p.at, fmt.Sprintf("more than %d levels deep", maxDepth)}
	}
	if p.err != nil {
		return v
	}
	switch p.data[p.at] {
	case '{':
		v.Kind = Object
		p.object(v, depth)
	case '[':
		v.Kind = Array
		p.at++
		for p.skip(","); p.err == nil && p.data[p.at] != ']'; p.skip(",") {
			v.Items = append(v.Items, p.value(depth+1))
		}
		p.at++
	case '"':
		v.Kind, v.Text = String, p.text()
	default:
		for p.at < len(p.data) && bytes.IndexByte([]byte(",]} \t\r\n"), p.data[p.at]) < 0 {
			p.at++
		}
		v.Text = string(p.data[v.Start:p.at])
		switch v.Text {
		case "null":
		case "true", "false":
			v.Kind = Bool
		default:
			v.Kind = Number
		}
	}
	v.End = p.at
	return v
}

func (p *parser) object(v *Value, depth int) {
	seen := map[string]bool{}
	p.at++
	for p.skip(","); p.err == nil && p.data[p.at] != '}'; p.skip(",") {
		m := Member{Start: p.at}
		m.Name = p.text()
		if seen[m.Name] {
			p.err = &Error{m.Start, fmt.Sprintf("%q is there twice", m.Name)}
			return
		}
		seen[m.Name] = true
		p.skip(":")
		m.Value = p.value(depth + 1)
		v.Members = append(v.Members, m)
	}
	p.at++
}

// text reads a string.
func (p *parser) text() (s string) {
	start := p.at
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	_ = json.Unmarshal(p.data[start:p.at], &s) // which is a JSON string
	return s
}

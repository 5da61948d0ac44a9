// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

const (
	maxProblems = 10  // more would not help a model
	maxDepth    = 512 // of nested objects and arrays
)

// walker checks one JSON text against a node, in one pass and without decoding it.
type walker struct {
	data     []byte
	pos      int
	depth    int
	path     []step
	seen     []uint64 // bit sets of the properties found, one for each open object
	problems []Problem
	more     bool
	broke    bool   // the walk ended early: the text is not JSON or nested too deeply
	probing  bool   // also try every leaf on its Go type
	scratch  []byte // for decoding base64
	wrapped  span   // of the last known field of the root
	found    []found
	edits    []edit // in the order of the text
	asSent   bool   // fields that are absent get no defaults
}

// span is a part of the text.
type span struct{ start, end int }

// step is a step of the path to the current value: a field, or an index where name is nil.
type step struct {
	name  []byte
	index int
	key   bool // of a map, not of a struct
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

// release clears w and returns it to the pool. If a panic skips that, w is not used again.
func (w *walker) release() {
	clear(w.path[:cap(w.path)])
	clear(w.edits)
	*w = walker{
		path: w.path[:0], seen: w.seen[:0], scratch: w.scratch[:0], edits: w.edits[:0], found: w.found[:0],
	}
	walkers.Put(w)
}

// check returns the problems of data, in document order.
func (w *walker) check(n *node, data []byte) []Problem {
	w.data = data
	if w.value(n) {
		if w.skipSpace(); w.pos < len(data) {
			w.broken("the end of the JSON")
		}
	}
	return w.problems
}

// value consumes one value and checks it against n. Like the methods in scan.go, it returns false
// if the text cannot be read further. A value that violates a rule does not end the walk.
func (w *walker) value(n *node) bool {
	c := w.next()
	if n.orNull != nil {
		if c == 'n' {
			return w.word("null")
		}
		n = n.orNull
	}
	var got typeSet
	switch c {
	case '{':
		got = typeObject
	case '[':
		got = typeArray
	case '"':
		got = typeString
	case 't', 'f':
		got = typeBoolean
	case 'n':
		got = typeNull
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		got = typeNumber | typeInteger
	default:
		return w.broken("a JSON value")
	}
	start, found := w.pos, len(w.problems)
	rules := n
	if n.types&got == 0 {
		rules = free
	}
	if !w.token(rules, got) {
		return false
	}
	text := w.data[start:w.pos]
	switch {
	case rules != n:
		if got == typeNull {
			text = nil // the message says it
		}
		want := n.types.article()
		if n.wrapper {
			want += fmt.Sprintf(" with the result in the field %q", wrapperField)
		}
		if n.duration {
			want = durationWords
		}
		w.report("type", fmt.Sprintf("must be %s, not %s", want, got.article()), text)
	case w.probing && n.leaf.goType != nil && len(w.problems) == found:
		w.probe(n, text)
	}
	if rules == n && n.combined() {
		w.combine(n, text)
	}
	return true
}

// token consumes a value of type got and checks it.
func (w *walker) token(n *node, got typeSet) bool {
	start := w.pos
	switch got {
	case typeObject:
		return w.object(n)
	case typeArray:
		return w.array(n)
	case typeString:
		inner, escaped, ok := w.text()
		if ok && n.checksText() {
			w.checkText(n, inner, escaped, w.data[start:w.pos])
		}
		return ok
	case typeBoolean, typeNull:
		word := "null"
		if got == typeBoolean {
			word = "true"
			if w.data[w.pos] == 'f' {
				word = "false"
			}
		}
		if !w.word(word) {
			return false
		}
		if len(n.enum) > 0 && !n.listed(func(l literal) bool { return string(l.json) == word }) {
			w.report("enum", n.choices(), w.data[start:w.pos])
		}
		return true
	default:
		integer, ok := w.number()
		if ok && n != free {
			w.checkNumber(n, w.data[start:w.pos], integer)
		}
		return ok
	}
}

func (w *walker) object(n *node) bool {
	if !w.enter() {
		return false
	}
	w.pos++
	base := len(w.seen)
	for i := 0; i < len(n.fields); i += 64 {
		w.seen = append(w.seen, 0)
	}
	start, count, expect := w.pos-1, uint64(0), 0
	for w.next() != '}' || count > 0 {
		if w.next() != '"' {
			return w.broken("a field name in quotes")
		}
		name, escaped, ok := w.text()
		if !ok {
			return false
		}
		if escaped {
			name = unescape(name)
		}
		if w.next() != ':' {
			return w.broken("a colon after a field name")
		}
		w.pos++
		child := n.rest
		i, known := n.lookup(name, expect)
		w.path = append(w.path, step{name: name, key: !known && n.rest != nil})
		switch {
		case known:
			child, expect = w.known(n, i, base), i+1
		case child == nil:
			w.report(RuleUnknown, unknownField(n, string(name)), nil)
			child = free
		default:
			w.checkKey(n, name)
		}
		w.skipSpace()
		from := w.pos
		if !w.value(child) {
			return false
		}
		if known && len(w.path) == 1 {
			w.wrapped = span{from, w.pos}
			w.found = append(w.found, found{i, w.wrapped})
		}
		w.path = w.path[:len(w.path)-1]
		count++
		if w.next() != ',' {
			break
		}
		w.pos++
	}
	if w.next() != '}' {
		return w.broken("a comma or the end of an object")
	}
	w.missing(n, w.seen[base:], count > 0)
	w.pos++
	w.seen = w.seen[:base]
	w.depth--
	w.checkCount(count, n.minProps, n.maxProps, "Properties", "field", w.data[start:w.pos])
	return true
}

// known returns the node for the value of property i of n, and marks the property as found.
func (w *walker) known(n *node, i, base int) *node {
	word, bit := &w.seen[base+i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		w.report(RuleDuplicate, "duplicate field", nil)
	}
	*word |= bit
	if f := &n.fields[i]; !f.required && w.next() == 'n' { // null in an optional field means absent
		if f.absent != "" && !w.asSent {
			w.edit(w.pos, w.pos+len("null"), f.absent)
		}
		return free
	}
	return n.fields[i].node
}

// checkKey checks the name of a field that is a key of a map.
func (w *walker) checkKey(n *node, name []byte) {
	found := len(w.problems)
	if n.keys != nil {
		w.checkText(n.keys, name, false, nil)
	}
	// Keys that decode themselves are tried only if probing is set.
	if t := n.leaf.key; t != nil && len(w.problems) == found && (w.probing || !reflect.PointerTo(t).Implements(textUnmarshaler)) {
		if _, err := decodeKey(t, string(name)); err != nil {
			w.report(RuleDecode, "the key "+refusal(t, err), nil)
		}
	}
}

// decodeKey returns a key of a map, or why the map cannot have it.
func decodeKey(t reflect.Type, name string) (key reflect.Value, err error) {
	key = reflect.New(t).Elem()
	switch u, ok := key.Addr().Interface().(encoding.TextUnmarshaler); {
	case ok:
		err = u.UnmarshalText([]byte(name))
	case t.Kind() == reflect.String:
		key.SetString(name)
	case t.Kind() >= reflect.Uint:
		var n uint64
		n, err = strconv.ParseUint(name, 10, t.Bits())
		key.SetUint(n)
	default:
		var n int64
		n, err = strconv.ParseInt(name, 10, t.Bits())
		key.SetInt(n)
	}
	return key, err
}

// missing looks for the fields that are not there, at the end of an object. others is set if the
// object has fields.
func (w *walker) missing(n *node, seen []uint64, others bool) {
	for i := range n.fields {
		f := &n.fields[i]
		if seen[i/64]&(1<<(i%64)) != 0 {
			continue
		}
		switch {
		case f.required:
			w.path = append(w.path, step{name: []byte(f.name)})
			w.report("required", "required field is missing", nil)
			w.path = w.path[:len(w.path)-1]
		case f.absent != "" && !w.asSent:
			w.insert(f.name, f.absent, others)
			others = true
		}
	}
}

func (w *walker) array(n *node) bool {
	if !w.enter() {
		return false
	}
	start := w.pos
	w.pos++
	var before map[string]int
	if n.unique {
		before = map[string]int{}
	}
	count, same, twin := 0, -1, -1
	w.path = append(w.path, step{})
	for w.next() != ']' || count > 0 {
		w.path[len(w.path)-1].index = count
		w.skipSpace()
		from := w.pos
		if !w.value(n.items) {
			return false
		}
		if n.unique && same < 0 {
			item := canonical(n.items, w.data[from:w.pos])
			if first, ok := before[item]; ok {
				same, twin = first, count
			}
			before[item] = count
		}
		count++
		if w.next() != ',' {
			break
		}
		w.pos++
	}
	w.path = w.path[:len(w.path)-1]
	if w.next() != ']' {
		return w.broken("a comma or the end of an array")
	}
	w.pos++
	w.depth--
	if same >= 0 {
		w.report("uniqueItems", fmt.Sprintf("items must be unique, but items %d and %d are equal", same, twin), w.data[start:w.pos])
	}
	w.checkCount(uint64(count), n.minItems, n.maxItems, "Items", "item", w.data[start:w.pos])
	return true
}

func (w *walker) enter() bool {
	if w.depth++; w.depth <= maxDepth {
		return true
	}
	w.problems, w.more = append(w.problems[:0], Problem{
		Rule:    RuleDepth,
		Message: fmt.Sprintf("JSON is nested more than %d levels deep", maxDepth),
	}), false
	w.broke = true
	return false
}

// lookup finds a property by its exact name. Models mostly write fields in schema order, so the
// expected one is tried first.
func (n *node) lookup(name []byte, expect int) (int, bool) {
	if expect < len(n.fields) && n.fields[expect].name == string(name) {
		return expect, true
	}
	i, ok := n.byName[string(name)]
	return i, ok
}

// report records a problem with the current value.
func (w *walker) report(rule, message string, value []byte) {
	if len(w.problems) == maxProblems {
		w.more = true
		return
	}
	w.problems = append(w.problems, Problem{Path: w.where(), Rule: rule, Value: shorten(value), Message: message})
}

// probe decodes a value into its Go type to find out whether that accepts it.
func (w *walker) probe(n *node, text []byte) {
	l := n.leaf
	literal := text
	switch {
	case n.duration: // which checkDuration has parsed
		return
	case l.quoted:
		literal = unescape(text[1 : len(text)-1])
	case n.types&(typeInteger|typeNumber) == typeInteger:
		if digits, ok := wholeNumber(text); ok {
			literal = []byte(digits)
		}
	}
	if err := json.Unmarshal(literal, reflect.New(l.goType).Interface()); err != nil {
		w.report(RuleDecode, refusal(l.goType, err), text)
	}
}

// where returns the path of the current value.
func (w *walker) where() string {
	var b strings.Builder
	for _, s := range w.path {
		switch {
		case s.name == nil:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.key:
			b.WriteString("[" + shorten(s.name) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(shorten(s.name))
		}
	}
	return b.String()
}

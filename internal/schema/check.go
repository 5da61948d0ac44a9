// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// checksText reports whether n has a rule about strings.
func (n *node) checksText() bool {
	return n.minLength > 0 || n.maxLength != unbounded || n.pattern != nil || len(n.enum) > 0 || n.dateTime || n.base64 || n.duration
}

// checkText checks a string, given without its quotes and with its escapes, and as it is written.
// For the key of a map, which is part of the path, the latter is nil.
func (w *walker) checkText(n *node, inner []byte, escaped bool, written []byte) {
	s := inner
	if escaped {
		s = unescape(inner)
	}
	if len(n.enum) > 0 && !n.listed(func(l literal) bool { return l.kind == typeString && l.text == string(s) }) {
		w.report("enum", n.choices(), written)
		return // length and pattern would add nothing
	}
	if n.minLength > 0 || n.maxLength != unbounded {
		length := uint64(utf8.RuneCount(s))
		if length == 0 && n.minLength == 1 {
			w.report("minLength", "must not be empty", nil) // which says what it is
			return
		}
		w.checkCount(length, n.minLength, n.maxLength, "Length", "character", written)
	}
	if n.duration {
		w.checkDuration(n, s, written)
		return
	}
	if n.pattern != nil && !n.pattern.Match(s) {
		w.report("pattern", "must match the pattern "+n.pattern.String(), written)
	}
	if n.dateTime {
		var t time.Time
		if t.UnmarshalText(s) != nil {
			w.report("format", "must be a date and time as in RFC 3339, such as 2006-01-02T15:04:05Z", written)
		}
	}
	if n.base64 {
		w.scratch = slices.Grow(w.scratch[:0], base64.StdEncoding.DecodedLen(len(s)))
		if _, err := base64.StdEncoding.Decode(w.scratch[:cap(w.scratch)], s); err != nil {
			w.report("contentEncoding", "must be base64 with padding", written)
		}
	}
}

// checkCount checks that a number of characters, items or fields is within bounds.
func (w *walker) checkCount(count, least, most uint64, keyword, noun string, value []byte) {
	if count >= least && count <= most {
		return
	}
	rule, bound, words := "min", least, "least"
	if count > most {
		rule, bound, words = "max", most, "most"
	}
	w.report(rule+keyword, fmt.Sprintf("must have at %s %s, not %d", words, plural(bound, noun), count), value)
}

func (w *walker) checkNumber(n *node, text []byte, integer bool) {
	if (!integer || !n.leaf.custom && string(text) == "-0") && n.types&(typeInteger|typeNumber) == typeInteger {
		digits, ok := wholeNumber(text)
		if !ok {
			w.report("type", "must be an integer", text)
			return
		}
		w.edit(w.pos-len(text), w.pos, digits)
	}
	bounded := n.minimum != nil || n.maximum != nil || n.above != nil || n.below != nil
	if !bounded && len(n.enum) == 0 && n.multipleOf == nil {
		return
	}
	v := parseNumber(text)
	if len(n.enum) > 0 && !n.listed(func(l literal) bool { return l.kind == typeNumber && l.number.compare(v) == 0 }) {
		w.report("enum", n.choices(), text)
		return
	}
	for _, b := range [...]struct {
		bound       *number
		sign, order int // broken if the comparison with the bound, times sign, is at least order
		rule, words string
	}{
		{n.minimum, -1, 1, "minimum", "at least "}, {n.above, -1, 0, "exclusiveMinimum", "greater than "},
		{n.maximum, 1, 1, "maximum", "at most "}, {n.below, 1, 0, "exclusiveMaximum", "less than "},
	} {
		if b.bound != nil && v.compare(*b.bound)*b.sign >= b.order {
			w.report(b.rule, "must be "+b.words+b.bound.text, text)
		}
	}
	if b := n.multipleOf; b != nil && !v.multipleOf(*b) {
		w.report("multipleOf", "must be a multiple of "+b.text, text)
	}
}

// listed reports whether the enum has a value that satisfies is.
func (n *node) listed(is func(literal) bool) bool {
	return slices.ContainsFunc(n.enum, is)
}

// choices describes the values that an enum allows.
func (n *node) choices() string {
	if len(n.enum) == 1 {
		return "must be " + string(n.enum[0].json)
	}
	const most = 20
	var list []string
	for i, l := range n.enum {
		if i == most {
			list = append(list, fmt.Sprintf("or %d others", len(n.enum)-most))
			break
		}
		list = append(list, string(l.json))
	}
	return "must be one of " + strings.Join(list, ", ")
}

// unescape decodes the text between the quotes of a valid JSON string.
func unescape(inner []byte) []byte {
	var s string
	_ = json.Unmarshal([]byte(`"`+string(inner)+`"`), &s) // the walk has checked that it is valid
	return []byte(s)
}

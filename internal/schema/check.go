// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// checksText reports whether n has a rule about strings.
func (n *node) checksText() bool {
	return n.minLength > 0 || n.maxLength != unbounded || n.pattern != nil || len(n.enum) > 0 || n.dateTime || n.base64
}

// checkText checks a string, given without its quotes and with its escapes.
func (w *walker) checkText(n *node, inner []byte, escaped bool) {
	s := inner
	if escaped {
		s = unescape(inner)
	}
	report := func(rule, message string) {
		w.report(rule, message, slices.Concat([]byte{'"'}, inner, []byte{'"'}))
	}
	if len(n.enum) > 0 && !n.listed(func(l literal) bool { return l.kind == typeString && l.text == string(s) }) {
		report("enum", n.choices())
		return // length and pattern would add nothing
	}
	if n.minLength > 0 || n.maxLength != unbounded {
		length := uint64(utf8.RuneCount(s))
		switch {
		case length == 0 && n.minLength == 1:
			w.report("minLength", "must not be empty", nil) // which says what it is
			return
		case length < n.minLength:
			report("minLength", fmt.Sprintf("must have at least %s, not %d", plural(n.minLength, "character"), length))
		case length > n.maxLength:
			report("maxLength", fmt.Sprintf("must have at most %s, not %d", plural(n.maxLength, "character"), length))
		}
	}
	if n.pattern != nil && !n.pattern.Match(s) {
		report("pattern", "must match the pattern "+n.pattern.String())
	}
	if n.dateTime {
		var t time.Time
		if t.UnmarshalText(s) != nil {
			report("format", "must be a date and time as in RFC 3339, such as 2006-01-02T15:04:05Z")
		}
	}
	if n.base64 {
		w.scratch = slices.Grow(w.scratch[:0], base64.StdEncoding.DecodedLen(len(s)))
		if _, err := base64.StdEncoding.Decode(w.scratch[:cap(w.scratch)], s); err != nil {
			report("contentEncoding", "must be base64 with padding")
		}
	}
}

func (w *walker) checkNumber(n *node, text []byte, integer bool) {
	if !integer && n.types&(typeInteger|typeNumber) == typeInteger {
		w.report("type", "must be an integer without fraction or exponent", text)
		return
	}
	bounded := n.minimum != nil || n.maximum != nil || n.above != nil || n.below != nil
	if !bounded && len(n.enum) == 0 && n.multipleOf == 0 {
		return
	}
	v := parseNumber(text)
	if len(n.enum) > 0 && !n.listed(func(l literal) bool { return l.kind == typeNumber && l.number.compare(v) == 0 }) {
		w.reportEnum(n, text)
		return
	}
	if b := n.minimum; b != nil && v.compare(*b) < 0 {
		w.report("minimum", "must be at least "+b.text, text)
	}
	if b := n.above; b != nil && v.compare(*b) <= 0 {
		w.report("exclusiveMinimum", "must be greater than "+b.text, text)
	}
	if b := n.maximum; b != nil && v.compare(*b) > 0 {
		w.report("maximum", "must be at most "+b.text, text)
	}
	if b := n.below; b != nil && v.compare(*b) >= 0 {
		w.report("exclusiveMaximum", "must be less than "+b.text, text)
	}
	if n.multipleOf != 0 {
		if q := v.float / n.multipleOf; math.Abs(q-math.Round(q)) > 1e-9 {
			w.report("multipleOf", fmt.Sprintf("must be a multiple of %v", n.multipleOf), text)
		}
	}
}

func (w *walker) reportEnum(n *node, text []byte) {
	w.report("enum", n.choices(), text)
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
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, inner, []byte{'"'}), &s) // the walk has checked that it is valid
	return []byte(s)
}

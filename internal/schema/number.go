// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
)

// number is a JSON number. Integers of up to 64 bits are compared exactly, all others as float64.
type number struct {
	text      string // as written in the schema; empty for a value
	float     float64
	magnitude uint64
	negative  bool
	integer   bool // magnitude and negative hold the exact value
}

// parseNumber reads a valid JSON number.
func parseNumber(text []byte) number {
	var n number
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		n.negative, digits = true, digits[1:]
	}
	if u, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
		n.magnitude, n.integer = u, true
		n.negative = n.negative && u != 0
		n.float = float64(u)
		if n.negative {
			n.float = -n.float
		}
		return n
	}
	n.float, _ = strconv.ParseFloat(string(text), 64) // out of range: ±Inf, which compares correctly
	return n
}

func (n number) compare(m number) int {
	switch {
	case !n.integer || !m.integer:
		return cmp.Compare(n.float, m.float)
	case n.negative != m.negative:
		if n.negative {
			return -1
		}
		return 1
	case n.negative:
		return cmp.Compare(m.magnitude, n.magnitude)
	}
	return cmp.Compare(n.magnitude, m.magnitude)
}

// literal is a value of an enum.
type literal struct {
	json   []byte
	text   string // of a string
	kind   typeSet
	number number // of a number
}

func newLiteral(text []byte) literal {
	l := literal{json: bytes.Clone(text)}
	switch text[0] {
	case '"':
		l.kind = typeString
		_ = json.Unmarshal(text, &l.text) // just marshalled
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		l.kind, l.number = typeNumber, parseNumber(text)
	}
	return l
}

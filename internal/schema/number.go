// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// number is an exact JSON number. Integers of up to 64 bits are held as such, all others as
// decimals.
type number struct {
	text      string // as written in the schema; empty for a value
	negative  bool
	integer   bool // magnitude holds the absolute value
	magnitude uint64
	decimal   decimal // of the absolute value, if integer is not set
}

// decimal is the number 0.digits × 10^exponent. The digits have no zeros at either end, and zero
// has none.
type decimal struct {
	digits   string
	exponent int
}

// parseNumber reads a valid JSON number.
func parseNumber(text []byte) number {
	var n number
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if u, err := strconv.ParseUint(string(digits), 10, 64); err == nil {
		n.magnitude, n.integer = u, true
		n.negative = negative && u != 0
		return n
	}
	n.decimal = parseDecimal(string(digits))
	n.negative = negative && n.decimal.digits != ""
	return n
}

// parseDecimal reads a valid JSON number without sign. Exponents too large for an int count as very
// large or small.
func parseDecimal(text string) decimal {
	mantissa, power := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		var err error
		if power, err = strconv.Atoi(strings.TrimPrefix(text[i+1:], "+")); err != nil || power > maxPower || power < -maxPower {
			power = maxPower
			if text[i+1] == '-' {
				power = -maxPower
			}
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{}
	}
	exponent := len(whole) + power - (len(whole) + len(fraction) - len(digits))
	return decimal{strings.TrimRight(digits, "0"), exponent}
}

const maxPower = 1 << 30

// exactly returns the absolute value as a decimal.
func (n number) exactly() decimal {
	if n.integer {
		return parseDecimal(strconv.FormatUint(n.magnitude, 10))
	}
	return n.decimal
}

func (n number) compare(m number) int {
	switch {
	case n.negative != m.negative:
		if n.negative {
			return -1
		}
		return 1
	case n.negative:
		n, m = m, n
	}
	if n.integer && m.integer {
		return cmp.Compare(n.magnitude, m.magnitude)
	}
	a, b := n.exactly(), m.exactly()
	if a.digits == "" || b.digits == "" {
		return cmp.Compare(len(a.digits), len(b.digits))
	}
	return cmp.Or(cmp.Compare(a.exponent, b.exponent), strings.Compare(a.digits, b.digits))
}

// multipleOf reports whether n is a multiple of m, which is positive.
func (n number) multipleOf(m number) bool {
	a, b := n.exactly(), m.exactly()
	zeros := a.scale() - b.scale()
	if a.digits == "" || b.digits == "" || zeros < 0 {
		return a.digits == "" // the digits of a do not end in zeros
	}
	divisor, err := strconv.ParseUint(b.digits, 10, 60)
	if err != nil { // more digits than a float64 has
		return true
	}
	rest := uint64(0)
	for _, digit := range a.digits {
		rest = (rest*10 + uint64(digit-'0')) % divisor
	}
	for range min(zeros, 60) { // more would add no factor that the divisor can have
		rest = rest * 10 % divisor
	}
	return rest == 0
}

// scale is the power of ten of the last digit.
func (d decimal) scale() int { return d.exponent - len(d.digits) }

// canonical writes the number in the same way however it was written.
func (n number) canonical() string {
	d := n.exactly()
	text := cmp.Or(d.digits, "0") + "e" + strconv.Itoa(d.scale())
	if n.negative {
		text = "-" + text
	}
	return text
}

// maxDigits limits how long an integer written with an exponent may be when it is written out.
const maxDigits = 400

// wholeNumber writes out a JSON number that has a fraction or an exponent but is an integer, such
// as 1.0 or 1e3, because encoding/json does not decode those into integers.
func wholeNumber(text []byte) (digits string, ok bool) {
	n := parseNumber(text)
	d := n.exactly()
	if d.digits == "" {
		return "0", true
	}
	zeros := d.scale()
	if zeros < 0 {
		return "", false
	}
	if d.exponent > maxDigits {
		return string(text), true // which no Go type takes
	}
	digits = d.digits
	for range zeros {
		digits += "0"
	}
	if n.negative {
		digits = "-" + digits
	}
	return digits, true
}

// tighten replaces a bound by n if n is stricter (larger for a lower bound, smaller for an upper
// one), or if there is none yet.
func tighten(keyword *json.Number, n json.Number, which side) {
	if *keyword == "" || n == "" {
		*keyword += n
		return
	}
	order := parseNumber([]byte(n)).compare(parseNumber([]byte(*keyword)))
	if which == lower && order > 0 || which == upper && order < 0 {
		*keyword = n
	}
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

// SPDX-License-Identifier: Apache-2.0

// Package jsonvalue compares JSON values: values of Go as JSON has them, by meaning and not by
// spelling.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// Of returns what JSON has of a value: nil, a bool, a string, a json.Number, a []any or a
// map[string]any. A value of json.RawMessage is decoded.
func Of(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.RawMessage:
		return Parse(v)
	}
	text, err := plainjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse decodes one JSON text, as [Of] returns it.
func Parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

// Rules decide what is equal.
type Rules struct {
	// Bools makes true equal to 1 and false to 0, as in Python.
	Bools bool
}

// Equal reports whether two values that [Of] returned are equal. Numbers are compared by value: 1,
// 1.0 and 1e0 are equal. A number with a fraction or an exponent has the precision of a float64.
func (r Rules) Equal(a, b any) bool {
	if r.Bools {
		a, b = number(a), number(b)
	}
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b))
	case []any:
		b, ok := b.([]any)
		return ok && r.sameItems(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(a) == len(b) && r.hasMembers(b, a, r.Equal)
	}
	return a == b // of different types if one of them cannot be compared
}

// Contains reports whether a value contains another: an object each member of want, a list as many
// items in the same order, and any other value is equal.
func (r Rules) Contains(value, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		value, ok := value.(map[string]any)
		return ok && r.hasMembers(value, want, r.Contains)
	case []any:
		value, ok := value.([]any)
		if !ok || len(value) != len(want) {
			return false
		}
		for i := range want {
			if !r.Contains(value[i], want[i]) {
				return false
			}
		}
		return true
	}
	return r.Equal(value, want)
}

func (r Rules) sameItems(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !r.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// hasMembers reports whether value has each member of want, with a value that fits.
func (r Rules) hasMembers(value, want map[string]any, fits func(value, want any) bool) bool {
	for name, w := range want {
		if v, ok := value[name]; !ok || !fits(v, w) {
			return false
		}
	}
	return true
}

// number returns a bool as a number.
func number(v any) any {
	switch v {
	case true:
		return json.Number("1")
	case false:
		return json.Number("0")
	}
	return v
}

// sameNumber reports whether two numbers of JSON are equal.
func sameNumber(a, b string) bool {
	wholeA, wholeB := whole(a), whole(b)
	switch {
	case wholeA && wholeB:
		return integer(a) == integer(b)
	case wholeA:
		return sameFloat(b, a)
	case wholeB:
		return sameFloat(a, b)
	}
	return float(a) == float(b)
}

// sameFloat reports whether a number with a fraction or an exponent equals a whole one.
func sameFloat(fraction, integral string) bool {
	f := float(fraction)
	if math.IsInf(f, 0) || f != math.Trunc(f) {
		return false
	}
	i, _ := new(big.Float).SetFloat64(f).Int(nil)
	return i.String() == integer(integral)
}

func whole(n string) bool { return !strings.ContainsAny(n, ".eE") }

func integer(n string) string {
	if n == "-0" {
		return "0"
	}
	return n
}

// float returns the value of a number; numbers that are too large are infinite.
func float(n string) float64 {
	f, _ := json.Number(n).Float64()
	return f
}

// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/internal/errs"
)

// maxValue limits how many bytes of a value a problem quotes.
const maxValue = 80

// shorten returns the beginning of a quoted value, on one line.
func shorten(value []byte) string {
	if len(value) <= maxValue {
		return oneLine(value)
	}
	end := maxValue
	for end > maxValue-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return oneLine(value[:end]) + "…"
}

// shortenTail returns the end of a quoted text, on one line.
func shortenTail(text []byte) string {
	if len(text) <= maxValue {
		return oneLine(text)
	}
	start := len(text) - maxValue
	for start < len(text)-maxValue+utf8.UTFMax && !utf8.RuneStart(text[start]) {
		start++
	}
	return "…" + oneLine(text[start:])
}

// oneLine joins the lines of a JSON text, which has line breaks only between tokens, and replaces
// invalid UTF-8.
func oneLine(text []byte) string {
	lines := strings.Split(strings.Map(func(r rune) rune { return r }, string(text)), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}

// article names types with their article: "a string or null".
func (s typeSet) article() string {
	if s&typeNumber != 0 && s&typeInteger != 0 {
		s &^= typeInteger
	}
	var names []string
	for i, name := range typeNames {
		if s&(1<<i) == 0 {
			continue
		}
		switch {
		case name == "null":
		case strings.ContainsAny(name[:1], "aio"):
			name = "an " + name
		default:
			name = "a " + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " or ")
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatUint(n, 10) + " " + noun + "s"
}

// refusal describes why a Go type does not accept a JSON value that matches its schema.
func refusal(t reflect.Type, err error) string {
	var wrong *json.UnmarshalTypeError
	if errs.As(err, &wrong) {
		if !isNumeric(t) { // its own decoding, or that of a number in an any
			t = wrong.Type
		}
	} else if !errors.Is(err, strconv.ErrRange) {
		return "is not accepted: " + shorten([]byte(err.Error()))
	}
	if !isNumeric(t) {
		return "is not accepted: it has another type than it should"
	}
	switch bits := t.Bits(); {
	case t.Kind() <= reflect.Int64:
		return fmt.Sprintf("must be an integer from %d to %d", math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits))
	case t.Kind() <= reflect.Uint64:
		return fmt.Sprintf("must be an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
	default:
		return fmt.Sprintf("must be a number that fits in a %d-bit float", bits)
	}
}

// SPDX-License-Identifier: Apache-2.0

package guardrails

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/schema"
)

// All returns the values of the subject with their paths: strings, numbers as [json.Number],
// booleans and nil. A path is a JSON pointer (RFC 6901), such as "/items/0/name". A member that an
// object has twice comes twice. A subject that is text has one value, with the path "".
func (s *Subject) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if s.doc == nil {
			yield("", s.Text)
			return
		}
		s.doc().walk("", func(path string, d *document) bool { return d.kind != leaf || yield(path, d.value) })
	}
}

// At returns the value at a path, or nil if there is none: see [Subject.All]. Objects and lists are
// nil, too.
func (s *Subject) At(path string) any {
	var found any
	for at, v := range s.All() {
		if at == path {
			found = v
		}
	}
	return found
}

// Rewrite replaces each text of the subject by the result of f: the text, or every string of a JSON
// document. If f changes nothing, the subject passes.
func (s *Subject) Rewrite(f func(text string) string, reason string) Verdict {
	values := map[string]any{}
	for path, v := range s.All() {
		if old, ok := v.(string); ok {
			if made := f(old); made != old {
				values[path] = made
			}
		}
	}
	if len(values) == 0 {
		return Pass()
	}
	return ReplaceValues(values, reason)
}

// read sets what a guard sees of a text: if it is JSON, the document and one spelling of it.
func (s *Subject) read(text string) {
	s.Text, s.doc = text, nil
	if s.Stage == Input || s.Thinking || s.Partial {
		return
	}
	value := s.data || s.Tool != "" && (s.Stage != Result || strings.HasPrefix(strings.TrimSpace(text), `"`))
	if d := parse(text, value); d != nil {
		s.Text, s.doc = string(d.append(nil, true)), func() *document { return d }
	}
}

// replacement returns the text that a verdict puts in the place of text, which the guard has seen
// as s.
func (s *Subject) replacement(v *Verdict, text string) (string, error) {
	switch {
	case v.Values != nil && s.doc == nil:
		made, ok := v.Values[""].(string)
		if !ok || len(v.Values) != 1 {
			return "", errors.New("the subject is text: its only value has the path \"\" and is a string")
		}
		return made, nil
	case v.Values != nil:
		return s.doc().with(v.Values)
	case v.Text == s.Text:
		return text, nil
	case s.doc == nil || json.Valid([]byte(v.Text)):
		return v.Text, nil
	case s.Stage == Result || s.Tool == "":
		return string(appendJSON(nil, v.Text)), nil // a document remains one
	}
	return "", errors.New("the replacement is not JSON: use Rewrite or ReplaceValues")
}

// document is decoded JSON. It keeps the order of members, and members that are there twice.
type document struct {
	key   string
	kind  json.Delim // '{', '[' or leaf
	value any        // of a leaf
	raw   string     // a number as it was written
	items []document
}

const leaf json.Delim = 0

// parse decodes a text. It returns nil if that is not JSON, not even repaired, or, unless any is
// set, neither object nor list.
func parse(text string, any bool) *document {
	data := []byte(text)
	// A tool, or an output, can get the simplest reading only. Whether there is another that its type
	// allows is not known here.
	simplest := true
	if repaired, ok := schema.Repair(data, true, func([]byte) bool {
		first := simplest
		simplest = false
		return first
	}); ok {
		data = repaired
	}
	if !json.Valid(data) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	d := new(document)
	if err := d.decode(dec); err != nil || d.kind == leaf && !any {
		return nil
	}
	return d
}

func (d *document) decode(dec *json.Decoder) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		d.value = t
		if n, ok := t.(json.Number); ok {
			d.raw, d.value = n.String(), number(n.String())
		}
		return nil
	}
	for d.kind = delim; dec.More(); {
		var item document
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			item.key = key.(string)
		} else {
			item.key = strconv.Itoa(len(d.items))
		}
		if err := item.decode(dec); err != nil {
			return err
		}
		d.items = append(d.items, item)
	}
	_, err = dec.Token()
	return err
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// walk visits the document and all in it, until f returns false.
func (d *document) walk(path string, f func(path string, d *document) bool) bool {
	if !f(path, d) {
		return false
	}
	for i := range d.items {
		if !d.items[i].walk(path+"/"+pointer.Replace(d.items[i].key), f) {
			return false
		}
	}
	return true
}

// append appends the document as JSON. If one is set, numbers that are equal are written alike.
func (d *document) append(dst []byte, one bool) []byte {
	switch {
	case d.kind == leaf && d.raw != "" && !one:
		return append(dst, d.raw...)
	case d.kind == leaf:
		return appendJSON(dst, d.value)
	}
	dst = append(dst, byte(d.kind))
	for i := range d.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if d.kind == '{' {
			dst = append(appendJSON(dst, d.items[i].key), ':')
		}
		dst = d.items[i].append(dst, one)
	}
	return append(dst, byte(d.kind)+2) // the closing bracket
}

// with returns the document as JSON, with other values at some paths.
func (d *document) with(values map[string]any) (string, error) {
	found := map[string]bool{}
	var failed error
	d.walk("", func(path string, at *document) bool {
		v, ok := values[path]
		if !ok {
			return true
		}
		found[path] = true
		data, err := json.Marshal(v)
		if err != nil {
			failed = fmt.Errorf("the value for %q: %w", path, err)
			return false
		}
		at.kind, at.items, at.raw, at.value = leaf, nil, "", json.RawMessage(data)
		return true
	})
	for path := range values {
		if failed == nil && !found[path] {
			failed = fmt.Errorf("there is no value at %q", path)
		}
	}
	return string(d.append(nil, false)), failed
}

// appendJSON appends a value as JSON, with as few escapes as possible.
func appendJSON(dst []byte, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a value that was decoded, or has been encoded before
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// maxPlaces is how many places a number has before or after its point at most, before it is written
// with an exponent.
const maxPlaces = 40

// number returns one spelling for all of a number: 1000 for 1000.0 and 1e3, and 0 for -0.
func number(text string) json.Number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if strings.Trim(mantissa, "-0.") == "" {
		return "0"
	}
	exp := 0
	if exponent != "" {
		n, err := strconv.Atoi(exponent)
		if err != nil || n > 1<<30 || n < -1<<30 {
			return json.Number(text)
		}
		exp = n
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exp -= len(fraction)
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	sign := ""
	if negative {
		sign = "-"
	}
	point := len(short) + exp // where the point is
	switch {
	case exp >= 0 && point <= maxPlaces:
		return json.Number(sign + short + strings.Repeat("0", exp))
	case exp < 0 && point > 0:
		return json.Number(sign + short[:point] + "." + short[point:])
	case exp < 0 && point > -maxPlaces:
		return json.Number(sign + "0." + strings.Repeat("0", -point) + short)
	}
	return json.Number(sign + short + "e" + strconv.Itoa(exp))
}

// mayBeJSON reports whether a text that is still being written may become a JSON document, maybe in
// a code fence and after a repair. The parts of a document can be judged only when it is complete.
func mayBeJSON(text string) bool {
	text = strings.TrimSpace(text)
	fence, fenced := strings.CutPrefix(text, "```")
	if strings.HasPrefix("```", text) || fenced && !strings.ContainsAny(fence, "\r\n") {
		return true
	}
	if fenced { // its end may still be written, too
		text = strings.TrimRight(text, "`")
	}
	text = string(schema.TrimFences([]byte(text)))
	switch {
	case text == "", text[0] == '{':
		return true // maybe to be repaired
	case text[0] != '[':
		return false
	}
	dec := json.NewDecoder(strings.NewReader(withoutSpareCommas(text)))
	dec.UseNumber()
	for {
		if _, err := dec.Token(); err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// withoutSpareCommas returns JSON without the commas after the last items of objects and lists.
func withoutSpareCommas(text string) string {
	made, comma, quoted := make([]byte, 0, len(text)), -1, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			made = append(made, c)
			i++
			c = text[i]
		case c == '"':
			quoted, comma = !quoted, -1
		case quoted || c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',':
			comma = len(made)
		default:
			if comma >= 0 && (c == ']' || c == '}') {
				made = append(made[:comma], made[comma+1:]...)
			}
			comma = -1
		}
		made = append(made, c)
	}
	return string(made)
}

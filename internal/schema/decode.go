// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/errs"
)

var emptyObject = []byte("{}")

// Decode checks raw against the schema, decodes it into dst, a pointer to the Go type, and
// validates the result. Empty or blank raw, and null, are treated as {}. As with json.Unmarshal,
// fields that are not in raw keep their values, so dst should point to a zero value.
//
// It is stricter than encoding/json: names must match exactly, unknown and duplicate fields are
// errors, and null is allowed only by the schema or in optional fields, where it means absent.
//
// If the author of raw can fix the problem, the error is an [*Error]. Any other error is a mistake
// in the program: dst has the wrong type, or a method of the type panicked. After an error the
// contents of dst are undefined.
func (t *Type) Decode(raw []byte, dst any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errs.Errorf("schema: panic while decoding into %v: %v", t.goType, p)
		}
	}()
	if err := t.accepts(dst); err != nil {
		return err
	}
	if blank := bytes.TrimSpace(raw); len(blank) == 0 || string(blank) == "null" {
		raw = emptyObject
	}
	w := walkers.Get().(*walker)
	if text := t.walk(w, raw); text != nil {
		t.fill(w, text, dst)
	}
	err = w.verdict()
	w.release()
	return err
}

// DecodePartial decodes the beginning of a document, completed to valid JSON, into dst. Values that
// do not match the schema are left out where possible, and nothing is validated. Fields that are
// absent stay as they are, even if they have a default.
func (t *Type) DecodePartial(text []byte, dst any) {
	w := walkers.Get().(*walker)
	w.asSent = true
	if text = t.walk(w, text); text != nil {
		_ = json.Unmarshal(text, dst) // which goes on after what does not fit
	}
	w.release()
}

// walk checks a text and returns what encoding/json decodes. That is nil if the text is broken, or
// the wrapper lacks its field.
func (t *Type) walk(w *walker, text []byte) []byte {
	w.check(t.root, text)
	part := span{0, len(text)}
	if t.wrapped {
		part = w.wrapped
	}
	if w.broke || part.end == 0 {
		return nil
	}
	return w.edited(part)
}

// fill decodes text into dst and validates the result. text is the text that w walked over, or its
// only field, with the edits that encoding/json needs. fill runs even if w found problems, to
// report all of them to the model at once.
func (t *Type) fill(w *walker, text []byte, dst any) {
	prefix := ""
	if t.wrapped {
		prefix = wrapperField
	}
	if !t.store(w, dst) {
		if err := json.Unmarshal(text, dst); err != nil {
			t.probe(w)
			if len(w.problems) == 0 {
				w.add([]Problem{{Path: prefix, Rule: RuleDecode, Message: refusal(t.goType, err)}})
			}
			return
		}
	}
	t.valid(w, dst, prefix)
}

// valid applies the rules for the validator to dst.
func (t *Type) valid(w *walker, dst any, prefix string) {
	if t.validate == nil {
		return
	}
	defer func() {
		if len(w.problems) > 0 { // a rule may have met what the schema refuses, such as null in a list
			_ = recover()
		}
	}()
	w.add(t.validate.check(dst, prefix, t.root, w.data))
}

// exactValue decodes valid JSON, and keeps numbers as they are written.
func exactValue(text []byte) any { return (&walker{data: text}).exact() }

func (w *walker) exact() (value any) {
	c, start := w.next(), w.pos
	switch c {
	case '[':
		list := []any{}
		for w.pos++; w.next() != ']'; w.comma() {
			list = append(list, w.exact())
		}
		w.pos++
		return list
	case '{':
		object := map[string]any{}
		for w.pos++; w.next() != '}'; w.comma() {
			name, _ := w.exact().(string)
			w.next()
			w.pos++ // the colon
			object[name] = w.exact()
		}
		w.pos++
		return object
	case '"':
		w.text()
	case 't', 'n':
		w.pos += len("true")
	case 'f':
		w.pos += len("false")
	default:
		w.number()
		return json.Number(w.data[start:w.pos])
	}
	_ = json.Unmarshal(w.data[start:w.pos], &value)
	return value
}

func (w *walker) comma() {
	if w.next() == ',' {
		w.pos++
	}
}

// probe finds the values that match the schema but that the Go types do not accept. encoding/json
// stops at the first one and does not report its position.
func (t *Type) probe(found *walker) {
	w := &walker{probing: true}
	found.add(w.check(t.root, found.data))
}

// verdict returns the error of a walk, or nil.
func (w *walker) verdict() error {
	if len(w.problems) == 0 {
		return nil
	}
	return &Error{Problems: w.problems, More: w.more}
}

// add adds the problems of values that have no problem yet, and are not part of a value that has
// one. For example, a missing struct also lacks its required fields.
func (w *walker) add(problems []Problem) {
	for _, p := range problems {
		switch {
		case slices.ContainsFunc(w.problems, func(known Problem) bool { return covers(known.Path, p.Path) }):
		case len(w.problems) == maxProblems:
			w.more = true
		default:
			w.problems = append(w.problems, p)
		}
	}
}

// covers reports whether path is outer or a part of it.
func covers(outer, path string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}

// accepts returns an error unless dst is a pointer to the type, or to a pointer to it.
func (t *Type) accepts(dst any) error {
	got := reflect.TypeOf(dst)
	if got != t.pointer && (got == nil || got.Kind() != reflect.Pointer || pointee(got) != t.goType) {
		return errs.Errorf("schema: cannot decode into %T, which is not a pointer to %v", dst, t.goType)
	}
	if reflect.ValueOf(dst).IsNil() {
		return errs.Errorf("schema: cannot decode into a nil %T", dst)
	}
	return nil
}

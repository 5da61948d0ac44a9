// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/ponte-go/ponte/internal/plainjson"
)

// edit replaces a part of the text before encoding/json decodes it. The schema allows what
// encoding/json does not: durations as text, integers with a zero fraction, and fields that are
// absent because they have a default.
type edit struct {
	span
	text string
}

func (w *walker) edit(start, end int, text string) {
	w.edits = append(w.edits, edit{span{start, end}, text})
}

// insert adds a field at the end of an object, where w is. others is set if the object has other
// fields.
func (w *walker) insert(name, value string, others bool) {
	var text []byte
	if others {
		text = append(text, ',')
	}
	text = append(plainjson.AppendString(text, name), ':')
	w.edit(w.pos, w.pos, string(append(text, value...)))
}

// edited returns a part of the text with the edits that are within.
func (w *walker) edited(part span) []byte {
	text := w.data[part.start:part.end]
	if len(w.edits) == 0 {
		return text
	}
	var result []byte
	at := part.start
	for _, e := range w.edits {
		if e.start < at || e.end > part.end {
			continue
		}
		result = append(append(result, w.data[at:e.start]...), e.text...)
		at = e.end
	}
	return append(result, w.data[at:part.end]...)
}

// decode decodes a text that has no problems into a new value of type t. It also returns what
// encoding/json decodes in its place.
func (n *node) decode(text []byte, t reflect.Type) (edited []byte, value any, err error) {
	w := new(walker)
	w.check(n, text)
	if err := w.verdict(); err != nil {
		return nil, nil, err
	}
	edited = w.edited(span{0, len(text)})
	if n.leaf.quoted {
		text = unescape(text[1 : len(text)-1])
	} else {
		text = edited
	}
	target := reflect.New(t)
	err = json.Unmarshal(text, target.Interface())
	return edited, target.Elem().Interface(), err
}

const (
	// durationPattern matches [time.Duration.String], with the units in any order.
	durationPattern = `^-?([0-9]+(\.[0-9]+)?(h|m|s|ms|µs|us|ns))+$`
	durationWords   = `a duration such as "1h30m" or "500ms"`
	// durationNote is part of the description of every time.Duration.
	durationNote = "duration such as 1h30m"
)

// checkDuration checks the text of a duration, and replaces it, as it is written, by nanoseconds.
func (w *walker) checkDuration(n *node, text, quoted []byte) {
	if !n.pattern.Match(text) {
		w.report("pattern", "must be "+durationWords, quoted)
		return
	}
	d, err := time.ParseDuration(string(text))
	if err != nil { // with the pattern, only for its size
		w.report(RuleDecode, "must be a duration of less than 292 years", quoted)
		return
	}
	w.edit(w.pos-len(quoted), w.pos, strconv.FormatInt(int64(d), 10))
}

// canonical returns a text that two JSON values of n have in common if they are equal, however they
// are written.
func canonical(n *node, text []byte) string {
	switch c := text[0]; {
	case c == '"' && !slices.Contains(text, '\\'), c == 't', c == 'f', c == 'n':
		return string(text)
	case c == '-' || c <= '9' && c >= '0':
		return parseNumber(text).canonical()
	}
	value := exactValue(text)
	n.normalize(&value)
	encoded, _ := plainjson.Marshal(value)
	return string(encoded)
}

// normalize writes all numbers of a decoded JSON value in the same way, and removes fields that are
// null although the schema does not allow that, which means absent.
func (n *node) normalize(value *any) {
	n = n.values()
	switch v := (*value).(type) {
	case json.Number:
		*value = json.Number(parseNumber([]byte(v)).canonical())
	case []any:
		for i := range v {
			n.items.normalize(&v[i])
		}
	case map[string]any:
		for name, item := range v {
			inner := free
			if i, known := n.byName[name]; known {
				if inner = n.fields[i].node; item == nil && !n.fields[i].required && inner.orNull == nil && inner.types&typeNull == 0 {
					delete(v, name)
					continue
				}
			} else if n.rest != nil {
				inner = n.rest
			}
			inner.normalize(&item)
			v[name] = item
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ponte-go/ponte/internal/generate"
	"github.com/ponte-go/ponte/internal/schema"
)

// valid returns a value of a schema. If the schema is that of a Go type, the value also keeps the
// validate rules that no schema can express: values are tried in the place of those that the type
// refuses.
func valid(text json.RawMessage, seed uint64) (json.RawMessage, error) {
	value, err := generate.Seeded(text, seed)
	for _, t := range schema.Known(text) {
		if err == nil {
			m := &mender{of: t, schema: text}
			value, err = m.mend(value)
		}
	}
	return value, err
}

// mender makes a value valid.
type mender struct {
	of     *schema.Type
	schema json.RawMessage
	others []any // more values of the schema, made when they are needed
}

const maxMends = 50

func (m *mender) mend(text json.RawMessage) (json.RawMessage, error) {
	for n := 0; ; n++ {
		problems, err := m.problems(text)
		if err != nil || len(problems) == 0 {
			return text, err
		}
		if text = m.better(text, problems); text == nil || n == maxMends {
			return nil, fmt.Errorf("no value found that keeps the rule %s: %s", problems[0].Rule, problems[0])
		}
	}
}

// problems returns what the type refuses.
func (m *mender) problems(text []byte) ([]schema.Problem, error) {
	err := m.of.Check(text)
	var invalid *schema.Error
	if errors.As(err, &invalid) {
		return invalid.Problems, nil
	}
	return nil, err
}

// better returns the first document without one of the problems, and without others in its place;
// nil if it finds none.
func (m *mender) better(text []byte, problems []schema.Problem) json.RawMessage {
	document := exact(text)
	for _, p := range problems {
		for _, path := range []string{p.Path, compared(p)} { // either of two fields may be the one to change
			candidates := m.candidates(document, p, path)
			for _, value := range candidates {
				if text := m.changed(set, document, path, value, p, len(problems)); text != nil {
					return text
				}
			}
			for _, key := range candidates {
				if text := m.changed(rename, document, path, key, p, len(problems)); text != nil {
					return text
				}
			}
			if text := m.changed(set, document, path, absence{}, p, len(problems)-1); text != nil {
				return text
			}
		}
	}
	return nil
}

// changed returns a document with a change, if that leaves no problem where one was, and not too
// many elsewhere.
func (m *mender) changed(change func(any, string, any) (any, bool), document any, path string, to any, p schema.Problem, most int) json.RawMessage {
	changed, ok := change(document, path, to)
	if !ok {
		return nil
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return nil
	}
	left, err := m.problems(text)
	renamed := path[:strings.LastIndexByte(path, '[')+1] + fmt.Sprint(to) + "]"
	if err != nil {
		return nil
	}
	for _, q := range left {
		switch {
		case within(q.Path, p.Path), within(q.Path, path), q.Path == renamed && q.Rule == p.Rule:
			return nil
		case within(p.Path, q.Path): // which the problem has hidden
			most++
		}
	}
	if len(left) > most {
		return nil
	}
	return text
}

// within reports whether path is outer or leads into it.
func within(outer, path string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// compared returns the path of the field that a rule compares a value with, or that of the value.
func compared(p schema.Problem) string {
	rule, other, _ := strings.Cut(p.Rule, "=")
	if !strings.Contains(rule, "field") {
		return strings.TrimPrefix(other, ".")
	}
	return p.Path[:strings.LastIndexByte(p.Path, '.')+1] + other
}

// exact decodes a document, and keeps its numbers as they are.
func exact(text []byte) (value any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&value) // which has been generated
	return value
}

// candidates returns values that may keep a rule, the likely ones first.
func (m *mender) candidates(document any, p schema.Problem, path string) (list []any) {
	_, param, _ := strings.Cut(p.Rule, "=")
	if strings.HasPrefix(p.Rule, "datetime=") {
		list = append(list, time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC).Format(param))
	}
	for _, word := range append(strings.Fields(param), param) {
		list = append(list, beside(word)...)
		list = append(list, "a"+word+"a", word+"a")
		if json.Valid([]byte(word)) {
			list = append(list, beside(json.Number(word))...)
		}
	}
	if m.others == nil {
		for seed := range uint64(10) { // in which there are optional fields, and other values
			if text, err := generate.Seeded(m.schema, seed); err == nil {
				m.others = append(m.others, exact(text))
			}
		}
	}
	for _, other := range m.others {
		if value, ok := get(other, path); ok && value != nil {
			list = append(list, value)
		}
	}
	scalars(document, func(v any) { list = append(list, beside(v)...) })
	for _, text := range samples {
		list = append(list, text)
	}
	now, _ := get(document, path)
	if text, ok := now.(string); ok { // it may begin or end as another rule wants it
		for _, sample := range samples {
			list = append(list, sample+text, text+sample, sample+text+"a")
		}
	}
	for _, n := range []json.Number{"0", "1", "2", "3", "7", "10", "42", "100", "276", "978", "8080", "-1", "0.5"} {
		list = append(list, n)
	}
	return append(list, true, false, []any{}, map[string]any{})
}

// beside returns a value and others near it: the next numbers, longer and shorter text, earlier and
// later times.
func beside(v any) []any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return []any{v, n + 1, n - 1}
		}
		f, _ := v.Float64()
		return []any{v, f + 1, f - 1}
	case string:
		list := []any{v, v + "a"}
		if v != "" {
			list = append(list, v[:len(v)-1])
		}
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			list = append(list, t.Add(time.Hour), t.Add(-time.Hour))
		}
		if d, err := time.ParseDuration(v); err == nil {
			list = append(list, (d + time.Second).String(), (d - time.Second).String())
		}
		return list
	}
	return []any{v}
}

// scalars calls f for all values in a document that have no parts.
func scalars(v any, f func(any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			scalars(item, f)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			scalars(v[name], f)
		}
	default:
		f(v)
	}
}

// absence stands for a field that is left out.
type absence struct{}

// get returns the value at a path of a problem.
func get(v any, path string) (any, bool) {
	found, ok := v, false
	walk(v, path, func(at any, there bool) any {
		found, ok = at, there
		return at
	})
	return found, ok
}

// set returns a copy of a document with another value at a path, or with a field left out.
func set(v any, path string, to any) (any, bool) {
	return walk(v, path, func(any, bool) any { return to })
}

// rename returns a copy of a document in which the value at a path, an entry of a map, has another
// key.
func rename(document any, path string, key any) (any, bool) {
	start := strings.LastIndexByte(path, '[')
	name, isText := key.(string)
	if number, ok := key.(json.Number); ok {
		name, isText = number.String(), true
	}
	if start < 0 || !isText {
		return nil, false
	}
	found, _ := get(document, path[:start])
	entries, ok := found.(map[string]any)
	old := strings.TrimSuffix(path[start+1:], "]")
	if _, there := entries[name]; !ok || there {
		return nil, false
	}
	entries = maps.Clone(entries)
	entries[name] = entries[old]
	delete(entries, old)
	return set(document, path[:start], entries)
}

// walk copies a document along the path to a value, which f replaces. It reports whether the path
// leads somewhere.
func walk(v any, path string, f func(at any, there bool) any) (any, bool) {
	if path == "" {
		return f(v, true), true
	}
	switch v := v.(type) {
	case []any:
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(index)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		item, ok := walk(v[i], rest, f)
		if item == (absence{}) {
			return slices.Delete(slices.Clone(v), i, i+1), ok
		}
		list := slices.Clone(v)
		list[i] = item
		return list, ok
	case map[string]any:
		return walkObject(v, strings.TrimPrefix(path, "."), f)
	}
	return nil, false
}

func walkObject(object map[string]any, path string, f func(at any, there bool) any) (any, bool) {
	object = maps.Clone(object)
	put := func(name string, value any, ok bool) (any, bool) {
		if object[name] = value; value == (absence{}) {
			delete(object, name)
		}
		return object, ok
	}
	for name, value := range object {
		for _, step := range []string{name, "[" + name + "]"} {
			rest, ok := strings.CutPrefix(path, step)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
				continue
			}
			if inner, ok := walk(value, rest, f); ok {
				return put(name, inner, true)
			}
		}
	}
	if strings.ContainsAny(path, ".[") {
		return nil, false
	}
	return put(path, f(nil, false), true)
}

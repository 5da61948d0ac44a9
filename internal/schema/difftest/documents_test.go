// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/internal/generate"
)

// writer writes random documents for a schema: mostly values that the schema allows, values at its bounds, and now and then
// another value in their place.
type writer struct {
	*source
	root    map[string]any
	strange int // one value in this number is another one
}

// document returns the text of a document.
func (w *writer) document(schema json.RawMessage) string {
	if w.IntN(4) == 0 {
		if text, err := generate.Seeded(schema, w.Uint64()); err == nil {
			return string(text)
		}
	}
	w.strange = pick(w.source, []int{10, 30, 1000})
	return w.value(w.root, 0)
}

var odd = []string{
	`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `1.0`, `1e2`, `0.5`, `2.5e0`, `127`, `128`, `-129`, `255`, `256`, `300`, `70000`, `9223372036854775807`,
	`9223372036854775808`, `18446744073709551616`, `1e30`, `1e400`, `0.30000000000000004`, `0.3`, `""`, `"a"`, `"1"`, `"-1"`, `"1.5"`, `"true"`, `"\"a\""`,
	`"é"`, `"\u0061"`, `"1h"`, `"1h30m"`, `"5m0s"`, `"-2s"`, `"0s"`, `"9999999h"`, `"aGk="`, `"!"`, `"2026-01-02T03:04:05Z"`, `"red"`, `"10.0.0.1"`,
	`[]`, `[null]`, `[1]`, `[1,1.0]`, `["a","\u0061"]`, `[1,2]`, `{}`, `{"a":1}`, `{"1":1}`, `{"01":null}`,
}

func (w *writer) value(s map[string]any, depth int) string {
	if w.IntN(w.strange) == 0 {
		return pick(w.source, odd)
	}
	if ref, ok := s["$ref"].(string); ok {
		defs := w.root["$defs"].(map[string]any)
		return w.value(defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any), depth)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list, ok := s[keyword].([]any); ok && list[0].(map[string]any)["required"] == nil {
			part := pick(w.source, list).(map[string]any)
			merged := map[string]any{}
			for _, from := range []map[string]any{s, part} {
				for k, v := range from {
					if k != keyword {
						merged[k] = v
					}
				}
			}
			return w.value(merged, depth)
		}
	}
	if enum, ok := s["enum"].([]any); ok {
		text, _ := json.Marshal(pick(w.source, enum))
		return string(text)
	}
	switch s["type"] {
	case "object":
		return w.object(s, depth)
	case "array":
		items, _ := s["items"].(map[string]any)
		var list []string
		for range w.length(s, "minItems", "maxItems") {
			list = append(list, w.value(items, depth+1))
		}
		return "[" + strings.Join(list, ",") + "]"
	case "string":
		return w.text(s)
	case "integer", "number":
		return w.number(s)
	case "boolean":
		return strconv.FormatBool(w.IntN(2) == 0)
	case "null":
		return "null"
	}
	return pick(w.source, odd)
}

// length returns a number of items or characters within bounds, at them, and now and then beyond.
func (w *writer) length(s map[string]any, low, high string) int {
	least, most := 0, 3
	if n, ok := s[low].(json.Number); ok {
		least, _ = strconv.Atoi(n.String())
		most = least + 2
	}
	if n, ok := s[high].(json.Number); ok {
		most, _ = strconv.Atoi(n.String())
		most = min(most, 300)
	}
	if w.IntN(w.strange) == 0 {
		return max(0, pick(w.source, []int{least - 1, most + 1}))
	}
	return least + w.IntN(max(most-least, 0)+1)
}

func (w *writer) object(s map[string]any, depth int) string {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	var members []string
	add := func(name, value string) {
		key, _ := json.Marshal(name)
		members = append(members, string(key)+":"+value)
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range properties {
			if !yield(name) {
				return
			}
		}
	}) {
		must := slices.Contains(required, any(name))
		switch {
		case must && w.IntN(w.strange) == 0:
		case !must && (w.IntN(2) == 0 || depth > 4):
		case !must && w.IntN(10) == 0:
			add(name, "null")
		default:
			add(name, w.value(properties[name].(map[string]any), depth+1))
		}
	}
	if w.IntN(w.strange) == 0 {
		add("unknown", "1")
	}
	if rest, ok := s["additionalProperties"].(map[string]any); ok {
		names, _ := s["propertyNames"].(map[string]any)
		seen := map[string]bool{}
		for range w.length(s, "minProperties", "maxProperties") {
			name := pick(w.source, []string{"a", "b", "red", "green", "1", "-5", "300", "0", "ab", "a].b", "a.b", "[x]", "01", ""})
			if names != nil && w.IntN(4) > 0 {
				_ = json.Unmarshal([]byte(w.text(names)), &name)
			}
			if !seen[name] {
				add(name, w.value(rest, depth+1))
			}
			seen[name] = true
		}
	}
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

var words = []string{"a", "b", "aa", "aab", "abc", "A", "ab1", "12", "-1.5", "aé", "b b", "z", "aaaaaaaaaa", "2026-01-02", "a@b.org", "::1", "1.2.3", "0xff", "10.0.0.0/8"}

func (w *writer) text(s map[string]any) string {
	text := pick(w.source, words)
	_, patterned := s["pattern"]
	if _, formatted := s["format"]; patterned || formatted || s["contentEncoding"] != nil || s["allOf"] != nil {
		one := map[string]any{"type": "string"}
		for k, v := range s {
			one[k] = v
		}
		schema, _ := json.Marshal(one)
		if generated, err := generate.Seeded(schema, w.Uint64()); err == nil && w.IntN(8) > 0 {
			return string(generated)
		}
	} else if s["minLength"] != nil || s["maxLength"] != nil {
		text = strings.Repeat("aé1", 200)
		text = string([]rune(text)[:w.length(s, "minLength", "maxLength")])
	}
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

func (w *writer) number(s map[string]any) string {
	var bounds []float64
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if n, ok := s[keyword].(json.Number); ok {
			f, _ := n.Float64()
			bounds = append(bounds, f)
		}
	}
	if len(bounds) == 0 {
		bounds = []float64{0, 1, 2, 3, 5, 100}
	}
	step := pick(w.source, []float64{0, 0, 1, -1, 2, 10})
	if s["type"] == "number" && w.IntN(3) == 0 {
		step /= 4
	}
	n := strconv.FormatFloat(pick(w.source, bounds)+step, 'f', -1, 64)
	switch w.IntN(12) {
	case 0:
		if !strings.Contains(n, ".") {
			return n + pick(w.source, []string{".0", "e0", "E+0", ".000e0"})
		}
	case 1:
		return fmt.Sprintf("%se-1", n)
	}
	return n
}

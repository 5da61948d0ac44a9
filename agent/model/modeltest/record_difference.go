// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference describes where a request first differs from a recorded one. It returns "" if they are
// equal.
func difference(recorded, now *sentRequest) string {
	if d := differ("", reflect.ValueOf(recorded.Frame), reflect.ValueOf(now.Frame)); d != "" {
		return d
	}
	return differ("messages", reflect.ValueOf(recorded.Messages), reflect.ValueOf(now.Messages))
}

// differ compares values of one type whose fields all have JSON names.
func differ(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		switch {
		case a.IsNil() && b.IsNil():
			return ""
		case a.IsNil() || b.IsNil():
			return differs(path, shown(a), shown(b))
		}
		return differ(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			if path != "" {
				name = path + "." + name
			}
			if d := differ(name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Type().Elem().Kind() == reflect.Uint8 {
			return differText(path, string(a.Bytes()), string(b.Bytes()))
		}
		for i := range min(a.Len(), b.Len()) {
			if d := differ(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		switch {
		case a.Len() > b.Len():
			return differs(fmt.Sprintf("%s[%d]", path, b.Len()), shown(a.Index(b.Len())), "nothing")
		case a.Len() < b.Len():
			return differs(fmt.Sprintf("%s[%d]", path, a.Len()), "nothing", shown(b.Index(a.Len())))
		}
		return ""
	case reflect.Map:
		return differMap(path, a.Interface().(map[string]json.RawMessage), b.Interface().(map[string]json.RawMessage))
	case reflect.String:
		return differText(path, a.String(), b.String())
	}
	if !a.Equal(b) {
		return differs(path, shown(a), shown(b))
	}
	return ""
}

func differMap(path string, a, b map[string]json.RawMessage) string {
	keys := slices.Compact(slices.Sorted(maps.Keys(a)))
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if d := differText(path+"."+key, string(a[key]), string(b[key])); d != "" {
			return d
		}
	}
	return ""
}

// differText shows two texts from shortly before the first difference.
func differText(path, a, b string) string {
	if a == b {
		return ""
	}
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	return differs(path, excerpt(x, same), excerpt(y, same))
}

func excerpt(text []rune, at int) string {
	const before, behind = 20, 60
	if len(text) == 0 {
		return "nothing"
	}
	from, to := max(0, at-before), min(len(text), at+behind)
	s := fmt.Sprintf("%q", string(text[from:to]))
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}

func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "nothing"
	}
	return shortText(string(appendJSON(nil, v.Interface())))
}

func differs(path, recorded, now string) string {
	return fmt.Sprintf("%s: recorded %s, now %s", cmp.Or(path, "the request"), recorded, now)
}

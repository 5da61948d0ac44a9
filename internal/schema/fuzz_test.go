// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

type fuzzed struct {
	Name   string            `json:"name" validate:"required,max=5"`
	Age    int8              `json:"age,omitempty" validate:"omitempty,min=1,max=100"`
	Score  *float64          `json:"score"`
	Color  string            `json:"color,omitempty" validate:"omitempty,oneof=red green"`
	Level  uint              `json:"level,omitempty" jsonschema:"enum=1,enum=2,enum=18446744073709551615"`
	Tags   []string          `json:"tags,omitempty" validate:"max=2,dive,alpha"`
	Labels map[string]int64  `json:"labels,omitempty"`
	Kids   []fuzzed          `json:"kids,omitempty"`
	Data   []byte            `json:"data,omitempty"`
	At     time.Time         `json:"at,omitzero"`
	Any    any               `json:"any,omitempty"`
	Quoted int               `json:"quoted,omitempty,string"`
	Inner  map[string][]bool `json:"inner,omitempty"`
}

// FuzzDecode compares Decode with a slow reference that shares nothing with it: the published schema
// read as JSON, a check of decoded values against it, and encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"name":"x"`, `{"name":"x","score":null}`,
		`{"name":"x","score":1e3,"age":7,"color":"red","level":18446744073709551615,"tags":["a"],"labels":{"a":-9223372036854775808}}`,
		`{"name":"x","score":0.5,"kids":[{"name":"y","score":null,"kids":[]}],"data":"aGk=","at":"2026-01-02T03:04:05Z","any":[{"a":null}]}`,
		`{"name":"\ud83d\ude00\u0000","score":-0,"quoted":"12","inner":{"a":[true,false]}}`,
		`{"name":"x","score":1,"age":300}`, `{"name":"x","score":1,"age":null,"color":null}`, `{"name":"x","score":1,"name":"y"}`,
		`{"Name":"x","score":1}`, `{"name":"toolong","score":1,"age":1.0}`, `{"name":"x","score":1} `, `{"name":"x","score":1}x`,
		`{"value":[1,2,{"a":[]}]}`, `{"value":"x"}`, `{"name":"a","left":{"name":"b","left":null}}`,
		`{"name":"x","score":1,"data":"a\nGk=","at":"2026-01-02T03:04:05\u005a"}`, "{\"name\":\"\xff\",\"score\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		compare[fuzzed](t, text)
		compare[tree](t, text)
		compare[[]int32](t, text)
		compare[any](t, text)
	})
}

func compare[T any](t *testing.T, text []byte) {
	typ := typeFor[T](t)
	var got T
	err := typ.Decode(text, &got)
	var invalid *schema.Error
	if err != nil && (!errors.As(err, &invalid) || len(invalid.Problems) == 0) {
		t.Fatalf("%T: %q: not an error with problems: %v", got, text, err)
	}
	want, refErr := reference[T](typ, text)
	if (err == nil) != (refErr == nil) {
		t.Fatalf("%T: %q: Decode says %v, the reference says %v", got, text, err, refErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%T: %q: Decode gives %+v, the reference %+v", got, text, got, want)
	}
	if err != nil && invalid.Incomplete() && json.Valid(text) {
		t.Fatalf("%T: %q: valid JSON is called incomplete", got, text)
	}
	for _, line := range strings.Split(errorText(err), "\n") {
		if !utf8.ValidString(line) || len(line) > 3000 {
			t.Fatalf("%T: %q: a line that no model should see: %q", got, text, line)
		}
	}
}

func errorText(err error) string {
	var invalid *schema.Error
	if errors.As(err, &invalid) {
		return invalid.Prompt()
	}
	return ""
}

// reference decodes text as Decode promises to, without any hurry.
func reference[T any](typ *schema.Type, text []byte) (v T, err error) {
	if trimmed := string(bytes.Trim(text, " \t\r\n")); trimmed == "" || trimmed == "null" {
		text = []byte("{}")
	}
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(typ.JSON()))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		panic(err)
	}
	dec = json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	value, err := orderedValue(dec)
	if err != nil {
		return v, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return v, errors.New("trailing data")
	}
	if !json.Valid(text) {
		return v, errors.New("invalid")
	}
	if err := conforms(doc, doc, value); err != nil {
		return v, err
	}
	if typ.Wrapped() {
		var w struct {
			Value T `json:"value"`
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(&w)
		return w.Value, err
	}
	dec = json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(&v)
	return v, err
}

// member is a member of an object, in the order of the text and with duplicates.
type member struct {
	name  string
	value any
}

// orderedValue reads a value as nil, bool, string, json.Number, []any or []member.
func orderedValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := orderedValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	case json.Delim('{'):
		members := []member{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := orderedValue(dec)
			if err != nil {
				return nil, err
			}
			members = append(members, member{name.(string), v})
		}
		_, err := dec.Token()
		return members, err
	}
	return token, nil
}

// conforms checks a value against a schema, both decoded.
func conforms(root, s map[string]any, v any) error {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return conforms(root, root["$defs"].(map[string]any)[name].(map[string]any), v)
	}
	if alternatives, ok := s["anyOf"].([]any); ok {
		var errs []error
		for _, a := range alternatives {
			err := conforms(root, a.(map[string]any), v)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	if typ, ok := s["type"].(string); ok && typ != jsonType(v) && (typ != "number" || jsonType(v) != "integer") {
		return fmt.Errorf("%v is no %s", v, typ)
	}
	if enum, ok := s["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return sameValue(e, v) }) {
		return fmt.Errorf("%v is not in %v", v, enum)
	}
	switch v := v.(type) {
	case string:
		return stringConforms(s, v)
	case json.Number:
		if low, ok := s["minimum"].(json.Number); ok && exact(v).Cmp(exact(low)) < 0 {
			return fmt.Errorf("%v is too small", v)
		}
		if high, ok := s["maximum"].(json.Number); ok && exact(v).Cmp(exact(high)) > 0 {
			return fmt.Errorf("%v is too large", v)
		}
	case []any:
		if high, ok := limit(s, "maxItems"); ok && len(v) > high {
			return errors.New("too many items")
		}
		items, _ := s["items"].(map[string]any)
		for _, item := range v {
			if err := conforms(root, items, item); err != nil {
				return err
			}
		}
	case []member:
		return objectConforms(root, s, v)
	}
	return nil
}

func objectConforms(root, s map[string]any, members []member) error {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	found := map[string]bool{}
	for _, m := range members {
		property, known := properties[m.name].(map[string]any)
		switch {
		case known && found[m.name]:
			return fmt.Errorf("%s twice", m.name)
		case known && m.value == nil && !slices.Contains(required, any(m.name)):
		case known:
			if err := conforms(root, property, m.value); err != nil {
				return err
			}
		case s["additionalProperties"] == false:
			return fmt.Errorf("%s is unknown", m.name)
		default:
			rest, _ := s["additionalProperties"].(map[string]any)
			if err := conforms(root, rest, m.value); err != nil {
				return err
			}
		}
		found[m.name] = true
	}
	for _, name := range required {
		if !found[name.(string)] {
			return fmt.Errorf("%s is missing", name)
		}
	}
	return nil
}

func stringConforms(s map[string]any, v string) error {
	if low, ok := limit(s, "minLength"); ok && utf8.RuneCountInString(v) < low {
		return errors.New("too short")
	}
	if high, ok := limit(s, "maxLength"); ok && utf8.RuneCountInString(v) > high {
		return errors.New("too long")
	}
	if pattern, ok := s["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
		return errors.New("no match")
	}
	if s["format"] == "date-time" {
		return new(time.Time).UnmarshalText([]byte(v))
	}
	if s["contentEncoding"] == "base64" {
		_, err := base64.StdEncoding.DecodeString(v)
		return err
	}
	return nil
}

func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case []member:
		return "object"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	}
	panic(fmt.Sprintf("%T", v))
}

func limit(s map[string]any, keyword string) (int, bool) {
	n, ok := s[keyword].(json.Number)
	i, _ := n.Int64()
	return int(i), ok
}

func sameValue(a, b any) bool {
	x, ok := a.(json.Number)
	y, both := b.(json.Number)
	if ok && both {
		return exact(x).Cmp(exact(y)) == 0
	}
	return reflect.DeepEqual(a, b)
}

// exact is the value of a number, whose exponent no float may exceed by much.
func exact(n json.Number) *big.Float {
	f, _, err := big.ParseFloat(n.String(), 10, 512, big.ToNearestEven)
	if err != nil {
		return new(big.Float).SetInf(n[0] == '-')
	}
	return f
}

// FuzzExactValue compares with the decoder of the standard library.
func FuzzExactValue(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.50e+3,"x\ud800\u0041",true,false,null,{}],"a":[],"b":{"c":[[ ],[ 1 , 2 ]]}}`, ` 9007199254740993 `, `"\""`, "\"\xff\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want any
		if json.Valid(text) && dec.Decode(&want) == nil {
			require.Equal(t, want, schema.ExactValue(text))
		}
	})
}
